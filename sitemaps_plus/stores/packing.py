"""Turn the pieces of a document into gzip and what is to be known of it; equal bytes give equal gzip."""

from __future__ import annotations

import hashlib
import html
import importlib
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

from sitemaps_plus.conf import get_settings
from sitemaps_plus.protocol.names import Format
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.shapes import Sampler
from sitemaps_plus.protocol.writer import NAMESPACE

GZIP = 31
"""Window bits of zlib for the gzip format; it writes no file name and no time."""

_URL = re.compile(rb"<url>.*?</url>", re.DOTALL)
_LOC = re.compile(rb"<loc>([^<]*)</loc>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A finished sitemap or index, kept as gzip."""

    gzipped: bytes
    digest: str
    """SHA-256 of the uncompressed bytes."""
    size: int
    """Uncompressed bytes."""
    urls: int = 0
    """URLs of a page, or sitemaps of an index."""
    changed_at: datetime | None = None
    checked_at: datetime | None = None
    """When the database was last queried for what an index lists."""
    report: Report = field(default_factory=lambda: Report("index"))
    sampler: Sampler = field(default_factory=Sampler)
    """The shapes of the URLs of a page."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the uncompressed bytes."""
        return unpack(self.gzipped)


@dataclass(frozen=True, slots=True)
class Packer:
    """One way to make gzip."""

    compressobj: Callable[..., Any]
    highest_level: int
    default_level: int


def pack(pieces: Iterable[bytes], level: int | None = None) -> Document:
    """Return the gzip of `pieces` together; `level` is 0 to 9 as far as the packer goes, None for its own choice."""
    packer = get_packer()
    level = packer.default_level if level is None else min(level, packer.highest_level)
    stream = packer.compressobj(level, wbits=GZIP)
    digest, size = hashlib.sha256(), 0
    packed = []
    for piece in pieces:
        digest.update(piece)
        packed.append(stream.compress(piece))
        size += len(piece)
    packed.append(stream.flush())
    return Document(gzipped=b"".join(packed), digest=digest.hexdigest(), size=size)


def unpack(data: bytes) -> Iterator[bytes]:
    """Yield the uncompressed bytes of gzip; raise EOFError at the end of a part, ValueError where more follows."""
    stream = zlib.decompressobj(wbits=GZIP)
    for start in range(0, len(data), 16_384):
        yield stream.decompress(data[start : start + 16_384])
    yield stream.flush()
    if not stream.eof:
        raise EOFError("The gzip data end before their end mark.")
    if stream.unused_data:
        raise ValueError("The gzip data go on after their end mark.")


@cache
def get_packer() -> Packer:
    """Return ISA-L where the extra ``fast`` is installed, else zlib."""
    try:
        fast = importlib.import_module(".fast", __package__)
    except ImportError as error:
        if (error.name or "").startswith("sitemaps_plus"):
            raise  # The module that imports ISA-L is not where it is looked for.
        return Packer(zlib.compressobj, 9, 3)
    return Packer(fast.compressobj, fast.HIGHEST_LEVEL, fast.DEFAULT_LEVEL)


def count_differences(old: Iterable[bytes], new: Iterable[bytes]) -> int:
    """Return how many URLs of two pages, given in pieces, were changed, added or removed."""
    before, after = (Counter(map(hash, _URL.findall(b"".join(page)))) for page in (old, new))
    return max((before - after).total(), (after - before).total())


def formats() -> Sequence[Format]:
    """Return what is made of a page: always ``xml.gz``, first."""
    return list(dict.fromkeys(("xml.gz", *get_settings().FORMATS)))


def make_format(gzipped: bytes, format: Format, *, is_written: bool = True) -> bytes:
    """Return a page in another format; a line of ``txt.gz`` is a URL.

    A page that is not `is_written` by the writer may say the same in other ways.
    """
    if format == "xml.gz":
        return gzipped
    document = b"".join(unpack(gzipped))
    if format == "xml":
        return document
    found = (html.unescape(loc.decode()) for loc in _LOC.findall(document)) if is_written else _locs(document)
    return pack((f"{loc}\n".encode() for loc in found), get_settings().GZIP_LEVEL).gzipped


def _locs(document: bytes) -> Iterator[str]:
    for element in ET.fromstring(document).iterfind(f"{{{NAMESPACE}}}url"):  # noqa: S314 - a template of the project
        yield (element.findtext(f"{{{NAMESPACE}}}loc") or "").strip()
