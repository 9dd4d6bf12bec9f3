"""The limits of the protocol, and the narrower ones of some search engines."""

from __future__ import annotations

from dataclasses import dataclass

MAX_URLS = 50_000
"""URLs in one page and pages in one index (sitemaps.org, "Sitemap index files")."""

MAX_BYTES = 52_428_800
"""Uncompressed bytes of one page or index (sitemaps.org)."""

MAX_LOC = 2047
"""Most characters of a URL: sitemaps.org requires fewer than 2,048 after encoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The limits of one search engine, which may be narrower than those of the protocol."""

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
    """The size at which a page is full, and the size to which a split fills it."""

    urls: int = MAX_URLS
    bytes: int = MAX_BYTES
    bytes_to_fill: int = MAX_BYTES
