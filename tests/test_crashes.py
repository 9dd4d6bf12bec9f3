"""Whatever ends a build, and whenever: what crawlers read is whole, nothing is lost, and the next build completes it.

``CRASHES=200`` draws so many moments for SIGKILL, and takes each step of a build in turn. ``CRASHES_SEED`` draws
the same moments again.
"""

import gzip
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from django.contrib.sites.models import Site
from django.db import DatabaseError, connection, connections
from django.utils import timezone

from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Article, Product
from xml_checks import locs

if not hasattr(os, "fork"):
    pytest.skip("there is no fork on this system", allow_module_level=True)

pytestmark = pytest.mark.django_db(transaction=True)

CRASHES = int(os.environ.get("CRASHES", "0"))
"""How many builds are killed; a few of everything where nobody says."""

ROWS = 150 if CRASHES else 80
GRACE = 2
HOSTS = ("example.com", "example.org")
LABELS = ("rows", "media", "of-site")
ALL_LABELS = (*LABELS, "news")
OWN = "sitemap"
DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)
LOCKED = 75

Listed = dict[tuple[str, str, str], dict[int, int]]
"""The rows that an index leads to, by host, index and label: the newest version that is to be found of each."""


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
    """Give the address of a database that other processes find: a server's own, or SQLite's in a file."""
    if connection.vendor != "sqlite":
        known = connection.settings_dict
        scheme = {"postgresql": "postgres", "mysql": "mysql"}[connection.vendor]
        user = f"{quote(known['USER'])}:{quote(known['PASSWORD'] or '')}".rstrip(":")
        yield f"{scheme}://{user}@{known['HOST']}:{known['PORT']}/{known['NAME']}"
        return
    in_memory, known = connections["default"], connections.databases["default"]
    file = tmp_path / "shared.sqlite3"
    connections.databases["default"] = {
        **known,
        "NAME": file,
        "OPTIONS": {"init_command": "PRAGMA synchronous=OFF", "timeout": 20},
    }
    connections["default"] = connections.create_connection("default")
    with connections["default"].schema_editor() as editor:
        for model in (SitemapPage, Build, Product, Article, Site):
            editor.create_model(model)
    yield f"sqlite:///{file}"
    connections["default"].close()
    connections.databases["default"], connections["default"] = known, in_memory


# Builds


class Ended(NamedTuple):
    status: int
    """A signal is a negative number."""
    report: dict[str, Any]
    """What ``--json`` printed, if it came so far."""
    said: str
    steps: list[str]
    """What it did to files and the database, where that was watched."""
    seconds: float

    @property
    def done(self) -> tuple[int, int]:
        """Pages that were rendered, and written."""
        sections = self.report["sections"]
        return sum(one["rendered"] for one in sections), sum(one["written"] for one in sections)

    @property
    def errors(self) -> list[str]:
        return [one["error"] for one in self.report["sections"] if one["error"]] + self.report["errors"]


class Builder:
    """A process that forks builds, each in a process group of its own."""

    def __init__(self, database: str, folder: Path, files: Path) -> None:
        self.files, self.staging = files, folder / "staging"
        self._notes = folder / "notes"
        self._notes.mkdir()
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "crashes.builder"],
            env={
                **os.environ,
                "DATABASE_URL": database,
                "DJANGO_SETTINGS_MODULE": "crashes.settings",
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
                "CRASHES_FILES": str(files),
                "CRASHES_STAGING": str(self.staging),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"
        self._notes_of: dict[int, Path] = {}

    def start(self, *args: str, **how: Any) -> int:
        """Start a build and return its process."""
        self._count += 1
        notes = self._notes / str(self._count)
        pid = int(self._ask(do="start", args=args, notes=str(notes), **how))
        self._notes_of[pid] = notes
        return pid

    def wait(self, pid: int) -> Ended:
        """Return how a build ended, when all of its processes have."""
        status = int(self._ask(do="wait", pid=pid))
        wait_for(lambda: not is_group_alive(pid), "the processes of a build end with it")
        notes = self._notes_of.pop(pid)
        text, seconds = read_text(notes, ".out"), read_text(notes, ".seconds")
        return Ended(
            status=status,
            report=json.loads(text) if status >= 0 and text else {},
            said=read_text(notes, ".err"),
            steps=read_text(notes, ".steps").splitlines(),
            seconds=float(seconds or 0),
        )

    def run(self, *args: str, **how: Any) -> Ended:
        return self.wait(self.start(*args, **how))

    def close(self) -> None:
        for pid in self._notes_of:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        # Without a line to read it ends.
        self._process.communicate(timeout=20)

    def _ask(self, **order: Any) -> str:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


def read_text(notes: Path, suffix: str) -> str:
    file = notes.with_name(notes.name + suffix)
    return file.read_text() if file.exists() else ""


def wait_for(is_so: Callable[[], bool], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.005)


def is_group_alive(group: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, 0)
        # What nobody has waited for counts still.
        return any(state != "Z" for state in states_of(group))
    return False


def states_of(group: int) -> Iterator[str]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, found = stat.read_text().rpartition(")")[2].split()[:3]
            if int(found) == group:
                yield state


def expire() -> None:
    """Let the lease of a build that was killed be over, as if five minutes had gone."""
    Build.objects.filter(lease__isnull=False).update(expires_at=datetime(2020, 1, 1, tzinfo=UTC))


# Rows


class Table:
    """Rows that come, go and change; what each of them is now, and was ever."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.now: dict[int, int] = {}
        """The version of each row that is there."""
        self.ever: dict[int, int] = {}
        self._insert(range(1000, 1000 * (ROWS + 1), 1000))
        self._articles = 0
        self._publish(25)

    def change(self) -> None:
        """Do what gives new pages, empties one, splits one, and changes some."""
        draw, keys = self._draw, sorted(self.now)
        kind = draw.random()
        at = draw.randrange(len(keys))
        if kind < 0.5 and len(keys) > ROWS / 2:
            # Side by side: a page may lose all of its rows.
            self._delete(keys[at : at + draw.randrange(1, 40)])
        if kind > 0.3 and len(keys) < 2 * ROWS:
            # Behind one row, so that a page grows too large; or behind all of them.
            first = keys[at] + 1 if draw.random() < 0.8 else keys[-1] + 1000
            taken = self.ever.keys()
            self._insert([key for key in range(first, first + draw.randrange(1, 40)) if key not in taken])
        changed = draw.sample(keys, draw.choice((1, 3, 3, 10, len(keys))))
        self._update([key for key in changed if key in self.now])
        self._publish(draw.choice((0, 1, 12)))

    def on(self, host: str) -> dict[str, dict[int, int]]:
        """Return what a complete set has."""
        half = self.now if host == HOSTS[0] else {key: self.now[key] for key in self.now if is_active(key)}
        return {"rows": self.now, "media": self.now, "of-site": half}

    def _insert(self, keys: Sequence[int]) -> None:
        Product.objects.bulk_create(
            Product(
                pk=key,
                name=str(key),
                slug=f"{key}-0",
                is_active=is_active(key),
                updated_at=DAY + timedelta(seconds=len(self.ever) + number),
            )
            for number, key in enumerate(keys)
        )
        self.now.update(dict.fromkeys(keys, 0))
        self.ever.update(dict.fromkeys(keys, 0))

    def _delete(self, keys: Sequence[int]) -> None:
        # Nothing hangs on them, and the tables of what could are not there.
        Product.objects.filter(pk__in=keys)._raw_delete("default")
        for key in keys:
            del self.now[key]

    def _update(self, keys: Sequence[int]) -> None:
        products = Product.objects.in_bulk(keys)
        for key, product in products.items():
            self.now[key] = self.ever[key] = self.now[key] + 1
            product.slug, product.updated_at = f"{key}-{self.now[key]}", timezone.now()
        Product.objects.bulk_update(products.values(), ("slug", "updated_at"), batch_size=200)

    def _publish(self, count: int) -> None:
        now = timezone.now()
        # Some fall out of it.
        Article.objects.filter(pk__lte=self._articles - 60)._raw_delete("default")
        Article.objects.bulk_create(
            Article(pk=pk, title=f"Article {pk}", published_at=now)
            for pk in range(self._articles + 1, self._articles + count + 1)
        )
        self._articles += count


def is_active(key: int) -> bool:
    return key // 1000 % 2 == 0


# What crawlers read


_valid: dict[bytes, list[str]] = {}
_validating = threading.Lock()


def addresses(name: str, data: bytes) -> list[str]:
    """Return the addresses in a file; fail unless it is whole and valid."""
    digest = hashlib.sha256(data).digest()
    with _validating:
        # Most files are those of the look before.
        if digest not in _valid:
            text = gzip.decompress(data) if name.endswith(".gz") else data
            _valid[digest] = text.decode().split() if name.endswith(".txt.gz") else locs(text)
        return _valid[digest]


def page_files(address: str) -> tuple[str, str]:
    """Return the files of a page that an index lists."""
    name = address.rpartition("/")[2]
    return f"{name}.gz", f"{name.removesuffix('.xml')}.txt.gz"


def read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


@dataclass
class Published:
    """The published files, looked at from outside; what a look has seen must not be worse in the next one."""

    folder: Path
    table: Table
    indexes: set[tuple[str, str]] = field(default_factory=set)
    """Host and file: each must exist from then on."""
    seen: Listed = field(default_factory=dict)

    def check(self) -> None:
        """Fail unless each index lists whole files alone, and leads to every row that it led to and that is there."""
        listed: Listed = {}
        for host, index in [*self.indexes, *self._indexes()]:
            self.indexes.add((host, index))
            for label, rows in self._rows(host, index).items():
                listed[host, index, label] = rows
        for key, before in self.seen.items():
            rows = listed[key]
            lost = {row: version for row, version in before.items() if row in self.table.now and row not in rows}
            assert not lost, f"{key} has lost {lost}"
            older = [row for row, version in rows.items() if version < before.get(row, 0)]
            assert not older, f"{key} has gone back with {older}"
        for key, rows in listed.items():
            wrong = [row for row, version in rows.items() if version > self.table.ever.get(row, -1)]
            assert not wrong, f"{key} has what never was: {wrong}"
        self.seen = listed

    def is_current(self) -> bool:
        """Return whether each index leads to the rows of now, and to nothing else."""
        self.check()
        return len(self.indexes) == 2 * len(HOSTS) * (1 + len(ALL_LABELS)) and all(
            self.seen[host, index, label] == rows
            for host, index in self.indexes
            for label, rows in self.table.on(host).items()
            if index.partition(".")[0] in (OWN, f"{OWN}-{label}")
        )

    def files(self, folder: Path | None = None) -> dict[str, bytes]:
        """Return everything that is there, but for what only builds read."""
        folder = folder or self.folder
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items() if path.name != MANIFEST}

    def times(self) -> dict[str, int]:
        return {path.as_posix(): path.stat().st_mtime_ns for path in self.folder.rglob("*") if path.is_file()}

    def _indexes(self) -> list[tuple[str, str]]:
        names = [
            f"{name}{end}" for name in (OWN, *(f"{OWN}-{one}" for one in ALL_LABELS)) for end in (".xml", ".xml.gz")
        ]
        return [(host, name) for host in HOSTS for name in names if (self.folder / host / name).exists()]

    def _rows(self, host: str, index: str) -> dict[str, dict[int, int]]:
        folder = self.folder / host
        data = read(folder / index)
        assert data is not None, f"{host}/{index} is gone"
        found: dict[str, dict[int, int]] = {}
        for address in addresses(index, data):
            for name in page_files(address):
                page = read(folder / name)
                assert page is not None, f"{host}/{index} lists {name}, which is missing"
                found_here = addresses(name, page)
                for one in found_here if name.endswith(".xml.gz") else ():
                    match = re.fullmatch(rf"https://{host}/([a-z-]+)/(\d+)-(\d+)/", one)
                    assert match, f"{host}/{name} has {one}"
                    rows = found.setdefault(match[1], {})
                    rows[int(match[2])] = max(int(match[3]), rows.get(int(match[2]), 0))
        found.pop("news", None)
        return found


@contextmanager
def readers(published: Published, count: int = 2) -> Iterator[None]:
    """Read all the time, as crawlers do: each index, and then each page that it lists."""
    problems: list[str] = []
    passes = [0] * count
    stop = threading.Event()

    def crawl(host: str, index: str) -> None:
        folder, began = published.folder / host, time.monotonic()
        listing = read(folder / index)
        if listing is None:
            problems.append(f"{host}/{index} is missing")
            return
        names = [name for address in addresses(index, listing) for name in page_files(address)]
        found = {name: read(folder / name) for name in names}
        # Who takes longer than that has to bear that a page is gone.
        is_in_time = time.monotonic() - began < GRACE
        for name, data in found.items():
            if data is not None:
                addresses(name, data)
            elif is_in_time:
                problems.append(f"{host}/{name} is missing, which {index} lists")

    def work(number: int) -> None:
        while not stop.is_set():
            for host, index in sorted(published.indexes):
                try:
                    crawl(host, index)
                except Exception as error:
                    problems.append(repr(error))
                # The builder has to come to something, too.
                stop.wait(0.005)
            passes[number] += 1
            stop.wait(0.005)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert problems == []
    assert min(passes) > 1


# The fixtures of every test


@pytest.fixture
def table(database: str, draw: random.Random) -> Table:
    return Table(draw)


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


def complete(builder: Builder, published: Published, tmp_path: Path) -> None:
    """Fail unless one undisturbed build gives what a full one gives into an empty folder, and a second one nothing."""
    expire()
    assert builder.run().status == 0
    assert published.is_current()

    assert builder.run("--prune").status == 0
    assert builder.run("--full", files=str(tmp_path / "fresh")).status == 0
    ours, fresh = published.files(), published.files(tmp_path / "fresh")
    assert sorted(ours) == sorted(fresh)
    assert [name for name in ours if without_dates(name, ours[name]) != without_dates(name, fresh[name])] == []
    assert not [path for path in builder.staging.rglob("*") if path.is_file()]

    before = published.times()
    again = builder.run()
    assert (again.status, again.report["complete"]) == (0, True)
    # Windows are rendered each time.
    assert {one["label"] for one in again.report["sections"] if one["rendered"]} <= {"news"}
    assert again.done[1] == 0
    assert published.times() == before


def without_dates(name: str, data: bytes) -> bytes:
    """Return an index without what tells when a page was seen to differ; all other files as they are."""
    if not re.fullmatch(r".*/sitemap(-[a-z-]+)?\.xml(\.gz)?", name):
        return data
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return re.sub(rb"<lastmod>[^<]*</lastmod>", b"", text)


# Killed


def test_a_build_that_is_killed_at_any_moment_leaves_a_whole_set(
    builder: Builder, published: Published, table: Table, draw: random.Random, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    kinds: dict[tuple[str, ...], float] = {(): 12, ("--full",): 2, ("--repack",): 2, ("rows", "news"): 2}
    if CRASHES:
        kinds["--workers", "2"] = 1
    durations = {}
    for args in (("--full",), *kinds):
        table.change()
        durations[args] = builder.run(*args, files=elsewhere).seconds
    wanted = CRASHES or 12
    killed = tries = 0

    with readers(published):
        while killed < wanted:
            tries += 1
            assert tries < 4 * wanted + 20, "most builds end before they are killed"
            args = ("--full",) if tries <= wanted // 20 else draw.choices(list(kinds), list(kinds.values()))[0]
            build = builder.start(*args)
            time.sleep(draw.uniform(0, durations[args]))
            os.kill(build, signal.SIGKILL)
            ended = builder.wait(build)
            assert ended.status in (0, -signal.SIGKILL), ended.said
            killed += ended.status != 0
            published.check()
            expire()
            table.change()

    complete(builder, published, tmp_path)


def test_each_step_of_a_build_can_be_its_last(
    builder: Builder, published: Published, table: Table, draw: random.Random, tmp_path: Path
) -> None:
    # Nobody reads meanwhile, and each build removes at once what the ones before have retired.
    how = {"settings_": {"GRACE_PERIOD": 0}}
    args = ("rows", "media", "--site", "1")
    assert builder.run(*args, **how).status == 0
    table.change()
    count = len(builder.run(*args, at=0, **how).steps)
    assert count > 50
    stride = 1 if CRASHES else count // 12
    last = set()

    for at in range(draw.randrange(1, stride + 1), count, stride):
        for _ in range(2):
            table.change()
        ended = builder.run(*args, at=at, **how)
        published.check()
        expire()
        if ended.status != 0:
            assert ended.status == -signal.SIGKILL, ended.said
            last.add(kind_of(ended.steps[-1]))

    if CRASHES:
        assert last >= STEPS
    complete(builder, published, tmp_path)


STEPS = {
    *(f"{what} {name}" for what in ("open", "replace") for name in ("page", "own", "index", "manifest")),
    "fsync",
    "remove page",
    "UPDATE",
    "INSERT",
}
"""The kinds of what a build does to files and to the database."""


def kind_of(step: str) -> str:
    what, _, where = step.partition(" ")
    name = Path(where).name.lstrip(".")
    if "/" not in where and what != "remove":
        return what
    patterns = {
        "manifest": r"sitemaps-.*",
        "page": r"sitemap-[a-z-]+-\d+\..*",
        "index": r"sitemap-.*",
        "own": r"sitemap\..*",
    }
    return f"{what} {next((kind for kind, pattern in patterns.items() if re.match(pattern, name)), 'other')}"


# Stopped


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_build_that_is_stopped_ends_between_two_pages_and_gives_its_lease_back(
    builder: Builder, published: Published, table: Table, draw: random.Random, tmp_path: Path, sent: int, status: int
) -> None:
    assert builder.run().status == 0
    steps = len(builder.run("--full", at=0).steps)

    with readers(published):
        for at in sorted(draw.sample(range(1, steps), 20 if CRASHES else 3)):
            table.change()
            ended = builder.run("--full", at=at, send=int(sent))
            published.check()
            if ended.status == 0:
                # The last page was published by then.
                assert published.is_current()
            else:
                assert (ended.status, ended.report["stopped"]) == (status, True), ended.said
                assert "what it has published is whole" in ended.said
            assert not Build.objects.filter(lease__isnull=False).exists()

    complete(builder, published, tmp_path)


def test_a_build_that_is_stopped_before_it_began_has_done_nothing(builder: Builder, published: Published) -> None:
    build = builder.start()
    os.kill(build, signal.SIGTERM)

    ended = builder.wait(build)

    assert ended.status in (143, -signal.SIGTERM)
    assert builder.run().status == 0
    assert published.is_current()


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


def test_a_full_disk_leaves_a_whole_set_and_is_reported(
    builder: Builder, published: Published, table: Table, draw: random.Random, tmp_path: Path, fill: Any
) -> None:
    assert builder.run().status == 0
    published.check()
    failed = 0

    with readers(published):
        for number in range(30 if CRASHES else 4):
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


@pytest.fixture(params=["connections", "table"])
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
        while failed < (10 if CRASHES else 2):
            tries += 1
            assert tries < 100, "builds do not notice it"
            table.change()
            build = builder.start("--full")
            time.sleep(draw.uniform(0, duration))
            away()
            ended = builder.wait(build)
            if ended.status == 0:
                assert published.is_current()
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
    build = builder.start("--full", at="replace", send=int(signal.SIGSTOP))
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
    assert published.is_current()
    assert Build.objects.filter(result=Build.Result.LOST).count() == 1
    complete(builder, published, tmp_path)
