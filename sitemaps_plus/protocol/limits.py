"""How much a page and an index may hold: the limits of the protocol, and the narrower ones of search engines."""

from __future__ import annotations

from dataclasses import dataclass

MAX_URLS = 50_000
"""URLs in one page and pages in one index (sitemaps.org, "Sitemap index files")."""

MAX_BYTES = 52_428_800
"""Uncompressed bytes of one page or index (sitemaps.org)."""

MAX_LOC = 2047
"""Most characters of a URL: sitemaps.org wants fewer than 2,048, counted after encoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The limits of a search engine, where they are narrower than the protocol's."""

    max_urls: int = MAX_URLS
    max_bytes: int = MAX_BYTES
    max_loc: int = MAX_LOC
    date_only: bool = False


PROFILES = {
    "default": Profile(),
    "yandex": Profile(max_loc=1024),
    "baidu": Profile(max_bytes=10_485_760, max_loc=256, date_only=True),
    "naver": Profile(max_urls=49_999, max_bytes=10_485_759),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a page may hold, and how much of that a page is left with when it is split."""

    urls: int = MAX_URLS
    bytes: int = MAX_BYTES
    bytes_to_fill: int = MAX_BYTES
