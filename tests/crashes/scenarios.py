"""What a build may find: published files, pages in the database and rows, each in a state that asks for other steps."""

import gzip
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db import connection

from crashes.driver import Builder, Ended
from crashes.rows import HOSTS, Table
from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.stores.manifest import NAME as MANIFEST

HOST = HOSTS[0]

LABELS = ("rows", "media")

ROWS = 100

ARGS = (*LABELS, "--site", "1")


@dataclass(frozen=True, kw_only=True)
class State:
    """A folder with all that a build reads and writes, and the rows in its database."""

    folder: Path
    table: Table
    args: tuple[str, ...] = ARGS
    """Of the builds from here on."""
    how: dict[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> Path:
        return self.folder / "files"

    @property
    def site(self) -> Path:
        return self.files / HOST

    @property
    def database(self) -> Path:
        return self.folder / "database.sqlite3"

    @property
    def where(self) -> dict[str, Any]:
        """The arguments of a build here, in which nobody waits for the disk, and no page is rendered to compare it."""
        return {
            "files": str(self.files),
            "staging": str(self.folder / "staging"),
            "database": {"NAME": str(self.database)},
            "verifies": False,
            "quick": True,
            **self.how,
        }

    def run(self, builder: Builder, *args: str, **how: Any) -> Ended:
        return builder.run(*args, **{**self.where, **how})

    def copy(self, folder: Path) -> "State":
        """Copy all to another folder."""
        shutil.copytree(self.folder, folder)
        return replace(self, folder=folder)

    def expire(self) -> None:
        """Let the lease of a killed build be over."""
        database = sqlite3.connect(self.database)
        with database:
            database.execute("UPDATE sitemaps_plus_build SET expires_at = '2020-01-01' WHERE lease IS NOT NULL")
        database.close()


class Maker:
    """Makes states, each from the one before, with the rows of the database of this process."""

    def __init__(self, builder: Builder, draw: random.Random, root: Path) -> None:
        self._builder, self._draw, self._root = builder, draw, root
        self._ours = Path(connection.settings_dict["NAME"])
        self._count = 0
        table = Table(draw, ROWS)
        empty = self._store(table, None)
        self.empty, self.built = empty, self._build(empty)

    def change(self, state: State, change: Callable[[Table], None]) -> State:
        """Return the state after a change of rows."""
        self._open(state)
        table = state.table.copy()
        change(table)
        return replace(state, folder=self._store(table, state).folder, table=table)

    def build(self, state: State, *args: str, **how: Any) -> State:
        """Return the state after a build."""
        return self._build(state.copy(self._next()), *args, **how)

    def _build(self, state: State, *args: str, **how: Any) -> State:
        ended = state.run(self._builder, *ARGS, *args, **how)
        assert ended.status == 0, ended.said
        return state

    def _open(self, state: State) -> None:
        connection.close()
        shutil.copy(state.database, self._ours)

    def _store(self, table: Table, before: State | None) -> State:
        connection.close()
        folder = self._next()
        if before:
            shutil.copytree(before.folder, folder)
        else:
            (folder / "files" / HOST).mkdir(parents=True)
        shutil.copy(self._ours, folder / "database.sqlite3")
        return State(folder=folder, table=table)

    def _next(self) -> Path:
        self._count += 1
        return self._root / f"state-{self._count}"


def some(table: Table, first: float, last: float) -> list[int]:
    """Return the keys between two shares of all rows."""
    keys = sorted(table.now)
    return keys[int(first * len(keys)) : int(last * len(keys))]


def change_some(table: Table) -> None:
    """Change, delete and insert a few rows, on the same pages."""
    table.update(some(table, 0.1, 0.12) + some(table, 0.6, 0.62))
    table.delete(some(table, 0.3, 0.32))
    table.insert([some(table, 0.3, 0.31)[0] + 1])


def split(table: Table) -> None:
    """Insert so many rows at two places that pages become too large."""
    for first in (some(table, 0.15, 0.2)[0], some(table, 0.7, 0.8)[0]):
        table.insert(range(first + 1, first + 28))
    table.update(some(table, 0.4, 0.42))


def empty_pages(table: Table) -> None:
    """Delete so many rows side by side that a page has none."""
    table.delete(some(table, 0.3, 0.75))


def grow(table: Table) -> None:
    """Add rows at the end."""
    first = max(table.now) + 1000
    table.insert(range(first, first + 45_000, 1000))


def move(table: Table) -> None:
    """Let rows move between pages, and change others."""
    split(table)
    table.delete(some(table, 0.45, 0.5))


def remove(names: Iterable[str]) -> Callable[[State], None]:
    def do(state: State) -> None:
        for name in names:
            (state.site / name).unlink()

    return do


def damage_manifest(state: State) -> None:
    data = (state.site / MANIFEST).read_bytes()
    (state.site / MANIFEST).write_bytes(data[: len(data) // 2])


def empty_tables(state: State) -> None:
    database = sqlite3.connect(state.database)
    with database:
        for model in (SitemapPage, Build):
            database.execute(f"DELETE FROM {model._meta.db_table}")  # noqa: S608 - a name of ours
    database.close()


def restore_tables(older: State) -> Callable[[State], None]:
    """Let the tables of the package be as in another state; the rows stay."""

    def do(state: State) -> None:
        empty_tables(state)
        database = sqlite3.connect(state.database)
        database.execute("ATTACH ? AS older", (str(older.database),))
        with database:
            for model in (SitemapPage, Build):
                table = model._meta.db_table
                database.execute(f"INSERT INTO main.{table} SELECT * FROM older.{table}")  # noqa: S608
        database.close()

    return do


def pages(label: str, *numbers: int, forms: Iterable[str] = ("xml.gz", "txt.gz")) -> list[str]:
    return [f"sitemap-{label}-{number}.{form}" for number in numbers for form in forms]


def indexes(*stems: str) -> list[str]:
    return [f"{stem}{end}" for stem in stems for end in (".xml", ".xml.gz")]


def damaged(make: Maker, *what: Callable[[State], None], rows: Callable[[Table], None] = move) -> State:
    state = make.change(make.built, rows)
    for do in what:
        do(state)
    return state


def retired(make: Maker) -> State:
    """Give pages that were retired, and rows that changed since."""
    return make.change(make.build(make.change(make.built, change_some), "--repack"), move)


def with_args(state: State, *args: str, **how: Any) -> State:
    return replace(state, args=(*ARGS, *args), how=how)


def tables_of_before(make: Maker) -> State:
    """Give pages of today, with the tables of before they were divided."""
    now = make.change(make.build(make.change(make.built, split)), grow)
    restore_tables(make.built)(now)
    return now


SCENARIOS: dict[str, Callable[[Maker], State]] = {
    "first build": lambda make: make.empty,
    "changes": lambda make: make.change(make.built, change_some),
    "splits": lambda make: make.change(make.built, split),
    "empty pages": lambda make: make.change(make.built, empty_pages),
    "growth at the end": lambda make: make.change(make.built, grow),
    "repack": lambda make: with_args(make.change(make.built, move), "--repack"),
    "full": lambda make: with_args(damaged(make, lambda state: empty(state, "sitemap-rows-2.txt.gz")), "--full"),
    "other code": lambda make: with_args(make.change(make.built, move), code="recipe"),
    "prune": lambda make: with_args(retired(make), "--prune"),
    "unregistered": lambda make: replace(
        make.change(make.built, move), args=("rows", "--site", "1"), how={"code": "unregistered"}
    ),
    "lost manifest": lambda make: damaged(make, remove([MANIFEST])),
    "damaged manifest": lambda make: damaged(make, damage_manifest),
    "lost manifest of a repacked set": lambda make: damaged_after(make, retired(make), remove([MANIFEST])),
    "lost tables": lambda make: damaged(make, empty_tables),
    "tables of before": tables_of_before,
    "removed pages": lambda make: damaged(make, remove([*pages("rows", 2, 4), *pages("media", 1)])),
    "removed formats": lambda make: damaged(make, remove(pages("rows", 2, 4, forms=["txt.gz"]))),
    "removed indexes": lambda make: damaged(make, remove(indexes("sitemap", "sitemap-rows"))),
    "half of the files removed": lambda make: damaged(
        make, remove([*pages("rows", 1, 3), "sitemap-media.xml.gz", "sitemap.xml"])
    ),
}
"""What a killed build has found, by name."""


def damaged_after(make: Maker, state: State, do: Callable[[State], None]) -> State:
    state = make.change(state, change_some)
    do(state)
    return state


def empty(state: State, name: str) -> None:
    """Let a text file have no lines, which only who reads it sees."""
    (state.site / name).write_bytes(gzip.compress(b""))
