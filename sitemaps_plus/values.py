"""What a hook may declare beside the address of a page: pictures, videos, news and the page in other languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sitemaps_plus.declared import Path, Value
from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.fields import Date, Expression, Text, Url, is_late, moment, one_of, several, text, url
from sitemaps_plus.protocol.codes import check_hreflang, check_news_language
from sitemaps_plus.video import (
    Gallery,
    Platform,
    Player,
    Price,
    Restriction,
    Segment,
    TVShow,
    Uploader,
    Video,
    VideoId,
)

__all__ = [
    "Alternate",
    "Gallery",
    "Image",
    "News",
    "Platform",
    "Player",
    "Price",
    "Restriction",
    "Segment",
    "TVShow",
    "Uploader",
    "Value",
    "Video",
    "VideoId",
]

_COMMAS = r"\s*,\s*"
_GENRES = ("PressRelease", "Satire", "Blog", "OpEd", "Opinion", "UserGenerated")
# The schema takes no punctuation; beyond ASCII it takes more than any exchange has.
_TICKER = re.compile(r"[A-Za-z0-9]+:[A-Za-z0-9]+")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]*:")
_MADE_UP = ("geo_targeting", "amp", "geo_locations")


def _hreflang(where: str, value: Any) -> Any:
    kept = text(where, value)
    return kept if kept is None or is_late(kept) else check_hreflang(kept)


def _href(where: str, value: Any) -> Any:
    kept = url(where, value)
    if isinstance(value, Path) and value.startswith("/"):
        # Which site a path is of is sure here: its origin goes before it when it is written.
        return value
    if isinstance(kept, str) and not _SCHEME.match(kept):
        said = f"{where} is {shown(kept)}; begin it with http:// or https://, or give UrlFor for a page of this site."
        raise InvalidEntry("E-URL-RELATIVE", said)
    return kept


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
class Image(Value):
    """One ``<image:image>`` of a page. All but `loc` is deprecated and written only when asked for."""

    loc: Url = None
    """Address of the picture, on any host; required (G-IMG)."""
    caption: Text = None
    """Deprecated in 2022 (G-SPR)."""
    geo_location: Text = None
    """Deprecated in 2022: where it was taken, as in ``Limerick, Ireland`` (G-SPR)."""
    title: Text = None
    """Deprecated in 2022 (G-SPR)."""
    license: Url = None
    """Deprecated in 2022: address of the licence (G-SPR)."""

    _rules: ClassVar = {"loc": url, "caption": text, "geo_location": text, "title": text, "license": url}
    _required: ClassVar = ("loc",)

    def __post_init__(self) -> None:
        """Keep what the rules make of the fields; raise `InvalidEntry` where one is broken."""
        # A row may have a thousand of these: an address alone needs no more looking at.
        loc = self.loc
        if type(loc) is not str or not loc or loc.isspace() or not self.is_plain:
            Value.__post_init__(self)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but an address that is text already."""
        others = self.caption is self.geo_location is self.title is self.license is None
        return others and type(self.loc) is str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate(Value):
    """One ``<xhtml:link>`` of a page: the same page in another language."""

    hreflang: Text = None
    """Language, script, region: ``pt-BR``, ``zh-Hant``; or ``x-default``; required (G-HRF)."""
    href: Url = None
    """Absolute address, on any domain, or `UrlFor` for a page of this site; required (G-HRF)."""

    _rules: ClassVar = {"hreflang": _hreflang, "href": _href}
    _required: ClassVar = ("hreflang", "href")
