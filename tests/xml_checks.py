"""Parse documents of sitemaps_plus and validate them."""

import os
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

SCHEMAS = Path(__file__).parent / "schemas"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"

PLAIN = os.environ.get("SITEMAPS_PLUS_PLAIN") == "1"
"""Whether optional packages are missing: without lxml, schemas are not checked."""


def validate(document: bytes) -> ElementTree.Element:
    """Return the root of a document; fail unless it is well-formed and valid."""
    root = ElementTree.fromstring(document)  # noqa: S314 - written by the code under test
    assert root.tag in {f"{SITEMAP}urlset", f"{SITEMAP}sitemapindex"}, f"not a sitemap: {root.tag}"
    if not PLAIN:
        _assert_valid(document, "urlset-all.xsd" if root.tag == f"{SITEMAP}urlset" else "index-all.xsd")
    return root


def locs(document: bytes) -> list[str]:
    """Return the URLs of a valid urlset or index, in their order."""
    return [child.findtext(f"{SITEMAP}loc", "") for child in validate(document)]


def lastmods(document: bytes) -> list[str | None]:
    """Return the ``lastmod`` of each entry of a valid urlset or index, or None."""
    return [child.findtext(f"{SITEMAP}lastmod") for child in validate(document)]


def _assert_valid(document: bytes, schema: str) -> None:
    from lxml import etree

    parser = etree.XMLParser(no_network=True, resolve_entities=False, huge_tree=True)
    _schema(schema).assertValid(etree.fromstring(document, parser))


@cache
def _schema(name: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(no_network=True, resolve_entities=False)
    return etree.XMLSchema(etree.parse(SCHEMAS / name, parser))
