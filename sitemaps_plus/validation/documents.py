"""Check a finished page as a crawler would read it; needed for pages that a template of the project rendered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree as ET

from sitemaps_plus.errors import InvalidDocument
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.protocol.limits import MAX_BYTES, MAX_URLS
from sitemaps_plus.protocol.writer import NAMESPACE


def check_document(pieces: Iterable[bytes], section: Section) -> None:
    """Raise InvalidDocument if a page is not well-formed, exceeds the limits, or lists URLs of another host.

    The rules are those of https://www.sitemaps.org/protocol.html.
    """
    what = f"The page of the sitemap {section.label!r} from your template sitemap.xml"
    start = "" if section.cross_submission else f"{section.origin}/"
    parser: Any = ET.XMLPullParser(events=("start", "end"))
    size = urls = 0
    root: ET.Element | None = None
    try:
        for piece in (*pieces, None):
            size += len(piece or b"")
            _ = parser.close() if piece is None else parser.feed(piece)
            for event, element in parser.read_events():
                if root is None:
                    root = _root(element, what)
                if event == "end" and element.tag == f"{{{NAMESPACE}}}url":
                    urls += 1
                    _check_loc((element.findtext(f"{{{NAMESPACE}}}loc") or "").strip(), start, what)
                    # Keeps memory small: read elements are dropped.
                    root.clear()
    except ET.ParseError as error:
        raise InvalidDocument(f"{what} is not well-formed XML: {error}. Correct the template.") from error
    if urls > MAX_URLS or size > MAX_BYTES:
        raise InvalidDocument(f"{what} has {urls:,} URLs and {size:,} bytes, more than {MAX_URLS:,} or {MAX_BYTES:,}.")


def _root(element: ET.Element, what: str) -> ET.Element:
    if element.tag != f"{{{NAMESPACE}}}urlset":
        raise InvalidDocument(f'{what} begins with {element.tag}, not with <urlset xmlns="{NAMESPACE}">.')
    return element


def _check_loc(loc: str, start: str, what: str) -> None:
    if not loc:
        raise InvalidDocument(f"{what} has a <url> without <loc>.")
    if not loc.startswith(start):
        raise InvalidDocument(f"{what} lists {loc[:200]}, which does not begin with {start}.")
