"""Of all threads and processes that want a document, one renders it."""

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from cache_processes import LAST, NAME, ROUNDS, claims, disconnect, in_process, start, writes_and_reads
from cache_samples import (
    PROCESSES,
    Fake,
    clean_redis,
    config_of,
    drop_table,
    each_cache,
    in_a_database,
)
from sitemaps_plus.stores import cache as module
from sitemaps_plus.stores.cache import DocumentCache

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


@pytest.mark.parametrize("kind", ["locmem", "redis", "django-redis", "memcached", "file"])
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


each_shared_cache = pytest.mark.parametrize("kind", ["file", "redis", "django-redis", "memcached", in_a_database])


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
