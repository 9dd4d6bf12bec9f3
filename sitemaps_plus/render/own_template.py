"""Turn entries into a page, and pages into an index, through a template of the project instead of the writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from sitemaps_plus.errors import InvalidEntry, SitemapError
from sitemaps_plus.plan.overrides import described
from sitemaps_plus.protocol.dates import parse_w3c
from sitemaps_plus.protocol.entries import Cleaner, Entry, Group
from sitemaps_plus.protocol.limits import MAX_BYTES, MAX_URLS, Limits
from sitemaps_plus.protocol.reports import Report, Silence
from sitemaps_plus.protocol.writer import IndexItem, Tally, page_full, too_many_pages, without_repeats

_Render = Callable[[Sequence[Group]], bytes]


@dataclass
class SitemapIndexItem:
    """One sitemap of an index, as templates get it."""

    location: str
    last_mod: date | datetime | None = None


class Url(dict[str, Any]):
    """One URL, as templates get it: the keys of Django's ``get_urls()``."""

    def __init__(self, values: Mapping[str, Any], cleaner: Cleaner) -> None:
        super().__init__(values)
        self.cleaner = cleaner
        """What the template tags write its values with."""


class UrlSet(list[Url]):
    """All URLs of a page, as templates get them."""

    def __init__(self, urls: Iterable[Url], prefixes: Mapping[str, str]) -> None:
        super().__init__(urls)
        self.prefixes = prefixes
        """The namespaces of the section, by prefix."""


def write_with_template(
    groups: Iterable[Group],
    *,
    template: Any,
    prefixes: Mapping[str, str],
    cleaner: Cleaner,
    limits: Limits | None = None,
    report: Report,
    tally: Tally,
) -> Iterator[bytes]:
    """Yield the page that `template` makes of `groups`, whose entries carry what was given, in one piece.

    Raises PageFull, with the key to split at, where it passes the limits, and SitemapError where the template fails.
    """
    limits = limits or Limits()
    # What was broken has been reported, and languages have become codes: the tags do neither again.
    finished = replace(cleaner, report=Silence(report.label), hreflang=str)

    def render(rows: Sequence[Group]) -> bytes:
        urls = (_url(entry, finished) for row in rows for entry in row.entries)
        return _rendered(template, {"urlset": UrlSet(urls, prefixes)}, f"the sitemap {report.label!r}")

    rows = list(_rows(groups, limits, report))
    document = render(rows)
    if len(document) > limits.bytes:
        rows, document = _shortened(rows, render, limits, report)
    tally.urls, tally.bytes = sum(len(row.entries) for row in rows), len(document)
    yield document


def index_with_template(items: Sequence[IndexItem], template: Any) -> bytes:
    """Return the index that `template` makes of `items`; raise TooManyPages as the writer does."""
    sitemaps = [SitemapIndexItem(item.loc, _lastmod(item.lastmod)) for item in items]
    document = _rendered(template, {"sitemaps": sitemaps}, "an index")
    if len(items) > MAX_URLS or len(document) > MAX_BYTES:
        raise too_many_pages()
    return document


def _rows(groups: Iterable[Group], limits: Limits, report: Report) -> Iterator[Group]:
    """Yield what a page may hold of each row; raise PageFull for one URL too many."""
    seen: set[str] = set()
    urls = 0
    for group in groups:
        fresh = without_repeats(group, seen, report)
        if len(fresh) > limits.urls:
            _leave_out(group, report)
            continue
        urls += len(fresh)
        if urls > limits.urls:
            raise page_full(report.label, limits, split_at=group.key)
        yield Group(group.key, fresh)


def _shortened(rows: Sequence[Group], render: _Render, limits: Limits, report: Report) -> tuple[list[Group], bytes]:
    """Return a page that is too large without the rows that are so alone; raise PageFull if that does not help."""
    # One by one: only the template knows what a row takes, and this happens once before a page is split.
    sizes = [len(render([row])) for row in rows]
    for row, size in zip(rows, sizes, strict=True):
        if size > limits.bytes:
            _leave_out(row, report)
    kept = [(row, size) for row, size in zip(rows, sizes, strict=True) if size <= limits.bytes]
    document = render([row for row, _ in kept])
    if len(document) > limits.bytes:
        at = _split_index([size for _, size in kept], len(render([])), len(document), limits)
        raise page_full(report.label, limits, split_at=kept[at][0].key)
    return [row for row, _ in kept], document


def _split_index(sizes: Sequence[int], empty: int, whole: int, limits: Limits) -> int:
    """Return the first row that a page filled with ``bytes_to_fill`` has no room for; `sizes` include an empty page."""
    total = empty
    for index, size in enumerate(sizes):
        total += size - empty
        if index and total > min(limits.bytes_to_fill, limits.bytes):
            return index
    # Together they are more than their sum: each has the same share.
    return min(max(1, len(sizes) * limits.bytes_to_fill // whole), len(sizes) - 1)


def _leave_out(group: Group, report: Report) -> None:
    report.leave_out(group.key, "location", InvalidEntry("E-FILE-SIZE", "the row does not fit on the page"))


def _url(entry: Entry, cleaner: Cleaner) -> Url:
    values = {
        **(entry.given or {}),
        "location": entry.loc,
        "lastmod": _lastmod(entry.lastmod),
        "changefreq": entry.changefreq or "",
        "priority": entry.priority or "",
        "alternates": [{"location": link.href, "lang_code": link.hreflang} for link in entry.links],
    }
    return Url(values, cleaner)


def _lastmod(text: str | None) -> date | None:
    return parse_w3c(text) if text else None


def _rendered(template: Any, context: dict[str, Any], what: str) -> bytes:
    try:
        # Without a request: everybody gets the same bytes.
        return template.render(context).encode()  # type: ignore[no-any-return]
    except Exception as error:  # a template may call anything
        raise SitemapError(
            f"The template {described(template)} failed for {what}: {type(error).__name__}: {error}. Correct it, or "
            "remove it: pages are written without it then."
        ) from error
