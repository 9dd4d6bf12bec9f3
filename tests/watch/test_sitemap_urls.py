"""The search for the URL of a sitemap itself."""

import pytest
from django.utils import translation

from samples import make_products
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.sites import get_site
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.section_search import Verdict
from testapp.models import Product
from url_search import HOST, AllLanguages, UrlProducts, found

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


@pytest.fixture(autouse=True)
def _twelve_products(project):
    register("products", UrlProducts)
    make_products(12)
    build()


@pytest.mark.parametrize("name", ["sitemap-products-2.xml", "sitemap-products-2.xml.gz", "sitemap-products-2.txt"])
@pytest.mark.parametrize("before", ["/", f"{HOST}/"])
def test_a_page_is_explained_with_its_number_of_urls(name, before):
    match = found(f"{before}{name}")

    assert (match.verdict, match.label, match.number) == (Verdict.SITEMAP, "products", 2)
    assert str(match.reason) == "This is page 2 of products: 2 URLs."


def test_the_built_time_of_a_page_is_told():
    assert found("/sitemap-products-1.xml").built_at is not None


def test_urls_of_pages_that_were_never_rendered_are_an_estimate():
    register("live", UrlProducts)

    match = found("/sitemap-live-2.xml")

    assert match.built_at is None
    assert str(match.reason) == "This is page 2 of live: about 2 URLs."
    assert str(found("/sitemap-live.xml").reason) == "This is the index of the section live: 2 pages, about 12 URLs."
    assert str(found("/sitemap.xml").reason) == "This is the index of example.com: 4 pages, about 24 URLs."


def test_large_numbers_are_grouped_in_the_language_of_the_reader():
    SitemapPage.objects.filter(number=1).update(urls=45_000)

    match = found("/sitemap-products-1.xml")

    assert str(match.reason) == "This is page 1 of products: 45,000 URLs."
    with translation.override("de"):
        assert "45.000" in str(match.reason)


@pytest.mark.parametrize("name", ["/sitemap-products.xml", "/sitemap-products.xml.gz", f"{HOST}/sitemap-products.xml"])
def test_the_index_of_a_section_is_explained(name):
    match = found(name)

    assert (match.verdict, match.label, match.number) == (Verdict.SITEMAP, "products", None)
    assert str(match.reason) == "This is the index of the section products: 2 pages, 12 URLs."


@pytest.mark.parametrize("name", ["/sitemap.xml", "/sitemap.xml.gz", f"{HOST}/sitemap.xml?v=2", "/sitemap.xml#x"])
def test_the_index_of_the_site_is_explained(name):
    register("more", AllLanguages)
    build()

    match = found(name)

    assert (match.verdict, match.label, match.number) == (Verdict.SITEMAP, "", None)
    assert str(match.reason) == "This is the index of example.com: 5 pages, 36 URLs."


def test_the_second_name_of_the_index_is_known_as_a_redirect():
    assert str(found("/sitemap_index.xml").reason) == (
        "This redirects to sitemap.xml, the index of example.com: 2 pages, 12 URLs."
    )


@pytest.mark.parametrize("url", ["http://example.com/sitemap.xml", "https://www.example.com/sitemap-products-1.xml"])
def test_the_sitemaps_of_the_site_are_known_with_www_and_another_scheme(url):
    finding = find_url(url)

    assert [match.verdict for match in finding.matches] == [Verdict.SITEMAP]
    assert f"only list URLs that begin with {HOST}" in str(finding.notes[0])


def test_sitemaps_below_the_public_url_are_known(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": HOST, "PUBLIC_URL": "https://cdn.example.net/maps/"}

    assert found("https://cdn.example.net/maps/sitemap-products-1.xml").number == 1
    assert find_url("https://cdn.example.net/sitemap-products-1.xml").matches == []


def test_a_page_that_does_not_exist_says_so():
    match = found("/sitemap-products-9.xml")

    assert match.verdict == Verdict.NO_SITEMAP
    assert str(match.reason) == "products has no page 9 with URLs at present. See the index."


def test_a_retired_page_says_so():
    build(repack=True)

    match = found("/sitemap-products-1.xml")

    assert match.verdict == Verdict.NO_SITEMAP
    assert str(match.reason).startswith("Page 1 of products is retired: it answers 410")


def test_a_section_that_is_not_registered_says_so():
    match = found("/sitemap-offers-1.xml")

    assert match.verdict == Verdict.NO_SITEMAP
    assert str(match.reason) == "No section is registered as offers, so that this URL answers 404."


def test_a_section_that_fails_is_reported(monkeypatch):
    register("broken", type("Broken", (UrlProducts,), {"get_queryset": lambda self: 1 / 0}))

    finding = find_url("/sitemap-broken-1.xml")

    assert finding.matches == []
    assert "ZeroDivisionError" in str(finding.searched[0].text)


@pytest.mark.parametrize(
    "url", ["/x/sitemap.xml", "/sitemap-products-01.xml", "/sitemap.txt", "/sitemap-Products-1.xml"]
)
def test_other_urls_are_no_sitemaps(url):
    assert Verdict.SITEMAP not in {match.verdict for match in find_url(url).matches}


def test_a_planned_page_costs_one_query(django_assert_num_queries):
    site = get_site()

    with django_assert_num_queries(1):
        find_url("/sitemap-products-1.xml", sites=[site])
    with django_assert_num_queries(1):
        find_url("/sitemap.xml", sites=[site])


def test_the_url_of_a_sitemap_is_explained_on_each_site(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: HOST, 2: "https://second.example"}}

    finding = find_url("/sitemap-products-1.xml")

    assert [(match.site.id, match.verdict) for match in finding.matches] == [(1, Verdict.SITEMAP), (2, Verdict.SITEMAP)]
    assert Product.objects.count() == 12
