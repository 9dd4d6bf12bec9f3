"""Turn one built file into what there is to know about it: its URLs, its bytes, what is wrong with it.

Without Django, so that a second process needs nothing but lxml to do its share.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

from lxml import etree

MAX_URLS = 50_000
MAX_BYTES = 52_428_800
SCHEMAS = Path(__file__).resolve().parents[2] / "tests" / "schemas"
"""The schemas that the tests of the package validate with."""

_NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One ``<urlset>``."""

    name: str
    size: int = 0
    """Bytes after unpacking."""
    urls: int = 0
    digests: frozenset[bytes] = frozenset()
    """One for each different URL; a tenth of the URLs' size."""
    faults: tuple[str, ...] = ()


def inspect_index(name: str, document: bytes) -> list[str]:
    """Return the addresses that an index lists; raises ValueError for one that breaks a rule."""
    try:
        locs = list(_locs(document, "sitemap", "index-all.xsd"))
    except etree.XMLSyntaxError as error:
        raise ValueError(f"{name}: {error.msg}") from error
    if not 0 < len(locs) <= MAX_URLS or len(document) > MAX_BYTES:
        raise ValueError(f"{name}: {len(locs):,} files and {len(document):,} bytes; an index has to keep the limits.")
    return locs


def inspect_page(name: str, packed: bytes) -> Page:
    """Unpack a page, parse it, validate it against the schemas and count."""
    try:
        document = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        return Page(name=name, faults=(f"does not unpack: {error}",))
    try:
        locs = list(_locs(document, "url", "urlset-all.xsd"))
    except etree.XMLSyntaxError as error:
        return Page(name=name, size=len(document), faults=(f"is not valid: {error.msg}",))
    digests = frozenset(hashlib.blake2b(loc.encode(), digest_size=8).digest() for loc in locs)
    return Page(
        name=name,
        size=len(document),
        urls=len(locs),
        digests=digests,
        faults=tuple(_faults(len(document), len(locs), len(digests))),
    )


def _faults(size: int, urls: int, different: int) -> Iterator[str]:
    if urls > MAX_URLS:
        yield f"has {urls:,} URLs, more than {MAX_URLS:,}"
    if size > MAX_BYTES:
        yield f"has {size:,} bytes, more than {MAX_BYTES:,}"
    if different < urls:
        yield f"lists {urls - different:,} URLs twice"


def _locs(document: bytes, element: str, schema: str) -> Iterator[str]:
    # Validated while it is parsed: a tree of a whole page would take ten times its size in memory.
    for _, found in etree.iterparse(BytesIO(document), tag=_NAMESPACE + element, schema=_schema(schema)):
        yield found.findtext(f"{_NAMESPACE}loc", "")
        found.clear()
        while found.getprevious() is not None:
            del found.getparent()[0]


@cache
def _schema(name: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(SCHEMAS / name))
