"""Make of a finished page what else its readers want: the document itself, or its URLs as text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from sitemaps_plus.conf import get_settings
from sitemaps_plus.packing import pack, unpack
from sitemaps_plus.protocol.writer import NAMESPACE

_LOC = re.compile(rb"<loc>([^<]*)</loc>")


def formats() -> Sequence[str]:
    """Return what is made of a page: always ``xml.gz``, first."""
    return list(dict.fromkeys(("xml.gz", *get_settings().FORMATS)))


def make_format(gzipped: bytes, name: str, *, is_written: bool = True) -> bytes:
    """Return a page as the name of the file says: ``.xml.gz`` as it is, ``.xml``, or ``.txt.gz`` with a URL a line.

    A page that is not `is_written` by the writer may say the same in other ways.
    """
    if name.endswith(".xml.gz"):
        return gzipped
    document = b"".join(unpack(gzipped))
    if name.endswith(".xml"):
        return document
    found = (html.unescape(loc.decode()) for loc in _LOC.findall(document)) if is_written else _locs(document)
    return pack((f"{loc}\n".encode() for loc in found), get_settings().GZIP_LEVEL).data


def _locs(document: bytes) -> Iterator[str]:
    for element in ET.fromstring(document).iterfind(f"{{{NAMESPACE}}}url"):  # noqa: S314 - a template of the project
        yield (element.findtext(f"{{{NAMESPACE}}}loc") or "").strip()
