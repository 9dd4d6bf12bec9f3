"""The search for a URL on all sites: which sections are searched, and what is no URL at all."""

import logging

import pytest
from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from hypothesis import given
from hypothesis import strategies as st

from factories import ProductFactory
from samples import Products, make_products, unregister_all
from sitemaps_plus import (
    ModelSitemap,
    UrlFor,
    register,
)
from sitemaps_plus.build import build
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.section_search import Verdict
from testapp.models import Product
from url_search import HOST, AbsoluteProducts, MethodProducts, UrlProducts, found

AS_TEXT = Concat(Value("/en/text/"), F("slug"), Value("/"), output_field=CharField())
"""The path that the pattern ``text`` gives."""

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def test_a_storage_that_fails_does_not_affect_other_sections(monkeypatch, caplog):
    register("methods", MethodProducts)
    register("products", UrlProducts)
    make_products(3)
    monkeypatch.setattr("sitemaps_plus.stores.files.FileStore.read", lambda *_: 1 / 0)

    finding = find_url("/en/products/product-1/")

    assert [searched.is_complete for searched in finding.searched] == [False, False]
    assert "ZeroDivisionError" in str(finding.searched[0].text)


@pytest.mark.parametrize("url", ["https://other.example/en/products/product-1/", "https://example.com:8443/"])
def test_a_url_of_another_host_is_refused(url):
    register("products", UrlProducts)

    finding = find_url(url)

    assert (finding.site, list(finding.matches), list(finding.searched)) == (None, [], [])
    assert HOST in str(finding.reason)
    assert not finding.is_complete


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/en/products/product-1/",
        "http://example.com:80/en/products/product-1/",
        "https://www.example.com/en/products/product-1/",
        "http://www.example.com/en/products/product-1/?utm_source=x#top",
        "HTTP://WWW.EXAMPLE.COM/en/products/product-1/",
    ],
)
def test_a_url_of_the_site_with_www_or_another_scheme_is_searched_with_a_note(url):
    register("products", UrlProducts)
    make_products(1)

    finding = find_url(url)

    assert [match.verdict for match in finding.matches] == [Verdict.LISTED]
    assert finding.site.id == 1
    assert finding.url.startswith(f"{HOST}/en/products/product-1/")
    assert f"only list URLs that begin with {HOST}. This one was searched: {finding.url}" in str(finding.notes[0])
    assert finding.reason == ""


def test_a_site_with_www_is_found_without_it(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://www.example.com"}
    register("products", UrlProducts)
    make_products(1)

    assert found("https://example.com/en/products/product-1/").verdict == Verdict.LISTED


def test_a_url_that_a_site_lists_as_given_is_not_searched_on_the_site_with_www(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: HOST, 2: "https://www.example.com"}}
    register("products", UrlProducts)
    make_products(1)

    finding = find_url("https://www.example.com/en/products/product-1/")

    assert [match.site.id for match in finding.matches] == [2]
    assert list(finding.notes) == []


def test_a_fragment_is_ignored_with_a_note():
    register("products", UrlProducts)
    make_products(1)

    finding = find_url("/en/products/product-1/#reviews")

    assert [match.verdict for match in finding.matches] == [Verdict.LISTED]
    assert [str(note) for note in finding.notes] == [
        "The part from # on was ignored: it is not part of an address in a sitemap."
    ]


def test_a_plain_url_has_no_note():
    register("products", UrlProducts)
    make_products(1)

    assert list(find_url("/en/products/product-1/").notes) == []


@pytest.mark.parametrize(
    "url", ["/en/text/größe ß/", "/en/text/gr%C3%B6%C3%9Fe%20%c3%9f/", f"{HOST}/en/text/größe%20ß/"]
)
@pytest.mark.parametrize("location", [UrlFor("text", text=F("slug")), AS_TEXT], ids=["UrlFor", "expression"])
def test_encoded_and_decoded_urls_are_found(url, location):
    register("texts", type("Texts", (UrlProducts,), {"location": location}))
    make_products(1, slug="größe ß")

    assert found(url).verdict == Verdict.LISTED


def test_each_site_is_searched_for_its_own_urls(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: HOST, 2: "https://second.example"}}
    register("products", UrlProducts)
    make_products(1)

    finding = find_url("https://second.example/en/products/product-1/")

    assert finding.site.id == 2
    assert [match.site.id for match in finding.matches] == [2]


def test_a_path_is_searched_on_every_site(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: HOST, 2: "https://second.example"}}
    register("products", UrlProducts)
    make_products(1)

    finding = find_url("/en/products/product-1/")

    assert finding.site is None
    assert [match.site.id for match in finding.matches] == [1, 2]
    assert finding.is_complete


def test_a_section_with_cross_submission_may_list_urls_of_other_hosts():
    class Cross(ModelSitemap):
        queryset = Product.objects.all()
        location = Concat(Value("https://other.example/"), F("slug"), output_field=CharField())
        cross_submission = "verified"

    register("products", Cross)
    register("own", UrlProducts)
    make_products(1)

    assert found("https://other.example/product-1").verdict == Verdict.LISTED


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "no address",
        "example.com/en/products/product-1/",
        "mailto:a@example.com",
        "javascript:alert(1)",
        "https://",
        "https://user:secret@example.com/",
        "//example.com/",
        "/" + "a" * 3000,
        "a" * 3000,
        "/\ud800",
        "https://[::1/",
        "\x00",
        "https://exa mple.com/",
    ],
)
def test_an_invalid_url_is_refused_with_its_reason(url):
    register("products", UrlProducts)
    register("absolute", AbsoluteProducts)
    make_products(1)

    finding = find_url(url)

    assert finding.matches == []
    assert str(finding.reason)
    assert "secret" not in str(finding.reason)


@pytest.mark.parametrize(
    "path",
    ["/\x00", "/en/text/%00/", "/en/text/\x00/", "/\r\n\t", "/%", "/%zz/", "/en/text/%FF/", "/en/products/' OR 1/"],
)
def test_strange_paths_find_nothing(path):
    register("products", UrlProducts)
    register("texts", type("Texts", (UrlProducts,), {"location": UrlFor("text", text=F("slug"))}))
    register("computed", Products)
    register("methods", MethodProducts)
    make_products(2)
    build()

    finding = find_url(path)

    assert {match.verdict for match in finding.matches} <= {Verdict.NO_ROW}


@given(st.text(max_size=80) | st.text(max_size=80).map(lambda text: f"/en/text/{text}/"))
def test_no_text_breaks_the_search(url):
    unregister_all()
    register("texts", type("Texts", (UrlProducts,), {"location": UrlFor("text", text=F("slug"))}))
    register("computed", Products)

    finding = find_url(url)

    assert all("cannot be searched" not in str(searched.text) for searched in finding.searched)


def test_without_sections_nothing_is_searched():
    finding = find_url("/en/products/product-1/")

    assert "No section" in str(finding.reason)


def test_without_a_site_nothing_is_searched(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "nonsense"}
    register("products", UrlProducts)

    finding = find_url("/en/products/product-1/")

    assert "ORIGIN" in str(finding.reason)


def test_a_section_that_fails_does_not_affect_others(caplog):
    class Broken(UrlProducts):
        def get_queryset(self):
            raise InvalidEntry("E-TEST", "broken")

    register("broken", Broken)
    register("products", UrlProducts)
    make_products(1)

    with caplog.at_level(logging.ERROR):
        finding = find_url("/en/products/product-1/")

    assert [match.label for match in finding.matches] == ["products"]
    assert not finding.is_complete
    assert "broken" in str(finding.searched[0].text)


def test_a_query_that_the_database_refuses_leaves_the_transaction_whole():
    class Broken(UrlProducts):
        queryset = Product.objects.extra(where=["nonsense = 1"])

    register("broken", Broken)
    register("products", UrlProducts)
    make_products(1)

    with transaction.atomic():
        finding = find_url("/en/products/product-1/")
        assert Product.objects.count() == 1

    assert [match.label for match in finding.matches] == ["products"]


def test_verdicts_and_reasons_can_be_translated():
    register("products", UrlProducts)
    ProductFactory.bulk(1)

    match = found("/en/products/none/")

    assert str(match.verdict.label) == "no row"
    assert str(match.reason)
