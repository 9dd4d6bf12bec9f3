"""News articles: the fields and rules of ``<news:news>``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.codes import check_news_language
from sitemaps_plus.values.base import Value
from sitemaps_plus.values.fields import Date, Expression, Text, is_late, moment, one_of, several, text

_COMMAS = r"\s*,\s*"
_GENRES = ("PressRelease", "Satire", "Blog", "OpEd", "Opinion", "UserGenerated")
# The schema takes no punctuation; beyond ASCII it takes more than any exchange has.
_TICKER = re.compile(r"[A-Za-z0-9]+:[A-Za-z0-9]+")
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
