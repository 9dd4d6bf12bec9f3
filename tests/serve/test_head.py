import re
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.sites.models import Site
from django.core.handlers.wsgi import WSGIRequest
from django.test import AsyncClient, Client, RequestFactory
from django.urls import clear_script_prefix, set_script_prefix, set_urlconf

from head_links import CANONICAL, HREFLANG, InLanguages, canonical, get, hreflangs, in_sitemap, links, rendered
from samples import make_products
from sitemaps_plus import register
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.serve import head
from testapp.models import Product, Tag
from testapp.urls_head import Unprefixed, UnprefixedDefault

pytestmark = [pytest.mark.django_db, pytest.mark.urls("testapp.urls_head")]


@pytest.fixture(autouse=True)
def _english_german_portuguese(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("pt-br", "Português")]
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    # Its cache is the one thing that a page may ask the database for.
    Site.objects.get_current()


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("{% canonical_link item keep='q' %}", "keep='q' is only for the requested page"),
        ("{% hreflang_links item x_default=True %}", "x_default=True is only for the requested page"),
        ("{% canonical_link nothing keep='q' %}", "keep='q' is only for the requested page"),
        ("{% canonical_link section='products' %}", "section='products' has no effect without an object"),
        ("{% hreflang_links section='products' %}", "section='products' has no effect without an object"),
        ("{% canonical_link keep=5 %}", "give the names of parameters"),
        ("{% canonical_link keep=item %}", "give the names of parameters"),
    ],
)
def test_options_without_effect_or_sense_are_refused(tag: str, said: str) -> None:
    request = RequestFactory().get("/plain/a")

    with pytest.raises(SitemapError, match=re.escape(said)):
        rendered(tag, request=request, item=Product(pk=1, slug="a"))


@pytest.mark.parametrize("keep", [None, "", ["q"], ("q",), "q"])
def test_parameters_to_keep_come_as_a_text_or_a_list(keep: Any) -> None:
    html = rendered("{% canonical_link keep=names %}", request=RequestFactory().get("/plain/a?q=1&b=2"), names=keep)

    assert ("?q=1" in html) is bool(keep)
    assert "b=2" not in html


# The page in other languages


def test_a_page_under_language_prefixes_names_itself_and_the_others() -> None:
    assert hreflangs("/de/products/pen/") == {
        "en": "https://example.com/en/products/pen/",
        "de": "https://example.com/de/products/pen/",
        "pt-BR": "https://example.com/pt-br/products/pen/",
    }


def test_the_default_language_may_have_no_prefix(settings: Any) -> None:
    settings.ROOT_URLCONF = UnprefixedDefault

    found = hreflangs("/products/pen/", "{% hreflang_links x_default=True %}")

    assert found == {
        "en": "https://example.com/products/pen/",
        "de": "https://example.com/de/products/pen/",
        "pt-BR": "https://example.com/pt-br/products/pen/",
        "x-default": "https://example.com/products/pen/",
    }
    assert hreflangs("/pt-br/products/pen/", "{% hreflang_links x_default=True %}") == found


@pytest.mark.parametrize("address", ["/en/offers/pen/", "/de/angebote/pen/", "/pt-br/offers/pen/"])
def test_translated_paths_are_found_from_every_language(address: str) -> None:
    assert hreflangs(address) == {
        "en": "https://example.com/en/offers/pen/",
        "de": "https://example.com/de/angebote/pen/",
        "pt-BR": "https://example.com/pt-br/offers/pen/",
    }


def test_translated_paths_need_no_prefix(settings: Any) -> None:
    settings.ROOT_URLCONF = Unprefixed
    german = {"HTTP_ACCEPT_LANGUAGE": "de"}

    assert hreflangs("/angebote/pen/", **german)["en"] == "https://example.com/offers/pen/"
    assert hreflangs("/offers/pen/")["de"] == "https://example.com/angebote/pen/"


@pytest.mark.parametrize("address", ["/plain/x", "/en/nameless/"])
def test_a_page_with_one_address_for_all_languages_has_no_links(address: str) -> None:
    assert get(address, "{% hreflang_links x_default=True %}") == []


def test_a_site_with_one_language_has_no_links(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English")]

    assert get("/en/products/pen/", HREFLANG) == []


def test_arguments_of_the_pattern_and_namespaces_are_kept() -> None:
    assert hreflangs("/en/extra/")["de"] == "https://example.com/de/extra/"
    assert hreflangs("/en/shop/")["de"] == "https://example.com/de/shop/"


def test_a_pattern_that_reverse_refuses_has_no_links() -> None:
    assert get("/en/bob/5/mixed/", HREFLANG) == []


def test_the_query_is_dropped() -> None:
    assert hreflangs("/en/products/pen/?utm_source=x")["de"] == "https://example.com/de/products/pen/"


def test_x_default_is_the_default_language_without_prefix_or_the_language_named() -> None:
    address = "/de/products/pen/"

    assert hreflangs(address, "{% hreflang_links x_default=True %}")["x-default"] == "https://example.com/products/pen/"
    german = hreflangs(address, '{% hreflang_links x_default="de" %}')
    assert german["x-default"] == german["de"] == "https://example.com/de/products/pen/"
    assert "x-default" not in hreflangs(address)


def test_the_codes_are_those_of_the_setting_and_each_stands_once(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"es-ar": "es", "es-mx": "es", "de": None}}
    settings.LANGUAGES = [(code, code) for code in ("en", "de", "zh-hans", "es-ar", "es-mx", "tlh")]

    found = hreflangs("/en/products/pen/")

    assert list(found) == ["en", "zh-Hans", "es"]
    assert found["es"] == "https://example.com/es-ar/products/pen/"


@pytest.fixture
def _no_script_prefix() -> Iterator[None]:
    yield
    clear_script_prefix()


@pytest.mark.usefixtures("_no_script_prefix")
def test_a_script_prefix_stands_in_every_address() -> None:
    below = {"SCRIPT_NAME": "/app"}
    # As the handlers of a server do with each request, and that of the test client does not.
    set_script_prefix("/app/")

    found = hreflangs("/de/products/pen/", "{% hreflang_links x_default=True %}", **below)

    assert found["en"] == "https://example.com/app/en/products/pen/"
    assert found["x-default"] == "https://example.com/app/products/pen/"
    assert canonical("/de/products/pen/", **below) == "https://example.com/app/de/products/pen/"
    assert get("/plain/x", HREFLANG, **below) == []
    assert get("/plain/x", "{% sitemap_link %}", **below)[0]["href"] == "https://example.com/app/sitemap.xml"


def test_a_view_that_changes_the_language_changes_no_link() -> None:
    template = "{% load i18n %}{% language 'pt-br' %}{% hreflang_links %}{% endlanguage %}"

    assert hreflangs("/de/products/pen/", template) == hreflangs("/de/products/pen/")


def test_a_request_that_no_pattern_was_asked_about_is_looked_up(rf: RequestFactory) -> None:
    found = links(rendered(HREFLANG, request=rf.get("/en/products/pen/")))

    assert [link["href"] for link in found][1] == "https://example.com/de/products/pen/"
    assert rendered(HREFLANG, request=rf.get("/nowhere/")) == ""


def test_the_links_of_a_page_cost_no_query(rf: RequestFactory, django_assert_num_queries: Any) -> None:
    request = rf.get("/en/products/pen/?page=2")

    with django_assert_num_queries(0):
        html = rendered("{% hreflang_links %}{% canonical_link keep='page' %}{% sitemap_link %}", request=request)

    assert len(links(html)) == 5


# The address of the page


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/plain/a?utm_source=x&page=2", "/plain/a"),
        ("/plain/%C3%BCber/ä b", "/plain/%C3%BCber/%C3%A4%20b"),
        ("/plain/%27%22%3E%3Cscript%3E&amp;", "/plain/'%22%3E%3Cscript%3E&amp;"),
        ("/plain/100%25/%2541/%3Fq=1%23x", "/plain/100%25/%2541/%3Fq=1%23x"),
        ("/plain/a%0Bb%00", "/plain/a%0Bb%00"),
        ("/plain/(a)+b;c,d=e:f@g!$*~", "/plain/(a)+b;c,d=e:f@g!$*~"),
        ("/plain//double", "/plain//double"),
        ("/plain/%F0%9F%98%80", "/plain/%F0%9F%98%80"),
    ],
)
def test_the_address_of_a_page_is_encoded_as_in_the_sitemap(address: str, expected: str) -> None:
    assert canonical(address) == f"https://example.com{expected}"


def test_the_address_of_a_page_leads_back_to_the_page() -> None:
    for text in ("%FF", "é", "a%2Fb", "50%", "%25", "?#", "[x]|^`{}\\"):
        own = canonical(_quoted(f"/plain/{text}"))
        assert own is not None
        assert canonical(own.removeprefix("https://example.com")) == own


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3F").replace("#", "%23")


@pytest.mark.parametrize("address", [f"/plain/{'x' * 2048}", "/plain/a/../b", "/plain/%2e%2e/b", "/plain/."])
def test_a_page_that_no_sitemap_could_list_has_no_address(address: str) -> None:
    assert canonical(address) is None


def test_bytes_that_are_no_utf_8_make_an_address(rf: RequestFactory) -> None:
    request = WSGIRequest({**rf._base_environ(), "PATH_INFO": "/en/text/\xff\xfe/", "QUERY_STRING": "q=%FF&\xff=\xff"})

    (own,) = links(rendered("{% canonical_link keep='q' %}", request=request))

    assert own["href"] == "https://example.com/en/text/%25FF%25FE/?q=%EF%BF%BD"
    assert len(links(rendered(HREFLANG, request=request))) == 3


def test_a_path_that_begins_with_two_slashes_keeps_them_encoded(rf: RequestFactory) -> None:
    request = rf.get("/")
    request.path = "//evil.example/x"

    assert head.page_url(request) == "https://example.com/%2Fevil.example/x"


@pytest.mark.parametrize("path", ["//evil.example/x", "///", "/\ud800/", "*"])
def test_a_path_that_looks_like_another_host_stays_on_this_one(rf: RequestFactory, path: str) -> None:
    request = rf.get("/")
    request.path = request.path_info = path

    for link in links(rendered("{% canonical_link %}{% hreflang_links %}", request=request)):
        assert str(link["href"]).startswith("https://example.com/")
        assert not str(link["href"]).startswith("https://example.com//")


def test_parameters_that_are_kept_stay_in_order_without_empty_ones() -> None:
    template = '{% canonical_link keep="page, q,tag" %}'

    found = canonical("/plain/a?q=a+b%26c%3D%22&utm=1&page=2&tag=&tag=x&tag=y&PAGE=3", template)

    assert found == "https://example.com/plain/a?q=a%20b%26c%3D%22&page=2&tag=x&tag=y"
    assert canonical("/plain/a?q=&utm=1", template) == "https://example.com/plain/a"


def test_a_query_of_too_many_parameters_is_dropped() -> None:
    address = "/plain/a?" + "&".join(f"q={number}" for number in range(2000))

    assert canonical(address, '{% canonical_link keep="q" %}') == "https://example.com/plain/a"


def test_a_page_that_is_served_asynchronously_has_the_same_head() -> None:
    template = "{% canonical_link keep='q' %}{% hreflang_links %}"

    response = async_to_sync(AsyncClient().get)("/de/text/pen%3F/?q=é", headers={"template": template})

    found = [link["href"] for link in links(response.content.decode())]
    assert found[:2] == [
        "https://example.com/de/text/pen%3F/?q=%C3%A9",
        "https://example.com/en/text/pen%3F/",
    ]


@pytest.mark.parametrize("language", ["en", "de", "pt-br"])
def test_an_object_has_its_address_in_the_language_of_the_page(language: str) -> None:
    register("products", type("Unlinked", (InLanguages,), {"alternates": False, "x_default": False}))
    make_products(1)

    own = canonical(f"/{language}/products/product-1/?utm_source=x", "{% canonical_link product %}")

    assert own == f"https://example.com/{language}/products/product-1/"
    assert own in in_sitemap()
    assert canonical(f"/{language}/also/product-1/", "{% canonical_link product %}") == own


def test_a_language_without_hreflang_has_its_own_address_on_its_own_page(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"pt-br": None}}
    register("products", InLanguages)
    make_products(1)

    own = canonical("/pt-br/products/product-1/", "{% canonical_link product %}")

    assert own == "https://example.com/pt-br/products/product-1/"


def test_an_object_that_no_section_lists_has_the_address_it_gives_itself(caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Product):
        class Meta:
            proxy = True
            app_label = "testapp"

        def get_absolute_url(self) -> str:
            raise LookupError("no slug")

    product, tag = Product(slug="ä b"), Tag(name="x")

    assert head.object_url(product) == "https://example.com/products/%C3%A4%20b/"
    assert head.object_url(Odd()) is None
    assert "LookupError: no slug" in caplog.text
    with pytest.raises(SitemapError, match=r"Tag has no get_absolute_url\(\)"):
        head.object_url(tag)


# The sitemap, and where all of it is


def test_the_link_to_the_sitemap_is_the_index() -> None:
    (found,) = get("/de/products/pen/", "{% sitemap_link %}")

    assert found == {"rel": "sitemap", "type": "application/xml", "href": "https://example.com/sitemap.xml"}


def test_the_urls_of_a_single_request_do_not_hide_the_sitemap() -> None:
    set_urlconf(Unprefixed)
    try:
        assert head.sitemap_url() == "https://example.com/sitemap.xml"
    finally:
        set_urlconf(None)


def test_without_included_urls_only_a_public_url_tells_where_the_sitemap_is(settings: Any) -> None:
    settings.ROOT_URLCONF = Unprefixed

    assert get("/products/pen/", "{% sitemap_link %}") == []
    for public in ("https://cdn.example/maps", {1: "https://cdn.example/maps/"}):
        settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "PUBLIC_URL": public, "EXTENSION": "xml.gz"}
        assert get("/products/pen/", "{% sitemap_link %}")[0]["href"] == "https://cdn.example/maps/sitemap.xml"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:99999", 'x"><script>', "a b", "", "[::1"])
def test_a_forged_host_reaches_no_address_where_the_origin_is_set(host: str, rf: RequestFactory) -> None:
    request = rf.get("/en/products/pen/", headers={"host": host})

    html = rendered("{% hreflang_links %}{% canonical_link %}{% sitemap_link %}", request=request)

    assert len(links(html)) == 5
    assert all(str(link["href"]).startswith("https://example.com/") for link in links(html))


def test_a_host_of_no_site_gives_no_links(settings: Any, rf: RequestFactory) -> None:
    del settings.SITEMAPS_PLUS, settings.SITE_ID

    assert rendered(CANONICAL, request=rf.get("/plain/x", headers={"host": "unknown.example"})) == ""
    known = rendered(CANONICAL, request=rf.get("/plain/x", headers={"host": "example.com"}))
    assert links(known)[0]["href"] == "http://example.com/plain/x"


@pytest.mark.parametrize("tag", ["hreflang_links", "canonical_link"])
def test_a_template_without_request_says_how_to_give_it_one(tag: str) -> None:
    with pytest.raises(SitemapError, match=f"{tag} .*needs the request.*context_processors.request"):
        rendered(f"{{% {tag} %}}")


@pytest.mark.usefixtures("_no_script_prefix")
def test_a_script_prefix_without_a_request_is_the_active_one() -> None:
    set_script_prefix("/shop/")

    assert head.sitemap_url() == "https://example.com/shop/sitemap.xml"


def test_a_template_that_does_not_escape_still_gets_escaped_attributes() -> None:
    template = "{% autoescape off %}{% canonical_link %}{% endautoescape %}"

    response = Client().get("/plain/a&b'", headers={"template": template})

    assert response.content == b'<link rel="canonical" href="https://example.com/plain/a&amp;b&#x27;">'
