"""Print digests of the first page of each kind in one project: they must be equal in all projects."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from tasks import icv_build, lxml_document, received  # noqa: E402 - found only now

PATHS = {
    "plus": {
        "products": ["/sitemap-products-1.xml", "/sitemap-objects-1.xml"],
        "languages": ["/sitemap-languages-1.xml", "/sitemap-object-languages-1.xml"],
    },
    "contrib": {"products": ["/sitemap-products.xml"], "languages": ["/sitemap-languages.xml"]},
}


def main(side: str) -> None:
    """Print the digests of a project by name."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
    os.environ["BENCH_SIDE"] = {"lxml": "contrib"}.get(side, side)
    import django

    django.setup()
    print(json.dumps([(name, where, digest(document)) for name, where, document in documents(side)]))


def documents(side: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield name, origin and text of each page that is compared."""
    if side == "icv":
        icv_build("IcvProduct")
        yield "products", "django-icv-sitemaps", icv_file()
    elif side == "lxml":
        yield "products", "django-sitemaps", lxml_document("ProductSitemap")
    else:
        for name, paths in PATHS[side].items():
            for path in paths:
                yield name, f"{side} {path}", unpacked(b"".join(received(path)))


def icv_file() -> bytes:
    """Return the first file that django-icv-sitemaps wrote."""
    from django.conf import settings

    return gzip.decompress((settings.FOLDERS["default"] / "sitemaps" / "icvproduct-0.xml.gz").read_bytes())


def unpacked(data: bytes) -> bytes:
    """Return the document as a crawler reads it."""
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def digest(document: bytes) -> str:
    """Return a digest of URLs, dates and links; Django writes no time of day, and languages in lower case."""
    listed = [
        [(element.tag, *texts(element)) for element in url]
        for url in ET.fromstring(document)  # noqa: S314 - made here
    ]
    return f"{len(listed)} URLs, {hashlib.sha256(repr(listed).encode()).hexdigest()[:16]}"


def texts(element: ET.Element) -> tuple[str, ...]:
    """Return the text of an element."""
    if element.tag.endswith("}link"):
        return element.attrib["hreflang"].lower(), element.attrib["href"]
    text = element.text or ""
    return (text[:10] if element.tag.endswith("}lastmod") else text,)


if __name__ == "__main__":
    main(sys.argv[1])
