"""Indexes list the pages of a plan; no row is read."""

from datetime import timedelta
from typing import Any

import pytest

from samples import DAY, SITE, Products, make_products, paths, render_page, section_of, text_of
from sitemaps_plus import NewsSitemap, register
from sitemaps_plus.errors import (
    PageNotFound,
)
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sites import directory
from sitemaps_plus.protocol.writer import IndexItem
from sitemaps_plus.render.indexes import list_pages, make_index, render_index
from testapp.models import Article
from xml_checks import lastmods, locs, validate

pytestmark = pytest.mark.django_db


def test_the_index_lists_the_pages_of_all_sections_in_order() -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 30}))
    make_products(25)

    document = render_index(SITE)

    assert paths(locs(text_of(document))) == [
        "/sitemap-products-1.xml",
        "/sitemap-products-2.xml",
        "/sitemap-products-3.xml",
        "/sitemap-more-1.xml",
    ]
    assert lastmods(text_of(document))[0] == "2026-01-01T12:10:00+00:00"
    assert document.changed_at == DAY + timedelta(minutes=25)


def test_the_index_of_a_section_lists_its_pages_alone() -> None:
    register("products", Products)
    register("more", type("More", (Products,), {}))
    make_products(15)

    assert paths(locs(text_of(render_index(SITE, label="more")))) == ["/sitemap-more-1.xml", "/sitemap-more-2.xml"]


@pytest.mark.parametrize("label", [None, "products"])
def test_an_index_without_pages_is_not_found(label: str | None) -> None:
    register("products", Products)

    with pytest.raises(PageNotFound, match="no URLs at present"):
        render_index(SITE, label=label)


def test_an_unknown_section_is_not_found() -> None:
    with pytest.raises(PageNotFound, match="unknown"):
        render_index(SITE, label="unknown")


def test_the_index_of_a_news_sitemap_without_news_lists_its_first_page() -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("news", News)

    assert paths(locs(text_of(render_index(SITE)))) == ["/sitemap-news-1.xml"]
    assert locs(text_of(render_page(section_of(News, "news"), 1))) == []


@pytest.mark.parametrize("rows", [15, 150])
def test_the_index_costs_queries_by_sections_and_never_by_rows(rows: int, django_assert_num_queries: Any) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {}))
    make_products(rows)
    render_index(SITE)

    with django_assert_num_queries(2) as captured:
        render_index(SITE)

    assert not [query["sql"] for query in captured.captured_queries if "testapp_product" in query["sql"]]


def test_one_section_that_fails_does_not_take_the_others_from_the_index(settings: Any) -> None:
    broken = {"now": False}

    class Fragile(Products):
        def get_queryset(self) -> Any:
            if broken["now"]:
                raise RuntimeError("the rows cannot be read")
            return super().get_queryset()

    register("fragile", Fragile)
    register("products", Products)
    make_products(5)
    before = text_of(render_index(SITE))
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 0}
    broken["now"] = True

    assert text_of(render_index(SITE)) == before

    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 0, "STRICT": True}
    with pytest.raises(RuntimeError):
        render_index(SITE)


def test_pages_are_listed_under_a_given_base_and_extension(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"EXTENSION": "xml.gz"}
    make_products(5)

    (item,) = list_pages(refresh(section_of(Products)), "https://cdn.example/maps/")

    assert item == IndexItem("https://cdn.example/maps/sitemap-products-1.xml.gz", "2026-01-01T12:05:00+00:00")


def test_a_class_with_a_protocol_of_its_own_is_listed_under_it() -> None:
    class Plain(Products):
        protocol = "http"

    register("products", Plain)
    make_products(1)

    assert locs(text_of(render_index(SITE))) == ["http://example.com/sitemap-products-1.xml"]
    assert locs(text_of(render_page(section_of(Plain), 1))) == ["http://example.com/product-1/"]


def test_the_directory_is_where_the_urls_are_included() -> None:
    assert directory() == "/"


@pytest.mark.urls("testapp.urls_hostile")
def test_without_the_urls_the_directory_is_the_root() -> None:
    assert directory() == "/"


def test_an_index_made_of_items_is_valid_and_always_the_same() -> None:
    items = [IndexItem("https://example.com/a.xml", "2026-01-01"), IndexItem("https://example.com/b.xml")]

    first, second = make_index(items), make_index(items)

    assert first.gzipped == second.gzipped
    assert len(validate(text_of(first))) == first.urls == 2
