"""The search for a URL and the entries of a page, as the status page shows them."""

import re

import pytest
from django.utils.http import urlencode

from admin_pages import SECTION, STATUS, Broken, page, words
from factories import ProductFactory
from samples import Products, replace_section
from sitemaps_plus import Image
from sitemaps_plus.build import build
from testapp.models import Product

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def find(client, url):
    return words(page(client, f"{STATUS}?{urlencode({'find': url})}").partition("<main")[2])


@pytest.mark.parametrize("url", ["https://example.com/product-15/", "/product-15/"])
def test_a_url_is_found_with_its_page_and_row(boss, url):
    # Keys are no amounts: "5,001" would be another one.
    last = Product.objects.order_by("pk").last().pk
    Product.objects.filter(slug="product-15").update(id=last + 5000)
    build()
    row = Product.objects.get(slug="product-15")

    text = find(boss, url)

    assert "https://example.com/product-15/" in text
    assert re.search(r"products ?, page 3 ?: listed\.", text)
    assert "Page built: just now" in text
    assert str(row.pk) in text


def test_a_url_that_is_left_out_is_not_called_listed(boss):
    replace_section("products", Broken)
    build()

    text = find(boss, "/product-1/")

    assert "listed." not in text
    assert "products" in text


def test_the_search_for_an_unknown_url_shows_the_searched_sections(boss):
    build()

    text = find(boss, "/product-999/")

    assert "Searched sections" in text
    assert "example.com products" in text


def test_a_note_says_in_which_form_a_url_was_searched(boss):
    text = find(boss, "http://www.example.com/product-15/?utm_source=x#top")

    assert "only list URLs that begin with https://example.com." in text
    assert "The part from # on was ignored" in text
    assert "The query string was ignored, as the URL is https://example.com/product-15/." in text


def test_the_url_of_a_sitemap_is_explained_with_a_link_to_its_section(boss):
    build()

    assert re.search(
        r"example\.com: a sitemap\. This is the index of example\.com: 3 pages, 25 URLs\.", find(boss, "/sitemap.xml")
    )
    answer = page(boss, f"{STATUS}?find=/sitemap-products-3.xml")
    assert f'<a href="{SECTION}">products</a>' in answer
    assert "This is page 3 of products: 5 URLs." in words(answer)
    assert "No section is registered as offers" in find(boss, "/sitemap-offers.xml")


@pytest.mark.parametrize("url", ["https://other.example/", "x" * 5000, "\x00<script>", "http://[", "  "])
def test_an_invalid_url_breaks_nothing(boss, url):
    text = page(boss, f"{STATUS}?{urlencode({'find': url})}")

    assert "<script>" not in text


def test_a_sentence_says_that_no_sitemap_lists_a_url(boss):
    build()

    assert "No sitemap lists this URL" in find(boss, "/nothing/like/it/")


def test_a_page_shows_its_entries_in_parts_of_fifty(boss, settings):
    replace_section("products", type("Large", (Products,), {"limit": 100, "images": [Image(loc="/a.jpg")]}))
    for number in range(26, 66):
        ProductFactory(slug=f"product-{number}", name=f"Product {number}")
    build()

    first = page(boss, f"{SECTION}1/")
    assert "https://example.com/product-50/" in first
    assert "https://example.com/product-51/" not in first
    assert first.count('<img class="sitemaps-thumbnail" src="https://example.com/a.jpg"') == 50
    (more,) = re.findall(r'href="(\?after=[^"]+)"', first)
    second = page(boss, f"{SECTION}1/{more}")
    assert "https://example.com/product-51/" in second
    assert "https://example.com/product-65/" in second
    assert "after=" not in second
    assert "Back to the first" in second


def test_a_page_shows_its_own_entries_and_no_others(boss):
    build()

    shown = re.findall(r'<a href="https://example.com/product-(\d+)/"', page(boss, f"{SECTION}2/"))

    assert shown == [str(number) for number in range(11, 21)]


def test_a_row_that_is_left_out_stands_among_the_entries_with_its_reason(boss):
    replace_section("products", Broken)
    build()

    text = words(page(boss, f"{SECTION}1/"))

    assert "left out location: " in text
    assert "https://example.com/product-2/" in text


def test_an_invalid_cursor_is_reported(boss):
    build()

    assert "errornote" in page(boss, f"{SECTION}1/?after=nonsense")


def test_code_that_raises_while_entries_are_read_is_reported(boss):
    build()

    def fail(self, item):
        raise SystemError("no")

    replace_section("products", type("Worse", (Products,), {"location": fail}))

    assert "SystemError: no" in page(boss, f"{SECTION}1/")
