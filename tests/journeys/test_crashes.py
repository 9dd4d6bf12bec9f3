"""Whatever ends a build, and whenever: what crawlers read is whole, nothing is lost, and the next build completes it.

``CRASHES=300`` draws so many moments for SIGKILL while rows change, and makes all other trials longer. Without it there
is one short trial of each kind that differs between databases. ``CRASHES_SEED`` draws the same moments again.
"""

import gzip
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.db import DatabaseError, connection

from crashes.builder import KINDS
from crashes.crawler import Published, readers
from crashes.driver import Builder, is_group_alive, states_of, wait_for
from crashes.rows import Table
from databases import shared_database
from sitemaps_plus.models import Build, SitemapPage
from testapp.models import Article, Product

if not hasattr(os, "fork"):
    pytest.skip("there is no fork on this system", allow_module_level=True)

pytestmark = pytest.mark.django_db(transaction=True)

CRASHES = int(os.environ.get("CRASHES", "0"))
"""How many builds are killed while rows change; a few where nobody says."""

long = pytest.mark.skipif(not CRASHES, reason="CRASHES says how many builds are killed")
"""What the tox environment ``crashes`` runs, and what is the same with each database and each version."""

ROWS = 150 if CRASHES else 60

LOCKED = 75


@pytest.fixture(scope="module", autouse=True)
def seed() -> int:
    """Say how to draw the same moments again; pytest shows it beside a failure."""
    return int(os.environ.get("CRASHES_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)


@pytest.fixture
def draw(seed: int) -> random.Random:
    print(f"CRASHES_SEED={seed}")
    return random.Random(seed)  # noqa: S311 - drawn again on purpose


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    models = SitemapPage, Build, Product, Article, Site
    with shared_database(tmp_path, *models, init_command="PRAGMA synchronous=OFF", timeout=20) as address:
        yield address


@pytest.fixture
def table(database: str, draw: random.Random) -> Table:
    return Table(draw, ROWS)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def builder(database: str, tmp_path: Path, files: Path, table: Table) -> Iterator[Builder]:
    # A fork has its own connections, and this process must not keep a transaction open.
    builder = Builder(database, tmp_path, files)
    yield builder
    builder.close()


@pytest.fixture
def published(files: Path, table: Table) -> Published:
    return Published(files, table)


def expire() -> None:
    """Let the lease of a build that was killed be over, as if five minutes had gone."""
    Build.objects.filter(lease__isnull=False).update(expires_at=datetime(2020, 1, 1, tzinfo=UTC))


def complete(builder: Builder, published: Published, tmp_path: Path) -> None:
    """Fail unless one undisturbed build gives what a full one gives into an empty folder, and a second one nothing."""
    expire()
    assert builder.run().status == 0
    assert published.differences() == []

    assert builder.run("--prune").status == 0
    assert builder.run("--full", files=str(tmp_path / "fresh")).status == 0
    ours, fresh = published.files(), published.files(tmp_path / "fresh")
    assert sorted(ours) == sorted(fresh)
    assert [name for name in ours if without_dates(name, ours[name]) != without_dates(name, fresh[name])] == []
    assert not [path for path in builder.staging.rglob("*") if path.is_file()]

    before = published.times()
    again = builder.run()
    assert (again.status, again.report["complete"]) == (0, True)
    # Windows are rendered each time, and small pages are verified in passing.
    assert {one["label"] for one in again.report["sections"] if one["rendered"] > one["verified"]} <= {"news"}
    assert again.done[1] == 0
    assert published.times() == before


def without_dates(name: str, data: bytes) -> bytes:
    """Return an index without what tells when a page was seen to differ; all other files as they are."""
    if not re.fullmatch(r".*/sitemap(-[a-z-]+)?\.xml(\.gz)?", name):
        return data
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return re.sub(rb"<lastmod>[^<]*</lastmod>", b"", text)


# Killed


@pytest.mark.parametrize("when", ["meanwhile", pytest.param("between", marks=long)])
def test_a_build_that_is_killed_at_any_moment_leaves_a_whole_set(
    builder: Builder, published: Published, table: Table, draw: random.Random, tmp_path: Path, when: str
) -> None:
    """Rows change while builds run and are killed, or only between two builds."""
    elsewhere = str(tmp_path / "elsewhere")
    # No page is right only because it was due to be verified.
    how: dict[str, Any] = {"verifies": False, "quick": True}
    if connection.vendor == "sqlite":
        how["database"] = {"OPTIONS": {"init_command": "PRAGMA synchronous=OFF", "timeout": 20}}
    kinds: dict[tuple[str, ...], float] = {(): 12, ("--full",): 2, ("--repack",): 2, ("rows", "news"): 2}
    if CRASHES:
        kinds["--workers", "2"] = 1
    durations = {}
    for args in (("--full",), *kinds):
        table.change()
        durations[args] = builder.run(*args, files=elsewhere, **how).seconds
    wanted = (CRASHES if when == "meanwhile" else CRASHES // 3) or 5
    killed = tries = 0

    def run(args: tuple[str, ...] = (), *, is_killed: bool = False) -> bool:
        """Return whether a build was completed."""
        mark = table.mark()
        build = builder.start(*args, **how)
        if is_killed:
            time.sleep(draw.uniform(0, durations[args]))
            os.kill(build, signal.SIGKILL)
        ended = builder.wait(build)
        assert ended.status in ((0, -signal.SIGKILL) if is_killed else (0,)), ended.said
        published.check()
        if ended.status == 0 and not args:
            published.since = mark
        expire()
        return ended.status == 0

    with readers(published, 1):
        while killed < wanted:
            with table.changing() if when == "meanwhile" else nullcontext():
                for _ in range(draw.randrange(1, 6)):
                    tries += 1
                    assert tries < 4 * wanted + 20, "most builds end before they are killed"
                    args = ("--full",) if tries <= wanted // 20 else draw.choices(list(kinds), list(kinds.values()))[0]
                    killed += not run(args, is_killed=True)
                    if when == "between":
                        table.change()
                run()
            run()
            assert published.differences() == [], f"after {killed} kills"
            run(("--check",))

    complete(builder, published, tmp_path)


@long
def test_each_kind_of_step_of_a_build_can_be_its_last(
    builder: Builder, published: Published, table: Table, tmp_path: Path
) -> None:
    # Nobody reads meanwhile, and each build removes at once what the ones before have retired.
    how = {"settings_": {"GRACE_PERIOD": 0}}
    args = ("rows", "media", "--site", "1")
    assert builder.run(*args, **how).status == 0
    table.change()

    for at in KINDS:
        killed = False
        for _ in range(20):
            for _ in range(2):
                table.change()
            ended = builder.run(*args, at=at, **how)
            published.check()
            expire()
            killed = ended.status == -signal.SIGKILL
            assert killed or ended.status == 0, ended.said
            if killed:
                break
        assert killed, f"no build has a step of the kind {at!r}"

    complete(builder, published, tmp_path)


# Stopped


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)][: 2 if CRASHES else 1])
def test_a_build_that_is_stopped_ends_between_two_pages_and_gives_its_lease_back(
    builder: Builder, published: Published, table: Table, draw: random.Random, tmp_path: Path, sent: int, status: int
) -> None:
    assert builder.run().status == 0
    steps = len(builder.run("--full", at=0).steps)

    with readers(published):
        for at in sorted(draw.sample(range(1, steps), 12 if CRASHES else 2)):
            table.change()
            ended = builder.run("--full", at=at, send=int(sent))
            published.check()
            if ended.status == 0:
                # The last page was published by then.
                assert published.differences() == []
            else:
                assert (ended.status, ended.report["stopped"]) == (status, True), ended.said
                assert "Its published files are complete" in ended.said
            assert not Build.objects.filter(lease__isnull=False).exists()

    complete(builder, published, tmp_path)


@long
def test_a_build_that_is_stopped_before_it_began_has_done_nothing(builder: Builder, published: Published) -> None:
    build = builder.start()
    os.kill(build, signal.SIGTERM)

    ended = builder.wait(build)

    assert ended.status in (143, -signal.SIGTERM)
    assert builder.run().status == 0
    assert published.differences() == []


# On a full disk


@pytest.fixture(params=["tmpfs", "quota"])
def fill(request: pytest.FixtureRequest, files: Path, builder: Builder, tmp_path: Path) -> Iterator[Any]:
    """Give what leaves so many bytes of a disk free, and returns what a build has to be told of that."""
    if request.param == "quota":
        yield lambda free: {} if free is None else {"room": size_of(files) + free}
        return
    files.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(files)]
    try:
        is_mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    if not is_mounted:
        pytest.skip("this user may not mount a file system")
    ballast = files / "ballast"

    def leave(free: int | None) -> dict[str, Any]:
        ballast.unlink(missing_ok=True)
        if free is not None:
            found = os.statvfs(files)
            ballast.write_bytes(bytes(max(0, found.f_bavail * found.f_frsize - free)))
        return {}

    yield leave
    subprocess.run(["umount", "--lazy", str(files)], check=True)  # noqa: S607


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@long
def test_a_full_disk_leaves_a_whole_set_and_is_reported(
    builder: Builder, published: Published, table: Table, draw: random.Random, tmp_path: Path, fill: Any
) -> None:
    assert builder.run().status == 0
    published.check()
    failed = 0

    with readers(published):
        for number in range(12 if CRASHES else 3):
            for _ in range(2):
                table.change()
            how = fill(0 if number == 0 else draw.randrange(0, 120_000))
            ended = builder.run(*draw.choice(((), ("--repack",))), **how)
            published.check()
            assert ended.status in (0, 1), ended.said
            if ended.status:
                failed += 1
                assert ended.errors
                assert all("No space left on device" in error for error in ended.errors)
    assert failed
    fill(None)

    complete(builder, published, tmp_path)


# Without a database


@pytest.fixture(params=["connections", "table"] if CRASHES else ["connections"])
def away(request: pytest.FixtureRequest, database: str, draw: random.Random) -> Callable[[], None]:
    """Give what takes the database from a build for a moment: all of its connections, or the table with the rows."""

    def without_table() -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE testapp_product RENAME TO testapp_away")
            time.sleep(draw.uniform(0, 0.3))
            cursor.execute("ALTER TABLE testapp_away RENAME TO testapp_product")

    def without_connections() -> None:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                cursor.execute(f"SELECT pg_terminate_backend(pid) {others}")
            elif connection.vendor == "mysql":
                others = "FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
                cursor.execute(f"SELECT id {others}")
                for (other,) in cursor.fetchall():
                    # It may have ended meanwhile.
                    with suppress(DatabaseError):
                        cursor.execute(f"KILL {other}")
            else:
                # There is nothing to close. Longer than a build waits for a lock:
                cursor.execute("BEGIN EXCLUSIVE")
                time.sleep(draw.uniform(0.2, 0.6))
                cursor.execute("ROLLBACK")

    return without_table if request.param == "table" else without_connections


def test_a_database_that_goes_away_leaves_a_whole_set_and_is_reported(
    builder: Builder,
    published: Published,
    table: Table,
    draw: random.Random,
    tmp_path: Path,
    away: Callable[[], None],
) -> None:
    duration = builder.run().seconds
    published.check()
    failed = tries = 0

    with readers(published):
        while failed < (8 if CRASHES else 1):
            tries += 1
            assert tries < 100, "builds do not notice it"
            table.change()
            build = builder.start("--full")
            time.sleep(draw.uniform(0, duration))
            away()
            ended = builder.wait(build)
            if ended.status == 0:
                assert published.differences() == []
            else:
                published.check()
                assert ended.status == 1, ended.said
                failed += 1
            expire()

    complete(builder, published, tmp_path)


# Two at once


@pytest.fixture
def stopped(builder: Builder, table: Table) -> int:
    """Give a build that stands still while it publishes."""
    assert builder.run().status == 0
    table.change()
    build = builder.start("--full", at="replace page", send=int(signal.SIGSTOP))
    wait_for(lambda: "T" in states_of(build), "the build stands still")
    return build


def test_a_second_build_ends_at_once_skips_or_waits(
    builder: Builder, published: Published, tmp_path: Path, stopped: int
) -> None:
    refused = builder.run("--site", "1")
    skipped = builder.run("--site", "1", "--if-locked", "skip")
    waiting = builder.start("--if-locked", "wait")
    time.sleep(0.5)
    published.check()

    assert refused.status == LOCKED
    assert "Another build of example.com has been running" in refused.said
    assert skipped.status == 0
    assert max(refused.seconds, skipped.seconds) < 5
    assert is_group_alive(waiting)
    os.kill(stopped, signal.SIGCONT)
    assert builder.wait(stopped).status == 0
    waited = builder.wait(waiting)
    assert (waited.status, waited.done[1]) == (0, 0)
    complete(builder, published, tmp_path)


@long
def test_a_build_that_waits_for_one_that_is_killed_takes_over(
    builder: Builder, published: Published, tmp_path: Path, stopped: int
) -> None:
    waiting = builder.start("--if-locked", "wait")

    os.kill(stopped, signal.SIGKILL)
    builder.wait(stopped)
    published.check()
    time.sleep(1.2)

    assert is_group_alive(waiting), "nobody knows yet that the other one is dead"
    expire()
    waited = builder.wait(waiting)
    assert (waited.status, waited.report["complete"]) == (0, True)
    assert published.differences() == []
    assert Build.objects.filter(result=Build.Result.LOST).count() == 1
    complete(builder, published, tmp_path)
