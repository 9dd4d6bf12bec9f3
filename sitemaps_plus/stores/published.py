"""Read what is published for one site: its manifest, which files there are, and single documents."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from functools import cached_property

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.protocol.names import (
    INDEX_FORMATS,
    Format,
    file_name,
    index_path,
    page_file,
    page_path,
    site_directory,
)
from sitemaps_plus.stores.files import FileStore, get_store
from sitemaps_plus.stores.manifest import Manifest, ManifestFile
from sitemaps_plus.stores.packing import Document, formats, unpack

logger = logging.getLogger("sitemaps_plus")


class PublishedFiles:
    """The published files of the site with that domain; nothing is read before it is needed."""

    def __init__(self, domain: str, store: FileStore | None = None) -> None:
        self.store = store or get_store()
        self.domain = domain
        self.directory = site_directory(domain)
        self.manifest_file = ManifestFile(self.store, self.directory)
        self.lost: dict[str, list[int]] = {}
        """By label: the pages that an index may still list, although their files are missing."""

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest as it is stored; None where nothing is published, or where it cannot be read."""
        return self.manifest_file.read()

    @cached_property
    def names(self) -> set[str] | None:
        """The names of the files; None where the storage cannot list them."""
        return self.store.list(self.directory)

    def checked_manifest(self, origin: str) -> Manifest:
        """Return the manifest without what has no file; raise SitemapError where it is that of another origin.

        Pages whose file is missing are taken out. Pages of which a wanted format is missing stay, without formats.
        """
        manifest = self.manifest or Manifest(origin=origin)
        # Listed even if there is no manifest: a storage that cannot be read must not pass for an empty one.
        names = self.names
        if manifest.origin != origin:
            raise SitemapError(
                f"The set in {self.store.where(self.directory)} is that of {manifest.origin}, and this build is for "
                f"{origin}: one would replace the other. Give this project a storage of its own (STORAGE), or, if the "
                f"site has moved, remove {self.manifest_file.where} and build again."
            )
        wanted, listed = formats(), get_settings().EXTENSION
        for label, section in manifest.sections.items():
            for number, page in list(section.pages.items()):
                needed: set[Format] = {"xml.gz", listed} if listed in page.formats else {"xml.gz"}
                if names is not None and not names.issuperset(page_files(label, number, needed)):
                    # Somebody has removed it, and no index may list it.
                    section.lost += section.pages.pop(number).urls
                    self.lost.setdefault(label, []).append(number)
                elif not (set(wanted) <= set(page.formats) and self.has(*page_files(label, number, wanted))):
                    section.doubt(number)
        return manifest

    def has(self, *names: str) -> bool:
        """Return whether these files are there; True where the storage cannot tell."""
        return self.names is None or self.names.issuperset(names)

    def has_any(self, *names: str) -> bool:
        """Return whether one of these files is there; True where the storage cannot tell."""
        return any(self.has(name) for name in names)

    def missing_indexes(self) -> Iterator[str]:
        """Yield the files of published indexes that are missing, as far as the storage can tell."""
        for name in self.manifest.indexes if self.manifest else ():
            yield from (file for file in index_files(name) if not self.has(file))

    def has_index(self, name: str) -> bool:
        """Return whether both files of an index are there, as far as the storage can tell."""
        return self.has(*index_files(name))

    def numbers(self, label: str) -> list[int]:
        """Return the numbers of the published pages of a section."""
        return list(self.manifest.section(label).pages) if self.manifest else []

    def read_page(self, label: str, number: int) -> bytes | None:
        """Return the gzip of a page, or None where there is no such file."""
        return self.store.read(page_path(self.domain, label, number))

    def read_document(self, label: str, number: int) -> Document | None:
        """Return a page, or an index as number 0, that is whole; None where there is none, or only a part of it."""
        try:
            data = self.read_page(label, number) if number else self.store.read(index_path(self.domain, label))
            if data is None:
                return None
            digest, size = hashlib.sha256(), 0
            for piece in unpack(data):
                digest.update(piece)
                size += len(piece)
        except Exception as error:  # each storage has errors of its own; half a file is no gzip
            logger.warning("The built file of page %s of the sitemap %r cannot be read: %s", number, label, error)
            return None
        return Document(gzipped=data, digest=digest.hexdigest(), size=size)


def page_files(label: str, number: int, wanted: Iterable[Format]) -> list[str]:
    """Return the names of the files of a page in these formats."""
    return [page_file(label, number, format) for format in wanted]


def index_files(name: str) -> list[str]:
    """Return the names of the files of an index."""
    return [file_name(name, format) for format in INDEX_FORMATS]
