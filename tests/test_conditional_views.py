"""Headers, packing, conditional requests and middleware: every response is the same for everybody."""

import gzip
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.http import http_date

from cache_samples import Fake
from samples import DAY, Products, make_products, section_of
from sitemaps_plus import register
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.stores import cache as cache_module
from sitemaps_plus.stores.cache import DocumentCache
from sitemaps_plus.views import PublicResponse, PublicStream
from testapp.models import Product
from xml_checks import validate

pytestmark = pytest.mark.django_db

XML, GZIP, TEXT = "application/xml; charset=utf-8", "application/gzip", "text/plain; charset=utf-8"
PAGE = "/sitemap-products-1.xml"
GZIP_MIDDLEWARE = "django.middleware.gzip.GZipMiddleware"


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


# What is served


# Headers


@pytest.mark.parametrize(
    ("address", "content_type"),
    [
        ("/sitemap.xml", XML),
        ("/sitemap.xml.gz", GZIP),
        ("/sitemap-products.xml", XML),
        ("/sitemap-products.xml.gz", GZIP),
        (PAGE, XML),
        (f"{PAGE}.gz", GZIP),
        ("/sitemap-products-1.txt", TEXT),
    ],
)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_every_document_says_what_it_is_and_how_long(
    client: Client, address: str, content_type: str, encoding: str
) -> None:
    make_products(3)

    response = client.get(address, headers={"accept-encoding": encoding})
    head = client.head(address, headers={"accept-encoding": encoding})

    assert response.headers["Content-Type"] == content_type
    assert response.headers["Content-Length"] == str(len(response.getvalue()))
    assert response.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"
    assert response.headers["Last-Modified"] == http_date((DAY + timedelta(minutes=3)).timestamp())
    assert head.status_code == 200
    assert head.getvalue() == b""
    assert dict(head.headers) == dict(response.headers)


@pytest.mark.parametrize(
    ("header", "is_packed"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("GZip", True),
        ("x-gzip", True),
        ("gzip, deflate, br, zstd", True),
        ("deflate,gzip;q=0.5", True),
        ("br;q=1.0, gzip;q=0.001, *;q=0", True),
        ("*", True),
        ("*;q=0.1", True),
        ("identity", False),
        ("identity, *;q=0", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip ;Q=0.0, *", False),
        ("*, gzip;q=0", False),
        ("deflate, br", False),
        ("gzippy", False),
        (";;,,=", False),
    ],
)
@pytest.mark.parametrize("address", [PAGE, "/sitemap.xml", "/sitemap-products-1.txt"])
def test_packing_is_negotiated(client: Client, address: str, header: str | None, is_packed: bool) -> None:
    make_products(2)
    plain = get(client, address)

    response = client.get(address, headers={} if header is None else {"accept-encoding": header})

    assert (response.headers.get("Content-Encoding") == "gzip") is is_packed
    assert "Accept-Encoding" in response.headers["Vary"]
    assert body(response) == plain


@pytest.mark.parametrize("header", ["gzip", "gzip;q=0", "identity", ""])
def test_the_gzip_file_is_the_same_whatever_is_asked_for(client: Client, header: str) -> None:
    make_products(500)

    response = client.get(f"{PAGE}.gz", headers={"accept-encoding": header})

    assert "Content-Encoding" not in response.headers
    validate(gzip.decompress(response.content))


@pytest.mark.parametrize("address", ["/sitemap.xml", PAGE])
@pytest.mark.parametrize("header", ["gzip", "identity"])
def test_gzip_middleware_packs_nothing_twice(client: Client, settings: Any, address: str, header: str) -> None:
    class Long(Products):
        limit = 50_000

    register("long", Long)
    make_products(500)
    settings.MIDDLEWARE = [GZIP_MIDDLEWARE, *settings.MIDDLEWARE]

    for page in (address, address.replace("products", "long")):
        document = get(client, page, headers={"accept-encoding": header})
        validate(document)
        file = client.get(f"{page}.gz", headers={"accept-encoding": header})
        assert "Content-Encoding" not in file.headers
        assert gzip.decompress(file.content) == document


# Conditional requests

ADDRESSES = ["/sitemap.xml", "/sitemap-products.xml", PAGE, f"{PAGE}.gz", "/sitemap-products-1.txt"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_what_a_crawler_has_already_is_not_sent_again(client: Client, address: str, encoding: str) -> None:
    make_products(3)
    client = Client(headers={"host": "example.com", "accept-encoding": encoding})
    first = client.get(address)
    document, tag = first.getvalue(), first.headers["ETag"]

    for given in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        again = client.get(address, headers={"if-none-match": given})
        assert again.status_code == 304
        assert again.getvalue() == b""
        assert "Content-Type" not in again.headers
        for name in ("ETag", "Cache-Control", "Last-Modified", "Vary"):
            assert again.headers.get(name) == first.headers.get(name)
    assert client.head(address, headers={"if-none-match": tag}).status_code == 304
    assert client.get(address, headers={"if-none-match": '"other"'}).getvalue() == document
    assert client.head(address, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_tag_goes_before_a_date(client: Client) -> None:
    make_products(3)
    modified = client.get(PAGE).headers["Last-Modified"]

    assert client.get(PAGE, headers={"if-modified-since": modified}).status_code == 304
    assert client.get(PAGE, headers={"if-modified-since": http_date(0)}).status_code == 200
    assert client.get(PAGE, headers={"if-modified-since": modified, "if-none-match": '"other"'}).status_code == 200
    assert client.get(PAGE, headers={"if-unmodified-since": http_date(1e6)}).status_code == 412


def test_a_tag_or_date_that_a_client_insists_on_goes_before_a_tag_that_it_has(client: Client) -> None:
    make_products(3)
    tag = client.get(PAGE).headers["ETag"]

    for insists in ({"if-match": '"other"'}, {"if-unmodified-since": http_date(1e6)}):
        assert client.get(PAGE, headers={"if-none-match": tag, **insists}).status_code == 412


def test_an_unchanged_page_costs_no_query_and_no_rendering(
    client: Client, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_products(3)
    tag = client.get(PAGE).headers["ETag"]
    monkeypatch.setattr(DocumentCache, "read", lambda *_args: pytest.fail("read"))

    with django_assert_num_queries(0):
        assert client.get(PAGE, headers={"if-none-match": tag}).status_code == 304
        assert client.head(PAGE).status_code == 200


def test_the_tag_changes_with_the_bytes_alone(client: Client) -> None:
    make_products(3)
    tags = {
        client.get(PAGE, headers={"accept-encoding": encoding}).headers["ETag"] for encoding in ("gzip", "identity")
    }
    cache.clear()
    tags.add(client.get(PAGE).headers["ETag"])

    (tag,) = tags
    Product.objects.update(slug="other", updated_at=timezone.now())
    cache.clear()
    refresh(section_of(Products), force=True)
    assert client.get(PAGE).headers["ETag"] != tag


# Middleware and decorators of projects

OF_A_PROJECT = [
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "testapp.middleware.reads_the_session",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_middleware_makes_nothing_depend_on_the_visitor(
    client: Client, settings: Any, address: str, encoding: str
) -> None:
    make_products(3)
    plain = client.get(address, headers={"accept-encoding": encoding})
    document = plain.getvalue()
    settings.MIDDLEWARE = OF_A_PROJECT

    for language in ("de", "en"):
        response = client.get(address, headers={"accept-encoding": encoding, "accept-language": language})

        assert response.status_code == 200
        assert response.getvalue() == document
        assert response.headers["ETag"] == plain.headers["ETag"]
        assert response.headers.get("Vary", "") == ("" if address.endswith(".gz") else "Accept-Encoding")
        assert "Content-Language" not in response.headers
        assert not response.cookies


@pytest.mark.urls("testapp.urls_cached")
def test_pages_behind_cache_page_are_what_they_are_without(client: Client) -> None:
    make_products(3)
    for encoding in ("gzip", "identity", "gzip"):
        for address in ADDRESSES:
            first = client.get(address, headers={"accept-encoding": encoding})
            cached = client.get(f"/cached{address}", headers={"accept-encoding": encoding})
            again = client.get(f"/cached{address}", headers={"accept-encoding": encoding})

            assert cached.getvalue() == again.getvalue() == first.getvalue()
            assert again.headers.get("Content-Encoding") == first.headers.get("Content-Encoding")
            tag = first.headers["ETag"]
            assert client.get(f"/cached{address}", headers={"if-none-match": tag}).status_code in (200, 304)


@pytest.mark.parametrize("control", ["public, max-age=5", ""])
def test_the_project_says_how_long_others_may_keep_a_page(client: Client, settings: Any, control: str) -> None:
    make_products(3)
    settings.SITEMAPS_PLUS = {"CACHE_CONTROL": control}

    for address in ADDRESSES:
        assert client.get(address).headers.get("Cache-Control", "") == control
    assert "Cache-Control" not in client.get("/sitemap-products-9.xml").headers


def test_a_conditional_request_is_answered_by_django_s_middleware(client: Client, settings: Any) -> None:
    make_products(2)
    settings.MIDDLEWARE = ["django.middleware.http.ConditionalGetMiddleware", *settings.MIDDLEWARE]
    modified = client.get(PAGE).headers["Last-Modified"]

    assert client.get(PAGE, headers={"if-modified-since": modified}).status_code == 304


# Round trips to the cache


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(cache_module, "caches", {"default": made})
    # Several parts a page, as of a megabyte and more.
    monkeypatch.setattr(cache_module, "PART", 100)
    return made


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-products.xml", PAGE, f"{PAGE}.gz", PAGE[:-3] + "txt"])
@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_cached_document_takes_one_question(
    client: Client, fake: Fake, address: str, method: str, encoding: str
) -> None:
    make_products(5)
    client.get(address)
    # Now this process knows how many parts it has.
    first = client.get(address, headers={"accept-encoding": encoding})
    fake.questions = 0
    fake.given.clear()

    second = getattr(client, method)(address, headers={"accept-encoding": encoding})

    assert second.headers == first.headers
    assert (fake.questions, fake.given) == (1, [])


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-products.xml", PAGE, f"{PAGE}.gz", PAGE[:-3] + "txt"])
@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize(("header", "validator"), [("if-none-match", "ETag"), ("if-modified-since", "Last-Modified")])
def test_a_document_that_did_not_change_takes_one_question_and_none_of_its_bytes(
    client: Client, fake: Fake, address: str, method: str, header: str, validator: str
) -> None:
    make_products(5)
    known = client.get(address).headers[validator]
    fake.questions = fake.asked = 0

    response = getattr(client, method)(address, headers={header: known})

    assert response.status_code == 304
    # The metadata, and when the section was reported as changed.
    assert (fake.questions, fake.asked) == (1, 2)


# Responses that middleware cannot make private


@pytest.mark.parametrize("answer", [PublicResponse, PublicStream])
def test_headers_of_visitors_are_not_taken(answer: type[PublicResponse] | type[PublicStream]) -> None:
    response = answer([b"<urlset/>"], headers={"Vary": "Accept-Encoding", "ETag": '"a"'})

    patch_vary_headers(response, ["Cookie", "Accept-Language", "Origin"])
    response.headers.setdefault("Content-Language", "de")
    response["Content-Language"] = "de"
    response["X-Frame-Options"] = "DENY"

    assert response.headers["Vary"] == "Accept-Encoding, Origin"
    assert "Content-Language" not in response.headers
    assert (response.headers["ETag"], response.headers["X-Frame-Options"]) == ('"a"', "DENY")
    assert b"".join(response) == b"<urlset/>"


@pytest.mark.parametrize("answer", [PublicResponse, PublicStream])
def test_no_header_says_what_is_only_for_visitors(answer: type[PublicResponse] | type[PublicStream]) -> None:
    response = answer(b"")

    patch_vary_headers(response, ["cookie"])

    assert "Vary" not in response.headers


@pytest.mark.parametrize("answer", [PublicResponse, PublicStream])
def test_no_cookie_is_set_or_deleted(answer: type[PublicResponse] | type[PublicStream]) -> None:
    response = answer(b"")

    response.set_cookie("sessionid", "secret")
    response.set_signed_cookie("signed", "secret")
    response.delete_cookie("sessionid")

    assert not response.cookies
