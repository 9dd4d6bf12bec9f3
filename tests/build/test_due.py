from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language

from built import BuiltSet, index_names
from clock import Clock
from databases import refusing
from samples import DAY, Products, make_products, nth, replace_section, section_of
from sitemaps_plus import NewsSitemap, register, registry
from sitemaps_plus.build import build
from sitemaps_plus.build.due import Due, examine
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.stores.cache import get_cache
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Article, Product
from xml_checks import lastmods

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


@pytest.fixture
def built(settings: Any, tmp_path: Path) -> BuiltSet:
    """Forty products on four pages, and another section beside them, both built."""
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com")
    register("products", Products)
    register("more", type("More", (Products,), {"queryset": Product.objects.filter(name="none")}))
    make_products(40)
    assert build().is_complete
    return found


def reasons(**options: Any) -> dict[int, str]:
    """Return why the pages of products are due."""
    return {due.number: due.reason for due in examine(["products"], **options)}


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
    "another format": lambda data: data.replace(b'"format":1', b'"format":99', 1),
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


# Pages by position, and classes that make their URLs themselves


class Plain(contrib.Sitemap):
    """A class of Django, in two languages."""

    i18n = True
    languages = ["en", "de"]
    limit = 8
    protocol = "https"

    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def location(self, item: Product) -> str:
        return f"/{get_language()}/{item.slug}/"

    def lastmod(self, item: Product) -> Any:
        return item.updated_at


class Names(contrib.Sitemap):
    """A list, which nothing but its items tells of."""

    limit = 10
    names: list[str] = []

    def items(self) -> list[str]:
        return list(self.names)

    def location(self, item: str) -> str:
        return f"/names/{item}/"


class Own(contrib.Sitemap):
    """URLs of its own making."""

    limit = 10
    names: list[str] = []

    def items(self) -> list[str]:
        return list(self.names)

    def get_urls(self, page: int = 1, site: Any = None, protocol: str | None = None) -> list[dict[str, Any]]:
        return [
            {"item": name, "location": f"https://example.com/own/{name}/", "lastmod": None, "changefreq": None,
             "priority": "", "alternates": []}
            for name in self.paginator.page(page).object_list
        ]  # fmt: skip


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    """A site without sections yet."""
    return BuiltSet(settings, tmp_path)


def test_pages_by_position_are_rendered_when_any_row_of_the_section_changed(
    site: BuiltSet, rendered: list[int]
) -> None:
    register("plain", Plain)
    make_products(20)
    build()
    assert sorted(rendered) == [1, 2, 3, 4, 5]
    rendered.clear()
    with site.touched() as touched:
        build()
    assert (rendered, touched) == ([], set())
    nth(6).update(slug="new", updated_at=LATER)

    with site.touched() as touched:
        build()

    assert sorted(rendered) == [1, 2, 3, 4, 5]
    assert touched == {MANIFEST, "sitemap-plain-2.xml.gz", *index_names("plain")}
    site.assert_as_fresh()


@pytest.mark.parametrize(("gone", "new"), [(1, 0), (0, 1), (1, 1)])
def test_pages_by_position_follow_rows_that_come_and_go(site: BuiltSet, gone: int, new: int) -> None:
    register("plain", Plain)
    make_products(20)
    build()
    Product.objects.filter(slug__in=["product-3"][:gone]).delete()
    make_products(new, first=21)

    build()

    kept = [number for number in range(1, 21 + new) if not (gone and number == 3)]
    assert site.rows() == [f"/{code}/product-{number}/" for number in kept for code in ("en", "de")]
    site.assert_as_fresh()


@pytest.mark.parametrize("cls", [Names, Own])
def test_what_only_rendering_tells_is_rendered_each_time_and_written_when_it_differs(
    site: BuiltSet, rendered: list[int], monkeypatch: pytest.MonkeyPatch, cls: Any
) -> None:
    register("names", cls)
    monkeypatch.setattr(cls, "names", [f"n{number}" for number in range(25)])
    build()
    rendered.clear()
    with site.touched() as touched:
        build()
    assert (sorted(rendered), touched) == ([1, 2, 3], set())
    monkeypatch.setattr(cls, "names", [f"n{number}" for number in range(24)] + ["other"])

    with site.touched() as touched:
        build()

    assert touched == {MANIFEST, "sitemap-names-3.xml.gz", *index_names("names")}
    assert "other" in site.rows()[-1]
    site.assert_as_fresh()


@pytest.mark.parametrize("cls", [Names, Own])
def test_a_page_that_had_no_url_is_listed_when_it_has_some(
    site: BuiltSet, monkeypatch: pytest.MonkeyPatch, cls: Any
) -> None:
    register("names", cls)
    monkeypatch.setattr(cls, "names", [])
    build()
    assert not site.path("sitemap.xml").exists()
    monkeypatch.setattr(cls, "names", ["one"])

    build()

    assert len(site.rows()) == 1


def test_a_page_whose_rows_were_all_unusable_is_listed_when_they_are_usable(site: BuiltSet) -> None:
    register("products", Products)
    make_products(20)
    Product.objects.filter(slug__in=[f"product-{number}" for number in range(1, 11)]).update(slug="..")
    build()
    assert site.listed() == ["/sitemap-products-2.xml"]
    Product.objects.filter(slug="..").update(slug="fine", updated_at=LATER)

    build()

    assert site.listed() == ["/sitemap-products-1.xml", "/sitemap-products-2.xml"]
    site.assert_as_fresh()


def test_news_move_with_the_clock(site: BuiltSet, clock: Clock) -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("news", News)
    Article.objects.bulk_create(
        Article(title=f"Article {number}", published_at=clock.now - timedelta(hours=number)) for number in range(1, 40)
    )
    build()
    assert len(site.rows()) == 39
    clock.pass_(hours=20)

    build()

    assert len(site.rows()) == 28
    site.assert_as_fresh()
    clock.pass_(hours=30)
    assert build().is_complete
    assert site.rows() == []


class Local(Products):
    i18n = True
    languages = ["en", "de"]
    alternates = True
    limit = 20


def test_another_language_has_all_pages_made_anew(site: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    register("products", Local)
    make_products(20)
    build()
    nth(15).update(slug="new", updated_at=LATER)
    with site.touched() as touched:
        build()
    assert touched == {MANIFEST, "sitemap-products-2.xml.gz", *index_names("products")}
    monkeypatch.setattr(Local, "languages", ["en", "de", "fr"])

    build(prune=True)

    assert min(int(path.rpartition("-")[2].partition(".")[0]) for path in site.listed()) == 3
    site.assert_as_fresh()


# What examine says


def examined(built: BuiltSet, **options: Any) -> dict[int, Due]:
    """Return what examine says of products; fail if it changes the plan or a file."""
    before = list(SitemapPage.objects.order_by("pk").values())
    with built.touched() as touched:
        found = list(examine(["products"], **options))
    assert touched == set()
    assert list(SitemapPage.objects.order_by("pk").values()) == before
    return {due.number: due for due in found if due.number}


def test_examine_says_nothing_where_nothing_is_due(built: BuiltSet) -> None:
    assert examined(built) == {}
    assert list(examine()) == []


def test_examine_says_that_nothing_was_built(site: BuiltSet) -> None:
    register("products", Products)
    make_products(20)

    found = list(examine())

    assert found == [Due("example.com", "products", number, "it was never built", is_stale=True) for number in (1, 2)]
    assert SitemapPage.objects.count() == 0
    assert not site.folder.exists()


def _remove(built: BuiltSet, name: str) -> None:
    built.path(name).unlink()


def _own_hook() -> None:
    replace_section("products", type("Weekly", (Products,), {"changefreq": "weekly"}))


CASES: dict[str, tuple[Callable[[BuiltSet], object], list[int], str]] = {
    "a row": (lambda built: nth(25).update(updated_at=LATER), [3], "its rows changed"),
    "new rows": (lambda built: _insert(), [5], "it was never built"),
    "no rows": (
        lambda built: Product.objects.filter(slug__in=[f"product-{number}" for number in range(21, 31)]).delete(),
        [3],
        "no URLs any more",
    ),
    "a file": (lambda built: _remove(built, "sitemap-products-2.xml.gz"), [2], "its file is missing"),
    "a format": (lambda built: built.use(FORMATS=["xml"]), [1, 2, 3, 4], "one of its files is missing"),
    "a hook": (lambda built: _own_hook(), [1, 2, 3, 4], "its Sitemap class, a URL pattern"),
    "the manifest": (lambda built: built.manifest.unlink(), [1, 2, 3, 4], "or its manifest entry"),
}


@pytest.mark.parametrize("case", CASES)
def test_examine_says_why(built: BuiltSet, case: str) -> None:
    change, pages, text = CASES[case]
    change(built)

    found = examined(built)

    assert sorted(found) == pages
    assert text in found[pages[0]].reason
    assert all(due.is_stale for due in found.values())


def test_examine_tells_what_may_well_be_current(built: BuiltSet, clock: Clock) -> None:
    assert {due.is_stale for due in examined(built, full=True).values()} == {False}
    clock.pass_(days=1)

    found = examined(built)

    assert {due.reason for due in found.values()} == {"its rows were last read long ago, see MAX_AGE"}
    assert {due.is_stale for due in found.values()} == {False}


def test_examine_calls_nothing_stale_that_only_rendering_tells(site: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Names, "names", ["one"])
    register("names", Names)
    build()

    found = list(examine())

    assert [(due.number, due.is_stale) for due in found] == [(1, False)]


class Flaky(Products):
    is_down = True

    def priority(self, item: Product) -> float:
        if self.is_down and item.slug == "product-15":
            raise ConnectionError("the service is down")
        return 0.5


def test_a_page_that_code_has_raised_for_is_rendered_by_the_next_build(
    built: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_section("products", Flaky)
    assert build(["products"]).sections[0].report.dropped == 1
    monkeypatch.setattr(Flaky, "is_down", False)

    assert [(due.number, due.is_stale) for due in examine(["products"])] == [(2, False)]
    again = build(["products"]).sections[0]

    assert (again.rendered, again.written, again.report.dropped) == (1, 1, 0)
    assert list(examine(["products"])) == []


def test_a_row_that_is_wrong_is_not_tried_again(built: BuiltSet) -> None:
    replace_section("products", type("Wrong", (Products,), {"priority": lambda self, item: "high"}))
    assert build(["products"]).sections[0].report.dropped == 40

    assert list(examine(["products"])) == []


INDEXES: dict[str, Callable[[BuiltSet], object]] = {
    "extension": lambda built: built.use(EXTENSION="xml.gz"),
    "public url": lambda built: built.use(PUBLIC_URL="https://cdn.example/"),
    "removed": lambda built: _remove(built, "sitemap.xml.gz"),
    "removed of a section": lambda built: _remove(built, "sitemap-products.xml"),
    "section": lambda built: registry.unregister("products"),
}


@pytest.mark.parametrize("change", INDEXES)
def test_examine_says_that_an_index_is_not_what_it_should_be(built: BuiltSet, change: str) -> None:
    INDEXES[change](built)

    found = list(examine())

    assert found
    assert {due.number for due in found} == {0}
    assert all(due.is_stale for due in found)


def test_examine_names_the_origin_that_is_another_one(built: BuiltSet) -> None:
    built.use(ORIGIN="http://example.com")

    with pytest.raises(SitemapError, match=r"is that of https://example\.com"):
        list(examine())


# A database that refuses


READ_ONLY = partial(refusing, "INSERT |UPDATE |DELETE ", text="attempt to write a readonly database")


def test_where_the_database_refuses_writes_the_set_is_built_and_only_rendering_is_repeated(
    site: BuiltSet, rendered: list[int]
) -> None:
    register("products", Products)
    make_products(25)

    with READ_ONLY():
        assert build().is_complete
        rendered.clear()
        with site.touched() as touched:
            assert build().is_complete

    assert sorted(rendered) == [1, 2, 3]
    assert touched == set()
    assert len(site.rows()) == 25


def test_where_the_database_refuses_writes_later_what_changed_is_published(
    built: BuiltSet, rendered: list[int]
) -> None:
    nth(25).update(updated_at=LATER, slug="new")
    rendered.clear()

    with READ_ONLY():
        assert [due.number for due in examine(["products"]) if due.number] == [3]
        with built.touched() as touched:
            assert build().is_complete
        with built.touched() as touched_again:
            assert build().is_complete

    assert rendered == [3, 3]
    assert touched == {"sitemap-products-3.xml.gz", *index_names("products"), MANIFEST}
    assert touched_again == set()
    rendered.clear()
    assert build().is_complete
    assert build().is_complete
    assert rendered == [3]
    built.assert_as_fresh(but_indexes=True)


def test_without_its_tables_a_build_fails_and_keeps_all_files(built: BuiltSet) -> None:
    nth(25).update(updated_at=LATER)

    with refusing("sitemaps_plus_", text="no such table"), built.touched() as touched:
        result = build()

    assert ["no such table" in str(section.error) for section in result.sections] == [True, True]
    assert touched == set()
    assert build().is_complete
