"""News articles: the fields, rules and XML of ``<news:news>``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, ClassVar

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.codes import check_news_language
from sitemaps_plus.protocol.dates import as_datetime, format_date, parse_w3c
from sitemaps_plus.protocol.text import clean, escape
from sitemaps_plus.values.base import Value
from sitemaps_plus.values.fields import Date, Expression, Text, is_late, moment, one_of, several, text
from sitemaps_plus.values.xml import Context, Drop, date_of, plain, tag, text_of, texts, writes_deprecated

MAX_NEWS = 1000
"""Articles of one sitemap (G-NWS)."""

NEWS_WINDOW = timedelta(days=2)
"""How long an article is news (G-NWS)."""

_COMMAS = r"\s*,\s*"
_GENRES = ("PressRelease", "Satire", "Blog", "OpEd", "Opinion", "UserGenerated")
# The schema allows no punctuation; it allows more than ASCII, which no exchange uses.
_TICKER = re.compile(r"[A-Za-z0-9]+:[A-Za-z0-9]+")
_DEPRECATED = ("access", "genres", "keywords", "stock_tickers")
_PARENTHESES = re.compile(r"\s?\([^()]*\)")
_MADE_UP = ("geo_targeting", "amp", "geo_locations")


def _news_language(where: str, value: Any) -> Any:
    kept = text(where, value)
    return kept if kept is None or is_late(kept) else check_news_language(kept)


def _access(where: str, value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() == "open":
        raise InvalidEntry("E-NEWS-ACCESS", f"{where} is {value!r}; leave it out if everybody may read the article.")
    return one_of(("Subscription", "Registration"), "E-NEWS-ACCESS")(where, value)


def _ticker(where: str, value: Any) -> Any:
    kept = text(where, value)
    if kept is None or is_late(kept):
        return kept
    if not _TICKER.fullmatch(kept.strip()):
        message = f"{where} contains {shown(kept)}; write EXCHANGE:SYMBOL in letters and digits, as in NASDAQ:AMAT"
        raise InvalidEntry(
            "E-NEWS-TICKERS", f"{message}. Leave out symbols with other characters: the schema does not allow them."
        )
    return kept.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Value):
    """The ``<news:news>`` of a page: an article from the last two days."""

    name: Text = None
    """Name of the publication as on news.google.com, without parentheses; required (G-NWS)."""
    language: Text = None
    """Language of the publication, ISO 639; ``en-GB`` becomes ``en``, ``zh-Hans`` ``zh-cn``; required (G-NWS)."""
    publication_date: Date = None
    """Date of first publication; required (G-NWS)."""
    title: Text = None
    """Title as on the page, without author, publication or date; required (G-NWS)."""
    access: Text = None
    """Deprecated: ``Subscription`` or ``Registration``; empty if everybody may read (XSD)."""
    genres: str | Iterable[Text] | Expression | None = None
    """Deprecated: any of PressRelease, Satire, Blog, OpEd, Opinion and UserGenerated (XSD)."""
    keywords: Text | Iterable[Any] = None
    """Deprecated: a list, or one text with commas (XSD)."""
    stock_tickers: str | Iterable[Text] | Expression | None = None
    """Deprecated: at most five, as ``EXCHANGE:SYMBOL`` in letters and digits (XSD)."""

    _rules: ClassVar = {
        "name": text,
        "language": _news_language,
        "access": _access,
        "genres": several(one_of(_GENRES, "E-NEWS-GENRES"), split=_COMMAS),
        "publication_date": moment,
        "title": text,
        "keywords": several(text, split=_COMMAS),
        "stock_tickers": several(_ticker, split=_COMMAS, most=5, code="E-NEWS-TICKERS"),
    }
    _required: ClassVar = ("name", "language", "publication_date", "title")
    _lists: ClassVar = ("genres", "keywords", "stock_tickers")

    def __new__(cls, **fields: Any) -> News:
        """Refuse unknown fields by name: other descriptions of the format contain some that do not exist."""
        for name in fields:
            if name in _MADE_UP:
                message = f"News has no field {name!r}: search engines do not read <news:{name}>. Leave it out."
                raise InvalidEntry("E-UNKNOWN-FIELD", message)
            if name not in cls._rules:
                message = f"News has no field {name!r}; it has {', '.join(cls._rules)}."
                raise InvalidEntry("E-UNKNOWN-FIELD", message)
        return object.__new__(cls)


def news_element(news: News, context: Context) -> str:
    """Return one ``<news:news>``, or ``""`` with ``W-NEWS-FUTURE`` for an article that is not published yet (G-NWS).

    Remove parentheses from the name of the publication, with ``W-NEWS-NAME``.
    """
    news = news.settled()
    future = ("W-NEWS-FUTURE", "until then the article is listed without its news tags.")
    published = date_of("News.publication_date", news.publication_date, context, future=future)
    return "" if published is None else tag("news:news", "".join(_children(news, published, context)))


def news_elements(values: Iterable[News], context: Context, drop: Drop) -> str:
    """Return the ``<news:news>`` of a page; call `drop` with an error if it has several recent articles.

    An older article is no longer news and gets no tags; its URL stays in the sitemap (G-NWS).
    """
    recent = [value for value in values if is_recent(value.publication_date, context.now, tz=context.tz)]
    if len(recent) > 1:
        drop(
            InvalidEntry(
                "E-NEWS-COUNT", f"{context.loc} has {len(recent)} news articles; only the first one was listed."
            )
        )
    try:
        return news_element(recent[0], context) if recent else ""
    except Exception as error:  # a lazy text may raise anything
        drop(error)
        return ""


def is_recent(publication_date: Any, now: datetime, window: timedelta = NEWS_WINDOW, *, tz: tzinfo) -> bool:
    """Return whether an article is news at `now` (aware): published at most `window` ago (G-NWS).

    A date is midnight in UTC, a naive datetime is in `tz`. A later date than now counts, too: `news_element` leaves the
    article out with a warning.
    """
    # Text without a day stays text, which as_datetime refuses.
    if isinstance(publication_date, str) and (text := format_date(publication_date, tz=tz)):
        publication_date = parse_w3c(text)
    return now - as_datetime(publication_date, tz=tz) <= window


def _children(news: News, published: str, context: Context) -> Iterator[str]:
    """Yield the children in the order of the schema."""
    old = news if writes_deprecated(news, _DEPRECATED, context) else None
    publication = tag("news:name", _publication(news.name, context)) + tag("news:language", str(news.language))
    yield tag("news:publication", publication)
    if old:
        yield from plain("news", old, ("access",))
        yield _list("genres", old.genres, context)
    yield tag("news:publication_date", published)
    yield from texts("news", news, ("title",), context)
    if old:
        yield _list("keywords", old.keywords, context)
        yield _list("stock_tickers", old.stock_tickers, context)


def _publication(name: Any, context: Context) -> str:
    text = given = clean(name, warn=context.warn, strict=context.strict)
    while (shorter := _PARENTHESES.sub("", text)) != text:
        text = shorter
    text = text.strip()
    if not text:
        raise InvalidEntry(
            "E-REQUIRED", f"News.name is {shown(name)}, which is empty without its parentheses, but required."
        )
    if text != given.strip():
        message = f"The parentheses in the publication name {shown(name)} were removed, as Google requires."
        context.warn("W-NEWS-NAME", message)
    return escape(text)


def _list(name: str, parts: Any, context: Context) -> str:
    return tag(f"news:{name}", text_of(", ".join(parts), context)) if parts else ""
