"""Builds in which a section, the index, a disk or a template fails."""

import errno
import gzip
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, storages
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test import Client

from built import built_files, built_names, listed, listed_rows
from samples import Products, make_products, paths, render_page, replace_section, section_of, text_of
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.build.results import BuildResult
from sitemaps_plus.models import Build
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.protocol import limits
from sitemaps_plus.protocol.limits import Profile
from sitemaps_plus.stores.files import FileStore, get_store
from testapp.models import Product
from xml_checks import locs, validate

pytestmark = pytest.mark.django_db

HOST = "example.com"


class Fragile(Products):
    broken = False

    def get_queryset(self) -> Any:
        if type(self).broken:
            raise RuntimeError("the rows cannot be read")
        return super().get_queryset()


def done(result: BuildResult) -> dict[str, tuple[int, int]]:
    return {section.label: (section.pages, section.urls) for section in result.sections}


def test_a_storage_that_cannot_overwrite_is_refused_before_anything_is_rendered_or_written(
    monkeypatch: pytest.MonkeyPatch, rendered: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    register("products", Products)
    register("more", Products)
    make_products(5)
    # Storages in memory are known to be cleared first.
    monkeypatch.setattr("sitemaps_plus.stores.files.InMemoryStorage", FileSystemStorage)

    result = build()

    assert result.sections == []
    assert "InMemoryStorage, cannot overwrite a file" in result.errors[0]
    assert "file_overwrite" in result.errors[0]
    assert (rendered, get_store().list(HOST)) == ([], set())
    assert not any(record.exc_info for record in caplog.records)


@pytest.fixture
def fragile(monkeypatch: pytest.MonkeyPatch) -> type[Fragile]:
    monkeypatch.setattr(Fragile, "broken", False)
    register("fragile", Fragile)
    register("products", Products)
    return Fragile


def test_a_section_that_fails_keeps_its_files_and_stays_in_the_index(
    folder: Path, fragile: type[Fragile], caplog: pytest.LogCaptureFixture
) -> None:
    make_products(5)
    build()
    before = built_files(folder)
    make_products(10, first=6)
    fragile.broken = True

    result = build()

    assert not result.is_complete
    assert [section.error for section in result.sections] == ["RuntimeError: the rows cannot be read", None]
    after = built_files(folder)
    assert {name: after[name] for name in after if "fragile" in name} == {
        name: before[name] for name in before if "fragile" in name
    }
    assert listed(folder) == ["/sitemap-fragile-1.xml", "/sitemap-products-1.xml", "/sitemap-products-2.xml"]
    assert len(listed_rows(folder)) == 20
    assert "section fragile of example.com could not be built" in caplog.text


def test_a_section_that_fails_says_what_stays_listed(folder: Path, fragile: type[Fragile]) -> None:
    make_products(15)
    whole = build().sections[0]
    fragile.broken = True

    failed = build().sections[0]

    assert (failed.pages, failed.urls, failed.bytes) == (whole.pages, whole.urls, whole.bytes) == (2, 15, whole.bytes)
    assert (failed.rendered, failed.skipped, failed.written) == (0, 0, 0)


def test_an_option_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="if_locked is 'nonsense', not one of fail, wait, skip"):
        build(if_locked="nonsense")  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
def test_a_build_that_another_one_took_over_is_not_complete(folder: Path) -> None:
    class Late(Products):
        def get_queryset(self) -> Any:
            # Nobody has heard of this build for long, and another one takes the lease and ends.
            Build.objects.update(lease=None)
            return super().get_queryset()

    register("late", Late)
    make_products(1)

    result = build()

    assert not result.is_complete
    assert "Another build of example.com has taken over" in result.errors[0]
    assert not (folder / "sitemap.xml").exists()


def test_a_section_that_never_succeeded_is_in_no_index(folder: Path, fragile: type[Fragile]) -> None:
    make_products(5)
    fragile.broken = True

    build()

    assert listed(folder) == ["/sitemap-products-1.xml"]


def test_strict_fails_the_section_of_a_bad_row(folder: Path) -> None:
    class Bad(Products):
        def location(self, item: Product) -> str | None:
            return None if item.slug == "product-12" else f"/{item.slug}/"

    register("bad", Bad)
    register("products", Products)
    make_products(15)

    result = build(strict=True)

    assert [bool(section.error) for section in result.sections] == [True, False]
    assert "StrictError" in (result.sections[0].error or "")
    assert listed(folder) == ["/sitemap-products-1.xml", "/sitemap-products-2.xml"]

    result = build(strict=False)
    assert result.is_complete
    assert (result.sections[0].urls, result.sections[0].report.left_out) == (14, 1)


@pytest.mark.parametrize("failing", range(7))
def test_a_full_disk_leaves_every_old_file_whole_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    register("products", Products)
    make_products(25)
    build()
    before = built_files(folder)
    Product.objects.update(slug=Concat(F("slug"), Value("-new"), output_field=CharField()))
    calls = iter(range(100))
    fsync = os.fsync

    def full(handle: int) -> None:
        # Each file is synced, and then its directory, for which no error is fatal.
        if next(calls) == 2 * failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)

    # No date moved with the addresses.
    result = build(full=True)

    monkeypatch.undo()
    replace_section("products", Products)
    assert not result.is_complete
    assert set(built_files(folder)) == set(before)
    rows = listed_rows(folder)
    assert [row.replace("-new", "") for row in rows] == [f"/product-{number}/" for number in range(1, 26)]
    assert build(full=True).is_complete
    assert listed_rows(folder) == [f"/product-{number}-new/" for number in range(1, 26)]


def test_an_index_that_cannot_be_made_is_reported_and_the_old_one_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("products", Products)
    make_products(5)
    build()
    before = built_files(folder)["sitemap.xml"]
    register("more", type("More", (Products,), {}))
    publish = FileStore.publish

    def fail(self: FileStore, name: str, data: bytes) -> None:
        if name.endswith("/sitemap.xml.gz"):
            raise OSError("no")
        publish(self, name, data)

    monkeypatch.setattr(FileStore, "publish", fail)

    result = build(["more"])

    assert [error.partition(":")[0] for error in result.errors] == ["index of example.com"]
    assert not result.is_complete
    assert built_files(folder)["sitemap.xml"] == before


# Through templates of the project

OWN = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{% for url in urlset %}<url><loc>{{ url.location }}</loc></url><!-- {{ url.item.name }} -->{% endfor %}</urlset>"""
OWN_INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{% for sitemap in sitemaps %}<sitemap><loc>{{ sitemap.location }}?own</loc></sitemap>{% endfor %}</sitemapindex>"""


def test_own_templates_write_the_built_files_as_the_served_ones(
    folder: Path, settings: Any, write_template: Any
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("products", Products)
    make_products(12)
    write_template("sitemap.xml", OWN)
    write_template("sitemap_index.xml", OWN_INDEX)

    result = build()

    assert result.is_complete
    assert done(result) == {"products": (2, 12)}
    page = gzip.decompress((folder / "sitemap-products-2.xml.gz").read_bytes())
    assert paths(locs(page)) == ["/product-11/", "/product-12/"]
    assert b"<!-- Product 12 -->" in page
    # Once, though the index of the site is made of those of the sections.
    assert listed(folder) == [f"/sitemap-products-{number}.xml?own" for number in (1, 2)]
    client = Client(headers={"host": "example.com"})
    for name, data in built_files(folder).items():
        response = client.get(f"/{name}")
        assert (b"".join(response) if response.streaming else response.content) == data, name


def test_pages_that_a_template_makes_too_large_are_split_during_the_build(
    folder: Path, write_template: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=1500))
    register("products", type("Large", (Products,), {"limit": 50}))
    make_products(60)
    write_template("sitemap.xml", OWN)

    result = build()

    assert result.is_complete
    assert result.sections[0].urls == 60
    assert listed_rows(folder) == [f"/product-{number}/" for number in range(1, 61)]
    assert result.sections[0].pages > 3


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
def test_a_template_that_fails_leaves_all_files_as_they_were(folder: Path, write_template: Any, name: str) -> None:
    register("products", Products)
    make_products(12)
    build()
    before = built_files(folder)
    make_products(1, first=13)
    write_template(name, "{% include 'missing.html' %}")

    result = build()

    assert not result.is_complete
    error = result.sections[0].error or ""
    assert name in error
    assert "TemplateDoesNotExist: missing.html" in error
    assert ("'products'" in error) is (name == "sitemap.xml")
    assert built_files(folder) == before


def test_an_own_index_of_the_site_lists_what_earlier_builds_have_published(folder: Path, write_template: Any) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 50}))
    make_products(12)
    # What no parser reads.
    write_template("sitemap_index.xml", "{% for sitemap in sitemaps %}<{{ sitemap.location }}\n{% endfor %}")
    build()
    before = (folder / "sitemap.xml").read_text()
    (folder / "sitemap-products-2.xml.gz").unlink()

    result = build(["more"])

    assert result.is_complete
    lines = before.splitlines()
    assert [line.rpartition("/")[2] for line in lines] == [
        "sitemap-products-1.xml",
        "sitemap-products-2.xml",
        "sitemap-more-1.xml",
    ]
    assert (folder / "sitemap.xml").read_text().splitlines() == [lines[0], lines[2]]


def test_a_page_that_another_process_cuts_after_its_rendering_is_rendered_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=1500))

    class Cut(Products):
        def changefreq(self, item: Product) -> str:
            if item.slug == "product-11":
                # The first page is rendered; its upper half is moved to a new one.
                first = refresh(section_of(Cut)).pages[0]
                at = first.rows(section_of(Cut)).order_by("pk")[5]
                refresh(section_of(Cut), split={first.number: (at.pk,)})
            return "daily"

    register("products", Cut)
    make_products(30)
    # Addresses long enough that the last page, alone, has to be split.
    Product.objects.filter(slug="product-25").update(slug="long-" + "x" * 190)
    Product.objects.filter(slug="product-26").update(slug="longer-" + "x" * 190)
    Product.objects.filter(slug="product-27").update(slug="longest-" + "x" * 190)

    result = build()

    rows = listed_rows(folder)
    assert result.is_complete
    assert len(rows) == len(set(rows)) == 30
    assert done(result) == {"products": (5, 30)}


@pytest.mark.usefixtures("folder")
def test_rows_that_come_and_go_during_a_build_do_not_disturb_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Moving(Products):
        def changefreq(self, item: Product) -> str:
            if item.slug == "product-1":
                Product.objects.filter(slug="product-15").delete()
                make_products(3, slug="late")
                # Another process looks at the plan meanwhile.
                refresh(section_of(Moving), force=True)
            return "daily"

    register("products", Moving)
    make_products(30)

    result = build()

    rows = [row for row in listed_rows(Path(storages["sitemaps"].location) / HOST) if "late" not in row]
    assert result.is_complete
    assert rows == [f"/product-{number}/" for number in range(1, 31) if number != 15]


def test_readers_never_see_a_missing_or_broken_file(folder: Path) -> None:
    register("products", Products)
    make_products(40)
    build()
    names = built_names(folder)
    problems: list[str] = []
    reads = [0]
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            for name in names:
                try:
                    data = (folder / name).read_bytes()
                    validate(gzip.decompress(data) if name.endswith(".gz") else data)
                    reads[0] += 1
                except Exception as error:
                    problems.append(f"{name}: {error!r}")

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(12):
            Product.objects.update(slug=Concat(F("slug"), Value(str(number)), output_field=CharField()))
            build()
    finally:
        stop.set()
        reader.join()

    assert problems == []
    assert reads[0] > len(names)


@pytest.fixture
def watched_storage(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    saved: list[str] = []
    monkeypatch.setattr(FileSystemStorage, "_save", lambda self, name, content: saved.append(name))
    return saved


def test_files_are_never_written_in_place(folder: Path, watched_storage: list[str]) -> None:
    register("products", Products)
    make_products(5)

    build()

    assert watched_storage == []
    assert text_of(render_page(section_of(Products), 1)) == gzip.decompress(
        built_files(folder)["sitemap-products-1.xml.gz"]
    )
