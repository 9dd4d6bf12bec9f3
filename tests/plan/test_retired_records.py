"""The records of retired pages are deleted, and their numbers stay retired."""

import pytest

from factories import ProductFactory
from plan_samples import TenProducts, numbers
from samples import ListedProducts, section_of
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.pages import stored_plan
from sitemaps_plus.plan.planner import refresh

pytestmark = pytest.mark.django_db


def test_forty_repacks_leave_few_records_and_every_old_number_is_gone(clock):
    ProductFactory.bulk(45)
    section = section_of(TenProducts)
    refresh(section)

    for _ in range(40):
        clock.pass_(minutes=10)
        plan = refresh(section, repack=True)

    assert numbers(plan) == [201, 202, 203, 204, 205]
    # The pages, those that are held, and the first one.
    assert set(SitemapPage.objects.values_list("number", flat=True)) == {1, *range(196, 206)}
    for number in range(1, 201):
        with pytest.raises(PageGone):
            plan.find(number)
    with pytest.raises(PageNotFound) as caught:
        plan.find(206)
    assert not isinstance(caught.value, PageGone)


def test_the_records_of_held_pages_are_deleted_by_the_first_build_after_that(clock):
    ProductFactory.bulk(25)
    section = section_of(TenProducts)
    refresh(section)
    refresh(section, repack=True)
    clock.pass_(seconds=129)
    refresh(section, force=True)
    assert SitemapPage.objects.count() == 6

    clock.pass_(seconds=2)
    refresh(section, force=True)

    assert list(SitemapPage.objects.values_list("number", flat=True).order_by("number")) == [1, 4, 5, 6]


def test_the_highest_number_is_remembered_although_its_page_is_retired(clock):
    ProductFactory.bulk(10)
    section = section_of(TenProducts)
    refresh(section)
    ProductFactory.bulk(20)
    refresh(section, force=True)
    SitemapPage.objects.filter(number=4).update(retired_at=clock.now, start_digest=None)
    clock.pass_(minutes=10)

    ProductFactory.bulk(1)
    plan = refresh(section, force=True)

    assert numbers(plan) == [1, 2, 3, 5]
    assert SitemapPage.objects.filter(number=4).exists() is False


def test_an_ordinary_check_asks_for_no_retired_record(clock, django_assert_num_queries):
    ProductFactory.bulk(25)
    section = section_of(TenProducts)
    refresh(section)
    refresh(section, repack=True)
    clock.pass_(minutes=10)

    with django_assert_num_queries(100, exact=False) as captured:
        refresh(section)

    assert not [query for query in captured if "IS NOT NULL" in query["sql"] or "DELETE" in query["sql"]]
    assert SitemapPage.objects.count() == 6


def test_pages_by_position_keep_their_records(clock):
    ProductFactory.bulk(25)
    section = section_of(type("Listed", (ListedProducts,), {"limit": 10}))
    refresh(section)
    type(ProductFactory.build()).objects.all().delete()
    refresh(section, force=True)
    clock.pass_(minutes=10)
    refresh(section, force=True)

    assert SitemapPage.objects.count() == 3


def test_a_build_issues_no_number_again_whose_record_was_deleted(clock, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    ProductFactory.bulk(25)
    register("products", TenProducts)
    build()
    section = section_of(type("Larger", (TenProducts,), {"limit": 20}))
    assert numbers(refresh(section)) == [4, 5]
    clock.pass_(minutes=10)
    refresh(section, force=True)

    # Its pages start as those of the first build, which the manifest still has.
    build()

    assert numbers(stored_plan(section_of(TenProducts))) == [6, 7, 8]
