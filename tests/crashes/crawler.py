"""Read published files as crawlers do, and fail where a look shows less than the one before."""

import gzip
import hashlib
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from crashes.rows import HOSTS, Table
from xml_checks import locs

GRACE = 2
"""Seconds; as the settings have it."""

LABELS = ("rows", "media", "of-site", "news")

OWN = "sitemap"

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
class Look:
    """What an index led to."""

    rows: dict[str, dict[int, int]] = field(default_factory=dict)
    """By label: the newest version that is to be found of each row."""
    missing: set[str] = field(default_factory=set)
    """Files that it leads to, and that are not there."""
    twice: set[tuple[str, int]] = field(default_factory=set)
    """Rows on two pages, or in two versions."""


def look(folder: Path, host: str, index: str) -> Look:
    """Read an index and all that it leads to; fail unless each file is whole and valid."""
    data = read(folder / host / index)
    assert data is not None, f"{host}/{index} is gone"
    found = Look()
    for address in addresses(index, data):
        for name in page_files(address):
            page = read(folder / host / name)
            if page is None:
                found.missing.add(name)
                continue
            found_here = addresses(name, page)
            for one in found_here if name.endswith(".xml.gz") else ():
                match = re.fullmatch(rf"https://{host}/([a-z-]+)/(\d+)-(\d+)/", one)
                assert match, f"{host}/{name} has {one}"
                label, row, version = match[1], int(match[2]), int(match[3])
                rows = found.rows.setdefault(label, {})
                if row in rows:
                    found.twice.add((label, row))
                rows[row] = max(version, rows.get(row, 0))
    return found


@dataclass
class Published:
    """The published files, looked at from outside; what a look has seen must not be worse in the next one."""

    folder: Path
    table: Table
    hosts: tuple[str, ...] = HOSTS
    labels: tuple[str, ...] = LABELS
    looks: dict[tuple[str, str], Look] = field(default_factory=dict)
    """The last look, by host and index; each index must exist from then on."""
    since: int = 0
    """When the last build began that was completed: a mark of the table."""

    @property
    def indexes(self) -> list[tuple[str, str]]:
        return list(self.looks)

    def check(self) -> None:
        """Fail unless each index leads to whole files alone, and to every row that it led to and that is there.

        Rows that went and came again since the last completed build began may be away.
        """
        with self.table.lock:
            looks = {key: look(self.folder, *key) for key in dict.fromkeys([*self.looks, *self._indexes()])}
            for (host, index), found in looks.items():
                before = self.looks.get((host, index), Look())
                self.compare(f"{host}/{index}", before, found, self.table.steady(host, self.since))
                assert not found.missing, f"{host}/{index} lists {found.missing}, which are missing"
            self.looks = looks

    def compare(self, name: str, before: Look, found: Look, steady: dict[str, set[int]]) -> None:
        """Fail where a look has lost a row that was there all the time, an older version or one that never was."""
        for label, there in steady.items():
            seen, rows = before.rows.get(label, {}), found.rows.get(label, {})
            lost = sorted(row for row in seen if row in there and row not in rows)
            assert not lost, f"{name}: {label} has lost {lost}"
            older = [row for row, version in rows.items() if version < seen.get(row, 0)]
            assert not older, f"{name}: {label} has gone back with {older}"
            wrong = [row for row, version in rows.items() if version > self.table.ever.get(row, -1)]
            assert not wrong, f"{name}: {label} has what never was: {wrong}"

    def differences(self) -> list[str]:
        """Return what is missing or too much, as if each row of now had to be on just one page of each index."""
        self.check()
        wanted = [
            (host, f"{stem}{end}", labels)
            for host in self.hosts
            for stem, labels in ((OWN, self.labels), *((f"{OWN}-{label}", (label,)) for label in self.labels))
            for end in (".xml", ".xml.gz")
        ]
        found = []
        for host, index, labels in wanted:
            seen = self.looks.get((host, index), Look())
            found += [f"{host}/{index}: {one} is on two pages" for one in seen.twice]
            for label in labels:
                there = {(label, *item) for item in self.table.on(host)[label].items()}
                shown = {(label, *item) for item in seen.rows.get(label, {}).items()}
                found += [f"{host}/{index} lacks {one}" for one in sorted(there - shown)]
                found += [f"{host}/{index} should not have {one}" for one in sorted(shown - there)]
        return found

    def files(self, folder: Path | None = None) -> dict[str, bytes]:
        """Return everything that is there, but for what only builds read."""
        folder = folder or self.folder
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items() if not path.match("sitemaps-manifest*")}

    def times(self) -> dict[str, int]:
        return {path.as_posix(): path.stat().st_mtime_ns for path in self.folder.rglob("*") if path.is_file()}

    def _indexes(self) -> list[tuple[str, str]]:
        names = [f"{name}{end}" for name in (OWN, *(f"{OWN}-{one}" for one in LABELS)) for end in (".xml", ".xml.gz")]
        return [(host, name) for host in self.hosts for name in names if (self.folder / host / name).exists()]


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
