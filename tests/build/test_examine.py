"""What a dry run says, and builds on a database that refuses writes or has no tables."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib

from built import BuiltSet, build_forty, index_names
from clock import Clock
from databases import refusing
from samples import DAY, Products, make_products, nth, replace_section
from sitemaps_plus import register, registry
from sitemaps_plus.build import build
from sitemaps_plus.build.due import Due, examine
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Product

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


@pytest.fixture
def built(settings: Any, tmp_path: Path) -> BuiltSet:
    return build_forty(settings, tmp_path)


class Names(contrib.Sitemap):
    """A list, which nothing but its items tells of."""

    limit = 10
    names: list[str] = []

    def items(self) -> list[str]:
        return list(self.names)

    def location(self, item: str) -> str:
        return f"/names/{item}/"


def _insert(**values: Any) -> None:
    make_products(5, first=41, **values)


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
    "a row": (lambda built: nth(25).update(updated_at=LATER), [3], "its content changed since the build"),
    "new rows": (lambda built: _insert(), [5], "it was never built"),
    "no rows": (
        lambda built: Product.objects.filter(slug__in=[f"product-{number}" for number in range(21, 31)]).delete(),
        [3],
        "no URLs any more",
    ),
    "a file": (
        lambda built: _remove(built, "sitemap-products-2.xml.gz"),
        [2],
        "its file or its manifest entry is missing",
    ),
    "a format": (lambda built: built.use(FORMATS=["xml"]), [1, 2, 3, 4], "one of its files is missing"),
    "a hook": (lambda built: _own_hook(), [1, 2, 3, 4], "its Sitemap class, a URL pattern"),
}


@pytest.mark.parametrize("case", CASES)
def test_examine_says_why(built: BuiltSet, case: str) -> None:
    change, pages, text = CASES[case]
    change(built)

    found = examined(built)

    assert sorted(found) == pages
    assert text in found[pages[0]].reason
    assert all(due.is_stale for due in found.values())


def test_examine_makes_a_lost_manifest_again_and_finds_nothing_stale(built: BuiltSet) -> None:
    built.manifest.unlink()

    found = examined(built)

    assert {due.reason for due in found.values()} == {"the manifest was lost, and does not say what was left out of it"}
    assert {due.is_stale for due in found.values()} == {False}
    assert not built.manifest.exists()


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


def test_a_class_that_raises_is_reported_beside_what_is_due_of_the_others(built: BuiltSet) -> None:
    def fail(self: Any) -> list[str]:
        raise ConnectionError("the service is down")

    register("broken", type("Broken", (Names,), {"items": fail}))
    _insert()

    found = list(examine())

    assert Due("example.com", "broken", 0, "it cannot be built: ConnectionError: the service is down", True) in found
    assert "products" in {due.label for due in found}
