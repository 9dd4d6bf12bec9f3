import gzip
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.sites.models import Site
from django.core.cache import cache, caches
from django.db import connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from django.urls import clear_script_prefix, include, path, set_script_prefix
from django.utils import timezone, translation
from pytest_django.asserts import assertContains, assertNotContains

from clock import Clock
from samples import SITE, Products, make_products, paths, render_page, section_of
from sitemaps_plus import NewsSitemap, UrlFor, register, registry, views
from sitemaps_plus.errors import NoOrigin
from sitemaps_plus.plan.planner import refresh
from testapp.models import Article, Product
from xml_checks import locs

pytestmark = pytest.mark.django_db

XML, GZIP, TEXT = "application/xml; charset=utf-8", "application/gzip", "text/plain; charset=utf-8"
PAGE = "/sitemap-products-1.xml"


@pytest.fixture(autouse=True)
def _products_registered() -> None:
    register("products", Products)


@pytest.fixture
def client() -> Client:
    return Client(headers={"host": "example.com"})


def body(response: Any) -> bytes:
    data: bytes = response.getvalue()
    return gzip.decompress(data) if response.headers.get("Content-Encoding") == "gzip" else data


def get(client: Client, address: str, **options: Any) -> bytes:
    response = client.get(address, **options)
    assert response.status_code == 200, response.content
    return body(response)


def listed(client: Client, address: str = "/sitemap.xml", **options: Any) -> list[str]:
    return locs(get(client, address, **options))


# What is served


def test_the_index_leads_to_pages_that_hold_every_row(client: Client) -> None:
    make_products(25)

    pages = paths([loc.replace("http:", "https:") for loc in listed(client)])

    assert pages == ["/sitemap-products-1.xml", "/sitemap-products-2.xml", "/sitemap-products-3.xml"]
    found = [loc for page in pages for loc in listed(client, page)]
    assert found == [f"http://example.com/product-{number}/" for number in range(1, 26)]


def test_the_index_of_the_only_section_has_the_same_bytes(client: Client) -> None:
    make_products(15)

    assert get(client, "/sitemap-products.xml") == get(client, "/sitemap.xml")


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-products.xml", PAGE])
def test_the_gzip_file_unpacks_to_the_same_document(client: Client, address: str) -> None:
    make_products(15)

    assert gzip.decompress(get(client, f"{address}.gz")) == get(client, address)


def test_the_text_form_lists_the_same_addresses(client: Client) -> None:
    make_products(3)

    text = get(client, "/sitemap-products-1.txt")

    assert text.decode().splitlines() == listed(client, PAGE)


@pytest.mark.parametrize("label", ["a-b", "a-1-b", "a_b", "x1", "1x", "page-2x"])
def test_labels_with_hyphens_and_digits_have_their_own_pages(client: Client, label: str) -> None:
    register(label, type("Other", (Products,), {}))
    make_products(15)

    assert len(listed(client, f"/sitemap-{label}-2.xml")) == 5
    assert len(listed(client, f"/sitemap-{label}.xml")) == 2


def test_a_news_sitemap_without_news_is_an_empty_page(client: Client) -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("news", News)

    assert listed(client, "/sitemap-news-1.xml") == []
    assert get(client, "/sitemap-news-1.txt") == b""


# What is refused


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-products.xml", PAGE, f"{PAGE}.gz"])
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_only_get_and_head_are_answered(client: Client, address: str, method: str) -> None:
    make_products(2)

    response = getattr(client, method)(address)

    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/sitemap-unknown-1.xml", "There is no sitemap section 'unknown'. Registered: products."),
        ("/sitemap-unknown.xml", "There is no sitemap section 'unknown'."),
        ("/sitemap-products-2.xml", "has no page 2; see the index for its pages"),
        ("/sitemap-products-0.xml", "0 is not a page number"),
        ("/sitemap-products-01.xml", "01 is not a page number"),
        ("/sitemap-products-000.xml.gz", "000 is not a page number"),
        ("/sitemap-products-999999999.xml", "has no page 999999999"),
        ("/sitemap-products-9999999999.xml", "There is no sitemap section 'products-9999999999'"),
        ("/sitemap-products-99999999999999999999999999.txt", None),
    ],
)
def test_what_does_not_exist_is_not_found_with_a_clear_text(client: Client, address: str, said: str | None) -> None:
    make_products(2)

    response = client.get(address)

    assert response.status_code == 404
    if said is not None:
        assert said in response.content.decode()
        assert response.headers["Content-Type"] == TEXT
        assert response.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"


def test_a_retired_number_is_gone_with_a_clear_text(client: Client, clock: Clock) -> None:
    make_products(2)
    client.get(PAGE)

    refresh(section_of(Products), repack=True)
    cache.clear()
    clock.pass_(minutes=3)

    response = client.get(PAGE)
    assert response.status_code == 410
    assert response.content == b"Page 1 of the sitemap 'products' is gone; see the index for its pages.\n"
    assert response.headers["Content-Type"] == TEXT
    assert listed(client) == ["http://example.com/sitemap-products-2.xml"]


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-products.xml", PAGE, "/sitemap-products-1.txt"])
def test_without_rows_there_is_no_sitemap(client: Client, address: str) -> None:
    response = client.get(address)

    assert response.status_code == 404
    assert b"has no URLs at present" in response.content


@pytest.mark.parametrize(
    ("debug", "text"),
    [
        (True, b'No Sitemap class is registered, so there is no sitemap. Write @register("...") above a Sitemap class'),
        (False, b"The sitemap 'example.com' has no URLs at present."),
    ],
)
def test_a_developer_who_registered_nothing_is_told_so(client: Client, settings: Any, debug: bool, text: bytes) -> None:
    settings.DEBUG = debug
    registry.unregister("products")

    response = client.get("/sitemap.xml")

    assert response.status_code == 404
    assert response.content.startswith(text)


def test_an_error_is_no_empty_sitemap(client: Client, settings: Any) -> None:
    class Bad(Products):
        lastmod = "not a date"

    settings.SITEMAPS_PLUS = {"STRICT": True}
    register("bad", Bad)
    make_products(1)
    client.raise_request_exception = False

    assert client.get("/sitemap-bad-1.xml").status_code == 500


# Whoever asks


def test_a_project_that_requires_login_serves_sitemaps_without(client: Client, settings: Any) -> None:
    make_products(2)
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]

    for address in ("/sitemap.xml", "/sitemap-products.xml", PAGE, f"{PAGE}.gz", "/sitemap-products-1.txt"):
        assert client.get(address).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_requests_are_not_wrapped_in_a_transaction(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Watched(Products):
        def changefreq(self, item: Product) -> str:
            seen.append(connection.in_atomic_block)
            return "daily"

    Site.objects.get_or_create(pk=1, defaults={"domain": "example.com", "name": "example.com"})
    register("watched", Watched)
    make_products(1)
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)

    listed(client, "/sitemap-watched-1.xml")
    listed(client)

    assert seen == [False]


class LocalMiddleware:
    """Puts every visitor into Tokyo and gives the request a URLconf of its own."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.urlconf = OTHER_URLS  # type: ignore[attr-defined]
        with timezone.override("Asia/Tokyo"):
            response: HttpResponse = self.get_response(request)
        return response


class OTHER_URLS:  # noqa: N801 - stands for a module
    urlpatterns = (
        path("", include("sitemaps_plus.urls")),
        path("other/<slug:value>/", lambda request, value: HttpResponse(), name="slug"),
    )


@pytest.mark.urls("testapp.urls_hostile")
def test_language_time_zone_and_urlconf_of_a_visitor_do_not_change_the_bytes(client: Client, settings: Any) -> None:
    class Local(Products):
        location = UrlFor("slug", value=F("slug"))

        def changefreq(self, item: Product) -> str:
            assert translation.get_language() == "en"
            assert timezone.get_current_timezone_name() == "Europe/Berlin"
            return "daily"

        def lastmod(self, item: Product) -> Any:
            return item.updated_at and item.updated_at.replace(tzinfo=None)

    register("local", Local)
    make_products(2)
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.LocalMiddleware"]
    plain = render_page(section_of(Local, "local", site=_http_site()), 1)

    document = get(client, "/sitemap-local-1.xml", headers={"accept-language": "de"})

    assert document == b"".join(plain.chunks())
    assert locs(document)[0] == "http://example.com/slug/product-1/"


def _http_site() -> Any:
    return replace(SITE, origin=SITE.origin.with_scheme("http"))


def test_the_language_that_a_browser_asks_for_does_not_change_the_bytes(client: Client) -> None:
    class Translated(Products):
        i18n = True
        alternates = True
        languages = ("en", "de")

        def location(self, item: Product) -> str:
            return f"/{translation.get_language()}/{item.slug}/"

    register("translated", Translated)
    make_products(2)

    english = get(client, "/sitemap-translated-1.xml")

    assert get(client, "/sitemap-translated-1.xml", headers={"accept-language": "de"}) == english


def test_a_site_below_a_script_name_has_it_in_every_address(client: Client, under_shop: None) -> None:
    class Reversed(Products):
        location = UrlFor("sitemaps_plus:page", label=F("slug"), number=1, extension="xml")

    register("reversed", Reversed)
    make_products(1)

    assert listed(client)[-1] == "http://example.com/shop/sitemap-reversed-1.xml"
    assert listed(client, "/sitemap-reversed-1.xml") == ["http://example.com/shop/sitemap-product-1-1.xml"]


@pytest.fixture
def under_shop() -> Iterator[None]:
    set_script_prefix("/shop/")
    yield
    clear_script_prefix()


# Where it is served


def test_the_origin_of_the_settings_goes_before_everything(client: Client, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://www.example.com"}
    make_products(1)

    assert listed(client) == ["https://www.example.com/sitemap-products-1.xml"]
    assert listed(client, PAGE, headers={"host": "forged.example"}) == ["https://www.example.com/product-1/"]


def test_without_it_the_sites_framework_names_the_host_and_the_request_the_scheme(client: Client) -> None:
    make_products(1)

    assert listed(client, headers={"host": "forged.example"}) == ["http://example.com/sitemap-products-1.xml"]
    assert listed(client, PAGE, secure=True) == ["https://example.com/product-1/"]


@pytest.fixture
def _without_sites(settings: Any) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    del settings.SITE_ID


@pytest.mark.usefixtures("_without_sites")
def test_without_either_the_request_names_the_host(client: Client) -> None:
    make_products(1)

    assert listed(client, headers={"host": "shop.example:8000"}) == ["http://shop.example:8000/sitemap-products-1.xml"]
    assert listed(client, PAGE, secure=True) == ["https://example.com/product-1/"]


@pytest.mark.usefixtures("_without_sites")
def test_a_forged_host_is_refused_by_allowed_hosts(client: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["example.com"]
    make_products(1)

    assert client.get(PAGE, headers={"host": "forged.example"}).status_code == 400
    assert client.get(PAGE).status_code == 200


def test_each_of_several_sites_has_its_own_rows_and_addresses(client: Client, settings: Any) -> None:
    class OfSite(Products):
        def get_queryset(self) -> Any:
            return Product.objects.filter(name=self.site.domain)

    register("products-of-site", OfSite)
    Site.objects.create(pk=2, domain="example.org", name="two")
    Site.objects.clear_cache()
    del settings.SITE_ID
    make_products(1, name="example.com", slug="one")
    make_products(1, name="example.org", slug="two")

    for host, slug in (("example.com", "one"), ("example.org", "two")):
        headers = {"host": host}
        assert listed(client, "/sitemap-products-of-site-1.xml", headers=headers) == [f"http://{host}/{slug}/"]
        assert listed(client, headers=headers)[-1] == f"http://{host}/sitemap-products-of-site-1.xml"
    response = client.get("/sitemap.xml", headers={"host": "unknown.example"})
    assert (response.status_code, response.headers["Content-Type"]) == (404, TEXT)
    assert b"No Site of the Sites framework" in response.content


@pytest.mark.usefixtures("_without_sites")
def test_without_the_sites_framework_each_origin_has_its_own_rows_and_addresses(client: Client, settings: Any) -> None:
    class OfSite(Products):
        def get_queryset(self) -> Any:
            return Product.objects.filter(name=f"site {self.site.id}")

    register("products-of-site", OfSite)
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}
    make_products(1, name="site 1", slug="one")
    make_products(1, name="site 2", slug="two")

    for host, slug in (("a.example", "one"), ("b.example", "two")):
        headers = {"host": host}
        assert listed(client, "/sitemap-products-of-site-1.xml", headers=headers) == [f"https://{host}/{slug}/"]
        assert listed(client, headers=headers)[-1] == f"https://{host}/sitemap-products-of-site-1.xml"
    response = client.get("/sitemap.xml", headers={"host": "unknown.example"})
    assert (response.status_code, response.headers["Content-Type"]) == (404, TEXT)
    assert b"There is no site for 'unknown.example'" in response.content


def test_a_site_without_an_origin_says_so(client: Client, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": {2: "https://example.org"}}

    # A mistake of the project, not of the client: 404 would tell crawlers that there is no sitemap.
    with pytest.raises(NoOrigin, match=r'SITEMAPS_PLUS\["ORIGIN"\] has no entry'):
        client.get("/sitemap.xml")


def test_a_post_is_told_what_it_may_do() -> None:
    response = Client(enforce_csrf_checks=True).post("/sitemap.xml")

    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")


# Cost


@pytest.mark.parametrize("rows", [20, 200])
def test_a_request_costs_a_number_of_queries_that_does_not_depend_on_the_rows(
    client: Client, rows: int, django_assert_num_queries: Any
) -> None:
    make_products(rows)
    client.get("/sitemap.xml")
    for number in (1, rows // 10):
        client.get(f"/sitemap-products-{number}.xml")

    with django_assert_num_queries(0):
        client.get("/sitemap.xml")
        client.get(PAGE)
    cache.clear()
    with django_assert_num_queries(1):
        client.get("/sitemap.xml")
    for number in (1, rows // 10):
        with django_assert_num_queries(2):
            client.get(f"/sitemap-products-{number}.xml")


@pytest.mark.parametrize("number", [0, 99, 4_000_000])
def test_a_page_that_does_not_exist_is_neither_rendered_nor_kept(
    client: Client, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_products(2)
    client.get(PAGE)
    monkeypatch.setattr("sitemaps_plus.serve.live.render_planned", lambda *_args, **_options: pytest.fail("rendered"))
    before = set(caches["default"]._cache)

    assert client.get(f"/sitemap-products-{number}.xml").status_code == 404

    assert set(caches["default"]._cache) == before


def test_what_stands_behind_the_question_mark_makes_no_other_page(
    client: Client, django_assert_num_queries: Any
) -> None:
    make_products(15)
    first = get(client, PAGE)

    with django_assert_num_queries(0):
        assert get(client, f"{PAGE}?p=2") == first


# One piece or many


@pytest.mark.parametrize("address", ["/sitemap.xml", PAGE, "/sitemap-products-1.txt"])
def test_a_small_document_has_content_as_any_page_of_django(client: Client, address: str) -> None:
    make_products(3)

    response = client.get(address)

    assert not response.streaming
    assert response.content == response.getvalue()
    assertContains(response, "http://example.com/", count=1 if address == "/sitemap.xml" else 3)
    assertNotContains(response, "http://example.org/")


def test_a_document_of_more_than_two_megabytes_is_streamed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert views.WHOLE == 2_000_000
    make_products(3)
    document = client.get(PAGE).content
    monkeypatch.setattr(views, "WHOLE", len(document))
    assert not client.get(PAGE).streaming
    monkeypatch.setattr(views, "WHOLE", len(document) - 1)

    response = client.get(PAGE)

    assert response.streaming
    assert response.getvalue() == document


async def _answers() -> tuple[Any, bytes]:
    response = await AsyncClient(headers={"host": "example.com"}).get(PAGE)
    return response, b"".join([chunk async for chunk in response])


@pytest.mark.django_db(transaction=True)
def test_an_asynchronous_server_gets_an_asynchronous_stream(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "WHOLE", 0)
    Site.objects.get_or_create(pk=1, defaults={"domain": "example.com", "name": "example.com"})
    make_products(3)

    response, document = async_to_sync(_answers)()

    assert response.streaming
    assert response.is_async
    assert len(locs(document)) == 3
