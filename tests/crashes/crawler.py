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
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from xml_checks import locs

GRACE = 2
"""Seconds; as the settings have it."""

LABELS = ("rows", "media", "of-site", "news")

OWN = "sitemap"

Listed = dict[tuple[str, str, str], dict[int, int]]
"""The rows that an index leads to, by host, index and label: the newest version that is to be found of each."""

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
            older = [row for row, version in rows.items() if row in self.table.now and version < before.get(row, 0)]
            assert not older, f"{key} has gone back with {older}"
        for key, rows in listed.items():
            wrong = [row for row, version in rows.items() if version > self.table.ever.get(row, -1)]
            assert not wrong, f"{key} has what never was: {wrong}"
        self.seen = listed

    def is_current(self) -> bool:
        """Return whether each index leads to the rows of now, and to nothing else."""
        self.check()
        return len(self.indexes) == 2 * len(HOSTS) * (1 + len(LABELS)) and all(
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
        names = [f"{name}{end}" for name in (OWN, *(f"{OWN}-{one}" for one in LABELS)) for end in (".xml", ".xml.gz")]
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
