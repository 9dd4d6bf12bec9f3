"""Images, news and links as elements: the vectors I, N and H of the protocol, the schemas, and what is read back."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils.functional import lazy
from hypothesis import given
from hypothesis import strategies as st

import strategies
from element_samples import (
    BERLIN,
    NOW,
    Heard,
    address,
    context,
    document,
    everything,
    kept,
    names,
    news,
    parsed,
    text,
    video,
)
from official_schemas import official_schema
from sitemaps_plus import UrlFor
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.protocol.text import clean
from sitemaps_plus.values import Alternate, Image
from sitemaps_plus.values.alternate import link_element, link_elements
from sitemaps_plus.values.image import image_element, image_elements
from sitemaps_plus.values.news import is_recent, news_element
from sitemaps_plus.values.video import video_elements
from xml_checks import validate

# Images


def test_an_image_may_be_on_any_host():
    """I03."""
    element = parsed(image_element(Image(loc="https://cdn.example.net/ä b.jpg?x=1&y=2"), context()))

    assert text(element, "image:loc") == "https://cdn.example.net/%C3%A4%20b.jpg?x=1&y=2"


def test_a_path_is_joined_to_the_origin():
    assert text(parsed(image_element(Image(loc="/media/a.jpg"), context())), "image:loc") == address("/media/a.jpg")


def test_deprecated_parts_of_an_image_are_written_only_when_asked_for():
    """I05."""
    image = Image(loc="/a.jpg", caption="C", geo_location="Limerick, Ireland", title="T & U", license="/l?a&b")
    codes = Heard()

    plain = parsed(image_element(image, context(warn=codes.warn)))
    full = parsed(image_element(image, context(warn=codes.warn, emit_deprecated=True)))

    assert names(plain) == ["loc"]
    assert names(full) == ["loc", "caption", "geo_location", "title", "license"]
    assert [child.text for child in full] == [
        "https://example.com/a.jpg", "C", "Limerick, Ireland", "T & U", "https://example.com/l?a&b",
    ]  # fmt: skip
    assert codes == ["W-DEPRECATED"]


@pytest.mark.parametrize(
    ("strict", "heard"),
    [
        pytest.param(False, ["W-IMAGE-COUNT"], id="I02 cut"),
        pytest.param(True, ["E-IMAGE-COUNT"], id="I02 strict"),
    ],
)
def test_a_page_has_at_most_a_thousand_images(strict, heard):
    """I01, I02."""
    codes = Heard()
    images = [Image(loc=f"/{number}.jpg") for number in range(1001)]
    where = context(warn=codes.warn, strict=strict)

    thousand = validate(document(image_elements(images[:1000], where, codes.drop)))
    assert codes == []
    more = validate(document(image_elements(images, where, codes.drop)))

    # The address of the page stands before them.
    assert len(thousand[0]) == len(more[0]) == 1 + 1000
    assert codes == heard


def test_a_bad_image_is_dropped_alone():
    codes = Heard()
    images = [
        Image(loc="/a.jpg"),
        None,
        Image(loc="ftp://example.com/b.jpg"),
        Image(loc="http://"),
        Image(loc=lazy(_fail, str)()),
        Image(loc="/c.jpg"),
    ]

    page = validate(document(image_elements(images, context(), codes.drop)))[0]

    assert [text(image, "image:loc") for image in page[1:]] == [address("/a.jpg"), address("/c.jpg")]
    assert codes == ["E-URL-SCHEME", "E-URL-HOST", "ZeroDivisionError"]


@pytest.mark.parametrize("given", ["a.jpg", "ftp://example.com/b.jpg", "http://", "https://example.com:x/"])
def test_a_wrong_address_is_told_with_its_field_and_value(given):
    heard: list[Exception] = []

    image_elements([Image(loc=given)], context(), heard.append)

    (error,) = heard
    assert str(error).startswith("Image.loc")
    assert repr(given) in str(error)
    assert str(error).count("[E-URL-") == 1


def test_a_password_in_an_address_is_not_told():
    heard: list[Exception] = []

    image_elements([Image(loc="https://me:secret@example.com/")], context(), heard.append)

    assert "Image.loc" in str(heard[0])
    assert "secret" not in str(heard[0])


def test_images_that_are_dropped_do_not_count():
    images = [Image(loc="ftp://x/")] * 5 + [Image(loc=f"/{number}.jpg") for number in range(1000)]
    codes = Heard()

    page = validate(document(image_elements(images, context(warn=codes.warn), codes.drop)))

    assert len(page[0]) == 1001
    assert codes == ["E-URL-SCHEME"] * 5


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        ("X-Amz-Expires=60&X-Amz-Signature=0a", "X-Amz-Signature"),
        ("X-Goog-Expires=60&X-Goog-Signature=0a", "X-Goog-Signature"),
        ("AWSAccessKeyId=x&Signature=0a&Expires=60", "Signature+Expires"),
        ("se=2026-10-01&sp=r&sig=0a", "sig+se"),
        ("token=0a", "token"),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"title": "T"}], ids=["plain", "with a title"])
def test_a_signed_image_is_written_with_a_warning(query, signature, fields):
    heard: list[tuple[str, str]] = []
    where = context(warn=lambda code, text: heard.append((code, text)), emit_deprecated=True, strict=True)
    loc = f"https://cdn.example.net/a.jpg?{query}"

    element = parsed(image_element(Image(loc=loc, **fields), where))

    assert text(element, "image:loc") == loc
    said = f"Image.loc: the URL 'https://cdn.example.net/a.jpg' is signed ({signature}) and will expire"
    assert heard == [("W-URL-SIGNED", f"{said}; give a public URL that does not expire.")]


@pytest.mark.parametrize(
    "rest", ["", "?", "?v=2", "?Signature=0a", "?Expires=60", "?sig=0a", "?sign=0a&expiry=60", "/token=0a", "?q=token"]
)
def test_an_image_that_is_not_signed_needs_no_warning(rest):
    codes = Heard()

    image_element(Image(loc=f"https://cdn.example.net/a.jpg{rest}"), context(warn=codes.warn))

    assert codes == []


def test_addresses_keep_the_limit_of_the_profile():
    with pytest.raises(InvalidEntry, match="E-URL-LENGTH"):
        image_element(Image(loc="/" + "a" * 1024), context(max_loc=1024))


# News


def test_news_have_their_children_in_the_order_of_the_schema():
    article = news(
        name="The Times",
        language="zh-Hant",
        publication_date=datetime(2026, 10, 1, 12),
        access="Subscription",
        genres=["Blog", "OpEd"],
        keywords=["a", "b & c"],
        stock_tickers="NASDAQ:AMAT, BOM:500325",
    )
    codes = Heard()

    plain = parsed(news_element(article, context(warn=codes.warn)))
    full = parsed(news_element(article, context(warn=codes.warn, emit_deprecated=True)))

    assert names(plain) == ["publication", "publication_date", "title"]
    assert [text(plain, path) for path in ("news:publication/news:name", "news:publication/news:language")] == [
        "The Times", "zh-tw",
    ]  # fmt: skip
    assert [(name, child.text) for name, child in zip(names(full), full, strict=True)] == [
        ("publication", None),
        ("access", "Subscription"),
        ("genres", "Blog, OpEd"),
        ("publication_date", "2026-10-01T12:00:00+02:00"),
        ("title", "T"),
        ("keywords", "a, b & c"),
        ("stock_tickers", "NASDAQ:AMAT, BOM:500325"),
    ]
    assert codes == ["W-DEPRECATED"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("The Example Times (subscription)", "The Example Times", id="N06"),
        pytest.param("The (Example (old)) Times", "The Times", id="N06 nested"),
    ],
)
def test_parentheses_are_taken_out_of_the_name_of_a_publication(name, expected):
    codes = Heard()

    element = parsed(news_element(news(name=name), context(warn=codes.warn)))

    assert text(element, "news:publication/news:name") == expected
    assert codes == ["W-NEWS-NAME"]


def test_a_name_of_parentheses_alone_is_no_name():
    with pytest.raises(InvalidEntry, match="E-REQUIRED"):
        news_element(news(name="(subscription)"), context())


@pytest.mark.parametrize("tomorrow", [NOW + timedelta(days=1), datetime(2026, 10, 3, 14, 1), date(2026, 10, 5)])
def test_an_article_of_tomorrow_is_left_out(tomorrow):
    """N09."""
    codes = Heard()

    assert news_element(news(publication_date=tomorrow), context(warn=codes.warn)) == ""

    assert codes == ["W-NEWS-FUTURE"]


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        pytest.param("2026-10-01T12:00:00Z", True, id="N01"),
        pytest.param("2026-10-01T11:59:59Z", False, id="N02"),
        pytest.param(datetime(2026, 10, 1, 14), True, id="N01 naive"),
        pytest.param(datetime(2026, 10, 1, 13, 59, 59), False, id="N02 naive"),
        pytest.param(date(2026, 10, 2), True, id="date"),
        pytest.param("2026-10-01", False, id="date as text: its midnight in UTC"),
        pytest.param(NOW + timedelta(days=1), True, id="N09 is for the element to tell"),
    ],
)
def test_an_article_is_news_for_two_days(published, expected):
    assert is_recent(published, NOW, tz=BERLIN) is expected


@pytest.mark.parametrize("published", ["2026-10", "yesterday", None, ""])
def test_what_has_no_day_is_no_news(published):
    with pytest.raises(InvalidEntry, match="E-DATE"):
        is_recent(published, NOW, tz=BERLIN)


def test_the_window_of_news_can_be_another_one():
    published = NOW - timedelta(hours=1)

    assert is_recent(published, NOW, timedelta(hours=1), tz=BERLIN)
    assert not is_recent(published, NOW, timedelta(minutes=59), tz=BERLIN)


# Languages


def test_links_are_written_with_canonical_codes():
    """H01, H13, H15, H16."""
    links = [
        Alternate(hreflang="EN", href="https://example.com/?a=1&b=ä"),
        Alternate(hreflang="de", href="https://example.de/"),
        Alternate(hreflang="X-Default", href="https://example.com/?a=1&b=ä"),
        Link("zh-hans", "/zh/"),
        None,
    ]
    codes = Heard()

    page = validate(document(link_elements(links, context(), codes.drop)))[0]

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


def test_a_bad_link_is_dropped_alone():
    codes = Heard()
    links = [Link("en-UK", "/a"), Link("gr", "/b"), Link("de", "ftp://c"), Link("fr", "/d")]

    page = validate(document(link_elements(links, context(), codes.drop)))[0]

    assert [link.get("hreflang") for link in page[1:]] == ["fr"]
    assert codes == ["E-HREFLANG-REGION", "E-HREFLANG-LANG", "E-URL-SCHEME"]


@pytest.mark.urls("testapp.urls_hostile")
def test_a_path_of_a_url_pattern_stands_behind_the_origin():
    link = Alternate(hreflang="de", href=UrlFor("slug", value=F("slug"))).builder()(["b"])

    element = parsed(link_element(link, context()))

    assert element.attrib == {"rel": "alternate", "hreflang": "de", "href": "https://example.com/slug/b/"}


def test_a_code_has_one_address():
    codes = Heard()
    links = [Link("de", "/a"), Link("DE", "/a"), Link("de", "/b")]

    page = validate(document(link_elements(links, context(), codes.drop)))[0]

    assert [link.get("href") for link in page[1:]] == [address("/a")]
    assert codes == ["E-HREFLANG-REPEATED"]


# Any value


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
    element = parsed(link_element(link, context()))

    assert element.attrib == {"rel": "alternate", "hreflang": link.hreflang, "href": address(link.href)}


@given(st.lists(strategies.images()), st.lists(strategies.alternates()), strategies.videos())
def test_all_of_them_stand_in_one_entry(images, links, made):
    where, codes = context(), Heard()

    page = validate(
        document(
            image_elements(images, where, codes.drop),
            video_elements([made, made], where, codes.drop),
            news_element(news(), where),
            link_elements(links, where, codes.drop),
        )
    )

    assert len(page[0]) == 1 + len(images) + 2 + 1 + len({link.hreflang for link in links})
    assert set(codes) <= {"E-HREFLANG-REPEATED"}


def test_a_page_with_everything_is_valid_by_the_published_schemas(tmp_path):
    etree = pytest.importorskip("lxml.etree")
    schema = official_schema(tmp_path)
    where, codes = context(emit_deprecated=True), Heard()
    image = Image(loc="/a.jpg", caption="C", geo_location="G", title="T", license="/l")
    article = news(
        access="Registration", genres="Satire", keywords="a, b", stock_tickers="NASDAQ:AMAT", language="zh-Hans"
    )
    page = document(
        image_elements([image, Image(loc="/b.jpg")], where, codes.drop),
        video_elements([everything(), video(content_loc="ftp://example.com/v.mp4")], where, codes.drop),
        news_element(article, where),
        link_elements([Link("x-default", "/"), Link("zh-Hant-TW", "/zh/")], where, codes.drop),
    )

    schema.assertValid(etree.fromstring(page))

    assert codes == []
    # The schema does look: an element in the wrong place is an error.
    assert not schema.validate(etree.fromstring(page.replace(b"video:title>", b"video:tag>")))
    # What E-NEWS-TICKERS refuses, it refuses too.
    assert b"NASDAQ:AMAT" in page
    for ticker in (b"NYSE:BRK.B", b"NYSE:BRK-B", b"NYSE:BRK_B"):
        assert not schema.validate(etree.fromstring(page.replace(b"NASDAQ:AMAT", ticker)))


def _fail() -> str:
    raise ZeroDivisionError


def _joined(parts: Any) -> str:
    return clean(", ".join(parts))
