"""What processes do at the same time with a cache that they share; each of them can import this module."""

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import django
from django.core.cache import caches
from django.db import connections
from django.test import override_settings

from sitemaps_plus.stores import cache as module
from sitemaps_plus.stores.cache import PART, DocumentCache, Kept, get_cache

NAME = "https://example.com|1|/|products|1|xml"
ROUNDS = 8
LAST = b"the last one, in several parts"


def put(cache: DocumentCache, data: bytes, name: str = NAME) -> Kept:
    return cache.keep(
        name,
        data,
        digest=sha256(data).hexdigest(),
        size=9,
        version="as it is",
        changed_at=-1.5,
        checked_at=time.time(),
        rendered_at=time.time(),
    )


def disconnect() -> None:
    """Close what this thread's caches opened."""
    for cache in caches.all(initialized_only=True):
        cache.close()
        if hasattr(cache, "_cache") and hasattr(cache._cache, "_pools"):
            for pool in cache._cache._pools.values():
                pool.disconnect()


_barrier: Any = None


def start(barrier: Any) -> None:
    global _barrier
    _barrier = barrier
    django.setup()


def in_process(task: Callable[..., Any], config: dict[str, Any], database: dict[str, Any] | None, *args: Any) -> Any:
    if database:
        connections.databases["default"] = database
        connections["default"] = connections.create_connection("default")
    with override_settings(CACHES={"default": config}):
        try:
            return task(*args)
        finally:
            disconnect()
            connections.close_all()


def claims() -> list[bool]:
    got = []
    for number in range(ROUNDS):
        _barrier.wait(20)
        got.append(get_cache().claim(f"{NAME}{number}") is not None)
    return got


def writes_and_reads(seed: int) -> bytes | None:
    """Replace a document and read it, at the same time as others, then when only one has; return what is there then."""
    module.PART = 10
    _barrier.wait(20)
    for number in range(8):
        put(get_cache(), bytes([65 + seed]) * (5 + (seed + number) * 7 % 40))
        _read()
    _barrier.wait(20)
    if seed == 0:
        put(get_cache(), LAST)
    _barrier.wait(20)
    last = _read()
    module.PART = PART
    return last


def _read() -> bytes | None:
    kept, _looked = get_cache().find(NAME, "products")
    data = kept and get_cache().read(NAME, kept)
    # Parts of two documents are none.
    assert not kept or data is None or sha256(data).hexdigest() == kept.digest
    return data
