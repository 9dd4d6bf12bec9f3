"""Whatever a cache does, a document comes out of it whole or not at all, and nothing fails."""

import io
import itertools
import logging
import math
import multiprocessing
import os
import pickle
import random
import socket
import string
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.core.cache.backends.base import memcache_key_warnings
from django.core.management import call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from cache_processes import LAST, NAME, ROUNDS, claims, disconnect, in_process, put, start, writes_and_reads
from sitemaps_plus.stores import cache as module
from sitemaps_plus.stores.cache import FORMAT, KEEP, PART, REST, WARN_EVERY, DocumentCache, Kept, get_cache

REDIS = os.environ.get("CACHE_URL", "redis://127.0.0.1:6379/0")
MEMCACHED = os.environ.get("MEMCACHED_URL", "memcached://127.0.0.1:11211")

TABLE = "documents_in_a_test"
PROCESSES = 3

in_a_database = pytest.param("database", marks=pytest.mark.django_db(transaction=True))
each_cache = pytest.mark.parametrize("kind", ["locmem", "file", "redis", "memcached", in_a_database])


# The caches.


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


@pytest.fixture
def config(kind: str, settings: Any, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Give a real cache, empty and the project's default."""
    made = config_of(kind, tmp_path)
    settings.CACHES = {"default": made}
    if kind == "database":
        call_command("createcachetable", verbosity=0)
    yield made
    disconnect()
    clean_redis(made)
    if kind == "database":
        drop_table()


@pytest.fixture
def documents(config: dict[str, Any]) -> DocumentCache:
    return get_cache()


@pytest.fixture(autouse=True)
def _nothing_known_of_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_resting", {})
    monkeypatch.setattr(module, "_warned", {})


class Fake:
    """A cache in a dict, which notes what it is given and asked."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.given: list[tuple[str, Any, float]] = []
        self.asked = 0
        self.before: Callable[[], object] = lambda: None
        """Called before each key is read or written."""

    def get(self, key: str, default: Any = None) -> Any:
        self._ask()
        return self.values.get(key, default)

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
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


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(module, "caches", {"default": made})
    return made


class Clock:
    """Stands for the module `time`; moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.25

    def time(self) -> float:
        return self.now

    monotonic = time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


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


# Keeping, finding and reading.


@each_cache
@pytest.mark.parametrize("size", [0, 1, PART, PART + 1, 3 * PART - 7])
def test_a_document_comes_back_as_it_was_kept(documents: DocumentCache, size: int) -> None:
    data = data_of(size)

    kept = put(documents, data)

    assert documents.find(NAME, "products") == (kept, 0.0)
    assert documents.read(NAME, kept) == data
    assert (kept.digest, kept.packed, kept.size) == (sha256(data).hexdigest(), size, 9)
    assert (kept.state, kept.changed_at) == ("as it is", -1.5)
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
    values[second] = values[second][:-1]


def _lengthen(values: dict[str, Any], first: str, second: str) -> None:
    values[first] += b"!"


def _decode(values: dict[str, Any], first: str, second: str) -> None:
    values[second] = values[second].decode("latin-1")


def _of_another_version(values: dict[str, Any], first: str, second: str) -> None:
    values[second] = b"0" * 16 + values[second][16:]


@pytest.mark.parametrize("spoil", [_take_away, _swap, _repeat, _cut, _lengthen, _decode, _of_another_version])
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


@pytest.mark.parametrize("kind", ["locmem", "file", "redis", "memcached"])
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

    assert max(len(value) for _, value, _ in fake.given) < 1_000_000


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


def known() -> dict[str, Any]:
    kept = Kept(
        token="0123456789abcdef",  # noqa: S106 - no secret
        digest="0" * 64,
        size=9,
        packed=4,
        state="",
        changed_at=1.5,
        checked_at=2.5,
        checksum=0,
        rendered_at=3.5,
    )
    return {"format": FORMAT, **asdict(kept)}


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
    st.sampled_from(sorted(known())).map(lambda name: {key: value for key, value in known().items() if key != name}),
    st.builds(lambda name: {**known(), name: None}, st.sampled_from(sorted(set(known()) - {"changed_at"}))),
    st.builds(
        lambda name, value: {**known(), name: value},
        st.sampled_from(["format", "size", "packed", "changed_at", "checked_at", "rendered_at"]),
        numbers_amiss,
    ),
    st.builds(lambda name, value: {**known(), name: value}, st.sampled_from(["token", "digest"]), texts_amiss),
    st.builds(lambda value: {**known(), "one more": value}, garbage),
    st.integers().filter(lambda number: number != FORMAT).map(lambda number: {**known(), "format": number}),
)


def test_a_value_of_this_release_is_taken(fake: Fake) -> None:
    put(DocumentCache("default"), b"")
    fake.values[fake.given[-1][0]] = known()

    kept, _ = DocumentCache("default").find(NAME, "products")

    assert kept is not None
    assert {"format": FORMAT, **asdict(kept)} == known()


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
    [{**known(), "format": FORMAT + 1}, {**known(), "size": "9"}, {**known(), "packed": 10**15}, "text", [], 0],
    ids=["format", "type", "number", "text", "list", "0"],
)
def test_a_value_that_this_release_did_not_write_is_warned_of_once_a_minute(
    fake: Fake, clock: Clock, caplog: pytest.LogCaptureFixture, value: Any
) -> None:
    put(DocumentCache("default"), b"data")
    fake.values[fake.given[-1][0]] = value

    for _ in range(2 * WARN_EVERY):
        DocumentCache("default").find(NAME, "products")
        clock.now += 1

    assert len(caplog.records) == 2
    assert caplog.records[0].levelno == logging.WARNING
    assert "a value that this release did not write" in caplog.text


@pytest.mark.parametrize("kind", ["redis", "file"])
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


# Caches that fail.


def test_a_cache_that_fails_breaks_nothing_and_is_warned_of_once_a_minute(
    fake: Fake, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    fake.before = raising(RuntimeError("out of order"))

    for _ in range(WARN_EVERY + 1):
        assert ask_everything(DocumentCache("default")) == [None, 0.0, None]
        clock.now += 1

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


def test_a_failure_that_comes_at_once_costs_the_cache_no_rest(fake: Fake, clock: Clock) -> None:
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

    def __init__(self, fake: Fake, clock: Clock) -> None:
        self.fake, self.clock = fake, clock
        fake.before = self

    def __call__(self) -> None:
        self.clock.now += 2
        raise TimeoutError("timed out")


def test_a_cache_that_times_out_is_not_asked_for_a_while(fake: Fake, clock: Clock) -> None:
    cache = DocumentCache("default")
    Slow(fake, clock)
    cache.find(NAME, "products")
    began = clock.now

    while clock.now < began + REST:
        assert ask_everything(cache) == [None, 0.0, None]
        clock.now += 0.5
    assert fake.asked == 1

    cache.find(NAME, "products")
    assert fake.asked == 2
    cache.find(NAME, "products")
    assert fake.asked == 2


def test_one_request_alone_tries_whether_the_cache_is_well_again(fake: Fake, clock: Clock) -> None:
    cache = DocumentCache("default")
    kept = put(cache, b"data")
    Slow(fake, clock)
    cache.find(NAME, "products")
    clock.now += REST
    seen = []

    def meanwhile() -> None:
        fake.before = lambda: None
        before = fake.asked
        seen.append((cache.read(NAME, kept), fake.asked - before))

    fake.before = meanwhile

    assert cache.find(NAME, "products")[0] == kept
    assert seen == [(None, 0)]
    assert cache.read(NAME, kept) == b"data"


def test_another_cache_is_asked_while_one_rests(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    resting, well = Fake(), Fake()
    monkeypatch.setattr(module, "caches", {"resting": resting, "well": well})
    Slow(resting, clock)
    DocumentCache("resting").find(NAME, "products")

    kept = put(DocumentCache("well"), b"data")

    assert DocumentCache("well").read(NAME, kept) == b"data"


def test_a_cache_that_takes_the_place_of_another_is_asked_at_once(settings: Any, fake: Fake, clock: Clock) -> None:
    Slow(fake, clock)
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


@pytest.mark.parametrize("config_for", [_silent_redis, _silent_memcached])
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


# One that renders.


@each_cache
def test_a_claim_is_for_one_until_it_is_released(documents: DocumentCache) -> None:
    token = documents.claim(NAME)
    assert token
    assert documents.claim(NAME) is None
    assert documents.claim("another") is not None

    documents.release(NAME, token)

    assert documents.claim(NAME) not in (None, token)


@each_cache
def test_who_holds_no_claim_releases_none(documents: DocumentCache) -> None:
    documents.release(NAME, "0" * 16)
    documents.claim(NAME)

    documents.release(NAME, "0" * 16)

    assert documents.claim(NAME) is None


def _until_claimed(caches_now: Sequence[DocumentCache]) -> None:
    deadline = time.monotonic() + 5
    for cache in caches_now:
        while cache.claim(NAME) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_claim_runs_out_and_its_holder_then_releases_nothing(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLAIM", 1)
    settings.CACHES = configs = {kind: config_of(kind, tmp_path) for kind in ("locmem", "file", "redis", "memcached")}
    tokens = {kind: DocumentCache(kind).claim(NAME) for kind in configs}
    assert [DocumentCache(kind).claim(NAME) for kind in configs] == [None] * 4
    monkeypatch.setattr(module, "CLAIM", 60)

    _until_claimed([DocumentCache(kind) for kind in configs])

    for kind, token in tokens.items():
        assert token
        DocumentCache(kind).release(NAME, token)
        assert DocumentCache(kind).claim(NAME) is None
    disconnect()
    clean_redis(configs["redis"])


def test_of_two_that_a_cache_lets_claim_the_last_one_renders(fake: Fake) -> None:
    def add_and_be_overwritten(key: str, value: Any, timeout: float) -> bool:
        fake.values[key] = "of the last one"
        return True

    fake.add = add_and_be_overwritten  # type: ignore[method-assign]

    assert DocumentCache("default").claim(NAME) is None


@pytest.mark.parametrize("kind", [in_a_database])
def test_a_claim_in_a_database_runs_out(documents: DocumentCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLAIM", 1)
    assert documents.claim(NAME)

    _until_claimed([documents])


@pytest.mark.parametrize("kind", ["locmem", "redis", "memcached", "file"])
def test_of_threads_that_ask_at_once_one_gets_the_claim(documents: DocumentCache, config: dict[str, Any]) -> None:
    barrier = threading.Barrier(4)

    def claim() -> list[bool]:
        got = []
        for number in range(ROUNDS):
            barrier.wait(10)
            got.append(documents.claim(f"{NAME}{number}") is not None)
        disconnect()
        return got

    with ThreadPoolExecutor(4) as pool:
        rounds = list(zip(*[done.result() for done in [pool.submit(claim) for _ in range(4)]], strict=True))

    _assert_one_each(rounds, config)


def _assert_one_each(rounds: Sequence[Sequence[bool]], config: Mapping[str, Any]) -> None:
    winners = [sum(one) for one in rounds]
    assert len(winners) == ROUNDS
    if config["BACKEND"].endswith("FileBasedCache"):
        # It looks first and writes then: a page may be rendered twice, but not by nobody.
        assert min(winners) >= 1
    else:
        assert winners == [1] * ROUNDS


# Several processes.


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=start, initargs=(barrier,)) as pool:
        yield pool


def _in_all(
    pool: ProcessPoolExecutor, kind: str, folder: Path, task: Callable[..., Any], args: Sequence[tuple[Any, ...]]
) -> tuple[dict[str, Any], list[Any]]:
    """Return a cache's config, and what each process gives that uses it."""
    config, database = config_of(kind, folder), None
    if kind == "database":
        database = dict(connection.settings_dict)
        if connection.vendor == "sqlite":
            database["NAME"] = str(folder / "shared.sqlite3")
        pool.submit(in_process, call_command, config, database, "createcachetable", "--verbosity=0").result(60)
    try:
        started = [pool.submit(in_process, task, config, database, *one) for one in args]
        return config, [done.result(60) for done in started]
    finally:
        clean_redis(config)
        if kind == "database" and connection.vendor != "sqlite":
            drop_table()


each_shared_cache = pytest.mark.parametrize("kind", ["file", "redis", "memcached", in_a_database])


@each_shared_cache
def test_of_processes_that_ask_at_once_one_gets_the_claim(
    kind: str, processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    config, got = _in_all(processes, kind, tmp_path, claims, [()] * PROCESSES)

    _assert_one_each(list(zip(*got, strict=True)), config)


@each_shared_cache
def test_processes_that_replace_a_document_never_read_other_bytes(
    kind: str, processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    _config, found = _in_all(processes, kind, tmp_path, writes_and_reads, [(seed,) for seed in range(PROCESSES)])

    assert found == [LAST] * PROCESSES


# Looking again.


@pytest.mark.parametrize("kind", ["locmem", "file", "redis", "memcached"])
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


def test_a_section_has_changed_until_the_second_is_over(fake: Fake, clock: Clock) -> None:
    DocumentCache("default").look_again(["products"])

    assert clock.now == 1_700_000_000.25
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
def test_a_moment_that_cannot_be_is_none(fake: Fake, clock: Clock, value: Any) -> None:
    DocumentCache("default").look_again(["products"])
    fake.values[fake.given[-1][0]] = value

    assert DocumentCache("default").find(NAME, "products") == (None, 0.0)


@pytest.mark.parametrize("at", [0, 1000, -1])
def test_a_bit_that_has_turned_over_makes_a_miss(at: int) -> None:
    gzipped = os.urandom(3000)
    cache = get_cache()
    kept = cache.keep("one", gzipped, digest="a" * 64, size=9, state="", changed_at=None, checked_at=1.0)
    assert cache.has("one", "")
    (key,) = module._part_keys("one", kept.packed)
    head = module._head(kept.token, 0)
    spoiled = bytearray(gzipped)
    spoiled[at] ^= 1

    caches["default"].set(key, head + bytes(spoiled))

    assert cache.read("one", kept) is None
    assert not cache.has("one", "")
