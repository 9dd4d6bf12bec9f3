"""A crawler that reads an index and then its pages misses no row, although pages are split or retired meanwhile."""

import gzip
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.cache import caches
from django.test import Client, override_settings

import sitemaps_plus.serve.cached
from factories import ProductFactory
from samples import SITE, ListedProducts, Products, paths, product_paths
from sitemaps_plus import registry
from sitemaps_plus.build import build
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.protocol.limits import PROFILES, Profile
from sitemaps_plus.protocol.names import parse_page_file
from sitemaps_plus.serve.cached import serve
from sitemaps_plus.serve.live import Wanted
from sitemaps_plus.stores.cache import get_cache
from testapp.models import Product
from xml_checks import locs

pytestmark = pytest.mark.django_db

HELD = 131
"""Seconds after which no page is held any more."""


@pytest.fixture(autouse=True)
def _products_registered(settings):
    registry.register("products", Products)
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}


@contextmanager
def process(name):
    """Serve with a local cache of its own, as another process does."""
    cache = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": f"process {name}"}
    with override_settings(CACHES={"default": cache}):
        yield


@pytest.fixture(autouse=True)
def _nothing_kept_by_processes():
    for name in ("a", "b"):
        with process(name):
            caches["default"].clear()


def wanted(number=1, label="products", as_text=False):
    return Wanted(site=SITE, label=label, number=number, as_text=as_text)


def shown(*args, **options):
    return paths(locs(gzip.decompress(serve(wanted(*args, **options)).gzipped)))


def text_shown(number):
    return paths(gzip.decompress(serve(wanted(number, as_text=True)).gzipped).decode().split())


def listed(label=""):
    """Return the numbers of the pages that an index lists."""
    return [parse_page_file(path.removeprefix("/")).number for path in shown(0, label)]


def split_first():
    """Insert rows on page 1, so that it has too many."""
    first = Product.objects.order_by("pk").first().pk
    Product.objects.bulk_create(ProductFactory.build(id=first - n) for n in (1, 2, 3))


def refreshed(**how):
    return refresh(get_section("products", SITE), **(how or {"force": True}))


@pytest.fixture
def rows():
    ProductFactory.bulk(25, id=None)
    return set(product_paths())


# A page that was split.


@pytest.mark.parametrize("read", [shown, text_shown])
def test_who_has_an_old_index_finds_every_row_on_the_pages_that_another_process_serves(clock, rows, read):
    with process("a"):
        before = listed()
    clock.pass_(seconds=50)
    split_first()
    with process("b"):
        clock.pass_(seconds=9)
        refreshed()
        found = {row for number in before for row in read(number)}
    with process("a"):
        after = listed()

    assert before == after == [1, 2, 3]
    assert found >= rows


def test_a_split_page_has_its_former_rows_until_all_indexes_list_its_new_page(clock, rows):
    with process("a"):
        shown()
        split_first()
        clock.pass_(seconds=61)
        held = shown()
        assert set(held) >= rows.intersection(product_paths()[:13])

        clock.pass_(seconds=HELD - 2)
        assert shown() == held

        clock.pass_(seconds=2)
        assert shown() == product_paths()[:10]


def test_the_new_page_of_a_split_is_served_at_once(clock, rows):
    shown()
    split_first()
    clock.pass_(seconds=61)

    assert listed() == [1, 4, 2, 3]
    assert shown(4) == product_paths()[10:13]


def test_changes_of_a_held_page_show_as_soon_as_those_of_others(clock, rows):
    shown()
    split_first()
    clock.pass_(seconds=61)
    shown()
    Product.objects.filter(slug=product_paths()[5].strip("/")).delete()
    clock.pass_(seconds=61)

    assert shown() == product_paths()[:12]


def test_a_page_that_is_split_again_while_it_is_held_has_all_that_it_had(clock, rows):
    before = shown()
    split_first()
    clock.pass_(seconds=61)
    shown()
    split_first()
    split_first()
    clock.pass_(seconds=61)

    assert set(shown()) >= set(before)
    assert SitemapPage.objects.get(number=1).shown_until > clock.now + timedelta(seconds=120)


def test_a_page_whose_rows_all_moved_or_went_is_served_with_those_that_moved(clock, rows):
    shown()
    split_first()
    refreshed()
    refreshed().pages[0].rows(get_section("products", SITE)).delete()
    clock.pass_(seconds=61)

    assert shown() == product_paths()[:3]


def test_the_held_form_of_a_page_is_not_recorded_and_has_no_date(clock, rows):
    shown()
    split_first()
    clock.pass_(seconds=61)

    assert serve(wanted()).changed_at is None
    assert SitemapPage.objects.get(number=1).digest == ""


def test_the_built_file_of_the_new_form_is_not_served_while_the_page_is_held(clock, rows):
    before = shown()
    split_first()
    build()

    clock.pass_(seconds=61)
    assert set(shown()) >= set(before)

    clock.pass_(seconds=HELD)
    assert shown() == product_paths()[:10]


def test_indexes_are_made_again_at_once_when_a_request_for_a_page_finds_that_it_has_to_be_split(clock, rows):
    listed(), listed("products"), shown(1)
    split_first()
    clock.pass_(seconds=30)
    # Of the pages only.
    get_cache().look_again(["products"])
    shown(1)

    assert listed() == [1, 4, 2, 3]
    assert listed("products") == [1, 4, 2, 3]


def test_an_index_that_was_just_checked_is_made_again_when_a_page_is_too_large_to_be_rendered(clock, monkeypatch):
    ProductFactory.bulk(10)
    assert listed() == listed("products") == [1]
    monkeypatch.setitem(PROFILES, "default", Profile(max_bytes=1_000))

    shown()

    assert len(listed()) == len(listed("products")) > 1


def test_a_page_that_cannot_be_rendered_with_its_former_rows_keeps_its_last_version(clock, monkeypatch):
    monkeypatch.setitem(PROFILES, "default", Profile(max_urls=10))
    ProductFactory.bulk(10)
    before = shown()
    split_first()
    clock.pass_(seconds=61)

    assert shown() == before

    clock.pass_(seconds=HELD)
    assert shown() == product_paths()[:10]


@pytest.mark.parametrize("seconds", [61, 600])
def test_without_a_last_version_of_that_time_as_many_former_rows_are_served_as_fit(clock, monkeypatch, seconds):
    monkeypatch.setitem(PROFILES, "default", Profile(max_urls=12))
    ProductFactory.bulk(10)
    with process("b" if seconds == 61 else "a"):
        shown()
    clock.pass_(seconds=seconds)
    split_first()
    refreshed()
    with process("a"):
        assert shown() == product_paths()[:12]


def test_where_each_request_asks_the_database_no_page_is_held(settings, rows):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "CHECK_EVERY": 0}
    shown()
    split_first()

    assert shown() == product_paths()[:10]
    assert SitemapPage.objects.filter(shown_until=None).count() == 4


@pytest.mark.parametrize("how", ["in a transaction", "for an unknown host"])
def test_pages_that_are_not_cached_are_not_held(clock, rows, monkeypatch, settings, how):
    shown()
    split_first()
    clock.pass_(seconds=61)
    if how == "in a transaction":
        monkeypatch.setattr(sitemaps_plus.serve.cached, "is_in_transaction", lambda: True)
        assert shown() == product_paths()[:10]
    else:
        settings.SITEMAPS_PLUS = {}
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
        answer = Client(headers={"host": "unknown.example"}).get("/sitemap-products-1.xml")
        assert len(locs(answer.content)) == 10


def test_a_hold_of_a_clock_that_was_days_ahead_does_not_last(clock, rows):
    shown()
    split_first()
    clock.pass_(days=3)
    shown()

    clock.pass_(days=-3)
    assert shown() == product_paths()[:10]


def test_pages_by_position_are_not_held(clock, rows):
    registry.unregister("products")
    registry.register("products", type("Listed", (ListedProducts,), {"limit": 10}))
    shown()
    split_first()
    clock.pass_(seconds=61)

    assert shown() == product_paths()[:10]


def test_a_page_that_was_split_before_its_section_was_paged_by_position_is_served(clock, rows):
    shown()
    split_first()
    refreshed()
    registry.unregister("products")
    registry.register("products", type("Listed", (ListedProducts,), {"limit": 10}))
    clock.pass_(seconds=61)

    assert [shown(number) for number in (1, 2, 3)] == [product_paths()[at : at + 10] for at in (0, 10, 20)]


def test_a_page_that_was_only_counted_is_held_as_well(clock, rows):
    number = refreshed(force=True, repack=True, renders_all=True).pages[0].number
    assert number in listed()

    middle = Product.objects.order_by("pk").values_list("pk", flat=True)[5]
    refreshed(split={number: (middle,)}, renders_all=True)

    assert SitemapPage.objects.get(number=number).shown_until is not None


# A page that was retired.


@pytest.mark.parametrize("method", ["get", "head"])
def test_retired_pages_are_there_until_no_index_lists_them_and_then_gone(clock, rows, method):
    client = Client(headers={"host": "example.com"})

    def status():
        return getattr(client, method)("/sitemap-products-1.xml").status_code

    status()
    refreshed(repack=True)
    clock.pass_(seconds=61)
    assert status() == 200

    clock.pass_(seconds=HELD)
    assert status() == 410


def test_who_has_an_index_of_before_a_repack_finds_every_row_in_a_process_that_has_rendered_none(clock, rows):
    with process("a"):
        before = listed()
    refreshed(repack=True)
    with process("b"):
        found = [row for number in before for row in shown(number)]
        assert listed() == [4, 5, 6]

    assert sorted(found) == sorted(rows)


def test_after_another_limit_old_pages_have_their_rows_for_a_while(clock, rows):
    before = listed()
    registry.unregister("products")
    registry.register("products", type("Larger", (Products,), {"limit": 20}))
    clock.pass_(seconds=61)

    assert [row for number in before for row in shown(number)] == product_paths()
    assert listed() == [4, 5]


@pytest.mark.parametrize("is_kept", [True, False])
def test_after_another_key_old_pages_are_only_there_if_they_are_kept(clock, rows, is_kept):
    before = shown() if is_kept else []
    refreshed()
    registry.unregister("products")
    registry.register("products", type("BySlug", (Products,), {"key": "slug"}))
    clock.pass_(seconds=61)

    if is_kept:
        assert shown() == before
        clock.pass_(seconds=HELD)
    with pytest.raises(PageGone):
        shown()


def test_a_retired_page_without_rows_is_gone_at_once(rows):
    refreshed().pages[1].rows(get_section("products", SITE)).delete()
    refreshed()
    refreshed(repack=True)

    with pytest.raises(PageNotFound):
        shown(2)


def test_pages_to_which_a_build_gives_other_numbers_have_their_rows_under_the_old_ones_for_a_while(clock, rows):
    build()
    SitemapPage.objects.all().delete()
    split_first()
    before = listed()
    found = [set(shown(number)) for number in before]
    build()
    clock.pass_(seconds=61)

    assert listed() != before
    assert [set(shown(number)) for number in before] == found
