"""Name the files of sitemaps; a file has the same name in the storage and at the end of its URL."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

Format: TypeAlias = Literal["xml", "xml.gz", "txt.gz"]
"""The form that a document is written in."""

FORMATS: tuple[Format, ...] = ("xml.gz", "xml", "txt.gz")
"""The formats of a page; a build always writes the first one."""

INDEX_FORMATS: tuple[Format, ...] = ("xml.gz", "xml")
"""The formats of an index; a build writes both."""

INDEX_ALIAS = "sitemap_index.xml"
"""A second URL of the site's index, which many crawlers try."""

MAX_LABEL = 100
"""Most characters of a label."""

_LABEL = r"[a-z0-9]+(?:[-_][a-z0-9]+)*"
_label = re.compile(_LABEL)
_ends_like_page = re.compile(r"(?:.*-)?[0-9]+")
_page_file = re.compile(rf"sitemap-(?P<label>{_LABEL})-(?P<number>[0-9]+)\.(?P<format>xml\.gz|xml|txt\.gz)")

PAGE_URL = rf"^sitemap-(?P<label>{_LABEL})-(?P<number>[0-9]{{1,9}})\.(?P<extension>xml|xml\.gz|txt)$"
"""Regular expression for the URL of a page, below the directory of the index."""

SECTION_URL = rf"^sitemap-(?P<label>{_LABEL})\.(?P<extension>xml|xml\.gz)$"
"""Regular expression for the URL of the index of a section; it also matches URLs of pages."""


_page_url, _section_url = re.compile(PAGE_URL), re.compile(SECTION_URL)


class DocumentName(NamedTuple):
    """The parts of the name of an index or a page, in the storage or at the end of a URL."""

    label: str = ""
    """Empty for the index of the site."""
    number: int | None = None
    """None for an index."""


class PageFile(NamedTuple):
    """The parts of the name of a page's file."""

    label: str
    number: int
    format: str


def is_label(text: str) -> bool:
    """Return whether a label consists of the characters that are allowed; see also `ends_like_page`."""
    return len(text) <= MAX_LABEL and _label.fullmatch(text) is not None


def ends_like_page(label: str) -> bool:
    """Return whether a label ends in a hyphen and digits, which a URL would take for the number of a page."""
    return _ends_like_page.fullmatch(label) is not None


def index_name(label: str = "") -> str:
    """Return the name of the index of a section, or of the site's index, without its format: ``sitemap-products``."""
    return f"sitemap-{label}" if label else "sitemap"


def page_name(label: str, number: int) -> str:
    """Return the name of a page without its format: ``sitemap-products-1``."""
    return f"sitemap-{label}-{number}"


def file_name(name: str, format: Format) -> str:
    """Return the name of the file that has a document in one format."""
    return f"{name}.{format}"


def index_file(label: str = "", format: Format = "xml") -> str:
    """Return the file name of the index of a section, or of the site's index: ``sitemap.xml``."""
    return file_name(index_name(label), format)


def page_file(label: str, number: int, format: Format = "xml.gz") -> str:
    """Return the file name of a page: ``sitemap-products-1.xml.gz``."""
    return file_name(page_name(label, number), format)


def parse_page_file(name: str) -> PageFile | None:
    """Return the parts of the file name of a page, or None for any other name."""
    match = _page_file.fullmatch(name)
    return PageFile(match["label"], int(match["number"]), match["format"]) if match else None


def parse_document_name(name: str) -> DocumentName | None:
    """Return which index or page has a name such as ``sitemap-products-1.txt``, or None for any other name."""
    if name in (INDEX_ALIAS, *(index_file(format=format) for format in INDEX_FORMATS)):
        return DocumentName()
    if page := _page_url.fullmatch(name) or _page_file.fullmatch(name):
        number = page["number"]
        return DocumentName(page["label"], int(number)) if not number.startswith("0") else None
    section = _section_url.fullmatch(name)
    return DocumentName(section["label"]) if section else None


def site_directory(domain: str) -> str:
    """Return the directory of a site's files; not every file system allows a colon in a name."""
    return domain.replace(":", "_")


def index_path(domain: str, label: str = "", format: Format = "xml.gz") -> str:
    """Return the path of an index in the storage: ``example.com/sitemap.xml.gz``."""
    return f"{site_directory(domain)}/{index_file(label, format)}"


def page_path(domain: str, label: str, number: int, format: Format = "xml.gz") -> str:
    """Return the path of a page in the storage: ``example.com/sitemap-products-1.xml.gz``."""
    return f"{site_directory(domain)}/{page_file(label, number, format)}"
