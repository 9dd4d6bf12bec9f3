"""Render a page or an index with a template of the project in place of the writer."""

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
from sitemaps_plus.protocol.writer import IndexItem, Repeats, Tally, page_full, too_many_pages

_Render = Callable[[Sequence[Group]], bytes]


@dataclass
class SitemapIndexItem:
    """One sitemap of an index, as a template gets it."""

    location: str
    last_mod: date | datetime | None = None


class Url(dict[str, Any]):
    """One URL, as a template gets it, with the keys of Django's ``get_urls()``."""

    def __init__(self, values: Mapping[str, Any], cleaner: Cleaner) -> None:
        super().__init__(values)
        self.cleaner = cleaner
        """The cleaner that the template tags use for the values."""


class UrlSet(list[Url]):
    """All URLs of a page, as a template gets them."""

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
    """Yield the page that `template` renders of `groups`, in one piece; the entries need their `given`.

    Raises PageFull, with the key to split at, if the page exceeds the limits, and SitemapError if the template fails.
    """
    limits = limits or Limits()
    # Broken values were reported already, and languages are codes already: the tags must not repeat that.
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
    """Return the index that `template` renders of `items`; raise TooManyPages as the writer does."""
    sitemaps = [SitemapIndexItem(item.loc, _lastmod(item.lastmod)) for item in items]
    document = _rendered(template, {"sitemaps": sitemaps}, "an index")
    if len(items) > MAX_URLS or len(document) > MAX_BYTES:
        raise too_many_pages()
    return document


def _rows(groups: Iterable[Group], limits: Limits, report: Report) -> Iterator[Group]:
    """Yield the rows of a page without repeated URLs; raise PageFull if there are too many URLs."""
    repeats, urls = Repeats(report), 0
    for group in groups:
        fresh = repeats.without(group)
        if len(fresh) > limits.urls:
            _leave_out(group, report)
            continue
        urls += len(fresh)
        if urls > limits.urls:
            raise page_full(report.label, limits, split_at=group.key)
        yield Group(group.key, fresh)


def _shortened(rows: Sequence[Group], render: _Render, limits: Limits, report: Report) -> tuple[list[Group], bytes]:
    """Return a page without the rows that are too large by themselves; raise PageFull if it is still too large."""
    # One by one: only the template shows how large a row is. This happens at most once before a page is split.
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
    """Return the first row beyond ``bytes_to_fill``; each of the `sizes` includes that of an `empty` page."""
    total = empty
    for index, size in enumerate(sizes):
        total += size - empty
        if index and total > min(limits.bytes_to_fill, limits.bytes):
            return index
    # The whole is larger than the sum of its rows: assume rows of equal size.
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
        # Without a request, so that everybody gets the same bytes.
        return template.render(context).encode()  # type: ignore[no-any-return]
    except Exception as error:  # a template may call anything
        raise SitemapError(
            f"The template {described(template)} failed for {what}: {type(error).__name__}: {error}. Correct it, or "
            "remove it to have pages written without a template."
        ) from error
