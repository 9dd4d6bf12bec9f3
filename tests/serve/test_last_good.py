"""The last good version of a document is served while it cannot be renewed, and only to its own site."""

import gzip
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.cache.backends.locmem import LocMemCache
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, get_script_prefix, set_script_prefix

from built import build_and_warm
from factories import DAY, ProductFactory
from samples import SITE, Products, paths, product_paths
from sitemaps_plus import UrlFor, register, registry
from sitemaps_plus.build import build
from sitemaps_plus.errors import StrictError, Unavailable
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.serve.cached import REST, serve
from sitemaps_plus.serve.live import Wanted, look
from sitemaps_plus.stores.cache import get_cache
from testapp.models import Product
from xml_checks import locs

EXAMPLE = {"ORIGIN": "https://example.com"}


@pytest.fixture(autouse=True)
def _products_registered(settings):
    register("products", Products)
    settings.SITEMAPS_PLUS = EXAMPLE


def wanted(number=1, label="products", site=SITE, as_text=False):
    return Wanted(site=site, label=label, number=number, as_text=as_text)


def xml(*args, **options):
    return gzip.decompress(serve(wanted(*args, **options)).gzipped)


def shown(*args, **options):
    return paths(locs(xml(*args, **options)))


def replace_section(sitemap, label="products"):
    registry.unregister(label)
    register(label, sitemap)


# Fresh: whatever changes the rows shows once the database has been asked, and it is asked after CHECK_EVERY.


def update():
    Product.objects.filter(slug="b").update(slug="b2", updated_at=DAY + timedelta(days=50))


# The last good version: what was served goes on being served.


@contextmanager
def down(error):
    """Let every query fail, as where the server is gone."""

    def fail(*_args):
        raise error

    with connection.execute_wrapper(fail):
        yield


GONE = [OperationalError("server closed the connection"), InterfaceError("connection already closed")]


@pytest.mark.django_db
@pytest.mark.parametrize("error", GONE, ids=repr)
@pytest.mark.parametrize("asked", [wanted(), wanted(0), wanted(0, ""), wanted(as_text=True)], ids=lambda one: one.name)
def test_while_the_database_is_down_what_is_kept_is_served(clock, caplog, asked, error):
    ProductFactory.bulk(3)
    before = serve(asked)
    clock.pass_(hours=5)

    with down(error):
        assert serve(asked) == before
    assert "its last version is served" in caplog.text

    ProductFactory.bulk(8)
    clock.pass_(seconds=61)
    assert serve(asked) != before


@pytest.mark.django_db
@pytest.mark.parametrize("error", GONE, ids=repr)
@pytest.mark.parametrize("asked", [wanted(), wanted(0), wanted(0, "")], ids=lambda one: one.name)
def test_while_the_database_is_down_a_built_file_is_served_where_nothing_is_kept(asked, error):
    ProductFactory.bulk(3)
    build()
    live = serve(asked)
    get_cache().forget(asked.name)

    with down(error):
        found = serve(asked)

    assert (found.digest, found.size, gzip.decompress(found.gzipped)) == (
        live.digest,
        live.size,
        gzip.decompress(live.gzipped),
    )


@pytest.mark.django_db
@pytest.mark.parametrize("error", GONE, ids=repr)
@pytest.mark.parametrize("asked", [wanted(), wanted(0), wanted(as_text=True)], ids=lambda one: one.name)
def test_while_the_database_is_down_and_nothing_is_there_the_sitemap_is_unavailable(asked, error):
    with down(error), pytest.raises(Unavailable) as caught:
        serve(asked)

    assert caught.value.__cause__ is error


class _Failing(Products):
    error = None

    def location(self, item):
        return f"/{item.slug}/"

    def items(self):
        if _Failing.error:
            raise _Failing.error
        return super().items()


@pytest.mark.django_db
@pytest.mark.parametrize("error", [RuntimeError("in the project"), OperationalError("no such table")], ids=repr)
def test_an_error_of_the_project_leaves_the_last_version(clock, monkeypatch, caplog, error):
    replace_section(_Failing)
    ProductFactory.bulk(3)
    pages = [shown(0, ""), shown(0), shown()]
    clock.pass_(seconds=61)
    monkeypatch.setattr(_Failing, "error", error)

    assert [shown(0, ""), shown(0), shown()] == pages
    assert str(error) in caplog.text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "raised"),
    [(RuntimeError("in the project"), RuntimeError), (OperationalError("no such table"), Unavailable)],
    ids=repr,
)
def test_an_error_of_the_project_is_shown_where_nothing_is_kept(monkeypatch, error, raised):
    replace_section(_Failing)
    ProductFactory.bulk(3)
    monkeypatch.setattr(_Failing, "error", error)

    with pytest.raises(raised):
        serve(wanted())


@pytest.mark.django_db
def test_an_error_of_the_project_leaves_the_built_file_where_nothing_is_kept(monkeypatch):
    replace_section(_Failing)
    ProductFactory.bulk(3)
    build()
    monkeypatch.setattr(_Failing, "error", RuntimeError("in the project"))

    assert shown() == product_paths()


@pytest.mark.django_db
def test_under_strict_an_error_is_shown_though_a_version_is_kept(clock, monkeypatch, settings):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "STRICT": True}
    replace_section(_Failing)
    ProductFactory.bulk(3)
    serve(wanted())
    clock.pass_(seconds=61)

    with down(OperationalError("gone")), pytest.raises(OperationalError):
        serve(wanted())

    monkeypatch.setattr(_Failing, "error", RuntimeError("in the project"))
    with pytest.raises(RuntimeError):
        serve(wanted())


@pytest.mark.django_db
def test_under_strict_a_bad_row_is_an_error_though_a_version_is_kept(clock, settings):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "STRICT": True}
    ProductFactory.bulk(3)
    serve(wanted())
    slug = product_paths()[0].strip("/")
    Product.objects.filter(slug=slug).update(slug="x" * 190, updated_at=DAY - timedelta(days=9))

    class Long(Products):
        def location(self, item):
            return f"/{item.slug * 20}/"

    replace_section(Long)
    clock.pass_(seconds=61)

    with pytest.raises(StrictError):
        serve(wanted())


# Whose document it is: nothing of one site, host or prefix is ever another's.

OTHER = SiteOrigin(id=2, origin=Origin.parse("https://other.example"))
FORGED = SiteOrigin(id=0, origin=Origin.parse("https://evil.example"), is_configured=False)


@pytest.mark.django_db
def test_a_host_that_only_the_request_names_neither_reads_nor_writes_the_cache(monkeypatch):
    ProductFactory.bulk(1)
    for name in ("get", "get_many", "set", "set_many", "add", "delete"):
        monkeypatch.setattr(LocMemCache, name, lambda *_args, **_options: pytest.fail("the cache was used"))

    assert all(loc.startswith("https://evil.example/") for loc in locs(xml(site=FORGED)))
    assert locs(xml(0, site=FORGED)) == ["https://evil.example/sitemap-products-1.xml"]


@pytest.mark.django_db
def test_a_host_that_only_the_request_names_gets_nothing_into_what_is_known_of_a_page():
    ProductFactory.bulk(1)
    serve(wanted(site=replace(FORGED, is_configured=True, origin=SITE.origin)))
    before = SitemapPage.objects.values().get()

    serve(wanted(site=FORGED))

    assert SitemapPage.objects.values().get() == before


@pytest.mark.django_db
def test_sites_never_share_a_document():
    ProductFactory.bulk(1)

    class OfSite(Products):
        def location(self, item):
            return f"/{item.slug}-of-{self.site.id}/"

    replace_section(OfSite)
    twin = replace(SITE, id=3)
    for _ in range(2):
        found = [locs(xml(site=site))[0] for site in (SITE, OTHER, twin)]
        assert [text.partition("//")[2].partition("/")[0] for text in found] == [
            "example.com",
            "other.example",
            "example.com",
        ]
        assert [text.rpartition("-")[2] for text in found] == ["1/", "2/", "3/"]


@pytest.mark.django_db
def test_script_prefixes_never_share_a_document():
    class Own(Products):
        def location(self, item):
            return f"{get_script_prefix()}{item.slug}/"

    replace_section(Own)
    ProductFactory.create(slug="a")
    try:
        for _ in range(2):
            found = []
            for prefix in ("/", "/shop/", "/shop|products|1/"):
                set_script_prefix(prefix)
                found += paths(locs(xml()))
            assert found[:2] == ["/a/", "/shop/a/"]
            assert len(set(found)) == 3
    finally:
        clear_script_prefix()


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["host", "x-forwarded-host"])
def test_a_forged_host_changes_nothing_for_others(settings, header):
    settings.USE_X_FORWARDED_HOST = True
    ProductFactory.create(slug="a")
    for _ in range(2):
        forged = Client(headers={header: "evil.example"}).get("/sitemap-products-1.xml")
        honest = Client(headers={"host": "example.com"}).get("/sitemap-products-1.xml")

        assert locs(forged.getvalue()) == locs(honest.getvalue()) == ["https://example.com/a/"]


@pytest.mark.django_db
def test_without_an_origin_a_forged_host_is_for_its_own_request_alone(settings, monkeypatch):
    settings.SITEMAPS_PLUS = {}
    settings.USE_X_FORWARDED_HOST = True
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    ProductFactory.create(slug="a")

    for _ in range(2):
        forged = Client(headers={"x-forwarded-host": "evil.example"}).get("/sitemap-products-1.xml")
        honest = Client(headers={"host": "example.com"}).get("/sitemap-products-1.xml")

        assert locs(forged.getvalue()) == ["http://evil.example/a/"]
        assert locs(honest.getvalue()) == ["http://example.com/a/"]


@pytest.mark.django_db
def test_while_the_database_is_down_it_is_asked_for_a_document_only_now_and_then(clock):
    ProductFactory.bulk(3)
    before = serve(wanted())
    clock.pass_(hours=5)

    with down(OperationalError("no route to host")):
        serve(wanted())
    with CaptureQueriesContext(connection) as queries:
        assert [serve(wanted()) for _ in range(20)] == [before] * 20
    assert not queries.captured_queries

    clock.pass_(seconds=REST + 1)
    with CaptureQueriesContext(connection) as queries:
        assert serve(wanted()) == before
    assert queries.captured_queries


@pytest.mark.django_db
def test_a_section_that_takes_long_to_check_is_checked_less_often_while_it_is_saved(clock, monkeypatch):
    ProductFactory.bulk(3)
    serve(wanted())
    clock.pass_(seconds=2)
    looks = []

    def slow(*arguments, **known):
        looks.append(clock.now)
        clock.pass_(seconds=0.5)
        return look(*arguments, **known)

    monkeypatch.setattr("sitemaps_plus.serve.cached.look", slow)
    for _ in range(20):
        get_cache().look_again(["products", ""])
        clock.pass_(seconds=1)
        serve(wanted())

    # One half second of work in about five and a half.
    assert 3 <= len(looks) <= 5


@pytest.mark.django_db
def test_a_site_below_two_prefixes_never_serves_the_built_files_of_the_other():
    class Reversed(Products):
        location = UrlFor("sitemaps_plus:section", label=F("slug"), extension="xml")

    replace_section(Reversed)
    ProductFactory.bulk(3)
    build()
    set_script_prefix("/shop/")
    try:
        found = serve(wanted())
    finally:
        clear_script_prefix()

    assert found.digest != serve(wanted()).digest


@pytest.mark.django_db
def test_a_page_by_position_shows_after_a_build_what_nobody_else_could_see(clock):
    class InLanguages(ContribSitemap):
        i18n = True
        languages = ["en", "de"]

        def items(self):
            return Product.objects.order_by("pk")

        def location(self, item):
            return f"/{item.slug}/"

        def lastmod(self, item):
            return item.updated_at

    replace_section(InLanguages)
    ProductFactory.bulk(3)
    before = xml()
    Product.objects.filter(pk=Product.objects.first().pk).update(slug="nobody-sees-it")
    clock.pass_(seconds=61)
    assert xml() == before

    build_and_warm()
    clock.pass_(seconds=61)

    assert "/nobody-sees-it/" in shown()
