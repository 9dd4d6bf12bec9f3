"""Crawlers that read an index and then its pages miss no row, while rows come and go and pages are split.

``CRAWLS=100`` crawls that often with each cache, Redis included; without it a few times, with two of them.
"""

import http.client
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.test import override_settings
from django.utils import timezone

from cache_processes import disconnect
from cache_samples import clean_redis, config_of
from crawls.rows import Rows
from databases import shared_database
from samples import SITE
from sitemaps_plus import register
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan import holds
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from testapp.models import Product

CRAWLS = int(os.environ.get("CRAWLS", "0"))
ENOUGH = CRAWLS or 5
"""Crawls whose index was the same before and after."""

CHECK_EVERY = 2.0
MARGIN = 4.0
"""Seconds beside CHECK_EVERY for which a page is held: nobody dies here."""

STALE = CHECK_EVERY + 2.0
"""Seconds that a row has to be there before a crawl: a page may be as old as that."""

CRAWLERS = 4
ROWS = 200

pytestmark = pytest.mark.django_db(transaction=True)


class Table:
    """Rows, and when each came and went."""

    def __init__(self) -> None:
        self.came: dict[int, float] = {}
        self.went: dict[int, float] = {}

    def insert(self, keys: list[int], *, one_by_one: bool = False) -> None:
        now = timezone.now()
        rows = [Product(pk=key, name="x", slug=str(key), updated_at=now) for key in keys]
        if one_by_one:
            for row in rows:
                row.save(force_insert=True)
        else:
            Product.objects.bulk_create(rows)
        self.came.update(dict.fromkeys(keys, time.monotonic()))

    def delete(self, keys: list[int]) -> None:
        self.went.update(dict.fromkeys(keys, time.monotonic()))
        Product.objects.filter(pk__in=keys)._raw_delete("default")

    def there(self) -> list[int]:
        return sorted(self.came.keys() - self.went.keys())

    def during(self, began: float, ended: float) -> set[int]:
        """Return the rows that were there all the time, and a while before."""
        came, went = dict(self.came), dict(self.went)
        return {key for key, moment in came.items() if moment <= began - STALE and went.get(key, ended + 1) > ended}


@dataclass
class Result:
    crawls: int = 0
    """Whose index was the same before and after."""
    others: int = 0
    missed: list[int] = field(default_factory=list)
    """How many rows each crawl missed that missed any."""
    statuses: dict[int, int] = field(default_factory=dict)
    """How many answers had each status."""
    problems: list[str] = field(default_factory=list)


def write(table: Table, draw: random.Random, stop: threading.Event) -> None:
    """Insert rows side by side, so that pages are split, delete others, and change some; divide all again at times."""
    for turn in range(100_000):
        if stop.wait(0.1):
            return
        keys = table.there()
        # Pages that lost all of their rows get some again.
        at = draw.choice(keys if draw.random() < 0.8 or not table.went else list(table.went))
        room = [key for key in range(at + 1, at + draw.randrange(5, 25)) if key not in table.came]
        table.insert(room, one_by_one=draw.random() < 0.1)
        if len(keys) > ROWS:
            first = draw.randrange(len(keys))
            table.delete(keys[first : first + draw.randrange(1, 30)])
        Product.objects.filter(pk__in=draw.sample(keys, 3)).update(updated_at=timezone.now())
        if turn % 150 == 120:
            refresh(get_section("rows", SITE), repack=True)


class Crawler:
    """Reads an index and its pages, each from one of the processes."""

    def __init__(self, table: Table, ports: list[int], result: Result, seed: int) -> None:
        self.table, self.ports, self.result = table, ports, result
        self.draw = random.Random(seed)  # noqa: S311 - anything will do

    def work(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self.crawl()
            except Exception as error:
                self.result.problems.append(repr(error))
                return

    def crawl(self) -> None:
        indexes = self.draw.choice(self.ports)
        began = time.monotonic()
        before = self.read(indexes, "/sitemap.xml")
        found: set[int] = set()
        read: dict[str, Any] = {}
        paths = re.findall(rb"<loc>https://example.com(/[^<]*)</loc>", before)
        pause = self.draw.uniform(0.05, 0.4) * CHECK_EVERY / max(1, len(paths))
        for path in paths:
            time.sleep(pause)
            page = self.read(self.draw.choice(self.ports), path.decode())
            read[path.decode()] = rows = set(map(int, re.findall(rb"<loc>https://example.com/(\d+)/</loc>", page)))
            found |= rows
        if self.read(indexes, "/sitemap.xml") != before:
            self.result.others += 1
            return
        missing = self.table.during(began, time.monotonic()) - found
        self.result.crawls += 1
        if missing:
            self.result.missed.append(len(missing))

    def read(self, port: int, path: str) -> bytes:
        for _ in range(20):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            with suppress(ConnectionResetError):
                client.request("GET", path, headers={"Host": "example.com"})
                response = client.getresponse()
                body, status = response.read(), response.status
                client.close()
                self.result.statuses[status] = self.result.statuses.get(status, 0) + 1
                if status in (200, 404, 410):
                    return body if status == 200 else b""
                if status != 503:
                    raise AssertionError(f"{path} answers {status}")
            time.sleep(0.1)
        raise AssertionError(f"{path} is not there")


@contextmanager
def serving(database: str, cache: dict[str, Any]) -> Iterator[int]:
    """Yield the port of a process that serves the project."""
    environment = {
        **os.environ,
        "DATABASE_URL": database,
        "DJANGO_SETTINGS_MODULE": "crawls.settings",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
        "CRAWLS_CACHE": json.dumps(cache),
        "CRAWLS_CHECK_EVERY": str(CHECK_EVERY),
        "CRAWLS_MARGIN": str(MARGIN),
    }
    command = [sys.executable, "-m", "crawls.server"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        yield int(process.stdout.readline())
        process.stdin.close()


def crawl_while_rows_change(folder: Path, cache: dict[str, Any], seconds: float) -> Result:
    table, result, stop = Table(), Result(), threading.Event()
    options = {"init_command": "PRAGMA synchronous=OFF", "timeout": 20} if connection.vendor == "sqlite" else {}
    threads: list[Any] = []
    with shared_database(folder, SitemapPage, Product, **options) as database:
        table.insert([number * 1000 for number in range(1, ROWS + 1)])
        refresh(get_section("rows", SITE))
        with (
            serving(database, cache) as one,
            serving(database, cache) as other,
            ThreadPoolExecutor(CRAWLERS + 1) as pool,
        ):
            time.sleep(STALE)
            # Of the order of threads nothing is known, of what each of them does the more.
            threads = [pool.submit(closing, write, table, random.Random(1), stop)]  # noqa: S311
            crawlers = [Crawler(table, [one, other], result, seed) for seed in range(CRAWLERS)]
            threads += [pool.submit(crawler.work, stop) for crawler in crawlers]
            until = time.monotonic() + seconds
            while time.monotonic() < until and result.crawls < ENOUGH and not result.problems:
                time.sleep(0.1)
            stop.set()
    for thread in threads:
        thread.result()
    print(result)
    return result


def closing(task: Any, *args: Any) -> None:
    try:
        task(*args)
    finally:
        connections.close_all()


@pytest.mark.parametrize(
    "kind",
    [
        "locmem",
        "file",
        pytest.param("redis", marks=pytest.mark.skipif(not CRAWLS, reason="only in the long run")),
    ],
)
def test_an_index_that_is_the_same_before_and_after_a_crawl_led_to_every_row(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(holds, "MARGIN", MARGIN)
    register("rows", Rows)
    cache = config_of(kind, tmp_path)
    known = {"ORIGIN": "https://example.com", "CHECK_EVERY": CHECK_EVERY}
    try:
        with override_settings(CACHES={"default": cache}, SITEMAPS_PLUS=known):
            result = crawl_while_rows_change(tmp_path, cache, seconds=20 * ENOUGH if CRAWLS else 5)
    finally:
        disconnect()
        clean_redis(cache)

    assert result.problems == []
    # On a busy machine a short run may see the index move each time.
    assert result.crawls >= CRAWLS
    assert result.crawls + result.others > 0
    assert result.missed == []
