"""Sections without a key: pages are positions."""

from datetime import timedelta

import pytest
from django.contrib import sitemaps as contrib
from django.core.paginator import Paginator
from django.utils import timezone

from factories import (
    ArticleFactory,
    ProductFactory,
)
from plan_samples import TenProducts, all_keys, locs, numbers, sizes
from samples import render_page, section_of
from sitemaps_plus import NewsSitemap
from sitemaps_plus.errors import PageGone, PageNotFound, TooManyPages
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from testapp.models import Article, Product


class Names(contrib.Sitemap):
    names = ()
    limit = 10

    def items(self):
        return self.names

    def location(self, item):
        return f"/{item}/"


class Paginated(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    @property
    def paginator(self):
        return Paginator(self._items(), 4)


class PairsOfItems(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    def _items(self):
        return [*self.items(), *self.items()]


class OwnUrls(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    def get_urls(self, page=1, site=None, protocol=None):
        return super().get_urls(page, site, protocol)


class OwnInnerUrls(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    def _urls(self, page, protocol, domain):
        return super()._urls(page, protocol, domain)


def by_position(**attributes):
    return type("ByPosition", (contrib.Sitemap,), {"limit": 10, **attributes})


POSITIONS = {
    "sliced": lambda self: Product.objects.order_by("pk")[:23],
    "union": lambda self: Product.objects.filter(pk__gt=0).union(Product.objects.filter(pk__lte=0)).order_by("id"),
    "raw": lambda self: Product.objects.raw("SELECT * FROM testapp_product ORDER BY id"),
    "values": lambda self: Product.objects.order_by("pk").values(),
    "list": lambda self: list(Product.objects.order_by("pk")),
    "generator": lambda self: (product for product in Product.objects.order_by("pk")),
}


@pytest.mark.django_db
@pytest.mark.parametrize("items", POSITIONS.values(), ids=POSITIONS)
def test_what_has_no_key_is_paged_by_position_and_never_filled_to_less(items):
    ProductFactory.bulk(23)
    location = lambda self, item: f"/{item['slug'] if isinstance(item, dict) else item.slug}/"  # noqa: E731
    section = section_of(by_position(items=items, location=location))

    plan = refresh(section)

    assert section.paged_by == "position"
    assert sizes(plan) == [10, 10, 3]
    found = [loc for page in plan.pages for loc in locs(render_page(section, page.number))]
    assert found == [f"https://example.com/{p.slug}/" for p in Product.objects.order_by("pk")]


@pytest.mark.django_db
@pytest.mark.skipif(
    "__import__('django.db').db.connection.vendor != 'postgresql'", reason="DISTINCT ON is PostgreSQL's alone"
)
def test_distinct_on_fields_is_paged_by_position():
    ProductFactory.bulk(12)
    section = section_of(by_position(items=lambda self: Product.objects.order_by("slug").distinct("slug")))

    assert (section.paged_by, sizes(refresh(section))) == ("position", [10, 2])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sitemap", "pages", "urls"), [(Paginated, 6, 23), (PairsOfItems, 5, 46), (OwnUrls, 3, 23), (OwnInnerUrls, 3, 23)]
)
def test_a_class_that_pages_itself_keeps_doing_so(sitemap, pages, urls):
    ProductFactory.bulk(23)
    section = section_of(sitemap)

    plan = refresh(section)

    assert numbers(plan) == list(range(1, pages + 1))
    found = [loc for page in plan.pages for loc in locs(render_page(section, page.number))]
    assert len(set(found)) == 23
    # A repeated URL is left out of a page, not of the others.
    assert len(found) <= urls


@pytest.mark.django_db
def test_a_contrib_class_with_languages_is_paged_by_pairs(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    ProductFactory.bulk(12)
    section = section_of(by_position(items=lambda self: Product.objects.order_by("pk"), i18n=True))

    assert (section.paged_by, sizes(refresh(section))) == ("position", [10, 10, 4])


@pytest.mark.django_db
def test_positions_that_come_back_are_the_same_pages_again():
    section = section_of(Names)
    Names.names = [f"name-{n}" for n in range(25)]
    assert numbers(refresh(section)) == [1, 2, 3]

    Names.names = Names.names[:5]
    plan = refresh(section, force=True)
    assert (numbers(plan), sizes(plan)) == ([1], [5])
    with pytest.raises(PageNotFound) as caught:
        plan.find(3)
    assert not isinstance(caught.value, PageGone)

    Names.names = [f"name-{n}" for n in range(25)]
    assert sizes(refresh(section, force=True)) == [10, 10, 5]
    assert numbers(refresh(section)) == [1, 2, 3]
    assert SitemapPage.objects.count() == 3


@pytest.mark.django_db
def test_a_sequence_without_items_has_one_page_that_no_index_lists():
    Names.names = []

    plan = refresh(section_of(Names))

    assert (sizes(plan), plan.listed) == ([0], [])


@pytest.mark.django_db
def test_a_paginator_of_no_pages_is_an_empty_section():
    class NoPages(Paginated):
        @property
        def paginator(self):
            return Paginator([], 4, allow_empty_first_page=False)

    plan = refresh(section_of(NoPages))

    assert (numbers(plan), plan.listed) == ([1], [])
    assert numbers(refresh(section_of(NoPages))) == [1]


@pytest.mark.django_db
def test_a_section_may_turn_from_key_to_position_and_back():
    ProductFactory.bulk(25)
    keyed = section_of(TenProducts)
    sliced = section_of(by_position(items=lambda self: Product.objects.order_by("pk")[:25]))
    assert numbers(refresh(keyed)) == [1, 2, 3]
    assert sizes(refresh(sliced)) == [10, 10, 5]
    Product.objects.filter(pk__gt=all_keys(keyed)[11][0]).delete()
    assert sizes(refresh(sliced, force=True)) == [10, 2]

    plan = refresh(keyed)

    # Number 3 was retired by then.
    assert (numbers(plan), sizes(plan)) == ([4, 5], [9, 3])
    for number in (1, 2, 3):
        with pytest.raises(PageGone):
            plan.find(number)


@pytest.mark.django_db
def test_the_first_page_of_a_news_sitemap_is_listed_even_when_it_is_empty():
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        limit = 3

    section = section_of(News)
    plan = refresh(section)
    assert [page.number for page in plan.listed] == [1]
    assert plan.find(1).number == 1

    now = timezone.now()
    for minutes in (1, 2, 3, 4):
        ArticleFactory(published_at=now - timedelta(minutes=minutes))
    ArticleFactory(published_at=now - timedelta(days=3))

    plan = refresh(section, force=True)
    assert (section.paged_by, sizes(plan)) == ("position", [3, 1])
    newest = Article.objects.order_by("-published_at").first()
    assert locs(render_page(section, 1))[0] == f"https://example.com{newest.get_absolute_url()}"


@pytest.mark.django_db
def test_pages_by_position_are_no_more_than_an_index_lists(monkeypatch):
    monkeypatch.setattr("sitemaps_plus.plan.planner.MAX_URLS", 2)
    Names.names = ["x"] * 21

    with pytest.raises(TooManyPages):
        refresh(section_of(Names))
