"""Turn stored records into pages: each is a range of the key that ends where the next one starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Case, IntegerField, Q, QuerySet, Subquery, Value, When
from django.utils import timezone

from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.holds import is_held
from sitemaps_plus.plan.keys import KeyValue
from sitemaps_plus.plan.sections import Section

_STARTS_PER_QUERY = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a plan: the rows from `start` up to, not including, `end`."""

    record: SitemapPage
    start: KeyValue | None = None
    """Key of the first row; None for no lower bound, and for pages cut by position."""
    end: KeyValue | None = None
    """Start of the next page; None for no upper bound."""
    part: tuple[int, int | None] = (0, None)
    """The slice of its URLs that is wanted, without its end; only for pages cut by position."""
    is_held: bool = False
    """Whether these are the rows that it had before it gave some to other pages; see `plan.holds`."""

    @property
    def number(self) -> int:
        """The number in the page's URL."""
        return self.record.number

    def rows(self, section: Section, after: KeyValue | None = None) -> QuerySet[Any]:
        """Return the rows of the page in no order; with `after` only those after that key."""
        rows = section.queryset()
        # Only one lower bound: of two, SQLite may search with the lower one.
        if after is not None:
            rows = rows.filter(section.key.after(after))
        elif self.start is not None:
            rows = rows.filter(section.key.at_or_after(self.start))
        if self.end is not None:
            rows = rows.filter(section.key.before(self.end))
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The pages of a section in the order of their rows."""

    section: Section
    pages: Sequence[Page]
    has_new_pages: bool = False
    """Whether pages were added by the refresh that returned it."""
    has_failed: bool = False
    """Whether the section could not be checked, so that this is what was last stored."""
    is_stored: bool = True
    """Whether the next request finds it; False if the database refused it, so that it is only in memory."""

    @property
    def checked_at(self) -> datetime | None:
        """When the page was checked that was checked longest ago; None if one never was."""
        dates = [page.record.checked_at for page in self.pages]
        return None if None in dates else min(filter(None, dates), default=None)

    @property
    def listed(self) -> list[Page]:
        """The pages that an index lists: those that are not empty."""
        return [page for page in self.pages if self.is_listed(page)]

    def is_listed(self, page: Page) -> bool:
        """Return whether an index lists the page; the first page of a news sitemap may be empty."""
        if self.section.is_windowed and page.number == 1:
            return True
        return page.record.rows != 0 and page.record.urls != 0

    def find(self, number: int) -> Page:
        """Return the page with `number`; raise PageGone if it is retired, PageNotFound if there is none."""
        return self._find(number, holds=False)

    def find_shown(self, number: int) -> Page:
        """Return what `find` does, or the page with the rows that it had while it is held: as views show it."""
        return self._find(number, holds=True)

    def _find(self, number: int, *, holds: bool) -> Page:
        label = self.section.label
        # Pages by position have no range that could be held.
        holds = holds and self.section.paged_by == "key"
        for page in self.pages:
            if page.number == number:
                if holds and is_held(page.record, timezone.now()):
                    return self._held(page)
                if page.record.rows != 0 or self.is_listed(page):
                    return page
                raise PageNotFound(f"Page {number} of the sitemap {label!r} has no URLs at present.")
        # Most retired numbers have no record any more, but the highest number of all has.
        issued = numbered(self.section).filter(number__gte=number).order_by("number").first() if number > 0 else None
        if issued is None or self.section.paged_by != "key" or (issued.number == number and not issued.is_retired):
            raise PageNotFound(f"The sitemap {label!r} has no page {number}; see the index for its pages.")
        if holds and issued.number == number and is_held(issued, timezone.now()):
            return self._held(Page(record=issued))
        raise PageGone(f"Page {number} of the sitemap {label!r} is gone; see the index for its pages.")

    def _held(self, page: Page) -> Page:
        record, key = page.record, self.section.key
        if not self.has_key_of(record):
            return replace(page, is_held=True)
        start, end = (None if one is None else key.load(one) for one in (record.start, record.shown_end))
        return replace(page, start=start, end=end, is_held=True)

    def has_key_of(self, record: SitemapPage) -> bool:
        """Return whether the boundaries of a record are of the key by which the section is divided now."""
        return record.layout.endswith(f", by {self.section.key}")

    def page_of(self, key: KeyValue) -> Page | None:
        """Return the page of the row with `key`, or None where there is no such row; for pages cut by key."""
        names = self.section.key.names
        row = self.section.model._base_manager.using(self.section.queryset().db)
        row = row.filter(**dict(zip(names, key, strict=True)))
        low, high = 0, len(self.pages)
        while high - low > 1:
            step = -(-(high - low) // _STARTS_PER_QUERY)
            positions = range(low + step, high, step)
            # Compared by the database: only it knows its collation.
            flags = [_flag(self.section.key.at_or_after(self.pages[at].start or ())) for at in positions]
            answers = next(iter(row.values_list(*flags)[:1]), None)
            if answers is None:
                return None
            count = sum(answers)
            low, high = low + count * step, min(high, low + (count + 1) * step)
        return self.pages[low] if self.pages else None


def _flag(condition: Q) -> Case:
    return Case(When(condition, then=Value(1)), default=Value(0), output_field=IntegerField())


def make_plan(section: Section, records: Sequence[SitemapPage]) -> Plan:
    """Return the plan of `records`, which must be in key order."""
    if section.paged_by == "position" or not records:
        return Plan(section=section, pages=[Page(record=record) for record in records])
    starts = [None if record.start is None else section.key.load(record.start) for record in records]
    ends = [*starts[1:], None]
    pages = [Page(record=r, start=s, end=e) for r, s, e in zip(records, starts, ends, strict=True)]
    return Plan(section=section, pages=pages)


def read_page(section: Section, number: int, using: str | None = None) -> Page | None:
    """Return the current page with `number`, or None; of the other pages only the next one is read, for its start."""
    known = active(section, using)
    rank = known.filter(number=number).order_by().values("rank")[:1]
    records = list(known.filter(rank__gte=Subquery(rank))[:2])
    pages = make_plan(section, records).pages[:1] if records and records[0].layout else []
    return next((page for page in pages if page.number == number), None)


def stored_plan(section: Section) -> Plan:
    """Return the plan as it was last stored, without a query for rows: enough to make an index."""
    return Plan(section=section, pages=[Page(record=record) for record in active(section) if record.layout])


def url_count(section: Section, record: SitemapPage) -> int:
    """Return how many URLs a page has; for a page that changed since it was rendered, as many as its rows may have."""
    if record.urls is not None:
        return record.urls
    # By position the languages of an item are counted already.
    per_row = max(1, len(section.languages)) if section.paged_by == "key" else 1
    return (record.rows or 0) * per_row


def numbered(section: Section, using: str | None = None) -> QuerySet[SitemapPage]:
    """Return the records of all numbers that were ever used, retired ones included."""
    return SitemapPage.objects.using(using).filter(site=section.site.id, label=section.label)


def active(section: Section, using: str | None = None) -> QuerySet[SitemapPage]:
    """Return the records of the current pages, in key order."""
    return numbered(section, using).filter(retired_at=None).order_by("rank", "number")
