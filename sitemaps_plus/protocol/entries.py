"""Turn the values of the hooks for one row into one valid ``<url>``, or leave it out and report why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any, NamedTuple

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.addresses import Scope, check_scope, normalize
from sitemaps_plus.protocol.codes import check_hreflang, warn_of_underscore
from sitemaps_plus.protocol.dates import as_datetime, format_date, parse_w3c
from sitemaps_plus.protocol.limits import PROFILES, Profile
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.text import check_changefreq, format_priority


class Link(NamedTuple):
    """One ``<xhtml:link>``: another language of the page."""

    hreflang: str
    href: str


class Entry(NamedTuple):
    """One ``<url>``; the values are protocol text that is not yet escaped."""

    loc: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    links: Sequence[Link] = ()
    more_links: Sequence[Link] = ()
    """Links that the hook ``hreflang`` gave beyond `links`."""
    media: str = ""
    """Images, videos and news as finished XML."""
    given: Mapping[str, Any] | None = None
    """The object and the values of its hooks, for a template of the project."""


class Group(NamedTuple):
    """The entries of one row, one for each language; all of them are on one page."""

    key: object
    entries: Sequence[Entry]


class Block(NamedTuple):
    """The XML of many rows at once."""

    text: bytes
    urls: int
    names: set[str] | None
    """One name for each URL, unique among all blocks of a page; None if a URL occurs twice."""
    rows: Callable[[], Iterator[tuple[object, list[tuple[str, str]]]]]
    """Yields the key of each row, with the name and the XML of each of its entries."""


_DOTS = re.compile(r"/\.\.?(?:/|$)")

_priority = lru_cache(maxsize=256, typed=True)(format_priority)
_changefreq = lru_cache(maxsize=64, typed=True)(check_changefreq)


@dataclass(slots=True)
class Newest:
    """The newest date of those that `see` was called with."""

    value: datetime | None = None
    _last: object = None

    def see(self, value: object, tz: tzinfo) -> None:
        """Keep a date or datetime if it is the newest."""
        if value is self._last:
            return
        self._last = value
        moment = as_datetime(value, tz=tz)
        if self.value is None or moment > self.value:
            self.value = moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """A converter from the values of hooks to protocol text, which reports values that break a rule."""

    scope: Scope
    tz: tzinfo
    """Zone of naive datetimes."""
    now: datetime
    report: Report
    profile: Profile = PROFILES["default"]
    hreflang: Callable[[str], str | None] = check_hreflang
    """Returns the ``hreflang`` of a language, or None if it has none."""
    newest: Newest = field(default_factory=Newest)
    """The newest lastmod seen so far."""

    def loc(self, key: object, value: object) -> str:
        """Return the URL of a row; raise InvalidEntry if a sitemap may not list it."""
        url = normalize(
            value,
            origin=self.scope.origin,
            max_length=self.profile.max_loc,
            warn=lambda code, text: self.report.warn(key, "location", code, text),
        )
        check_scope(url, self.scope)
        if "/." in url and _DOTS.search(url.partition("?")[0]):
            raise InvalidEntry(
                "E-URL-DOTS", f"{url} has a part '.' or '..'; clients remove it and request another page."
            )
        return url

    def links(self, key: object, hrefs: Iterable[tuple[object, object]]) -> list[Link]:
        """Return the valid links to a row in other languages, which may be on other hosts.

        `hrefs` are pairs of language and URL; if two have one ``hreflang``, the first one is used.
        """
        found: dict[str, Link] = {}
        for language, href in hrefs:
            link = self._link(key, language, href)
            if link is None:
                continue
            if found.setdefault(link.hreflang, link).href != link.href:
                message = f"{link.href} is a second URL for hreflang {link.hreflang!r}; the first one was used."
                self.report.drop(key, "alternates", InvalidEntry("E-HREFLANG-REPEATED", message))
        return list(found.values())

    def _link(self, key: object, language: object, href: object) -> Link | None:
        code = self.link_code(key, language)
        if code is None:
            return None
        try:
            url = normalize(
                href,
                origin=self.scope.origin,
                max_length=self.profile.max_loc,
                warn=lambda code, text: self.report.warn(key, "alternates", code, text),
            )
        except Exception as error:  # a value of any type may come from a hook
            self.report.drop(key, "alternates", error)
            return None
        return Link(code, url)

    def link_code(self, key: object, language: object) -> str | None:
        """Return the ``hreflang`` of a language; None if it has none, with a warning if it is unknown."""

        def warn(code: str, text: str) -> None:
            self.report.warn(key, "alternates", code, text)

        given = str(language)
        try:
            found = self.hreflang(given)
        except InvalidEntry as error:
            # Not an error: without LANGUAGES of its own, a project has all languages of Django.
            warn("W-HREFLANG", f"No link to {shown(language)}: {error}")
            return None
        if found is not None:
            warn_of_underscore(given, found, warn)
        return found

    def lastmod(self, key: object, value: object) -> str | None:
        """Return the date as text, or None if it is empty or invalid."""
        text = self._optional(
            key,
            "lastmod",
            value,
            lambda given: format_date(
                given,
                tz=self.tz,
                now=self.now,
                date_only=self.profile.date_only,
                warn=lambda code, text: self.report.warn(key, "lastmod", code, text),
            ),
        )
        if text is not None:
            self.newest.see(parse_w3c(text) if isinstance(value, str) else value, self.tz)
        return text

    def changefreq(self, key: object, value: object) -> str | None:
        """Return the value if it is one of the seven words, else None."""
        return self._optional(key, "changefreq", value, _changefreq)

    def priority(self, key: object, value: object) -> str | None:
        """Return a number from 0.0 to 1.0 as text, or None."""
        return self._optional(key, "priority", value, _priority)

    def _optional(self, key: object, hook: str, value: object, clean: Callable[[object], str | None]) -> str | None:
        try:
            return None if value is None or value == "" else clean(value)
        except Exception as error:  # a value of any type may come from a hook
            self.report.drop(key, hook, error)
            return None
