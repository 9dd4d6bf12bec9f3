"""The XML of links to other languages: the vectors H of the protocol."""

import pytest
from django.db.models import F
from django.utils.functional import lazy

from element_samples import (
    Codes,
    address,
    context,
    document,
    parsed,
)
from sitemaps_plus import UrlFor
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.protocol.writer import link_elements
from sitemaps_plus.values import Alternate
from sitemaps_plus.values.alternate import more_links, to_link
from xml_checks import validate


def test_links_are_written_with_canonical_codes():
    """H01, H13, H15, H16."""
    links = [
        Alternate(hreflang="EN", href="https://example.com/?a=1&b=ä"),
        Alternate(hreflang="de", href="https://example.de/"),
        Alternate(hreflang="X-Default", href="https://example.com/?a=1&b=ä"),
        Link("zh-hans", "/zh/"),
        None,
    ]
    codes = Codes()

    page = validate(document(link_elements(more_links(links, context(), codes.drop))))[0]

    assert [link.attrib for link in page[1:]] == [
        {"rel": "alternate", "hreflang": code, "href": href}
        for code, href in [
            ("en", "https://example.com/?a=1&b=%C3%A4"),
            ("de", "https://example.de/"),
            ("x-default", "https://example.com/?a=1&b=%C3%A4"),
            ("zh-Hans", "https://example.com/zh/"),
        ]
    ]
    assert codes == []


def test_a_broken_link_is_dropped_and_the_others_stay():
    codes = Codes()
    links = [Link("en-UK", "/a"), Link("gr", "/b"), Link("de", "ftp://c"), Link("fr", "/d")]

    page = validate(document(link_elements(more_links(links, context(), codes.drop))))[0]

    assert [link.get("hreflang") for link in page[1:]] == ["fr"]
    assert codes == ["E-HREFLANG-REGION", "E-HREFLANG-LANG", "E-URL-SCHEME"]


@pytest.mark.parametrize("given", ["en_US", lazy(lambda: "en_us", str)()], ids=["text", "lazy"])
@pytest.mark.parametrize("kind", [Alternate, Link])
def test_an_underscore_becomes_a_hyphen_with_a_warning(kind, given):
    warnings: list[tuple[str, str]] = []
    link = kind(hreflang=given, href="https://example.com/")

    found = to_link(link, context(warn=lambda *warning: warnings.append(warning)))

    assert found.hreflang == "en-US"
    assert warnings == [("W-HREFLANG-CODE", f"hreflang {str(given)!r} was written as 'en-US'; it has hyphens.")]


@pytest.mark.urls("testapp.urls_hostile")
def test_a_path_from_urlfor_gets_the_origin():
    link = Alternate(hreflang="de", href=UrlFor("slug", value=F("slug"))).builder()(["b"])

    element = parsed(link_elements([to_link(link, context())]))

    assert element.attrib == {"rel": "alternate", "hreflang": "de", "href": "https://example.com/slug/b/"}


def test_an_hreflang_has_one_url():
    codes = Codes()
    links = [Link("de", "/a"), Link("DE", "/a"), Link("de", "/b")]

    page = validate(document(link_elements(more_links(links, context(), codes.drop))))[0]

    assert [link.get("href") for link in page[1:]] == [address("/a")]
    assert codes == ["E-HREFLANG-REPEATED"]
