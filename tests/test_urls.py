import pytest
from django.urls import Resolver404, resolve, reverse
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus import views
from sitemaps_plus.declare.registry import _check_label
from sitemaps_plus.errors import InvalidSitemap

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
    ("path", "name"),
    [("/sitemap.xml", "index"), ("/sitemap.xml.gz", "index_gz"), ("/sitemap_index.xml", "index_alias")],
)
def test_the_index_has_three_urls(path: str, name: str) -> None:
    assert reverse(f"sitemaps_plus:{name}") == path
    assert resolve(path).func == views.site_index


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
