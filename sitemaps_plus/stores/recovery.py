"""Make the manifest again from the indexes and pages that are there, where it is lost."""

from __future__ import annotations

import hashlib
import html
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from sitemaps_plus.protocol.names import (
    INDEX_FORMATS,
    Format,
    file_name,
    index_name,
    page_file,
    parse_page_file,
)
from sitemaps_plus.protocol.shapes import Sampler
from sitemaps_plus.stores.manifest import Manifest, PageEntry, SectionEntry
from sitemaps_plus.stores.packing import formats, make_format, unpack
from sitemaps_plus.stores.published import PublishedFiles, index_files

# No XML parser: a template of the project may write an index in any form.
_LISTED = re.compile(
    r"(?<![^\s<>\"'\[\]])(?P<base>[^\s<>\"'\[\]]*/)?(?P<name>sitemap-[a-z0-9_-]+-[0-9]+\.xml(?:\.gz)?)(?![\w.-])"
    r"(?:\s*(?:\]\]>)?\s*</[\w:]*loc>\s*<[\w:]*lastmod>\s*(?P<lastmod>[^<\s]*))?"
)
_URL = re.compile(rb"<(?:[\w.-]+:)?url[\s>]")
_BROKEN = (zlib.error, EOFError, ValueError)

AlsoListed = Callable[[str], Iterable[int]]
"""Returns the numbers of further pages of a section that an index may list in a form that cannot be read."""


class _Item(NamedTuple):
    """A page that an index lists."""

    label: str
    number: int
    base: str
    """The URL of its directory; empty where the index does not say."""
    lastmod: str | None

    def is_in(self, base: str) -> bool:
        """Return whether the index does not list it in another directory than that with the URL `base`."""
        return self.base in ("", base)


class _Index(NamedTuple):
    """The files of one index, read as far as they are there."""

    items: Sequence[_Item]
    """Those of all files; the one that a build replaces first comes first."""
    digest: str
    """SHA-256 of the uncompressed bytes; empty unless all files are there and say the same."""

    def lists(self, sections: Mapping[str, SectionEntry]) -> bool:
        """Return whether all files list exactly the pages of these sections, in the directories that they have now."""
        pages = {(label, number) for label, section in sections.items() for number in section.pages}
        is_exact = {(item.label, item.number) for item in self.items} == pages
        return is_exact and bool(self.digest) and all(item.is_in(sections[item.label].base) for item in self.items)


def recover(
    files: PublishedFiles,
    manifest: Manifest,
    registered: Iterable[str],
    base_of: Callable[[str], str],
    *,
    also_listed: AlsoListed = lambda _: (),
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Add to `manifest` the sections that an index lists and that it does not know.

    Their pages are those that an index lists and whose files are whole, in whatever directory it lists them: after a
    move, every row can be found under the URL of the directory as it is now, which `base_of` returns for a label. Other
    pages of that directory are added to ``files.lost``; of other directories they are not ours. An index that may list
    something else is in doubt.

    A manifest that is there knows all sections that were built: others need a whole page, or their index is not ours.

    `pause` is called before each file is read. A storage that does not answer raises its own error.
    """
    unknown = [label for label in registered if label not in manifest.sections]
    if files.manifest is not None:
        unknown = [label for label in unknown if files.has_any(*index_files(index_name(label)))]
        if not unknown:
            return
    site = _read_index(files, index_name(), pause)
    if files.manifest is None:
        # A section that was registered once has left its index beside the pages; other files are not ours.
        known = {item.label: None for item in site.items}
        unknown += [label for label in known if label not in unknown and files.has(*index_files(index_name(label)))]
    for label in unknown:
        index = _read_index(files, index_name(label), pause)
        also = (_Item(label, number, "", None) for number in also_listed(label))
        listed: dict[int, _Item] = {}
        for item in (*index.items, *site.items, *also):
            if item.label == label:
                listed.setdefault(item.number, item)
        if listed:
            _add_section(files, manifest, label, base_of(label), listed, index, pause)
    if manifest.sections:
        manifest.indexes[index_name()] = site.digest if site.lists(manifest.sections) else ""


def _add_section(
    files: PublishedFiles,
    manifest: Manifest,
    label: str,
    base: str,
    listed: dict[int, _Item],
    index: _Index,
    pause: Callable[[], None],
) -> None:
    entries, lost = {}, []
    for number, item in listed.items():
        pause()
        if entry := _read_page(files, item):
            entries[number] = entry
        elif item.is_in(base):
            lost.append(number)
    is_known = files.manifest is None or index_name(label) in manifest.indexes
    if not entries and not (lost and is_known):
        return
    if lost:
        files.lost[label] = lost
    section = manifest.sections[label] = SectionEntry(pages=entries, base=base)
    manifest.indexes[index_name(label)] = index.digest if index.lists({label: section}) else ""


def _read_index(files: PublishedFiles, name: str, pause: Callable[[], None]) -> _Index:
    items: list[_Item] = []
    digests = set()
    for format in INDEX_FORMATS:
        pause()
        document = _read(files, file_name(name, format))
        digests.add("" if document is None else hashlib.sha256(document).hexdigest())
        items += _items(document or b"")
    return _Index(items, digests.pop() if len(digests) == 1 else "")


def _items(document: bytes) -> Iterable[_Item]:
    for match in _LISTED.finditer(document.decode(errors="replace")):
        if file := parse_page_file(match["name"]):
            yield _Item(file.label, file.number, html.unescape(match["base"] or ""), match["lastmod"] or None)


def _read_page(files: PublishedFiles, item: _Item) -> PageEntry | None:
    """Return the manifest entry of a page; None where its file is missing or damaged."""
    document = _read(files, page_file(item.label, item.number))
    if document is None:
        return None
    sampler = Sampler()
    list(sampler.watch([document]))
    wanted = formats()
    is_complete = all(_is_same(files, item, format, document) for format in wanted if format != "xml.gz")
    return PageEntry(
        digest=hashlib.sha256(document).hexdigest(),
        urls=len(_URL.findall(document)),
        bytes=len(document),
        lastmod=item.lastmod,
        formats=tuple(wanted) if is_complete else (),
        shape=sampler.shape(),
        is_recovered=True,
    )


def _is_same(files: PublishedFiles, item: _Item, format: Format, document: bytes) -> bool:
    """Return whether the file of another format is the same page."""
    found = _read(files, page_file(item.label, item.number, format))
    if found is None or format == "xml":
        return found == document
    try:
        return found == b"".join(unpack(make_format(zlib.compress(document, 0, 31), format, is_written=False)))
    except ET.ParseError:  # a template of the project may write anything
        return False


def _read(files: PublishedFiles, name: str) -> bytes | None:
    """Return the uncompressed content of a file; None where it is missing or damaged."""
    if not files.has(name):
        return None
    data = files.store.read(f"{files.directory}/{name}")
    if data is None or not name.endswith(".gz"):
        return data
    try:
        return b"".join(unpack(data))
    except _BROKEN:
        return None
