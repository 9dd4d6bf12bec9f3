import gzip
from pathlib import Path
from typing import Any

import pytest

from built import BuiltSet
from samples import Products, make_products, section_of
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.errors import InvalidDocument
from sitemaps_plus.validation import documents
from sitemaps_plus.validation.documents import check_document
from testapp.models import Product

HEAD = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
FINE = f"{HEAD}<url><loc>https://example.com/a</loc></url>\n<url><loc>\n https://example.com/b\n</loc></url></urlset>"


def check(*pieces: str, **attributes: Any) -> None:
    check_document([piece.encode() for piece in pieces], section_of(type("Checked", (Products,), attributes)))


# What a page may be


def test_a_page_within_the_rules_passes_however_it_is_cut() -> None:
    check(FINE)
    check(*FINE)
    check("\n<!-- ours -->", f"{HEAD.replace('urlset', 's:urlset').replace('xmlns', 'xmlns:s')}</s:urlset>")


WRONG: dict[str, tuple[str, str]] = {
    "empty": ("", "is not well-formed XML: no element found"),
    "cut off": (FINE[:-5], "is not well-formed XML"),
    "a bare ampersand": (FINE.replace("/a", "/a?b&c"), "is not well-formed XML"),
    "something behind it": (f"{FINE}<p/>", "is not well-formed XML: junk after document element"),
    "an entity": (FINE.replace("/a", "/&nbsp;"), "is not well-formed XML: undefined entity"),
    "HTML": ("<html></html>", "begins with html, not with <urlset"),
    "no namespace": (FINE.replace(HEAD, "<urlset>"), "begins with urlset, not with <urlset"),
    "https in the namespace": (FINE.replace('"http:', '"https:'), "begins with {https://www.sitemaps.org"),
    "an index": (f"{HEAD}</urlset>".replace("urlset", "sitemapindex"), "begins with {http://www.sitemaps.org"),
    "no address": (FINE.replace("https://example.com/a", " "), "has a <url> without <loc>"),
    "no loc": (FINE.replace("<loc>https://example.com/a</loc>", ""), "has a <url> without <loc>"),
    "another host": (FINE.replace("example.com/b", "example.org/b"), "lists https://example.org/b, which does not"),
    "another scheme": (FINE.replace("https://example.com/b", "http://example.com/b"), "does not begin with https://"),
    "a host that begins alike": (
        FINE.replace("example.com/b", "example.com.evil.org/"),
        "does not begin with https://",
    ),
    "a path": (FINE.replace("https://example.com/a", "/a"), "lists /a, which does not begin with https://example.com/"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told(what: str) -> None:
    document, text = WRONG[what]

    with pytest.raises(InvalidDocument) as caught:
        check(document)

    assert str(caught.value).startswith("The page of the sitemap 'products' from your template sitemap.xml")
    assert text in str(caught.value)


def test_other_hosts_are_fine_where_the_class_says_so() -> None:
    check(FINE.replace("example.com/b", "example.org/b"), cross_submission="robots")


@pytest.mark.parametrize("limits", [{"MAX_URLS": 1}, {"MAX_BYTES": len(FINE) - 1}])
def test_more_than_the_protocol_allows_is_refused(monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(documents, name, value)

    with pytest.raises(InvalidDocument, match=r"has 2 URLs and 1\d\d bytes, more than"):
        check(FINE)


# In builds


LOOP = "{% for url in urlset %}<url><loc>{{ url.location }}</loc></url>{% endfor %}"
SPOILED: dict[str, tuple[str, str]] = {
    "not well-formed": (f"{HEAD}{LOOP}", "is not well-formed XML"),
    "markup in a text": (f"{HEAD}{LOOP}<!-- {{% for url in urlset %}}--{{% endfor %}} --></urlset>", "not well-formed"),
    "wrong root": (f"<urls>{LOOP}</urls>", "begins with urls"),
    "another host": (f"{HEAD}{LOOP.replace('{{ url.location }}', 'https://staging/{{ url.item.slug }}')}</urlset>", "lists https://staging/product-1"),  # noqa: E501
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("how", SPOILED)
def test_a_template_that_makes_no_sitemap_stops_its_section_and_the_old_files_stay(
    settings: Any, tmp_path: Path, write_template: Any, how: str
) -> None:
    site = BuiltSet(settings, tmp_path)
    text, reason = SPOILED[how]
    register("products", Products)
    make_products(15)
    build()
    before = site.files()
    Product.objects.filter(slug="product-15").delete()
    write_template("sitemap.xml", text)

    result = build()

    error = str(result.sections[0].error)
    assert error.startswith("InvalidDocument: The page of the sitemap 'products' from your template sitemap.xml")
    assert reason in error
    assert site.files() == before
    write_template("sitemap.xml", f"{HEAD}{LOOP}</urlset>")
    assert build().is_complete
    assert len(site.rows()) == 14


@pytest.mark.django_db
def test_the_texts_of_a_template_of_its_own_list_its_addresses(
    settings: Any, tmp_path: Path, write_template: Any
) -> None:
    site = BuiltSet(settings, tmp_path)
    site.use(FORMATS=["txt.gz", "xml"])
    register("products", Products)
    make_products(3)
    Product.objects.filter(slug="product-2").update(slug="a&b")
    write_template("sitemap.xml", f"{HEAD}{LOOP.replace('<loc>', '<loc> ')}</urlset>")

    assert build().is_complete

    text = gzip.decompress(site.path("sitemap-products-1.txt.gz").read_bytes()).decode()
    assert text.splitlines() == [f"https://example.com/{slug}/" for slug in ("product-1", "a&b", "product-3")]
