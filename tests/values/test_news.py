"""The XML of news articles: the vectors N of the protocol."""

from datetime import date, datetime, timedelta

import pytest

from element_samples import (
    BERLIN,
    NOW,
    Codes,
    context,
    names,
    news,
    parsed,
    text,
)
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.values.news import is_recent, news_element


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
    codes = Codes()

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
def test_parentheses_are_removed_from_the_name_of_a_publication(name, expected):
    codes = Codes()

    element = parsed(news_element(news(name=name), context(warn=codes.warn)))

    assert text(element, "news:publication/news:name") == expected
    assert codes == ["W-NEWS-NAME"]


def test_a_name_of_only_parentheses_is_refused():
    with pytest.raises(InvalidEntry, match="E-REQUIRED"):
        news_element(news(name="(subscription)"), context())


@pytest.mark.parametrize("tomorrow", [NOW + timedelta(days=1), datetime(2026, 10, 3, 14, 1), date(2026, 10, 5)])
def test_an_article_that_is_not_published_yet_has_no_news_tags(tomorrow):
    """N09."""
    codes = Codes()

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
def test_a_publication_date_without_a_day_is_refused(published):
    with pytest.raises(InvalidEntry, match="E-DATE"):
        is_recent(published, NOW, tz=BERLIN)


def test_the_window_of_news_can_be_changed():
    published = NOW - timedelta(hours=1)

    assert is_recent(published, NOW, timedelta(hours=1), tz=BERLIN)
    assert not is_recent(published, NOW, timedelta(minutes=59), tz=BERLIN)
