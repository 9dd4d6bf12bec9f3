"""Caches for tests: real ones, and one in a dict that notes what it is asked."""

import os
import random
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.db import connection

from cache_processes import NAME, put
from sitemaps_plus.stores.cache import DocumentCache

REDIS = os.environ.get("CACHE_URL", "redis://127.0.0.1:6379/0")
MEMCACHED = os.environ.get("MEMCACHED_URL", "memcached://127.0.0.1:11211")

TABLE = "documents_in_a_test"
PROCESSES = 3

in_a_database = pytest.param("database", marks=pytest.mark.django_db(transaction=True))
each_cache = pytest.mark.parametrize("kind", ["locmem", "file", "redis", "django-redis", "memcached", in_a_database])


def answering(url: str, package: str) -> str:
    """Return the address of a server; skip without its package or itself, which CI does not allow."""
    pytest.importorskip(package)
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname or "", address.port or 0), 5).close()
    except OSError as error:
        reason = f"nothing answers at {url}: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return address.netloc


def config_of(kind: str, folder: Path) -> dict[str, Any]:
    backends = "django.core.cache.backends"
    # Nobody else's values: several runs share a server.
    own = {"KEY_PREFIX": uuid4().hex}
    if kind == "redis":
        answering(REDIS, "redis")
        return {"BACKEND": f"{backends}.redis.RedisCache", "LOCATION": REDIS, **own}
    if kind == "django-redis":
        answering(REDIS, "django_redis")
        # As in docs/how-to/caching.md.
        options = {
            "SOCKET_CONNECT_TIMEOUT": 1,
            "SOCKET_TIMEOUT": 2,
            "CONNECTION_POOL_KWARGS": {"socket_read_size": 1_048_576},
        }
        return {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": REDIS, "OPTIONS": options, **own}
    if kind == "memcached":
        address = answering(MEMCACHED, "pymemcache")
        return {"BACKEND": f"{backends}.memcached.PyMemcacheCache", "LOCATION": address, **own}
    if kind == "file":
        return {"BACKEND": f"{backends}.filebased.FileBasedCache", "LOCATION": str(folder / "cache"), **own}
    if kind == "database":
        return {"BACKEND": f"{backends}.db.DatabaseCache", "LOCATION": TABLE, **own}
    return {"BACKEND": f"{backends}.locmem.LocMemCache", "LOCATION": own["KEY_PREFIX"], **own}


def drop_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {TABLE}")


def clean_redis(config: Mapping[str, Any]) -> None:
    if config["BACKEND"].endswith("RedisCache"):
        import redis

        with closing(redis.Redis.from_url(REDIS)) as client:
            for key in client.scan_iter(f"{config['KEY_PREFIX']}:*", count=1000):
                client.delete(key)


class Fake:
    """A cache in a dict, which notes what it is given and asked."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.given: list[tuple[str, Any, float]] = []
        self.asked = 0
        """How many keys were read or written."""
        self.questions = 0
        """How many times keys were read."""
        self.before: Callable[[], object] = lambda: None
        """Called before each key is read or written."""

    def get(self, key: str, default: Any = None) -> Any:
        self.questions += 1
        self._ask()
        return self.values.get(key, default)

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        self.questions += 1
        return {key: self.values[key] for key in keys if self._ask() or key in self.values}

    def set(self, key: str, value: Any, timeout: float) -> None:
        self._ask()
        self.given.append((key, value, timeout))
        self.values[key] = value

    def set_many(self, values: Mapping[str, Any], timeout: float) -> list[str]:
        for key, value in values.items():
            self.set(key, value, timeout)
        return []

    def add(self, key: str, value: Any, timeout: float) -> bool:
        if key in self.values:
            return False
        self.set(key, value, timeout)
        return True

    def delete(self, key: str) -> bool:
        self._ask()
        return self.values.pop(key, None) is not None

    def _ask(self) -> None:
        self.asked += 1
        self.before()


class Clock:
    """Stands for the module `time`; moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.25

    def time(self) -> float:
        return self.now

    monotonic = time


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def data_of(size: int, seed: int = 1) -> bytes:
    # No gzip, but as little to be packed.
    return random.Random(seed).randbytes(size)  # noqa: S311 - any bytes do


def ask_everything(cache: DocumentCache) -> list[Any]:
    """Return the answers to each question there is."""
    kept = put(cache, b"data")
    cache.note(NAME, kept)
    token = cache.claim(NAME)
    assert token
    cache.release(NAME, token)
    cache.look_again(["products", ""])
    answers = [*cache.find(NAME, "products"), cache.read(NAME, kept)]
    cache.forget(NAME)
    return answers
