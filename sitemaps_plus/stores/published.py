"""Look for addresses in the files that are published, as long as there is time for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from sitemaps_plus.protocol.addresses import canonical
from sitemaps_plus.protocol.names import page_path, site_directory
from sitemaps_plus.protocol.text import escape
from sitemaps_plus.stores.files import get_store
from sitemaps_plus.stores.manifest import Manifest, ManifestFile
from sitemaps_plus.stores.packing import unpack

logger = logging.getLogger("sitemaps_plus")


@dataclass(frozen=True, slots=True)
class Hits:
    """What the built files of a section have."""

    numbers: dict[int, bool]
    """The pages with the address, and whether they list it; if not, they link to it as another language."""
    text: Any
    is_complete: bool


class Published:
    """The published files of one site."""

    def __init__(self, domain: str, deadline: float) -> None:
        self.deadline = deadline
        self._domain = domain
        self._store = get_store()
        self._manifest: Manifest | None = None
        self._is_asked = False

    @property
    def manifest(self) -> Manifest | None:
        """What is published; None where nothing is."""
        if not self._is_asked:
            self._manifest = ManifestFile(self._store, site_directory(self._domain)).read()
            self._is_asked = True
        return self._manifest

    def numbers(self, label: str) -> list[int]:
        """Return the published pages of a section."""
        return list(self.manifest.section(label).pages) if self.manifest else []

    def has(self, label: str, number: int, *texts: str) -> list[bool] | None:
        """Return which of `texts` the file of a page has; None where it cannot be read."""
        try:
            data = self._store.read(page_path(self._domain, label, number))
            return None if data is None else _contained(data, [text.encode() for text in texts])
        except Exception as error:  # each storage has errors of its own; half a file is no gzip
            logger.warning("The built file of page %s of the sitemap %r cannot be read: %s", number, label, error)
            return None

    def search(self, label: str, url: str) -> Hits:
        """Return which of the published pages have an address, as far as the time lets them be read."""
        numbers, found, unread = self.numbers(label), dict[int, bool](), list[int]()
        if not numbers:
            return Hits({}, _("Nothing is known without a build."), is_complete=False)
        forms = sorted({url, canonical(url)})
        for count, number in enumerate(numbers):
            if time.monotonic() > self.deadline:
                said = format_lazy(_("Stopped after {count} of {all} built pages."), count=count, all=len(numbers))
                return Hits(found, said, is_complete=False)
            has = self.has(label, number, *map(as_loc, forms), *map(_as_link, forms))
            if has is None:
                unread.append(number)
            elif any(has):
                found[number] = any(has[: len(forms)])
        if unread:
            shown = ", ".join(map(str, unread[:10]))
            said = format_lazy(_("The built files of some pages cannot be read, build again: {pages}."), pages=shown)
            return Hits(found, said, is_complete=False)
        return Hits(found, format_lazy(_("Built pages read: {count}."), count=len(numbers)), is_complete=True)


def _contained(data: bytes, texts: Sequence[bytes]) -> list[bool]:
    """Return which of `texts` the unpacked data have, a piece after the other; raise where they are not whole."""
    found = [False] * len(texts)
    longest = max(map(len, texts))
    rest = b""
    for piece in unpack(data):
        window = rest + piece
        found = [is_found or text in window for is_found, text in zip(found, texts, strict=True)]
        rest = window[len(window) - longest + 1 :] if len(window) >= longest else window
    return found


def as_loc(url: str) -> str:
    """Return an address as the writer writes it."""
    return f"<loc>{escape(url)}</loc>"


def _as_link(url: str) -> str:
    return f'href="{escape(url)}"'
