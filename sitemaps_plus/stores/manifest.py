"""Store the manifest next to the published files: the digest of each page and index, and the retired files."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from sitemaps_plus.protocol.names import FORMATS, Format, parse_page_file
from sitemaps_plus.protocol.shapes import Shape
from sitemaps_plus.stores.files import FileStore

logger = logging.getLogger("sitemaps_plus")

NAME = "sitemaps-manifest.json"

VERSION = 1


@dataclass(slots=True, kw_only=True)
class PageEntry:
    """The manifest entry of a published page."""

    digest: str
    """SHA-256 of the uncompressed bytes."""
    urls: int
    bytes: int
    """Uncompressed."""
    lastmod: str | None
    """As written in the index."""
    formats: list[Format] = field(default_factory=lambda: ["xml.gz"])
    """The formats of its files; empty while they are replaced, because a killed build leaves them unknown."""
    left_out: int = 0
    dropped: int = 0
    raised: int = 0
    shape: dict[str, Any] = field(default_factory=dict)
    """The shape of its URLs, see ``protocol.shapes``."""
    start: str = ""
    """The digest of the key at which it starts, see ``SitemapPage.start_digest``; empty if unknown."""
    is_recovered: bool = False
    """Whether this entry was made from the file, which does not say what was left out."""


@dataclass(slots=True, kw_only=True)
class SectionEntry:
    """The manifest entry of a section."""

    pages: dict[int, PageEntry] = field(default_factory=dict)
    """By number, in the order in which they are listed."""
    fingerprint: str = ""
    """The fingerprint of all rows when they were rendered, for pages by position."""
    base: str = ""
    """The URL of the directory of the pages."""
    lost: int = 0
    """How many URLs were on pages whose files somebody has removed since the section was published."""

    @property
    def urls(self) -> int:
        """How many URLs the pages have."""
        return sum(page.urls for page in self.pages.values())

    @property
    def urls_published(self) -> int:
        """How many URLs the section had when it was published, whatever files somebody has removed since."""
        return self.urls + self.lost

    def digest(self, number: int) -> str:
        """Return the digest of a page; empty where it is not published, or its files are unfinished."""
        page = self.pages.get(number)
        return page.digest if page and page.formats else ""


@dataclass(slots=True, kw_only=True)
class Manifest:
    """The published set of one site."""

    origin: str
    """The beginning of all URLs: origin and script prefix."""
    sections: dict[str, SectionEntry] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the uncompressed bytes of each index by its name, ``sitemap-products``; empty while it is replaced."""
    retired: dict[str, float] = field(default_factory=dict)
    """Files that no index lists any more, each with the time since when, in seconds since 1970."""

    def section(self, label: str) -> SectionEntry:
        """Return the entry of a section, an empty one where there is none."""
        return self.sections.get(label) or SectionEntry()


class ManifestFile:
    """The file of the manifest."""

    def __init__(self, store: FileStore, directory: str) -> None:
        self._store = store
        self._name = f"{directory}/{NAME}"
        self._last: bytes | None = None

    @property
    def where(self) -> str:
        """Its path or name, for messages."""
        return self._store.where(self._name)

    def read(self) -> Manifest | None:
        """Return the manifest; None where there is none, or none that can be read: then a build makes it again."""
        data = self._store.read(self._name)
        if data is None:
            return None
        try:
            manifest = _load(json.loads(data))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            logger.warning("%s cannot be read, so that every page is rendered: %r", self.where, error)
            return None
        self._last = data
        return manifest

    def write(self, manifest: Manifest) -> None:
        """Store the manifest, if it differs from the stored one."""
        data = json.dumps({"format": VERSION, **asdict(manifest)}, separators=(",", ":")).encode()
        if data != self._last and (self._last or manifest.sections or manifest.retired):
            self._store.publish(self._name, data)
            self._last = data


def _load(given: dict[str, Any]) -> Manifest:
    if given["format"] != VERSION:
        raise ValueError(f"its format is {given['format']!r}, not {VERSION}")
    sections = {label: _load_section(section) for label, section in given["sections"].items()}
    return Manifest(
        origin=_checked(given["origin"], str),
        sections=sections,
        indexes={_checked(name, str): _checked(digest, str) for name, digest in given["indexes"].items()},
        retired={_file_name(name): _checked(since, float) for name, since in given["retired"].items()},
    )


def _load_section(given: dict[str, Any]) -> SectionEntry:
    pages = {int(number): _load_page(page) for number, page in given["pages"].items()}
    # Manifests of the first versions call it "rows".
    fingerprint = _checked(given.get("fingerprint", given.get("rows")), str)
    base, lost = _checked(given["base"], str), _checked(given.get("lost", 0), int)
    return SectionEntry(pages=pages, fingerprint=fingerprint, base=base, lost=lost)


def _load_page(given: dict[str, Any]) -> PageEntry:
    page = PageEntry(**given)
    for value, kind in (
        (page.digest, str),
        (page.urls, int),
        (page.bytes, int),
        (page.left_out, int),
        (page.dropped, int),
        (page.raised, int),
        (page.formats, list),
        (page.shape, dict),
        (page.lastmod or "", str),
        (page.start, str),
    ):
        _checked(value, kind)
    if not re.fullmatch(r"[0-9a-f]{64}", page.digest):
        raise ValueError(f"{page.digest!r} is no digest")
    if not all(form in FORMATS for form in page.formats):
        raise ValueError(f"{page.formats!r} are no formats")
    if not isinstance(page.is_recovered, bool):
        raise TypeError(f"{page.is_recovered!r} is no bool")
    if page.shape:
        Shape.from_json(page.shape)
    return page


def _file_name(name: str) -> str:
    # Retired files are removed later, so the name must be that of a page.
    if parse_page_file(name) is None:
        raise ValueError(f"{name!r} is no page")
    return name


def _checked(value: Any, kind: Callable[..., Any]) -> Any:
    # Somebody may have edited the file since it was written.
    is_right = isinstance(value, (int, float) if kind is float else kind)  # type: ignore[arg-type]
    if not is_right or isinstance(value, bool) or (kind is float and not math.isfinite(value)):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
