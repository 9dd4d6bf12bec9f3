"""Turn entries into the bytes of a sitemap, within the limits of the protocol and in bounded memory."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from sitemaps_plus.errors import InvalidEntry, PageFull, TooManyPages
from sitemaps_plus.protocol.entries import Block, Entry, Group, Link
from sitemaps_plus.protocol.limits import MAX_BYTES, MAX_URLS, Limits
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.text import escape

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"

_CHUNK = 65_536

T = TypeVar("T")


class IndexItem(NamedTuple):
    """One ``<sitemap>`` of an index; the values are protocol text that is not yet escaped."""

    loc: str
    lastmod: str | None = None


@dataclass(slots=True, kw_only=True)
class Tally:
    """The size of what has been written so far."""

    urls: int = 0
    bytes: int = 0


def url_element(entry: Entry) -> str:
    """Return one ``<url>`` and a line end, with the children in the order of the schema."""
    loc, lastmod, changefreq, priority, links, more_links, media, _ = entry
    return "".join((
        f"<url><loc>{escape(loc)}</loc>",
        f"<lastmod>{lastmod}</lastmod>" if lastmod else "",
        f"<changefreq>{changefreq}</changefreq>" if changefreq else "",
        f"<priority>{priority}</priority>" if priority else "",
        link_elements(links) if links else "",
        link_elements(more_links) if more_links else "",
        media,
        "</url>\n",
    ))  # fmt: skip


def link_elements(links: Iterable[Link]) -> str:
    """Return one ``<xhtml:link>`` for each link."""
    return "".join(
        f'<xhtml:link rel="alternate" hreflang="{escape(code)}" href="{escape(href)}"/>' for code, href in links
    )


def sitemap_element(item: IndexItem) -> str:
    """Return one ``<sitemap>`` and a line end."""
    lastmod = f"<lastmod>{item.lastmod}</lastmod>" if item.lastmod else ""
    return f"<sitemap><loc>{escape(item.loc)}</loc>{lastmod}</sitemap>\n"


def namespaces(prefixes: Mapping[str, str]) -> str:
    """Return the declarations of namespaces, which follow that of the sitemap format in ``<urlset>``."""
    return "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in prefixes.items())


def write_urlset(
    groups: Iterable[Group | Block],
    *,
    prefixes: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    report: Report,
    tally: Tally,
    as_given: bool = False,
) -> Iterator[bytes]:
    """Yield an ``<urlset>`` in pieces of about 64 KiB.

    Raise PageFull, with the key to split at, before a piece would exceed the limits. With `as_given` (the classic
    views, whose pages cannot be split) URLs may repeat, and rows that exceed the limits are left out.
    """
    head = f'{DECLARATION}<urlset xmlns="{NAMESPACE}"{namespaces(prefixes or {})}>\n'
    page = _Page(url_element, head, "</urlset>\n", limits or Limits(), report, tally, as_given)
    return page.write(groups)


def write_text(
    groups: Iterable[Group], *, limits: Limits | None = None, report: Report, tally: Tally
) -> Iterator[bytes]:
    """Yield a text sitemap: one URL per line and nothing else (sitemaps.org, "Text file")."""
    return _Page(lambda entry: f"{entry.loc}\n", "", "", limits or Limits(), report, tally).write(groups)


def write_index(items: Iterable[IndexItem]) -> Iterator[bytes]:
    """Yield a ``<sitemapindex>``; raise TooManyPages if it exceeds 50,000 sitemaps or 50 MB."""
    yield f'{DECLARATION}<sitemapindex xmlns="{NAMESPACE}">\n'.encode()
    size = 0
    for count, item in enumerate(items, start=1):
        element = sitemap_element(item).encode()
        size += len(element)
        if count > MAX_URLS or size > MAX_BYTES - 200:
            raise too_many_pages()
        yield element
    yield b"</sitemapindex>\n"


def too_many_pages() -> TooManyPages:
    """Return the error for an index that is too large."""
    return TooManyPages(
        f"The index would list more than {MAX_URLS:,} sitemaps or be larger than {MAX_BYTES:,} bytes. Raise "
        "`limit`, or list the section indexes (/sitemap-<label>.xml) in robots.txt instead of /sitemap.xml."
    )


def page_full(label: str, limits: Limits, *, split_at: object) -> PageFull:
    """Return the error for a page that exceeds `limits`."""
    return PageFull(
        f"A page of the sitemap {label!r} would exceed {limits.urls:,} URLs or {limits.bytes:,} bytes.",
        split_at=split_at,
    )


class _Page:
    """A page that is being written: its size so far, the pieces not yet yielded, and where to split it."""

    def __init__(
        self,
        element: Callable[[Entry], str],
        head: str,
        foot: str,
        limits: Limits,
        report: Report,
        tally: Tally,
        as_given: bool = False,
    ) -> None:
        self._element = element
        self._foot = foot.encode()
        self._limits = limits
        self._report = report
        self._tally = tally
        self._as_given = as_given
        self._head = len(head)
        self._room = limits.bytes - len(foot)
        self._fill = min(limits.bytes_to_fill, self._room)
        self._repeats = Repeats(report)
        self._split_at: object = None
        self._pending = [head.encode()]
        self._waiting = tally.bytes = len(self._pending[0])

    def write(self, groups: Iterable[Group | Block]) -> Iterator[bytes]:
        """Yield the page in pieces."""
        for group in groups:
            if isinstance(group, Block):
                self._add_block(group)
            else:
                self._add_group(group)
            if self._waiting >= _CHUNK:
                yield self._taken()
        self._tally.bytes += len(self._foot)
        yield self._taken() + self._foot

    def _taken(self) -> bytes:
        data, self._pending, self._waiting = b"".join(self._pending), [], 0
        return data

    def _add_group(self, group: Group) -> None:
        """Add the entries of one row, all or none of them."""
        fresh = group.entries if self._as_given else self._repeats.without(group)
        self._add(group.key, "".join(map(self._element, fresh)).encode(), len(fresh))

    def _add_block(self, block: Block) -> None:
        """Add many rows: all at once, or one by one if a URL may repeat or the page is nearly full."""
        is_near_end = (
            self._tally.bytes + len(block.text) > self._fill or self._tally.urls + block.urls > self._limits.urls
        )
        seen = self._repeats.seen
        if block.names is not None and not is_near_end and seen.isdisjoint(block.names):
            seen |= block.names
            self._keep(block.text, block.urls)
            return
        for key, entries in block.rows():
            fresh = self._repeats.fresh(key, entries, _loc_in)
            self._add(key, "".join(fresh).encode(), len(fresh))

    def _add(self, key: object, text: bytes, urls: int) -> None:
        tally, limits = self._tally, self._limits
        is_too_much = tally.bytes + len(text) > self._room or tally.urls + urls > limits.urls
        if is_too_much and (self._as_given or self._head + len(text) > self._room or urls > limits.urls):
            self._report.leave_out(key, "location", InvalidEntry("E-FILE-SIZE", "the row does not fit on the page"))
            return
        if self._split_at is None and tally.urls and tally.bytes + len(text) > self._fill:
            self._split_at = key
        if is_too_much:
            split_at = key if self._split_at is None else self._split_at
            raise page_full(self._report.label, limits, split_at=split_at)
        self._keep(text, urls)

    def _keep(self, text: bytes, urls: int) -> None:
        self._pending.append(text)
        self._waiting += len(text)
        self._tally.bytes += len(text)
        self._tally.urls += urls


def _loc_in(text: str) -> str:
    """Return the URL in the text of a ``<url>``."""
    return html.unescape(text.partition("<loc>")[2].partition("</loc>")[0])


class Repeats:
    """The URLs of a page so far; a row that has no other URL is left out."""

    def __init__(self, report: Report) -> None:
        self.seen: set[str] = set()
        """The URLs, or short names for them."""
        self._report = report

    def without(self, group: Group) -> list[Entry]:
        """Return the entries of a row whose URLs are not on the page yet."""
        return self.fresh(group.key, [(entry.loc, entry) for entry in group.entries], _loc_of)

    def fresh(self, key: object, named: Iterable[tuple[str, T]], loc_of: Callable[[T], str]) -> list[T]:
        """Return the entries of a row whose names are new, and report the others; `loc_of` returns the URL of one."""
        fresh: list[T] = []
        repeated: list[T] = []
        for name, entry in named:
            (repeated if name in self.seen else fresh).append(entry)
            self.seen.add(name)
        if repeated:
            self._tell(key, [loc_of(entry) for entry in repeated], is_listed=bool(fresh))
        return fresh

    def _tell(self, key: object, locs: Sequence[str], *, is_listed: bool) -> None:
        for loc in locs if is_listed else ():
            self._report.warn(key, "location", "W-URL-REPEATED", f"{loc} is on the page already")
        if not is_listed:
            text = (
                f"{locs[0]} is on the page already, because another row has the same URL. Give each row its own URL, "
                "or leave such rows out of the queryset."
            )
            self._report.leave_out(key, "location", InvalidEntry("E-URL-REPEATED", text))


def _loc_of(entry: Entry) -> str:
    return entry.loc
