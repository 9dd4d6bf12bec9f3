"""Inspect one built file: its URLs, their contents, and its errors.

Without Django, so that a second process needs nothing but lxml to do its share.
"""

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path

from lxml import etree

from atlas.excerpts import excerpt

MAX_URLS = 50_000
MAX_BYTES = 52_428_800
SCHEMAS = Path(__file__).resolve().parents[2] / "tests" / "schemas"
"""The schemas of the tests of the package."""

KINDS = {
    "images": "{http://www.google.com/schemas/sitemap-image/1.1}image",
    "videos": "{http://www.google.com/schemas/sitemap-video/1.1}video",
    "news": "{http://www.google.com/schemas/sitemap-news/0.9}news",
    "links": "{http://www.w3.org/1999/xhtml}link",
}
"""The kinds of content of a URL, beside its location and date."""

_NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One ``<urlset>``."""

    name: str
    size: int = 0
    """Uncompressed bytes."""
    urls: int = 0
    digests: frozenset[bytes] = frozenset()
    """A hash of each URL, a tenth of the size of the URLs."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of each of `KINDS`."""
    excerpts: Mapping[str, str] = field(default_factory=dict)
    """The first URL that has one, for each of `KINDS`."""
    faults: tuple[str, ...] = ()


def inspect_index(name: str, document: bytes) -> list[str]:
    """Return the URLs that an index lists; raise ValueError for one that breaks a rule."""
    try:
        locs = [found.findtext(f"{_NAMESPACE}loc", "") for found in _elements(document, "sitemap", "index-all.xsd")]
    except etree.XMLSyntaxError as error:
        raise ValueError(f"{name}: {error.msg}") from error
    if not 0 < len(locs) <= MAX_URLS or len(document) > MAX_BYTES:
        raise ValueError(f"{name}: {len(locs):,} files and {len(document):,} bytes; an index has to keep the limits.")
    return locs


def inspect_page(name: str, packed: bytes) -> Page:
    """Decompress a page, parse it, validate it against the schemas, and count."""
    try:
        document = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        return Page(name=name, faults=(f"does not unpack: {error}",))
    contents = _Contents()
    try:
        for url in _elements(document, "url", "urlset-all.xsd"):
            contents.add(url)
    except etree.XMLSyntaxError as error:
        return Page(name=name, size=len(document), faults=(f"is not valid: {error.msg}",))
    return Page(
        name=name,
        size=len(document),
        urls=contents.urls,
        digests=frozenset(contents.digests),
        counts={kind: contents.tags[tag] for kind, tag in KINDS.items()},
        excerpts=contents.excerpts,
        faults=tuple(_faults(len(document), contents.urls, len(contents.digests))),
    )


class _Contents:
    """The findings on a page so far."""

    def __init__(self) -> None:
        self.urls = 0
        self.digests: set[bytes] = set()
        self.tags: Counter[str] = Counter()
        self.excerpts: dict[str, str] = {}

    def add(self, url: etree._Element) -> None:
        """Count a ``<url>``, and keep an excerpt if it is the first of its kind."""
        loc = url.findtext(f"{_NAMESPACE}loc", "")
        self.urls += 1
        self.digests.add(hashlib.blake2b(loc.encode(), digest_size=8).digest())
        tags = [child.tag for child in url]
        self.tags.update(tags)
        for kind, tag in KINDS.items():
            if kind not in self.excerpts and tag in tags:
                self.excerpts[kind] = excerpt(url, tag)


def _faults(size: int, urls: int, different: int) -> Iterator[str]:
    if urls > MAX_URLS:
        yield f"has {urls:,} URLs, more than {MAX_URLS:,}"
    if size > MAX_BYTES:
        yield f"has {size:,} bytes, more than {MAX_BYTES:,}"
    if different < urls:
        yield f"lists {urls - different:,} URLs twice"


def _elements(document: bytes, element: str, schema: str) -> Iterator[etree._Element]:
    # Validate while parsing: the tree of a whole page would take ten times its size in memory.
    for _, found in etree.iterparse(BytesIO(document), tag=_NAMESPACE + element, schema=_schema(schema)):
        yield found
        found.clear()
        while found.getprevious() is not None:
            del found.getparent()[0]


@cache
def _schema(name: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(SCHEMAS / name))
