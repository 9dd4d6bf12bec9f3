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
# The schema takes no punctuation; beyond ASCII it takes more than any exchange has.
_TICKER = re.compile(r"[A-Za-z0-9]+:[A-Za-z0-9]+")
_DEPRECATED = ("access", "genres", "keywords", "stock_tickers")
_PARENTHESES = re.compile(r"\s?\([^()]*\)")
_MADE_UP = ("geo_targeting", "amp", "geo_locations")


def _news_language(where: str, value: Any) -> Any:
    kept = text(where, value)
    return kept if kept is None or is_late(kept) else check_news_language(kept)


def _access(where: str, value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() == "open":
        raise InvalidEntry("E-NEWS-ACCESS", f"{where} is {value!r}; leave it out where everybody may read.")
    return one_of(("Subscription", "Registration"), "E-NEWS-ACCESS")(where, value)


def _ticker(where: str, value: Any) -> Any:
    kept = text(where, value)
    if kept is None or is_late(kept):
        return kept
    if not _TICKER.fullmatch(kept.strip()):
        said = f"{where} has {shown(kept)}; write EXCHANGE:SYMBOL in letters and digits, as in NASDAQ:AMAT"
        raise InvalidEntry("E-NEWS-TICKERS", f"{said}. Leave out one with other characters: the schema refuses it.")
    return kept.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Value):
    """The ``<news:news>`` of a page: an article of the last two days."""

    name: Text = None
    """The publication's name as on news.google.com; what is in parentheses is left out; required (G-NWS)."""
    language: Text = None
    """The publication's language, ISO 639; ``en-GB`` becomes ``en``, ``zh-Hans`` ``zh-cn``; required (G-NWS)."""
    publication_date: Date = None
    """When the article was first published; required (G-NWS)."""
    title: Text = None
    """Title as on the page, without author, publication and date; required (G-NWS)."""
    access: Text = None
    """Deprecated: ``Subscription`` or ``Registration``; nothing where everybody may read (XSD)."""
    genres: str | Iterable[Text] | Expression | None = None
    """Deprecated: of PressRelease, Satire, Blog, OpEd, Opinion, UserGenerated (XSD)."""
    keywords: Text | Iterable[Any] = None
    """Deprecated: a list, or one text with commas (XSD)."""
    stock_tickers: str | Iterable[Text] | Expression | None = None
    """Deprecated: at most five, each ``EXCHANGE:SYMBOL``, in letters and digits (XSD)."""

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
        """Refuse unknown fields by their name; other descriptions of the format have made up some."""
        for name in fields:
            if name in _MADE_UP:
                said = f"News has no field {name!r}: search engines know no <news:{name}>. Leave it out."
                raise InvalidEntry("E-UNKNOWN-FIELD", said)
            if name not in cls._rules:
                said = f"News has no field {name!r}; it has {', '.join(cls._rules)}."
                raise InvalidEntry("E-UNKNOWN-FIELD", said)
        return object.__new__(cls)


def news_element(news: News, context: Context) -> str:
    """Return the ``<news:news>``; ``""`` with ``W-NEWS-FUTURE`` for an article that is not published yet (G-NWS).

    What stands in parentheses is taken out of the publication's name, with ``W-NEWS-NAME``.
    """
    news = news.settled()
    future = ("W-NEWS-FUTURE", "the news tags of the article were left out until then, its URL was not.")
    published = date_of("News.publication_date", news.publication_date, context, future=future)
    return "" if published is None else tag("news:news", "".join(_children(news, published, context)))


def news_elements(values: Iterable[News], context: Context, drop: Drop) -> str:
    """Return the ``<news:news>`` of a page; call `drop` with an error if it has several recent articles.

    An older article is no longer news and gets no tags; its URL stays in the sitemap (G-NWS).
    """
    recent = [value for value in values if is_recent(value.publication_date, context.now, tz=context.tz)]
    if len(recent) > 1:
        drop(InvalidEntry("E-NEWS-COUNT", f"{context.loc} has {len(recent)} news; the first one is listed."))
    try:
        return news_element(recent[0], context) if recent else ""
    except Exception as error:  # a lazy text may raise anything
        drop(error)
        return ""


def is_recent(publication_date: Any, now: datetime, window: timedelta = NEWS_WINDOW, *, tz: tzinfo) -> bool:
    """Return whether an article is news at `now` (aware): published within `window`, its very start included (G-NWS).

    A date is its midnight in UTC, a naive datetime is in `tz`. What is published later than now counts: it is
    `news_element` that leaves it out, and says so.
    """
    # Text without a day stays text, which is no date.
    if isinstance(publication_date, str) and (text := format_date(publication_date, tz=tz)):
        publication_date = parse_w3c(text)
    return now - as_datetime(publication_date, tz=tz) <= window


def _children(news: News, published: str, context: Context) -> Iterator[str]:
    """Yield them in the order of the schema."""
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
        raise InvalidEntry("E-REQUIRED", f"News.name is {shown(name)}, empty without its parentheses, but required.")
    if text != given.strip():
        said = f"What stands in parentheses in the publication's name {shown(name)} was left out; Google wants it so."
        context.warn("W-NEWS-NAME", said)
    return escape(text)


def _list(name: str, parts: Any, context: Context) -> str:
    return tag(f"news:{name}", text_of(", ".join(parts), context)) if parts else ""
