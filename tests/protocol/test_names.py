from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.models import SitemapPage
from sitemaps_plus.protocol.names import (
    FORMATS,
    MAX_LABEL,
    PAGE_URL,
    SECTION_URL,
    Format,
    PageFile,
    ends_like_page,
    index_file,
    index_name,
    index_path,
    is_label,
    page_file,
    page_name,
    page_path,
    parse_page_file,
)

labels = st.from_regex(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", fullmatch=True).filter(is_label)


def test_the_index_of_a_section_is_named_after_it() -> None:
    assert (index_name(), index_name("products")) == ("sitemap", "sitemap-products")
    assert index_file() == "sitemap.xml"
    assert index_file("products", "xml.gz") == "sitemap-products.xml.gz"


def test_a_page_is_named_after_its_section_and_number() -> None:
    assert page_name("products", 12) == "sitemap-products-12"
    assert page_file("products", 12) == "sitemap-products-12.xml.gz"
    assert page_file("products", 12, "txt.gz") == "sitemap-products-12.txt.gz"


def test_the_record_of_a_page_shows_its_name() -> None:
    assert str(SitemapPage(label="products", number=12)) == page_name("products", 12)


def test_paths_begin_with_the_domain_without_its_colon() -> None:
    assert index_path("localhost:8000") == "localhost_8000/sitemap.xml.gz"
    assert index_path("example.com", "products", "xml") == "example.com/sitemap-products.xml"
    assert page_path("example.com", "products", 12) == "example.com/sitemap-products-12.xml.gz"


@given(label=labels, number=st.integers(0, 10**12), format=st.sampled_from(FORMATS))
def test_the_file_name_of_a_page_can_be_parsed(label: str, number: int, format: Format) -> None:
    assert parse_page_file(page_file(label, number, format)) == PageFile(label, number, format)


@pytest.mark.parametrize(
    "name",
    [
        "sitemap.xml",
        "sitemap-products.xml",
        "sitemap-products-1.txt",
        "sitemap-products-1.xml.gz.new",
        ".sitemap-products-1.xml.gz",
        "sitemap-../../x-1.xml",
        "sitemap-products-٣.xml",
        "sitemap-products-1.xml\n",
        "robots.txt",
    ],
)
def test_other_names_are_not_parsed(name: str) -> None:
    assert parse_page_file(name) is None


@pytest.mark.parametrize("label", ["a", "products", "on-sale", "on_sale", "2024", "7-a", "a" * MAX_LABEL])
def test_labels_are_lower_case_words_joined_by_hyphens_and_underscores(label: str) -> None:
    assert is_label(label)


@pytest.mark.parametrize("label", ["", "A", "ä", "-a", "a-", "a--b", "a b", "a.b", "a/b", "a\n", "a" * (MAX_LABEL + 1)])
def test_other_texts_are_not_labels(label: str) -> None:
    assert not is_label(label)


@pytest.mark.parametrize(
    ("label", "expected"), [("2024", True), ("sale-7", True), ("sale_7", False), ("sale-7a", False)]
)
def test_a_label_ends_like_a_page_if_it_ends_in_a_hyphen_and_digits(label: str, expected: bool) -> None:
    assert ends_like_page(label) is expected


@given(label=labels.filter(lambda label: not ends_like_page(label)), number=st.integers(1, 10**9 - 1))
def test_the_url_of_a_page_contains_its_label_and_number(label: str, number: int) -> None:
    match = re.search(PAGE_URL, page_file(label, number, "xml"))

    assert match is not None
    assert match.groupdict() == {"label": label, "number": str(number), "extension": "xml"}


@given(label=labels.filter(lambda label: not ends_like_page(label)))
def test_the_url_of_a_section_contains_its_label_and_is_not_that_of_a_page(label: str) -> None:
    match = re.search(SECTION_URL, index_file(label, "xml.gz"))

    assert match is not None
    assert match.groupdict() == {"label": label, "extension": "xml.gz"}
    assert re.search(PAGE_URL, index_file(label, "xml.gz")) is None
