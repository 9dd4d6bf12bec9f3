from typing import Any

import pytest
from django.test import Client
from django.urls import Resolver404, include, path, resolve, reverse
from hypothesis import given
from hypothesis import strategies as st

from samples import Products, make_products
from sitemaps_plus import register, views
from sitemaps_plus.declare.registry import _check_label
from sitemaps_plus.errors import InvalidSitemap
from xml_checks import locs

labels = st.from_regex(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", fullmatch=True).filter(
    lambda label: _is_accepted(label) and len(label) < 60
)


def _is_accepted(label: str) -> bool:
    try:
        _check_label(label)
    except InvalidSitemap:
        return False
    return True


@given(labels, st.integers(1, 999_999_999), st.sampled_from(["xml", "xml.gz", "txt"]))
def test_every_label_and_number_has_a_url_that_leads_back_to_it(label: str, number: int, extension: str) -> None:
    path = reverse("sitemaps_plus:page", kwargs={"label": label, "number": number, "extension": extension})

    match = resolve(path)

    assert path == f"/sitemap-{label}-{number}.{extension}"
    assert (match.func, match.kwargs) == (
        views.page,
        {"label": label, "number": str(number), "extension": extension},
    )


@given(labels, st.sampled_from(["xml", "xml.gz"]))
def test_the_url_of_a_section_is_never_that_of_a_page(label: str, extension: str) -> None:
    path = reverse("sitemaps_plus:section", kwargs={"label": label, "extension": extension})

    match = resolve(path)

    assert path == f"/sitemap-{label}.{extension}"
    assert (match.func, match.kwargs) == (views.section_index, {"label": label, "extension": extension})


@pytest.mark.parametrize(
    ("path", "name", "view"),
    [
        ("/sitemap.xml", "index", views.site_index),
        ("/sitemap.xml.gz", "index_gz", views.site_index),
        ("/sitemap_index.xml", "index_alias", views.index_alias),
    ],
)
def test_the_index_has_a_url_as_xml_one_as_gzip_file_and_an_alias(path: str, name: str, view: object) -> None:
    assert reverse(f"sitemaps_plus:{name}") == path
    assert resolve(path).func == view


@pytest.mark.parametrize("method", ["get", "head"])
def test_the_second_name_of_the_index_redirects_for_good(method: str) -> None:
    response = getattr(Client(), method)("/sitemap_index.xml")

    assert (response.status_code, response.headers["Location"]) == (301, "/sitemap.xml")
    assert response.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"
    assert response.content == b""


@pytest.mark.parametrize("query", ["v=2", "v=1&w=a%20b", "u=/sitemap_index.xml", "u=%C3%A9", ""])
def test_the_redirect_to_the_index_keeps_the_query_string(query: str) -> None:
    response = Client().get(f"/sitemap_index.xml?{query}")

    assert response.headers["Location"] == (f"/sitemap.xml?{query}" if query else "/sitemap.xml")


def test_the_redirect_to_the_index_stays_below_the_script_prefix() -> None:
    response = Client(SCRIPT_NAME="/shop").get("/sitemap_index.xml")

    assert response.headers["Location"] == "/shop/sitemap.xml"


def test_the_redirect_to_the_index_stays_in_the_directory_of_the_include(settings: Any) -> None:
    settings.ROOT_URLCONF = (path("a b/", include("sitemaps_plus.urls", namespace="own")),)

    response = Client().get("/a%20b/sitemap_index.xml")

    assert response.headers["Location"] == "/a%20b/sitemap.xml"


def test_the_redirect_to_the_index_has_no_language_and_no_cookie() -> None:
    response = Client().get("/sitemap_index.xml")

    assert not response.cookies
    assert "Content-Language" not in response.headers
    assert "Vary" not in response.headers


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_the_second_name_of_the_index_answers_only_get_and_head(method: str) -> None:
    assert getattr(Client(), method)("/sitemap_index.xml").status_code == 405


@pytest.mark.django_db
def test_a_client_that_follows_the_redirect_gets_the_index() -> None:
    register("products", Products)
    make_products(15)

    response = Client(headers={"host": "example.com"}).get("/sitemap_index.xml", follow=True)

    assert response.redirect_chain == [("/sitemap.xml", 301)]
    assert len(locs(response.getvalue())) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/sitemap-products-1.xml\n",
        "/sitemap-products.xml\n",
        "/sitemap-Products-1.xml",
        "/sitemap-products-1.xmlx",
        "/sitemap-products-1.XML",
        "/sitemap-products-1.json",
        "/sitemap-products.txt",
        "/sitemap-products-1.xml/",
        "/sitemap-products-\N{ARABIC-INDIC DIGIT ONE}.xml",
        "/sitemap--1.xml",
        "/sitemap-a--1.xml",
        "/sitemap-a-.xml",
        "/sitemap-.xml",
        "/sitemap-a/b-1.xml",
        "/sitemap.txt",
        "/x/sitemap.xml",
    ],
)
def test_anything_else_is_left_to_the_project(path: str) -> None:
    with pytest.raises(Resolver404):
        resolve(path)


def test_a_number_too_large_for_a_page_is_read_as_a_label() -> None:
    assert resolve("/sitemap-products-1234567890.xml").kwargs == {
        "label": "products-1234567890",
        "extension": "xml",
    }
