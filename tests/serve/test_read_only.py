"""A database that refuses writes: the web server has a replica, and rows arrive there from elsewhere."""

import gzip

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from databases import read_only
from factories import DAY, ProductFactory
from plan_samples import keys_on
from samples import SITE, Products, paths, section_of
from sitemaps_plus import register
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.serve.cached import serve
from sitemaps_plus.serve.live import Wanted
from testapp.models import Product
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db(transaction=True)

INDEX = Wanted(site=SITE)


@pytest.fixture(autouse=True)
def _pages(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("products", Products)
    ProductFactory.bulk(30)
    refresh(section_of(Products))


def page(number):
    return Wanted(site=SITE, label="products", number=number)


def text(wanted):
    return gzip.decompress(serve(wanted).gzipped)


def listed():
    return [int(loc.rpartition("-")[2].partition(".")[0]) for loc in locs(text(INDEX))]


@pytest.mark.parametrize("stored", [0, 2])
def test_a_new_page_that_the_index_lists_can_be_read(clock, stored):
    ProductFactory.bulk(5)
    clock.pass_(seconds=61)
    SitemapPage.objects.filter(number__lte=stored).update(checked_at=clock.now)

    with read_only():
        assert listed() == [1, 2, 3, 4]
        shown = [path for number in (1, 2, 3, 4) for path in paths(locs(text(page(number))))]

    assert set(shown) == {f"/{slug}/" for slug in Product.objects.values_list("slug", flat=True)}


def test_changes_of_several_pages_are_in_the_index(clock):
    section = section_of(Products)
    plan = refresh(section)
    clock.pass_(seconds=61)
    for one in plan.pages[:2]:
        Product.objects.filter(pk=keys_on(section, one)[3][0]).update(updated_at=DAY)

    with read_only():
        dates = lastmods(text(INDEX))

    assert dates[:2] == [clock.now.replace(microsecond=0).isoformat()] * 2


def test_an_index_is_current_after_all_its_pages_were_checked(clock):
    clock.pass_(seconds=61)

    with read_only():
        serve(INDEX)
        with CaptureQueriesContext(connection) as captured:
            serve(INDEX)

    assert len(captured) == 0


def test_a_number_that_is_no_page_is_not_found_and_a_retired_one_is_gone(clock):
    refresh(section_of(Products), repack=True)
    clock.pass_(seconds=500)

    with read_only():
        with pytest.raises(PageNotFound, match="has no page 99"):
            serve(page(99))
        with CaptureQueriesContext(connection) as captured, pytest.raises(PageGone):
            serve(page(2))

    assert not [query for query in captured if "COUNT(*)" in query["sql"]]
