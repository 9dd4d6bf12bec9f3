"""Whatever a cache does, a document comes out of it whole or not at all."""

import io
import itertools
import logging
import math
import os
import pickle
import string
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.core.cache.backends.base import memcache_key_warnings
from hypothesis import given
from hypothesis import strategies as st

from cache_processes import NAME, disconnect, put
from cache_samples import (
    REDIS,
    Clock,
    Fake,
    data_of,
    each_cache,
    in_a_database,
)
from sitemaps_plus.stores import cache as module
from sitemaps_plus.stores.cache import FORMAT, KEEP, PART, WARN_EVERY, DocumentCache, Kept, get_cache

# Keeping, finding and reading.


@each_cache
@pytest.mark.parametrize("size", [0, 1, PART, PART + 1, 3 * PART - 7])
def test_a_document_comes_back_as_it_was_kept(documents: DocumentCache, size: int) -> None:
    data = data_of(size)

    kept = put(documents, data)

    assert documents.find(NAME, "products") == (kept, 0.0)
    assert documents.read(NAME, kept) == data
    assert (kept.digest, kept.packed, kept.size) == (sha256(data).hexdigest(), size, 9)
    assert (kept.version, kept.changed_at) == ("as it is", -1.5)
    assert documents.find(f"{NAME}.gz", "products") == (None, 0.0)


@each_cache
@pytest.mark.parametrize("size", [5, PART + 5, 3 * PART])
def test_who_holds_the_version_before_gets_nothing_of_the_next_one(documents: DocumentCache, size: int) -> None:
    old = put(documents, data_of(2 * PART))

    new = put(documents, data_of(size, seed=2))

    assert documents.read(NAME, old) is None
    assert documents.find(NAME, "products")[0] == new
    assert documents.read(NAME, new) == data_of(size, seed=2)


@each_cache
def test_what_is_known_of_a_document_is_kept_without_its_bytes(documents: DocumentCache) -> None:
    kept = put(documents, b"data")

    documents.note(NAME, replace(kept, checked_at=kept.checked_at + 5, changed_at=None))

    found = documents.find(NAME, "products")[0]
    assert found == replace(kept, checked_at=kept.checked_at + 5, changed_at=None)
    assert documents.read(NAME, found) == b"data"


@each_cache
def test_a_forgotten_document_is_not_found(documents: DocumentCache) -> None:
    put(documents, b"data")

    documents.forget(NAME)

    assert documents.find(NAME, "products") == (None, 0.0)


def _take_away(values: dict[str, Any], first: str, second: str) -> None:
    del values[second]


def _swap(values: dict[str, Any], first: str, second: str) -> None:
    values[first], values[second] = values[second], values[first]


def _repeat(values: dict[str, Any], first: str, second: str) -> None:
    values[second] = values[first]


def _cut(values: dict[str, Any], first: str, second: str) -> None:
    values[second][2] = values[second][2][:-1]


def _lengthen(values: dict[str, Any], first: str, second: str) -> None:
    values[first][2] += b"!"


def _decode(values: dict[str, Any], first: str, second: str) -> None:
    values[second][2] = values[second][2].decode("latin-1")


def _of_another_version(values: dict[str, Any], first: str, second: str) -> None:
    values[second][0] = "0" * 16


def _of_an_earlier_release(values: dict[str, Any], first: str, second: str) -> None:
    token, at, data = values[second]
    values[second] = f"{token}:{at}:".encode() + data


def _without_bytes(values: dict[str, Any], first: str, second: str) -> None:
    del values[second][2]


_SPOILED = [_take_away, _swap, _repeat, _cut, _lengthen, _decode]
_SPOILED += [_of_another_version, _of_an_earlier_release, _without_bytes]


@pytest.mark.parametrize("spoil", _SPOILED)
def test_a_part_that_is_missing_or_mixed_up_is_a_miss(fake: Fake, spoil: Callable[..., None]) -> None:
    cache = DocumentCache("default")
    kept = put(cache, data_of(PART + 50))
    first, second = [key for key, _, _ in fake.given][:2]

    spoil(fake.values, first, second)

    assert cache.read(NAME, kept) is None


@given(data=st.data(), sizes=st.lists(st.integers(0, 9), min_size=2, max_size=4))
def test_however_writers_and_readers_mingle_a_reader_gets_a_whole_version_or_none(
    data: st.DataObject, sizes: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fake = Fake()
        patch.setattr(module, "caches", {"default": fake})
        patch.setattr(module, "PART", 3)
        cache = DocumentCache("default")
        versions, writers = {}, []
        for number, size in enumerate(sizes):
            content = bytes([65 + number]) * size
            fake.given.clear()
            versions[put(cache, content).token] = content
            writers.append(fake.given[:])

        def one_write() -> None:
            ready = [writer for writer in writers if writer]
            if ready:
                key, value, _ = data.draw(st.sampled_from(ready)).pop(0)
                fake.values[key] = value

        def some_writes() -> None:
            for _ in range(data.draw(st.integers(0, 3))):
                one_write()

        fake.before = some_writes
        for _ in range(3):
            kept, _looked = cache.find(NAME, "products")
            assert kept is not None
            assert cache.read(NAME, kept) in (None, versions[kept.token])

        fake.before = lambda: None
        while any(writers):
            one_write()
        last = put(cache, b"last version")
        assert cache.read(NAME, last) == b"last version"


@pytest.mark.parametrize("kind", ["locmem", "file", "redis", "django-redis", "memcached"])
def test_readers_never_get_other_bytes_while_a_document_is_replaced(
    documents: DocumentCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PART", 10)
    is_over, hits = threading.Event(), 0

    def write() -> None:
        for number in itertools.count():
            put(documents, bytes([65 + number % 26]) * (5 + number * 7 % 40))
            if is_over.is_set():
                break
        disconnect()

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write) for _ in range(2)]
        try:
            for _ in range(150):
                kept, _looked = documents.find(NAME, "products")
                data = kept and documents.read(NAME, kept)
                if kept and data is not None:
                    hits += 1
                    assert sha256(data).hexdigest() == kept.digest
        finally:
            is_over.set()
        for writer in writers:
            writer.result()

    assert module._warned == {}
    # Of two that wrote at once nothing whole may be left; the next one to render mends it.
    kept = put(documents, b"data")
    assert documents.read(NAME, kept) == b"data"


# What is sent.


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, name: str) -> Any:
        raise AssertionError(f"{module_name}.{name} is pickled")


def test_only_plain_values_are_sent_for_a_week_at_most(fake: Fake) -> None:
    cache = DocumentCache("default")

    kept = put(cache, data_of(PART + 1))
    cache.note(NAME, kept)
    cache.look_again(["products"])
    cache.claim(NAME)

    assert [timeout for _, _, timeout in fake.given] == [KEEP] * 5 + [module.CLAIM]
    assert KEEP == 7 * 24 * 60 * 60
    for _, value, _ in fake.given:
        assert PlainUnpickler(io.BytesIO(pickle.dumps(value))).load() == value


@given(
    name=st.text(st.characters(exclude_categories=["Cs"])), label=st.text(string.ascii_lowercase + "-_", max_size=100)
)
def test_all_keys_suit_memcached(name: str, label: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fake = Fake()
        patch.setattr(module, "caches", {"default": fake})
        patch.setattr(module, "PART", 10)
        cache = DocumentCache("default")

        put(cache, bytes(500), name)
        cache.claim(name)
        cache.look_again([label])

    assert len(fake.values) == 50 + 3
    for key in fake.values:
        # The prefix of a project may have 100 characters.
        assert list(memcache_key_warnings(f"{'p' * 100}:1:{key}")) == []


def test_values_are_as_small_as_memcached_wants_them(fake: Fake) -> None:
    put(DocumentCache("default"), bytes(10 * PART))

    assert max(len(pickle.dumps(value)) for _, value, _ in fake.given) < 1_000_000


def test_documents_have_keys_of_their_own(fake: Fake) -> None:
    names = [NAME, NAME.replace("products", "places"), NAME.replace("example.com", "example.org"), ""]
    cache = DocumentCache("default")

    kept = {name: put(cache, name.encode(), name) for name in names}

    for name, one in kept.items():
        assert cache.find(name, "products")[0] == one
        assert cache.read(name, one) == name.encode()


def test_the_prefix_and_the_version_of_the_projects_cache_are_kept(settings: Any) -> None:
    backend = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": uuid4().hex}
    settings.CACHES = {
        "default": {**backend, "KEY_PREFIX": "shop", "VERSION": 7},
        "other": {**backend, "KEY_PREFIX": "blog", "VERSION": 7},
        "next": {**backend, "KEY_PREFIX": "shop", "VERSION": 8},
    }
    kept = put(get_cache(), b"data")
    get_cache().look_again(["products"])

    for alias in ("other", "next"):
        assert DocumentCache(alias).find(NAME, "products") == (None, 0.0)
        assert DocumentCache(alias).read(NAME, kept) is None
    assert all(key.startswith("shop:7:sitemaps_plus:") for key in caches["default"]._cache)
    assert len(caches["default"]._cache) == 3


def test_the_cache_is_that_of_the_setting(settings: Any) -> None:
    backend = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {alias: {"BACKEND": backend, "LOCATION": uuid4().hex} for alias in ("default", "maps")}
    settings.SITEMAPS_PLUS = {"CACHE": "maps"}

    put(get_cache(), b"data")

    assert len(caches["maps"]._cache) == 2
    assert len(caches["default"]._cache) == 0


# What this release did not write.


KNOWN = asdict(
    Kept(
        token="0123456789abcdef",  # noqa: S106 - no secret
        digest="0" * 64,
        size=9,
        packed=4,
        version="",
        changed_at=1.5,
        checked_at=2.5,
        checksum=0,
        rendered_at=3.5,
        seconds=0.5,
    )
)


def stored(**changed: Any) -> list[Any]:
    """Return metadata as they are stored, with other values in some places."""
    values = {"format": FORMAT, **KNOWN, **changed}
    return list(values.values())


numbers_amiss = st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e300, -1, 10**15, True, "1"])
texts_amiss = st.sampled_from(["", "\ud800", "x\r\nSet-Cookie: a=b", "0" * 65, "g" * 64, b"0" * 64, "0" * 64 + "\n"])
garbage = st.recursive(
    st.integers() | st.floats() | st.text() | st.binary() | st.booleans(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner) | st.frozensets(st.text())
    ),
    max_leaves=5,
)
spoiled = st.one_of(
    garbage,
    st.integers(0, len(KNOWN)).map(lambda at: stored()[:at] + stored()[at + 1 :]),
    st.sampled_from(sorted(set(KNOWN) - {"changed_at"})).map(lambda name: stored(**{name: None})),
    st.builds(
        lambda name, value: stored(**{name: value}),
        st.sampled_from(["format", "size", "packed", "changed_at", "checked_at", "rendered_at"]),
        numbers_amiss,
    ),
    st.builds(lambda name, value: stored(**{name: value}), st.sampled_from(["token", "digest"]), texts_amiss),
    st.builds(lambda value: [*stored(), value], garbage),
    st.integers().filter(lambda number: number != FORMAT).map(lambda number: stored(format=number)),
    st.just({"format": 2, **KNOWN}),
    st.just(tuple(stored())),
)


def test_a_value_of_this_release_is_taken(fake: Fake) -> None:
    put(DocumentCache("default"), b"")
    fake.values[fake.given[-1][0]] = stored()

    kept, _ = DocumentCache("default").find(NAME, "products")

    assert kept is not None
    assert asdict(kept) == KNOWN


@given(value=spoiled)
def test_a_value_that_this_release_did_not_write_is_a_miss(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fake = Fake()
        patch.setattr(module, "caches", {"default": fake})
        cache = DocumentCache("default")
        put(cache, b"data")
        fake.values[fake.given[-1][0]] = value

        assert cache.find(NAME, "products") == (None, 0.0)

        kept = put(cache, b"data")
        assert cache.find(NAME, "products") == (kept, 0.0)


@pytest.mark.parametrize(
    "value",
    [stored(format=FORMAT + 1), stored(size="9"), stored(packed=10**15), "text", [], 0],
    ids=["format", "type", "number", "text", "list", "0"],
)
def test_a_value_that_this_release_did_not_write_is_warned_of_once_a_minute(
    fake: Fake, cache_clock: Clock, caplog: pytest.LogCaptureFixture, value: Any
) -> None:
    put(DocumentCache("default"), b"data")
    fake.values[fake.given[-1][0]] = value

    for _ in range(2 * WARN_EVERY):
        DocumentCache("default").find(NAME, "products")
        cache_clock.now += 1

    assert len(caplog.records) == 2
    assert caplog.records[0].levelno == logging.WARNING
    assert "a value that this release did not write" in caplog.text


@pytest.mark.parametrize("kind", ["redis", "django-redis", "file"])
def test_what_cannot_be_unpickled_is_replaced_by_the_next_rendering(
    documents: DocumentCache, config: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    other = put(documents, b"other", "other")
    if config["BACKEND"].endswith("RedisCache"):
        import redis

        with closing(redis.Redis.from_url(REDIS)) as client:
            client.set(caches["default"].make_key(module._key(NAME)), b"\x80\x05cnowhere\nNothing\n.")
    else:
        put(documents, b"data")
        path = Path(caches["default"]._key_to_file(module._key(NAME)))
        path.write_bytes(pickle.dumps(time.time() + 99) + b"no zlib")

    assert documents.find(NAME, "products") == (None, 0.0)

    assert len(caplog.records) == 1
    # The cache itself is well.
    assert documents.read("other", other) == b"other"
    kept = put(documents, b"new")
    assert documents.find(NAME, "products")[0] == kept


# Looking again.


@pytest.mark.parametrize("kind", ["locmem", "file", "redis", "django-redis", "memcached"])
def test_who_finds_a_document_hears_when_its_section_changed(documents: DocumentCache) -> None:
    kept = put(documents, b"data")
    before = time.time()

    documents.look_again(["products", ""])

    after = time.time()
    for label in ("products", ""):
        found, looked = documents.find(NAME, label)
        assert found == kept
        assert before < looked <= after + 1
    assert documents.find(NAME, "places") == (kept, 0.0)


def test_a_section_has_changed_until_the_second_is_over(fake: Fake, cache_clock: Clock) -> None:
    DocumentCache("default").look_again(["products"])

    assert cache_clock.now == 1_700_000_000.25
    assert DocumentCache("default").find(NAME, "products") == (None, 1_700_000_001.0)


@pytest.mark.parametrize("kind", [in_a_database])
def test_a_cache_in_a_database_is_not_asked_when_rows_are_saved(
    documents: DocumentCache, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        documents.look_again(["products", ""])

    assert documents.find(NAME, "products") == (None, 0.0)


@pytest.mark.parametrize(
    "value", ["soon", None, True, 1, b"", math.nan, math.inf, -math.inf, -1.0, 1e300, 1_700_000_000.0 + 3600], ids=repr
)
def test_a_moment_that_cannot_be_is_none(fake: Fake, cache_clock: Clock, value: Any) -> None:
    DocumentCache("default").look_again(["products"])
    fake.values[fake.given[-1][0]] = value

    assert DocumentCache("default").find(NAME, "products") == (None, 0.0)


@pytest.mark.parametrize("at", [0, 1000, -1])
def test_a_bit_that_has_turned_over_makes_a_miss(at: int) -> None:
    gzipped = os.urandom(3000)
    cache = get_cache()
    kept = cache.keep(
        "one", gzipped, digest="a" * 64, size=9, version="", changed_at=None, checked_at=1.0, rendered_at=1.0
    )
    (key,) = module._part_keys("one", 1)
    spoiled = bytearray(gzipped)
    spoiled[at] ^= 1

    caches["default"].set(key, [kept.token, 0, bytes(spoiled)])

    assert cache.read("one", kept) is None
    assert not cache.has("one", "")


# What a process remembers of a document that it has read.


@pytest.fixture
def checksums(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the lengths of the bytes of which a checksum was computed."""
    computed: list[int] = []

    def crc32(data: bytes) -> int:
        computed.append(len(data))
        return zlib.crc32(data)

    monkeypatch.setattr(module, "zlib", SimpleNamespace(crc32=crc32))
    return computed


def test_a_process_computes_the_checksum_of_a_version_once(
    fake: Fake, cache_clock: Clock, checksums: list[int]
) -> None:
    cache = DocumentCache("default")
    for size in (10, 20):
        kept = put(cache, data_of(size))
        checksums.clear()
        for _ in range(3):
            assert cache.find_all(NAME, "products") == (kept, 0.0, data_of(size))
            cache.note(NAME, replace(kept, checked_at=kept.checked_at + 5))
            cache.note(NAME, kept)
        assert checksums == [size]


def test_a_checksum_is_computed_again_after_a_while(fake: Fake, cache_clock: Clock, checksums: list[int]) -> None:
    cache = DocumentCache("default")
    kept = put(cache, data_of(10))
    assert cache.read(NAME, kept)
    fake.values[module._part_keys(NAME, 1)[0]][2] = data_of(10, seed=2)

    cache_clock.now += module.VERIFY_EVERY

    assert cache.read(NAME, kept) is None


def test_documents_and_caches_are_verified_each_on_its_own(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, checksums: list[int]
) -> None:
    monkeypatch.setattr(module, "caches", {"default": fake, "other": fake})
    for alias in ("default", "other"):
        for name in ("one", "two"):
            kept = put(DocumentCache(alias), b"data", name)
            checksums.clear()
            assert DocumentCache(alias).read(name, kept) == b"data"
            assert checksums == [4]


def test_a_process_remembers_a_limited_number_of_documents(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    cache = DocumentCache("default")

    for number in range(10):
        name = f"{NAME}{number}"
        assert cache.read(name, put(cache, b"data", name)) == b"data"
        assert 0 < len(module._reads) <= 3


@pytest.mark.parametrize("size", [0, 1, PART, PART + 1, 3 * PART])
def test_a_document_of_several_parts_is_asked_for_at_once(fake: Fake, size: int) -> None:
    cache = DocumentCache("default")
    kept = put(cache, data_of(size))
    assert cache.find_all(NAME, "products")[2] == data_of(size)
    before = fake.questions

    assert cache.find_all(NAME, "products") == (kept, 0.0, data_of(size))

    assert fake.questions == before + 1


@pytest.mark.parametrize("size", [1, 2 * PART, 5 * PART])
def test_a_document_that_has_another_number_of_parts_now_is_read(fake: Fake, size: int) -> None:
    cache = DocumentCache("default")
    put(cache, data_of(3 * PART))
    assert cache.has(NAME, "products")

    kept = put(cache, data_of(size))

    assert cache.find_all(NAME, "products") == (kept, 0.0, data_of(size))
