from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from built import BuiltSet, build_forty, index_names
from clock import Clock
from samples import DAY, Products, make_products, nth, replace_section, section_of
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.build.due import examine
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.stores.cache import get_cache
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Product
from xml_checks import lastmods

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


@pytest.fixture
def built(settings: Any, tmp_path: Path) -> BuiltSet:
    return build_forty(settings, tmp_path)


# What changed, however it was changed


def test_one_changed_row_has_one_page_rendered_and_written(built: BuiltSet, rendered: list[int]) -> None:
    rendered.clear()
    nth(25).update(updated_at=LATER, slug="product-25-new")

    with built.touched() as touched:
        result = build()

    assert rendered == [3]
    assert touched == {"sitemap-products-3.xml.gz", *index_names("products"), MANIFEST}
    section = result.sections[0]
    assert (section.rendered, section.skipped, section.written, section.urls) == (1, 3, 1, 40)
    assert built.rows()[24] == "/product-25-new/"
    built.assert_as_fresh()


@pytest.mark.usefixtures("built")
def test_without_any_change_nothing_is_rendered(rendered: list[int]) -> None:
    rendered.clear()

    result = build()

    assert rendered == []
    assert result.is_complete
    assert (result.sections[0].skipped, result.sections[0].urls) == (4, 40)


def test_without_any_change_no_file_is_touched(built: BuiltSet) -> None:
    with built.touched() as touched:
        build()
        list(examine())

    assert touched == set()


def test_a_page_without_change_costs_no_query_beyond_the_plans(built: BuiltSet) -> None:
    costs = []

    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as plan:
            refresh(section_of(Products), force=True)
        with CaptureQueriesContext(connection) as whole:
            build(["products"])
        costs.append(len(whole) - len(plan))
        make_products(200, first=41)
        build()

    assert costs[0] == costs[1]
    assert costs[0] < 20


def _insert(**values: Any) -> None:
    make_products(5, first=41, **values)


def _sql(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


CHANGES: dict[str, tuple[Callable[[], object], list[int]]] = {
    "update": (lambda: nth(15).update(slug="new", updated_at=LATER), [2]),
    "bulk_create": (lambda: _insert(), [5]),
    "bulk_update": (
        lambda: Product.objects.bulk_update([_renamed(nth(35).get())], ["slug", "updated_at"]),
        [4],
    ),
    "raw SQL": (
        lambda: _sql(
            "UPDATE testapp_product SET slug = 'x', updated_at = '2026-02-02 00:00:00' WHERE slug = 'product-2'"
        ),
        [1],
    ),
    "delete by queryset": (lambda: Product.objects.filter(slug__in=["product-12", "product-31"]).delete(), [2, 4]),
    "delete by raw SQL": (lambda: _sql("DELETE FROM testapp_product WHERE slug = 'product-40'"), [4]),
    "late commit": (lambda: _insert(updated_at=DAY - timedelta(days=9)), [5]),
    "an older date": (lambda: nth(22).update(slug="older", updated_at=DAY - timedelta(days=9)), [3]),
    "no date any more": (lambda: nth(22).update(slug="undated", updated_at=None), [3]),
    "one comes, one goes": (
        lambda: (nth(39).delete(), make_products(1, first=39)),
        [4],
    ),
}


def _renamed(product: Any) -> Any:
    product.slug, product.updated_at = "renamed", LATER
    return product


@pytest.mark.parametrize("how", CHANGES)
def test_rows_changed_by_any_means_are_in_the_next_build(built: BuiltSet, rendered: list[int], how: str) -> None:
    change, pages = CHANGES[how]
    change()
    rendered.clear()

    build()

    assert sorted(rendered) == pages
    assert built.rows() == [f"/{slug}/" for slug in Product.objects.order_by("pk").values_list("slug", flat=True)]
    built.assert_as_fresh()


class Dated(Products):
    """Products whose pages show a date that does not move with each change."""

    lastmod = F("published_on")
    changed = F("updated_at")


@pytest.fixture
def quiet(settings: Any, tmp_path: Path) -> BuiltSet:
    """Pages that do not show all that changes."""
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com")
    register("products", Dated)
    make_products(20, published_on=date(2026, 1, 5))
    build()
    return found


def test_a_change_that_a_page_does_not_show_is_rendered_and_not_written(
    quiet: BuiltSet, rendered: list[int], clock: Clock
) -> None:
    rendered.clear()
    clock.pass_(hours=1)
    nth(15).update(name="another name", updated_at=LATER)

    with quiet.touched() as touched:
        result = build()

    assert rendered == [2]
    assert touched == set()
    assert (result.sections[0].rendered, result.sections[0].written) == (1, 0)
    assert lastmods(quiet.path("sitemap.xml").read_bytes()) == ["2026-01-05T00:00:00+00:00"] * 2
    # It is over with that: the next build does not look at it again.
    rendered.clear()
    build()
    assert rendered == []


def test_a_date_of_the_index_stays_until_the_page_shows_a_change(quiet: BuiltSet, clock: Clock) -> None:
    clock.pass_(hours=1)
    nth(15).update(name="another name", updated_at=LATER)
    build()
    clock.pass_(hours=1)
    build(full=True)
    assert lastmods(quiet.path("sitemap.xml").read_bytes()) == ["2026-01-05T00:00:00+00:00"] * 2
    nth(15).update(slug="new", updated_at=LATER + timedelta(days=1))

    build()

    first, second = lastmods(quiet.path("sitemap.xml").read_bytes())
    assert first == "2026-01-05T00:00:00+00:00"
    assert str(second).startswith(clock.now.strftime("%Y-%m-%dT%H:%M:%S"))


def test_dates_of_the_index_are_those_of_the_live_one(built: BuiltSet, clock: Clock) -> None:
    clock.pass_(hours=1)
    nth(25).update(updated_at=clock.now, slug="product-25-new")
    nth(5).delete()
    make_products(3, first=41, updated_at=clock.now - timedelta(minutes=5))

    build()

    clock.pass_(minutes=5)
    for name in ("sitemap.xml", "sitemap-products.xml"):
        assert Client(headers={"host": "example.com"}).get(f"/{name}").getvalue() == built.path(name).read_bytes()


def test_a_new_format_moves_no_date_of_the_index(quiet: BuiltSet, clock: Clock) -> None:
    clock.pass_(hours=1)
    nth(15).update(name="another name", updated_at=LATER)
    build()
    before = quiet.path("sitemap.xml").read_bytes()
    quiet.use(FORMATS=["xml"])

    build()

    assert quiet.path("sitemap.xml").read_bytes() == before


def test_full_renders_all_and_writes_nothing_where_nothing_changed(built: BuiltSet, rendered: list[int]) -> None:
    rendered.clear()

    with built.touched() as touched:
        result = build(full=True)

    assert sorted(rendered) == [1, 2, 3, 4]
    assert touched == set()
    assert (result.sections[0].rendered, result.sections[0].written) == (4, 0)


def test_full_finds_what_moved_no_date(built: BuiltSet) -> None:
    nth(25).update(slug="silent")
    build()
    assert "/silent/" not in built.rows()

    with built.touched() as touched:
        build(full=True)

    assert "/silent/" in built.rows()
    assert touched == {"sitemap-products-3.xml.gz", *index_names("products"), MANIFEST}


# Ways to make pages


def test_another_hook_has_all_pages_of_the_section_rendered(built: BuiltSet, rendered: list[int]) -> None:
    replace_section("products", type("Weekly", (Products,), {"changefreq": "weekly"}))
    rendered.clear()

    build()

    assert sorted(rendered) == [1, 2, 3, 4]
    built.assert_as_fresh()


class Versioned(Products):
    frequency = "daily"

    def changefreq(self, item: Product) -> str:
        return type(self).frequency


def test_a_raised_version_has_all_pages_rendered(
    built: BuiltSet, rendered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_section("products", Versioned)
    build()
    rendered.clear()
    monkeypatch.setattr(Versioned, "frequency", "weekly")
    build()
    assert rendered == []
    monkeypatch.setattr(Versioned, "version", 2)

    build()

    assert sorted(rendered) == [1, 2, 3, 4]
    built.assert_as_fresh()


def test_a_format_more_is_made_of_every_page_and_nothing_else_is_touched(built: BuiltSet) -> None:
    built.use(FORMATS=["xml.gz", "xml"])

    with built.touched() as touched:
        build()

    assert touched == {MANIFEST, *(f"sitemap-products-{number}.xml" for number in (1, 2, 3, 4))}
    built.assert_as_fresh()


def test_another_extension_changes_the_indexes_alone(built: BuiltSet, rendered: list[int]) -> None:
    built.use(EXTENSION="xml.gz")
    rendered.clear()

    with built.touched() as touched:
        build()

    assert rendered == []
    assert touched == {MANIFEST, *index_names("products")}
    assert built.listed()[0] == "/sitemap-products-1.xml.gz"
    built.assert_as_fresh()


def test_another_public_url_changes_the_indexes_alone(built: BuiltSet, rendered: list[int]) -> None:
    built.use(PUBLIC_URL="https://example.com/maps/")
    rendered.clear()

    with built.touched() as touched:
        build()

    assert rendered == []
    assert touched == {MANIFEST, *index_names("products")}
    built.assert_as_fresh()


@pytest.mark.parametrize("form", ["xml.gz", "xml"])
def test_a_file_that_somebody_removed_is_made_again(built: BuiltSet, rendered: list[int], form: str) -> None:
    built.use(FORMATS=["xml"])
    build()
    before = built.files()
    built.path(f"sitemap-products-2.{form}").unlink()
    rendered.clear()

    with built.touched() as touched:
        build()

    assert rendered == [2]
    assert f"sitemap-products-2.{form}" in touched
    assert not {name for name in touched if "-2." not in name} - {MANIFEST, *index_names("products")}
    assert built.files() == before


@pytest.mark.parametrize("name", sorted(index_names("products")))
def test_an_index_that_somebody_removed_is_made_again(built: BuiltSet, rendered: list[int], name: str) -> None:
    before = built.files()
    built.path(name).unlink()
    rendered.clear()

    with built.touched() as touched:
        build()

    assert rendered == []
    assert touched - {MANIFEST} == {name}
    assert built.files() == before


SPOILED: dict[str, Callable[[bytes], bytes | None]] = {
    "lost": lambda data: None,
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "no text": lambda data: b"\xff\xfe",
    "a list": lambda data: b"[]",
    "another format": lambda data: data.replace(b'"format":2', b'"format":99', 1),
    "another label": lambda data: data.replace(b'"products"', b'"product"', 1),
    "other digests": lambda data: data.replace(b'"digest":"', b'"digest":"00', 3),
    "a number as text": lambda data: data.replace(b'"urls":10', b'"urls":"ten"'),
    "no number": lambda data: data.replace(b'"bytes":', b'"bytes":null,"x":'),
    "no formats": lambda data: data.replace(b'"formats":["xml.gz"]', b'"formats":null'),
    "a shape that is none": lambda data: data.replace(b'"sampled":', b'"sampled":"many","x":'),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_manifest_that_is_lost_or_spoiled_costs_rendering_and_no_file(
    built: BuiltSet, rendered: list[int], how: str
) -> None:
    before = built.files()
    data = SPOILED[how](built.manifest.read_bytes())
    if data is None:
        built.manifest.unlink()
    else:
        assert data != built.manifest.read_bytes()
        built.manifest.write_bytes(data)
    rendered.clear()

    with built.touched() as touched:
        result = build()

    assert result.is_complete, (result.errors, result.sections)
    assert rendered
    assert result.sections[0].written == 0
    assert touched == {MANIFEST}
    assert built.files() == before
    rendered.clear()
    build()
    assert rendered == []


def test_another_storage_gets_all_pages_and_the_first_one_is_built_upon_again(
    built: BuiltSet, rendered: list[int]
) -> None:
    before = built.files()
    rendered.clear()

    built.assert_as_fresh()

    assert sorted(rendered) == [1, 2, 3, 4]
    rendered.clear()
    with built.touched() as touched:
        build()
    assert (rendered, touched) == ([], set())
    assert built.files() == before


def test_a_page_is_rendered_anew_when_it_is_old(built: BuiltSet, rendered: list[int], clock: Clock) -> None:
    built.use(MAX_AGE=1000)
    rendered.clear()
    clock.pass_(seconds=700)
    build()
    assert rendered == []
    clock.pass_(seconds=301)

    with built.touched() as touched:
        build()

    assert sorted(rendered) == [1, 2, 3, 4]
    assert touched == set()
    rendered.clear()
    build()
    assert rendered == []


def test_what_only_a_method_shows_is_published_when_pages_are_old(
    built: BuiltSet, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Versioned, "frequency", "daily")
    replace_section("products", Versioned)
    build()
    monkeypatch.setattr(Versioned, "frequency", "weekly")
    clock.pass_(days=1, seconds=1)

    build()

    built.assert_as_fresh()


def test_a_page_that_a_request_rendered_meanwhile_is_still_due(built: BuiltSet, rendered: list[int]) -> None:
    nth(25).update(slug="seen-live", updated_at=LATER)
    get_cache().look_again(["products"])
    refresh(section_of(Products), force=True)
    assert b"seen-live" in Client(headers={"host": "example.com"}).get("/sitemap-products-3.xml").getvalue()
    rendered.clear()

    build()

    assert rendered == [3]
    assert "/seen-live/" in built.rows()
    built.assert_as_fresh()


class Fussy(Products):
    def location(self, item: Product) -> str | None:
        return None if item.slug == "product-15" else f"/{item.slug}/"


def test_strict_hears_of_what_a_lenient_build_left_out(built: BuiltSet, rendered: list[int]) -> None:
    replace_section("products", Fussy)
    assert build(strict=False).sections[0].left_out == 1
    rendered.clear()
    assert build(strict=False).sections[0].left_out == 1
    assert rendered == []
    before = built.files()

    result = build(strict=True)

    assert rendered == [2]
    assert "StrictError" in str(result.sections[0].error)
    assert built.files() == before


@pytest.mark.parametrize("how", ["first", "repack", "full"])
def test_dates_with_fractions_of_a_second_make_no_page_due(site: BuiltSet, how: str) -> None:
    make_products(25, updated_at=datetime(2026, 5, 5, 3, 4, 5, 678901, UTC))
    register("products", Products)
    build()
    if how != "first":
        build(**{how: True})
    before = list(SitemapPage.objects.values_list("changed_at", flat=True))

    assert list(examine()) == []
    build()
    assert list(SitemapPage.objects.values_list("changed_at", flat=True)) == before
