"""Store the manifest next to the published files: the digest of each page and index, and the retired files.

At rest it is one file. While a build changes files, it leaves that file as it is and stores what became of each section
in a note of its own, so that no build writes the whole more than a few times. The end of the build writes the whole and
removes the notes. After a killed build, the file and its notes together are the manifest.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from itertools import count
from typing import Any, NamedTuple

from sitemaps_plus.protocol.names import FORMATS, Format, index_name, parse_page_file
from sitemaps_plus.protocol.shapes import NO_SHAPE, Shape
from sitemaps_plus.stores.files import FileStore

logger = logging.getLogger("sitemaps_plus")

NAME = "sitemaps-manifest.json"

VERSION = 2

_NOTE = re.compile(r"sitemaps-manifest-[0-9]+\.json")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BROKEN = (ValueError, TypeError, KeyError, AttributeError, IndexError)


class PageEntry(NamedTuple):
    """The manifest entry of a published page."""

    digest: str
    """SHA-256 of the uncompressed bytes."""
    urls: int
    bytes: int
    """Uncompressed."""
    lastmod: str | None
    """As written in the index."""
    formats: tuple[Format, ...] = ("xml.gz",)
    """The formats of its files; empty while they are replaced, because a killed build leaves them unknown."""
    left_out: int = 0
    dropped: int = 0
    raised: int = 0
    shape: Shape = NO_SHAPE
    """The shape of its URLs; pages of the same shape share it."""
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

    def doubt(self, number: int) -> None:
        """Note that the files of a page are unfinished."""
        self.pages[number] = self.pages[number]._replace(formats=())


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
    """The file of the manifest, and the notes beside it."""

    def __init__(self, store: FileStore, directory: str) -> None:
        self._store = store
        self._directory = directory
        self._last = b""
        self._build = ""
        """Stands in the file and in each note that belongs to it; empty where notes do not count."""
        self._notes: dict[str, tuple[str, bytes]] = {}
        """By label: the name of its note, and the digest of what is in it."""
        self._left: set[str] = set()
        """The names of notes that are there, of this build or of a killed one."""

    @property
    def where(self) -> str:
        """Its path or name, for messages."""
        return self._store.where(self._path(NAME))

    def read(self) -> Manifest | None:
        """Return the manifest; None where there is none, or none that can be read: then a build makes it again."""
        data = self._store.read(self._path(NAME))
        while data is not None:
            try:
                manifest, has_notes = self._read_with_notes(data)
            except _BROKEN as error:
                logger.warning("%s cannot be read, so that every page is rendered: %r", self.where, error)
                return None
            was, data = data, self._store.read(self._path(NAME)) if has_notes else data
            # A build that ended in between has removed the notes.
            if data == was:
                self._last = _digest(was)
                return manifest
        return None

    def write(self, manifest: Manifest) -> None:
        """Store the whole manifest, if it differs from the stored one; then notes do not count any more."""
        data = _dump(manifest, "")
        if _digest(data) != self._last and (self._last or manifest.sections or manifest.retired):
            self._publish(data, "")

    def write_section(self, manifest: Manifest, label: str, retired: Iterable[str] = ()) -> None:
        """Store what became of one section, and the files that were `retired` from it.

        The rest of the manifest is as it was at the last `write`, or at the first call since then.
        """
        if not self._build:
            build = secrets.token_hex(8)
            self._publish(_dump(manifest, build), build)
            return
        if label not in manifest.sections:
            return
        data = _dump_note(manifest, label, {name: manifest.retired[name] for name in retired}, self._build)
        # Numbers without a gap: a reader goes on until there is none.
        name, last = self._notes.get(label, (_note_name(len(self._notes) + 1), b""))
        if _digest(data) != last:
            self._store.publish(self._path(name), data)
            self._notes[label] = name, _digest(data)
            self._left.add(name)

    def remove_notes(self, names: Iterable[str]) -> None:
        """After `write`, remove all notes that are known, and those among `names`."""
        for name in sorted(self._left.union(filter(_NOTE.fullmatch, names))):
            self._store.remove(self._path(name))

    def _publish(self, data: bytes, build: str) -> None:
        self._store.publish(self._path(NAME), data)
        self._last, self._build = _digest(data), build
        self._notes.clear()

    def _read_with_notes(self, data: bytes) -> tuple[Manifest, bool]:
        """Return the manifest of the file with `data`, and whether notes belong to it."""
        given = json.loads(data, object_hook=_page_or_dict)
        manifest = _load(given)
        build = _checked(given["build"], str)
        for note in self._read_notes(build):
            _add_note(manifest, note)
        if build and index_name() in manifest.indexes:
            # A build broke off, perhaps while it replaced the index of the site.
            manifest.indexes[index_name()] = ""
        return manifest, bool(build)

    def _read_notes(self, build: str) -> Iterator[dict[str, Any]]:
        for number in count(1) if build else ():
            data = self._store.read(self._path(_note_name(number)))
            note = json.loads(data, object_hook=_page_or_dict) if data is not None else {"build": ""}
            if note["build"] != build:
                return
            self._left.add(_note_name(number))
            yield note

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"


def _note_name(number: int) -> str:
    # No label in it: whatever a section is called, this is no file of it.
    return f"sitemaps-manifest-{number}.json"


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


# Writing: by hand, a line for each page, because there may be many


def _dump(manifest: Manifest, build: str) -> bytes:
    text = BytesIO()
    text.write(f'{{"format":{VERSION},"build":"{build}","origin":{_json(manifest.origin)},"sections":{{'.encode())
    for at, (label, section) in enumerate(manifest.sections.items()):
        text.write(f"{',' * bool(at)}\n{_json(label)}:".encode())
        _dump_section(text, section)
    text.write(f'}},\n"indexes":{_json(manifest.indexes)},\n"retired":{_json(manifest.retired)}}}'.encode())
    return text.getvalue()


def _dump_note(manifest: Manifest, label: str, retired: Mapping[str, float], build: str) -> bytes:
    text = BytesIO()
    index = _json(manifest.indexes.get(index_name(label)))
    text.write(f'{{"build":"{build}","label":{_json(label)},"index":{index},"retired":{_json(retired)},'.encode())
    text.write(b'"section":')
    _dump_section(text, manifest.section(label))
    text.write(b"}")
    return text.getvalue()


def _dump_section(text: BytesIO, section: SectionEntry) -> None:
    shapes: dict[Shape, int] = {}
    facts = f'"fingerprint":{_json(section.fingerprint)},"base":{_json(section.base)},"lost":{section.lost}'
    text.write(f'{{{facts},"pages":{{'.encode())
    for at, (number, page) in enumerate(section.pages.items()):
        shape = shapes.setdefault(page.shape, len(shapes))
        rare = "".join(f'"{name}":{_json(value)},' for name in _RARE if (value := getattr(page, name)))
        text.write(
            f'{"," * bool(at)}\n"{number}":{{"digest":"{page.digest}","urls":{page.urls},"bytes":{page.bytes},'
            f'"lastmod":{_json(page.lastmod)},{rare}"formats":{_json(page.formats)},"shape":{shape},'
            f'"start":"{page.start}"}}'.encode()
        )
    text.write(f'}},"shapes":{_json([shape.as_json() for shape in shapes])}}}'.encode())


_RARE = ("left_out", "dropped", "raised", "is_recovered")
"""Fields that most pages leave as they are by default."""

_json = json.JSONEncoder(separators=(",", ":")).encode


# Reading: somebody may have edited the file since it was written


def _load(given: Any) -> Manifest:
    if given["format"] != VERSION:
        raise ValueError(f"its format is {given['format']!r}, not {VERSION}")
    return Manifest(
        origin=_checked(given["origin"], str),
        sections={label: _load_section(section) for label, section in given["sections"].items()},
        indexes={name: _checked(digest, str) for name, digest in given["indexes"].items()},
        retired=_load_retired(given["retired"]),
    )


def _add_note(manifest: Manifest, note: Any) -> None:
    label, index = _checked(note["label"], str), note["index"]
    manifest.sections[label] = _load_section(note["section"])
    if index is None:
        manifest.indexes.pop(index_name(label), None)
    else:
        manifest.indexes[index_name(label)] = _checked(index, str)
    manifest.retired = {**_load_retired(note["retired"]), **manifest.retired}


def _load_retired(given: Any) -> dict[str, float]:
    return {_file_name(name): _checked(since, float) for name, since in given.items()}


def _load_section(given: Any) -> SectionEntry:
    shapes = [Shape.from_json(shape) for shape in given["shapes"]]
    return SectionEntry(
        pages={int(number): _with_shape(page, shapes) for number, page in given["pages"].items()},
        fingerprint=_checked(given["fingerprint"], str),
        base=_checked(given["base"], str),
        lost=_checked(given["lost"], int),
    )


def _with_shape(page: PageEntry, shapes: list[Shape]) -> PageEntry:
    shape = shapes[page.shape]  # type: ignore[call-overload]
    # The record of the page has the same digests.
    return page._replace(shape=shape, digest=sys.intern(page.digest), start=sys.intern(page.start))


def _page_or_dict(given: dict[str, Any]) -> Any:
    """Return a page as its entry, with the number of its shape: while a large file is read, dicts would fill memory."""
    if not isinstance(given.get("digest"), str):
        return given
    page = PageEntry(**{**given, "formats": _formats(tuple(given["formats"]))})
    for value in (page.urls, page.bytes, page.left_out, page.dropped, page.raised, page.shape):
        if type(value) is not int or value < 0:
            raise TypeError(f"{value!r} is no number")
    for text in (page.lastmod or "", page.start):
        _checked(text, str)
    if not _DIGEST.fullmatch(page.digest) or not (page.start == "" or _DIGEST.fullmatch(page.start)):
        raise ValueError(f"{page.digest!r} or {page.start!r} is no digest")
    if not isinstance(page.is_recovered, bool):
        raise TypeError(f"{page.is_recovered!r} is no bool")
    return page


@cache
def _formats(given: tuple[Format, ...]) -> tuple[Format, ...]:
    """Return one tuple for all pages with the same formats."""
    if not set(given) <= set(FORMATS) or len(given) > len(FORMATS):
        raise ValueError(f"{given!r} are no formats")
    return given


def _file_name(name: str) -> str:
    # Retired files are removed later, so the name must be that of a page.
    if parse_page_file(name) is None:
        raise ValueError(f"{name!r} is no page")
    return name


def _checked(value: Any, kind: Callable[..., Any]) -> Any:
    is_right = isinstance(value, (int, float) if kind is float else kind)  # type: ignore[arg-type]
    if not is_right or isinstance(value, bool) or (kind is float and not math.isfinite(value)):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
