"""Dates that a clock stored that was days ahead are not shown, and replaced, when the clock is right again."""

import gzip
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest
from django.core.cache import cache
from django.core.files.storage import storages
from django.test import Client

from databases import refusing
from factories import DAY, ProductFactory
from samples import SITE, Products, section_of
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.serve.cached import serve
from sitemaps_plus.serve.live import Wanted
from testapp.models import Product
from xml_checks import lastmods

pytestmark = pytest.mark.django_db

URLS = ["/sitemap.xml", "/sitemap-products.xml", "/sitemap-products-1.xml", "/sitemap-products-1.txt"]


@pytest.fixture(autouse=True)
def _products_registered(settings):
    register("products", Products)
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}


@pytest.fixture
def ahead(clock):
    """Change rows while the clock is three days ahead, after pages were rendered by the right one."""

    def use(work, **period):
        ProductFactory.bulk(5)
        work()
        clock.pass_(**(period or {"days": 3}))
        Product.objects.filter(pk=Product.objects.first().pk).update(slug="changed", updated_at=DAY)
        work()
        clock.pass_(**{name: -amount for name, amount in (period or {"days": 3}).items()})

    return use


def get(path, method="get", **headers):
    return getattr(Client(headers={"host": "example.com"}), method)(path, headers=headers)


def request_all():
    for path in URLS:
        get(path)


def published(name):
    with storages["sitemaps"].open(f"example.com/{name}") as file:
        data = file.read()
    return lastmods(gzip.decompress(data) if name.endswith(".gz") else data)


def is_past(text, clock):
    return text is not None and datetime.fromisoformat(text) <= clock.now + timedelta(seconds=1)


@pytest.mark.parametrize("path", URLS)
@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize("is_evicted", [False, True])
def test_no_header_has_a_date_of_the_future(clock, ahead, path, method, is_evicted):
    ahead(request_all)
    if is_evicted:
        cache.clear()

    modified = get(path, method).headers["Last-Modified"]

    assert parsedate_to_datetime(modified) <= clock.now.astimezone(UTC)


@pytest.mark.parametrize("label", ["", "products"])
def test_a_live_index_has_no_date_of_the_future(clock, ahead, label):
    ahead(request_all)

    (lastmod,) = lastmods(gzip.decompress(serve(Wanted(site=SITE, label=label)).gzipped))

    assert is_past(lastmod, clock)


def test_a_date_of_the_future_is_replaced_once_and_stays(clock, ahead):
    ahead(request_all)
    request_all()
    first = SitemapPage.objects.get().changed_at

    clock.pass_(minutes=5)
    request_all()

    assert SitemapPage.objects.get().changed_at == first < clock.now


def test_a_check_half_an_hour_ahead_is_repeated_although_checks_are_rare(clock, ahead, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "CHECK_EVERY": 7200}
    section = section_of(Products)
    ProductFactory.bulk(2)
    refresh(section)
    clock.pass_(hours=3)
    Product.objects.filter(pk=Product.objects.first().pk).update(updated_at=DAY)
    refresh(section)
    clock.pass_(minutes=-30)

    assert refresh(section).pages[0].record.changed_at <= clock.now


def test_a_date_of_the_future_is_not_shown_while_the_database_cannot_be_asked(clock, ahead):
    ahead(request_all)

    with refusing("testapp_product"):
        document = serve(Wanted(site=SITE, label="products"))
        page = get("/sitemap-products-1.xml")

    assert lastmods(gzip.decompress(document.gzipped)) == [None]
    assert page.status_code == 200
    assert "Last-Modified" not in page.headers


@pytest.mark.parametrize("between", [lambda: None, request_all])
def test_the_next_build_replaces_dates_of_the_future(clock, ahead, between):
    ahead(build)
    assert not is_past(published("sitemap.xml")[0], clock)

    between()
    build()

    for name in ("sitemap.xml", "sitemap-products.xml", "sitemap.xml.gz"):
        assert [is_past(lastmod, clock) for lastmod in published(name)] == [True]


def test_a_build_of_another_section_leaves_dates_of_the_future_out(clock, ahead):
    register("others", type("Others", (Products,), {}))
    ahead(build)

    build(["others"])

    products, others = published("sitemap.xml")
    assert products is None
    assert is_past(others, clock)


def test_dates_of_pages_that_a_clock_a_few_seconds_ahead_has_changed_stay(clock, ahead):
    ahead(request_all, seconds=65)
    known = SitemapPage.objects.get().changed_at
    clock.pass_(seconds=10)

    request_all()

    assert SitemapPage.objects.get().changed_at == known > clock.now
