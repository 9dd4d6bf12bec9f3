"""Search the built files of one section for a URL, until there is no more time."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from sitemaps_plus.protocol.addresses import canonical
from sitemaps_plus.protocol.text import escape
from sitemaps_plus.stores.packing import unpack
from sitemaps_plus.stores.published import PublishedFiles

logger = logging.getLogger("sitemaps_plus")


@dataclass(frozen=True, slots=True)
class Hits:
    """The built pages of a section that contain a URL."""

    url: str
    """The first of the URLs that a page contains."""
    numbers: dict[int, bool]
    """By number, whether the page lists the URL; if not, the page links to it as another language."""
    text: Any
    """How far the search went, as a lazy text."""
    is_complete: bool
    """Whether all built pages were read."""


class FileSearch:
    """The built files of one section, and the time until which they are read."""

    def __init__(self, files: PublishedFiles, label: str, deadline: float) -> None:
        self.label = label
        self._files = files
        self._deadline = deadline

    @property
    def numbers(self) -> list[int]:
        """The numbers of the built pages."""
        return self._files.numbers(self.label)

    def find(self, *urls: str) -> Hits:
        """Return the built pages that contain a URL, or else those with the next one."""
        numbers = self.numbers
        if not numbers:
            return Hits(urls[0], {}, _("Nothing is built, so there is no file to search."), is_complete=False)
        forms = [sorted({url, canonical(url)}) for url in urls]
        texts = [[*map(as_loc, some), *map(_as_link, some)] for some in forms]
        founds, unread = [dict[int, bool]() for _ in urls], list[int]()

        def hits(text: Any, *, is_complete: bool) -> Hits:
            at = next((at for at, found in enumerate(founds) if found), 0)
            return Hits(urls[at], founds[at], text, is_complete)

        for count, number in enumerate(numbers):
            if time.monotonic() > self._deadline:
                text = _("The search ran out of time after {count} of {all} built pages.")
                return hits(format_lazy(text, count=count, all=len(numbers)), is_complete=False)
            flags = self.contains(number, *chain.from_iterable(texts))
            if flags is None:
                unread.append(number)
                continue
            flag = iter(flags)
            for found, some in zip(founds, forms, strict=True):
                listed, linked = list(islice(flag, len(some))), list(islice(flag, len(some)))
                if any(listed) or any(linked):
                    found[number] = any(listed)
        if unread:
            text = _("The built files of these pages cannot be read: {pages}. Build the section again.")
            return hits(format_lazy(text, pages=", ".join(map(str, unread[:10]))), is_complete=False)
        text = _("All built pages were searched: {count}.")
        return hits(format_lazy(text, count=len(numbers)), is_complete=True)

    def contains(self, number: int, *texts: str) -> list[bool] | None:
        """Return for each text whether the built file of a page contains it; None if the file cannot be read."""
        try:
            data = self._files.read_page(self.label, number)
            return None if data is None else _contained(data, [text.encode() for text in texts])
        except Exception as error:  # each storage has errors of its own; half a file is no gzip
            logger.warning("The built file of page %s of the sitemap %r cannot be read: %s", number, self.label, error)
            return None


def as_loc(url: str) -> str:
    """Return the element in which the writer lists a URL."""
    return f"<loc>{escape(url)}</loc>"


def _as_link(url: str) -> str:
    return f'href="{escape(url)}"'


def _contained(data: bytes, texts: Sequence[bytes]) -> list[bool]:
    """Return for each text whether the unpacked data contain it; raise if the data are incomplete."""
    found = [False] * len(texts)
    longest = max(map(len, texts))
    rest = b""
    for piece in unpack(data):
        window = rest + piece
        found = [is_found or text in window for is_found, text in zip(found, texts, strict=True)]
        rest = window[len(window) - longest + 1 :] if len(window) >= longest else window
    return found
