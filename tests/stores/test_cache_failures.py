"""A cache that fails, or keeps nothing, costs time and breaks nothing."""

import socket
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches

from cache_processes import NAME, disconnect, put
from cache_samples import (
    Clock,
    Fake,
    ask_everything,
    data_of,
    raising,
)
from sitemaps_plus.stores import cache as module
from sitemaps_plus.stores.cache import PART, REST, WARN_EVERY, DocumentCache, get_cache

# Caches that fail.


def test_a_cache_that_fails_breaks_nothing_and_is_warned_of_once_a_minute(
    fake: Fake, cache_clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    fake.before = raising(RuntimeError("out of order"))

    for _ in range(WARN_EVERY + 1):
        assert ask_everything(DocumentCache("default")) == [None, 0.0, None]
        cache_clock.now += 1

    assert len(caplog.records) == 2
    assert "The cache 'default' cannot be used for sitemaps" in caplog.text
    assert "RuntimeError: out of order" in caplog.text


@pytest.mark.parametrize("backend", ["no.such.Cache", "json.JSONDecoder"])
def test_a_cache_that_cannot_be_made_breaks_nothing(settings: Any, backend: str) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
        "maps": {"BACKEND": backend},
    }

    for alias in ("maps", "not in CACHES"):
        assert ask_everything(DocumentCache(alias)) == [None, 0.0, None]


def test_a_failure_that_comes_at_once_costs_the_cache_no_rest(fake: Fake, cache_clock: Clock) -> None:
    cache = DocumentCache("default")
    kept = put(cache, b"data")
    fake.before = raising(RuntimeError("this one value"))
    cache.find("another", "products")

    fake.before = lambda: None

    assert cache.read(NAME, kept) == b"data"


def test_the_first_part_that_cannot_be_kept_ends_the_keeping(fake: Fake) -> None:
    cache = DocumentCache("default")
    old = put(cache, b"old")
    fake.given.clear()
    fake.before = lambda: fake.asked == 4 and raising(RuntimeError("full"))()  # type: ignore[func-returns-value]

    put(cache, data_of(5 * PART))

    assert len(fake.given) == 1
    fake.before = lambda: None
    assert cache.find(NAME, "products")[0] == old
    assert cache.read(NAME, old) is None


class Slow:
    """Makes a cache fail after a time-out of two seconds."""

    def __init__(self, fake: Fake, cache_clock: Clock) -> None:
        self.fake, self.cache_clock = fake, cache_clock
        fake.before = self

    def __call__(self) -> None:
        self.cache_clock.now += 2
        raise TimeoutError("timed out")


def test_a_cache_that_times_out_is_not_asked_for_a_while(fake: Fake, cache_clock: Clock) -> None:
    cache = DocumentCache("default")
    Slow(fake, cache_clock)
    cache.find(NAME, "products")
    began = cache_clock.now

    while cache_clock.now < began + REST:
        assert ask_everything(cache) == [None, 0.0, None]
        cache_clock.now += 0.5
    assert fake.asked == 1

    cache.find(NAME, "products")
    assert fake.asked == 2
    cache.find(NAME, "products")
    assert fake.asked == 2


def test_one_request_alone_tries_whether_the_cache_is_well_again(fake: Fake, cache_clock: Clock) -> None:
    cache = DocumentCache("default")
    kept = put(cache, b"data")
    Slow(fake, cache_clock)
    cache.find(NAME, "products")
    cache_clock.now += REST
    seen = []

    def meanwhile() -> None:
        fake.before = lambda: None
        before = fake.asked
        seen.append((cache.read(NAME, kept), fake.asked - before))

    fake.before = meanwhile

    assert cache.find(NAME, "products")[0] == kept
    assert seen == [(None, 0)]
    assert cache.read(NAME, kept) == b"data"


def test_another_cache_is_asked_while_one_rests(monkeypatch: pytest.MonkeyPatch, cache_clock: Clock) -> None:
    resting, well = Fake(), Fake()
    monkeypatch.setattr(module, "caches", {"resting": resting, "well": well})
    Slow(resting, cache_clock)
    DocumentCache("resting").find(NAME, "products")

    kept = put(DocumentCache("well"), b"data")

    assert DocumentCache("well").read(NAME, kept) == b"data"


def test_a_cache_that_takes_the_place_of_another_is_asked_at_once(
    settings: Any, fake: Fake, cache_clock: Clock
) -> None:
    Slow(fake, cache_clock)
    DocumentCache("default").find(NAME, "products")

    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

    DocumentCache("default").find(NAME, "products")
    assert fake.asked == 2


def _silent_redis(address: str) -> dict[str, Any]:
    retry = pytest.importorskip("redis.retry")
    no_retry = retry.Retry(pytest.importorskip("redis.backoff").NoBackoff(), 0)
    options = {"socket_timeout": 0.2, "socket_connect_timeout": 0.2, "retry": no_retry}
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://{address}",
        "OPTIONS": options,
    }


def _silent_memcached(address: str) -> dict[str, Any]:
    pytest.importorskip("pymemcache")
    return {
        "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
        "LOCATION": address,
        "OPTIONS": {"timeout": 0.2, "connect_timeout": 0.2},
    }


def _silent_django_redis(address: str) -> dict[str, Any]:
    pytest.importorskip("django_redis")
    silent = _silent_redis(address)
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": silent["LOCATION"],
        "OPTIONS": {"CONNECTION_POOL_KWARGS": silent["OPTIONS"]},
    }


@pytest.mark.parametrize("config_for", [_silent_redis, _silent_django_redis, _silent_memcached])
def test_a_server_that_never_answers_costs_one_time_out(
    settings: Any, caplog: pytest.LogCaptureFixture, config_for: Callable[[str], dict[str, Any]]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.CACHES = {"default": config_for(f"127.0.0.1:{server.getsockname()[1]}")}
        began = time.monotonic()

        for _ in range(20):
            assert ask_everything(get_cache()) == [None, 0.0, None]

        assert time.monotonic() - began < 2
        disconnect()
    assert len(caplog.records) == 1


@pytest.mark.parametrize("kind", ["memcached"])
def test_a_value_that_memcached_refuses_is_a_miss_and_spoils_no_other(
    documents: DocumentCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = put(documents, b"other", "other")
    monkeypatch.setattr(module, "PART", 2_000_000)

    kept = put(documents, data_of(1_900_000))

    assert documents.find(NAME, "products") == (None, 0.0)
    assert documents.read(NAME, kept) is None
    assert documents.read("other", other) == b"other"


@pytest.mark.django_db(transaction=True)
def test_a_table_that_is_missing_breaks_nothing(settings: Any) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "no_such_table"}
    }

    assert ask_everything(get_cache()) == [None, 0.0, None]


# Caches that keep nothing.


def test_with_a_cache_that_keeps_nothing_everyone_renders(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
    cache = get_cache()

    kept = put(cache, b"data")

    assert cache.find(NAME, "products") == (None, 0.0)
    assert cache.read(NAME, kept) is None
    assert cache.claim(NAME) is not None
    assert cache.claim(NAME) is not None
    assert not caplog.records


def test_nobody_waits_for_a_claim_that_a_cache_hiding_its_errors_refuses(settings: Any) -> None:
    pytest.importorskip("pymemcache")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
            "LOCATION": address,
            "OPTIONS": {"ignore_exc": True},
        }
    }
    assert caches["default"].add("anything", "value") is False

    assert ask_everything(get_cache()) == [None, 0.0, None]
    assert get_cache().claim(NAME) is not None
    disconnect()


def test_a_cache_that_is_full_keeps_some_documents_whole(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART", 10)
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": uuid4().hex,
            "OPTIONS": {"MAX_ENTRIES": 20},
        }
    }
    names = [f"{NAME}{number}" for number in range(30)]

    for name in names:
        put(get_cache(), name.encode(), name)

    read = {}
    for name in names:
        kept, _ = get_cache().find(name, "products")
        read[name] = kept and get_cache().read(name, kept)
    assert {None} < set(read.values()) <= {None, *(name.encode() for name in names)}
    assert all(data in (None, name.encode()) for name, data in read.items())
