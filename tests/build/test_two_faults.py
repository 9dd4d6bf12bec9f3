"""Something was lost, and then the build that repairs it is killed: at every step what crawlers read is whole.

With ``CRASHES`` in the environment a build is killed before each single step, else before a few of them.
"""

import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from built import BuiltSet, spaced, spaced_products
from samples import DAY, Products, paths, section_of
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.signals import published
from sitemaps_plus.stores.files import FileStore
from testapp.models import Product
from xml_checks import locs

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)

EVERY = 1 if os.environ.get("CRASHES") else 16
"""Of so many steps one is the last of a build that is killed."""

NEVER = 0


class Few(Products):
    """A second section, so that the index of the site lists more than the first one."""

    queryset = Product.objects.filter(pk__lte=1500).order_by("pk")
    location = Concat(Value("/few/"), F("slug"), Value("/"), output_field=CharField())


class Killed(BaseException):
    """Ends a build as SIGKILL does: nothing of it goes on."""


def run(at: int, look: Callable[[str], None] = lambda _: None) -> int:
    """Build, and call `look` with the name of each file that was published or removed; return how many there were.

    The build is killed before step `at`.
    """
    done: list[str] = []

    def counted(do: Callable[..., None]) -> Callable[..., None]:
        def call(self: FileStore, name: str, *data: bytes) -> None:
            done.append(name)
            if len(done) == at:
                raise Killed
            do(self, name, *data)
            look(name.rpartition("/")[2])

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("publish", "remove"):
            patch.setattr(FileStore, name, counted(getattr(FileStore, name)))
        with suppress(Killed):
            assert build(allow_shrink=True, prune=True).is_complete
    return len(done)


@dataclass
class Outside:
    """The files as crawlers read them, compared with what they were when something was lost."""

    folder: Path
    before: dict[str, bytes] = field(init=False)
    """The indexes at that time."""
    stable: dict[str, set[str]] = field(init=False)
    """By index, the rows that it led to and that still exist."""

    def __post_init__(self) -> None:
        self.before = self._indexes()
        self.stable = {name: set(self._rows(name)) & set(rows_of_now()) for name in self.before}

    def assert_whole(self) -> None:
        """Fail unless each index lists only files that are there, on which all rows are that it led to."""
        for name, stable in self.stable.items():
            rows = self._rows(name)
            assert stable <= set(rows), (name, sorted(stable - set(rows)))
            assert not self.missing(name), name

    def missing(self, name: str) -> list[str]:
        """Return the pages that an index lists and that are not there."""
        return [page for page in self._pages(name) if not (self.folder / page).exists()]

    def is_as_before(self, name: str) -> bool:
        return self._indexes().get(name) == self.before[name]

    def _indexes(self) -> dict[str, bytes]:
        names = [path.name for path in self.folder.glob("sitemap*.xml*")]
        return {name: (self.folder / name).read_bytes() for name in names if not is_page(name)}

    def _pages(self, name: str) -> list[str]:
        file = self.folder / name
        data = file.read_bytes() if file.exists() else b""
        listed = paths(locs(gzip.decompress(data) if name.endswith(".gz") else data)) if data else []
        return [f"{path.removeprefix('/').removesuffix('.gz')}.gz" for path in listed]

    def _rows(self, name: str) -> list[str]:
        files = [self.folder / page for page in self._pages(name)]
        return [row for file in files if file.exists() for row in paths(locs(gzip.decompress(file.read_bytes())))]


def change() -> None:
    """Overflow the first page and the last one, change the second; few rows stay on the others."""
    spaced([1.5, 2.5, 3.5, *(33 + number / 100 for number in range(1, 25)), *range(41, 45)])
    spaced_products(17, 18).update(slug=Concat(F("slug"), Value("-new"), output_field=CharField()), updated_at=LATER)
    spaced_products(*range(4, 8), *range(13, 16), *range(21, 31)).delete()


def lose_manifest(site: BuiltSet) -> None:
    site.manifest.unlink()


def spoil_manifest(site: BuiltSet) -> None:
    site.manifest.write_bytes(site.manifest.read_bytes()[:-100])


def spoil_a_note(site: BuiltSet) -> None:
    """A build was killed, and then one of the files was damaged that say what it had changed."""
    spaced([5.5, 6.5])
    spaced_products(12, 15).update(slug=Concat(F("slug"), Value("-old"), output_field=CharField()), updated_at=LATER)
    at = next(at for at in range(1, 100) if run(at) == at and site.path("sitemaps-manifest-1.json").exists())
    assert at > 1
    site.path("sitemaps-manifest-1.json").write_bytes(b"{")


def lose_tables(site: BuiltSet) -> None:
    SitemapPage.objects.all().delete()


def lose_tables_and_look(site: BuiltSet) -> None:
    """A live view makes the plan before the build does."""
    lose_tables(site)
    refresh(section_of(Products))


def restore_older_tables(site: BuiltSet) -> None:
    older = list(SitemapPage.objects.all())
    # Pages that the backup does not know.
    spaced(number + 0.6 for number in (*range(1, 5), *range(21, 25)))
    assert build().is_complete
    assert build(["few"], repack=True).is_complete
    SitemapPage.objects.all().delete()
    SitemapPage.objects.bulk_create(older)


def restore_older_tables_and_look(site: BuiltSet) -> None:
    """A live view splits a page before the build does, and issues a number that is published."""
    restore_older_tables(site)
    spaced([1.25, 1.75, 11.25])
    refresh(section_of(Products), force=True)
    assert SitemapPage.objects.filter(label="products", number=5).exists()


def lose_tables_after_repack(site: BuiltSet) -> None:
    assert build(repack=True).is_complete
    lose_tables(site)


def remove_pages(site: BuiltSet) -> None:
    for name in ("sitemap-products-2.xml.gz", "sitemap-products-4.xml.gz", "sitemap-few-1.xml.gz"):
        site.path(name).unlink()


def remove_section(site: BuiltSet) -> None:
    for path in site.folder.glob("sitemap-products-*"):
        path.unlink()


def remove_all_pages(site: BuiltSet) -> None:
    for path in site.folder.glob("sitemap-*-*.xml.gz"):
        path.unlink()


def remove_pages_and_an_index(site: BuiltSet) -> None:
    remove_pages(site)
    site.path("sitemap-few.xml").unlink()


FAULTS = [
    lose_manifest,
    spoil_manifest,
    spoil_a_note,
    lose_tables,
    lose_tables_and_look,
    lose_tables_after_repack,
    restore_older_tables,
    restore_older_tables_and_look,
    remove_pages,
    remove_section,
    remove_all_pages,
    remove_pages_and_an_index,
]


@pytest.fixture
def both(built: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> BuiltSet:
    """Two sections, with room between their keys."""
    # The machine does not go down.
    monkeypatch.setattr("os.fsync", lambda handle: None)
    register("few", Few)
    assert build().is_complete
    return built


@contextmanager
def undone(site: BuiltSet, kept: Path) -> Iterator[None]:
    """Undo afterwards what the block does to the files and to the database."""
    shutil.copytree(site.folder, kept)
    # Django 6.1 has another name for it.
    mark = (getattr(transaction, "savepoint_create", None) or transaction.savepoint)()
    yield
    transaction.savepoint_rollback(mark)
    shutil.rmtree(site.folder)
    kept.rename(site.folder)


@pytest.mark.parametrize("lose", FAULTS, ids=lambda lose: lose.__name__)
def test_a_build_that_repairs_may_be_killed_at_every_step(
    both: BuiltSet, tmp_path: Path, lose: Callable[[BuiltSet], None]
) -> None:
    lose(both)
    change()
    outside = Outside(both.folder)
    were_broken = [name for name in outside.before if outside.missing(name)]

    def look(name: str) -> None:
        if any(outside.is_as_before(index) and outside.missing(index) for index in were_broken):
            # No page is touched before all indexes list only what is there.
            assert not is_page(name)
        else:
            outside.assert_whole()

    with undone(both, tmp_path / "kept"):
        steps = run(NEVER, look)
        assert_complete(both)
        both.assert_as_fresh(but_indexes=True)
    assert steps > EVERY
    for at in range(1 + FAULTS.index(lose) % EVERY, steps + 1, EVERY):
        with undone(both, tmp_path / "kept"):
            assert run(at) == at
            run(NEVER, look)
            assert_complete(both)


def assert_complete(site: BuiltSet) -> None:
    """Fail unless the files are those of the rows of now, and there is no other page."""
    assert site.rows() == rows_of_now()
    listed = [f"{path.removeprefix('/')}.gz" for path in site.listed()]
    assert sorted(listed) == sorted(filter(is_page, site.names()))


def is_page(name: str) -> bool:
    return name.endswith(".gz") and name[-8].isdigit()


def rows_of_now() -> list[str]:
    slugs = list(Product.objects.order_by("pk").values_list("slug", "pk"))
    return [*(f"/{slug}/" for slug, _ in slugs), *(f"/few/{slug}/" for slug, pk in slugs if pk <= 1500)]


# What is left as it is


def test_a_page_whose_file_is_missing_leaves_the_indexes_before_anything_is_rendered(
    both: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_pages(both)

    def fail(self: Products) -> Any:
        raise OSError("the database is away")

    monkeypatch.setattr(Products, "get_queryset", fail)
    before = both.files()

    result = build()

    assert all(section.error for section in result.sections)
    assert both.listed() == [f"/sitemap-{page}.xml" for page in ("products-1", "products-3", "few-2")]
    assert both.listed("sitemap-few.xml") == ["/sitemap-few-2.xml"]
    assert {name: data for name, data in both.files().items() if is_page(name)} == {
        name: data for name, data in before.items() if is_page(name)
    }


def test_what_leaves_the_indexes_because_its_file_is_missing_is_announced_as_removed(both: BuiltSet) -> None:
    told: list[tuple[set[str], set[str]]] = []

    def hear(changed: list[str], removed: list[str], **_: Any) -> None:
        told.append(({*paths(changed)}, {*paths(removed)}))

    both.path("sitemap-products-2.xml.gz").unlink()
    both.path("sitemap-products-4.xml.gz").unlink()
    spaced_products(*range(31, 41)).delete()
    published.connect(hear)

    build()

    published.disconnect(hear)
    ((changed, removed),) = told
    assert {path for path in changed if is_page(path)} == {"/sitemap-products-2.xml.gz"}
    assert removed == {"/sitemap-products-4.xml", "/sitemap-products-4.xml.gz"}


def test_the_guard_compares_with_the_urls_before_files_were_removed(both: BuiltSet) -> None:
    for number in (1, 2, 3):
        both.path(f"sitemap-products-{number}.xml.gz").unlink()
    spaced_products(*range(1, 26)).delete()

    # The second time nobody has seen the files that were removed.
    for _ in range(2):
        section, _few = build().sections
        assert "lost 25 of its 40 URLs" in str(section.error)
    assert build(allow_shrink=True).is_complete

    assert len(both.rows()) == 15
    assert json.loads(both.manifest.read_bytes())["sections"]["products"]["lost"] == 0


def test_a_storage_that_does_not_answer_changes_nothing(both: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    before = both.files()

    def fail(self: FileSystemStorage, path: str) -> Any:
        raise PermissionError("no")

    monkeypatch.setattr(FileSystemStorage, "listdir", fail)

    assert not build().is_complete

    assert both.files() == before


def test_a_lost_manifest_and_a_storage_that_does_not_answer_change_nothing(
    both: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_manifest(both)
    before = both.files()
    read = FileStore.read

    def fail(self: FileStore, name: str) -> bytes | None:
        if name.endswith("sitemap-products-3.xml.gz"):
            raise PermissionError("no")
        return read(self, name)

    monkeypatch.setattr(FileStore, "read", fail)

    assert not build().is_complete

    assert both.files() == before
    assert not both.manifest.exists()


def test_a_lost_manifest_is_made_again_on_a_storage_that_cannot_list(
    both: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: FileSystemStorage, path: str) -> Any:
        raise NotImplementedError

    lose_manifest(both)
    both.path("sitemap-products-2.xml.gz").unlink()
    monkeypatch.setattr(FileSystemStorage, "listdir", fail)
    monkeypatch.setattr(FileStore, "sweep", lambda *_: None)

    with both.touched() as touched:
        assert build().is_complete

    assert {name for name in touched if is_page(name)} == {"sitemap-products-2.xml.gz"}
    assert both.rows() == rows_of_now()


def test_pages_keep_their_numbers_and_files_when_the_tables_are_lost(both: BuiltSet) -> None:
    assert build(repack=True, prune=True).is_complete
    before = both.files()
    lose_tables(both)

    with both.touched() as touched:
        result = build()

    assert [section.written for section in result.sections] == [0, 0]
    assert touched <= {both.manifest.name}
    assert both.files() == before
    # Number 1 was issued to a page that is retired.
    assert 1 not in section_numbers()


def test_a_number_that_is_published_is_not_issued_again_when_the_tables_are_lost(both: BuiltSet) -> None:
    spaced([1.5])
    assert build().is_complete
    assert 5 in section_numbers()
    spaced_products(1.5, *range(2, 11)).delete()
    lose_tables(both)
    assert build(allow_shrink=True).is_complete
    assert 5 not in section_numbers()

    # A live view does not read what is published.
    spaced(number + 0.5 for number in range(11, 21))
    refresh(section_of(Products), force=True)

    assert 5 not in section_numbers()
    assert max(section_numbers()) > 5


def section_numbers() -> set[int]:
    return set(SitemapPage.objects.filter(label="products", retired_at=None).values_list("number", flat=True))


def test_a_build_that_repairs_nothing_asks_the_storage_as_little_as_it_can(
    both: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        do = getattr(FileSystemStorage, name)
        return lambda self, *args: asked.append(name) or do(self, *args)

    for name in ("listdir", "exists", "open", "delete"):
        monkeypatch.setattr(FileSystemStorage, name, counted(name))

    assert build().is_complete

    # For temporary files, the manifest, and the names of all files.
    assert asked == ["listdir", "open", "listdir"]
