"""Plans: which page a row is on, and which pages an index lists."""

from typing import Any

import pytest
from django.contrib import sitemaps as contrib

from samples import Products, make_products, section_of
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.plan import pages
from sitemaps_plus.plan.pages import stored_plan, url_count
from sitemaps_plus.plan.planner import refresh
from testapp.models import Product

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("starts_per_query", [2, 3, 64])
def test_each_row_is_found_on_its_page(monkeypatch: pytest.MonkeyPatch, starts_per_query: int) -> None:
    monkeypatch.setattr(pages, "_STARTS_PER_QUERY", starts_per_query)
    products = make_products(75)
    section = section_of(Products)
    plan = refresh(section)

    for product in products:
        page = plan.page_of((product.pk,))
        assert page is not None
        assert page.rows(section).filter(pk=product.pk).exists()


def test_a_row_that_is_gone_is_on_no_page() -> None:
    *_, last = make_products(25)
    plan = refresh(section_of(Products))
    key = last.pk
    last.delete()

    assert plan.page_of((key,)) is None


def test_the_page_of_a_row_costs_one_query_for_many_pages(django_assert_num_queries: object) -> None:
    products = make_products(200)
    plan = refresh(section_of(Products))

    with django_assert_num_queries(1):  # type: ignore[operator]
        page = plan.page_of((products[-1].pk,))

    assert page is plan.pages[-1]


def test_a_page_is_found_by_its_number_or_the_error_says_why_not() -> None:
    make_products(25)
    section = section_of(Products)
    plan = refresh(section)

    assert plan.find(2) is plan.pages[1]
    with pytest.raises(PageNotFound, match="has no page 4"):
        plan.find(4)

    repacked = refresh(section, repack=True)

    with pytest.raises(PageGone, match=r"Page 2 .* is gone"):
        repacked.find(2)


def test_the_stored_plan_lists_the_pages_that_are_not_empty() -> None:
    make_products(25)
    section = section_of(Products)
    refresh(section)
    Product.objects.filter(pk__in=[product.pk for product in Product.objects.order_by("pk")[10:20]]).delete()
    refresh(section, force=True)

    assert [page.number for page in stored_plan(section).listed] == [1, 3]


def test_a_page_that_was_not_rendered_since_it_changed_has_a_url_for_each_row_and_language(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    make_products(3)
    section = section_of(type("Translated", (Products,), {"i18n": True}))
    (page,) = refresh(section).pages

    assert url_count(section, page.record) == 9

    by_position = section_of(type("Classic", (contrib.Sitemap,), {"i18n": True, "items": lambda self: [1, 2]}))
    (page,) = refresh(by_position).pages
    assert url_count(by_position, page.record) == 6

    page.record.urls = 0
    assert url_count(section, page.record) == 0
