"""All four extensions together, validated by the published schemas."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from element_samples import (
    BERLIN,
    Codes,
    address,
    context,
    document,
    everything,
    kept,
    news,
    parsed,
    text,
    video,
)
from official_schemas import official_schema
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.protocol.text import clean
from sitemaps_plus.protocol.writer import link_elements
from sitemaps_plus.values import Image
from sitemaps_plus.values.alternate import more_links, to_link
from sitemaps_plus.values.image import image_element, image_elements
from sitemaps_plus.values.news import news_element
from sitemaps_plus.values.video import video_elements
from xml_checks import validate


@given(strategies.images(), st.booleans())
def test_any_image_is_valid_and_read_back(image, emit_deprecated):
    element = parsed(image_element(image, context(emit_deprecated=emit_deprecated)))

    assert text(element, "image:loc") == address(image.loc)
    for name in ("caption", "geo_location", "title"):
        assert text(element, f"image:{name}") == kept(getattr(image, name), clean, emit_deprecated)
    assert text(element, "image:license") == kept(image.license, address, emit_deprecated)


@given(strategies.news(), st.booleans())
def test_any_article_is_valid_and_read_back(article, emit_deprecated):
    later = context(emit_deprecated=emit_deprecated, now=datetime.max.replace(tzinfo=UTC))

    element = parsed(news_element(article, later))

    assert text(element, "news:publication/news:name") == clean(article.name).strip()
    assert text(element, "news:publication/news:language") == article.language
    assert text(element, "news:publication_date") == format_date(article.publication_date, tz=BERLIN)
    assert text(element, "news:title") == clean(article.title)
    assert text(element, "news:access") == kept(article.access, str, emit_deprecated)
    for name in ("genres", "keywords", "stock_tickers"):
        assert text(element, f"news:{name}") == kept(getattr(article, name), _joined, emit_deprecated)


@given(strategies.alternates())
def test_any_link_is_valid_and_read_back(link):
    element = parsed(link_elements([to_link(link, context())]))

    assert element.attrib == {"rel": "alternate", "hreflang": link.hreflang, "href": address(link.href)}


@given(st.lists(strategies.images()), st.lists(strategies.alternates()), strategies.videos())
def test_all_extensions_fit_in_one_entry(images, links, made):
    where, codes = context(), Codes()

    page = validate(
        document(
            image_elements(images, where, codes.drop),
            video_elements([made, made], where, codes.drop),
            news_element(news(), where),
            link_elements(more_links(links, where, codes.drop)),
        )
    )

    assert len(page[0]) == 1 + len({address(image.loc) for image in images}) + 2 + 1 + len(
        {link.hreflang for link in links}
    )
    assert set(codes) <= {"E-HREFLANG-REPEATED"}


def test_a_page_with_everything_is_valid_by_the_published_schemas(tmp_path):
    etree = pytest.importorskip("lxml.etree")
    schema = official_schema(tmp_path)
    where, codes = context(emit_deprecated=True), Codes()
    image = Image(loc="/a.jpg", caption="C", geo_location="G", title="T", license="/l")
    article = news(
        access="Registration", genres="Satire", keywords="a, b", stock_tickers="NASDAQ:AMAT", language="zh-Hans"
    )
    page = document(
        image_elements([image, Image(loc="/b.jpg")], where, codes.drop),
        video_elements([everything(), video(content_loc="ftp://example.com/v.mp4")], where, codes.drop),
        news_element(article, where),
        link_elements(more_links([Link("x-default", "/"), Link("zh-Hant-TW", "/zh/")], where, codes.drop)),
    )

    schema.assertValid(etree.fromstring(page))

    assert codes == []
    # The schema does look: an element in the wrong place is an error.
    assert not schema.validate(etree.fromstring(page.replace(b"video:title>", b"video:tag>")))
    # What E-NEWS-TICKERS refuses, it refuses too.
    assert b"NASDAQ:AMAT" in page
    for ticker in (b"NYSE:BRK.B", b"NYSE:BRK-B", b"NYSE:BRK_B"):
        assert not schema.validate(etree.fromstring(page.replace(b"NASDAQ:AMAT", ticker)))


def _joined(parts: Any) -> str:
    return clean(", ".join(parts))
