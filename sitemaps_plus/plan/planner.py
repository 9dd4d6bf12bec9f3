"""Divide a section into pages along a key, and keep the pages up to date."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import DatabaseError, IntegrityError, router, transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from sitemaps_plus.errors import TooManyPages
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan import holds
from sitemaps_plus.plan.checking import COLUMNS, Check, differing, values_of
from sitemaps_plus.plan.keys import KeyValue
from sitemaps_plus.plan.pages import Page, Plan, active, make_plan, numbered
from sitemaps_plus.plan.positions import sizes_of
from sitemaps_plus.plan.retirement import forget_retired
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.seen import SeenRows
from sitemaps_plus.plan.validators import Measure, count_rows
from sitemaps_plus.protocol.limits import MAX_URLS
from sitemaps_plus.stores.manifest import SectionEntry

logger = logging.getLogger("sitemaps_plus")

MOST_PARTS = 16
"""Most parts of a page that is split because of its bytes; a part that is still too large is split again."""

_RETIRING = ("retired_at", "start_digest", "shown_end", "shown_until")


def refresh(
    section: Section,
    *,
    force: bool = False,
    since: datetime | None = None,
    repack: bool = False,
    split: Mapping[int, KeyValue] | None = None,
    renders_all: bool = False,
    published: SectionEntry | None = None,
    only: Collection[int] | None = None,
    attempts: int = 2,
) -> Plan:
    """Return the plan of a section after checking each of its pages that is due, see `plan.checking.Check`.

    A page by key keeps its number and its range when rows are added or deleted; a page by position shows other rows.

    `force` checks all pages, `since` also those that were not checked after that moment, and `only` at most the pages
    with these numbers. `repack` divides the section again under new numbers. `split` has the numbers of pages that are
    full, and the first row that each has no room for: the rows from there on move to as many new pages as they need. If
    the caller `renders_all` pages, rows are only counted where rendering adds them up. If the database refuses writes
    at each of the `attempts`, the plan is made in memory.

    A build gives the manifest entry of the section as `published`. A page by key then keeps the number of the published
    page with the same start, and never has that of another one, also after the tables were lost or restored.
    """
    only_counts = renders_all and SeenRows(section).is_exact and section.newest in (None, section.changed)

    def plan_again() -> _Planner:
        return _Planner(Check(section, since, only_counts=only_counts), published, only, checks_all=force or repack)

    planner = plan_again()
    # One is enough where all are read again, once they are locked.
    records = list(active(section)[:1] if split or planner.checks_all else active(section))
    if not (split or planner.is_due(records)):
        return make_plan(section, records)
    # Two: the first attempt may lose a deadlock with another planner, which has finished by the second.
    for left in reversed(range(attempts)):
        try:
            if not records:
                _make_lock(section)
            records = _renew_stored(planner, repack=repack, split=split)
            return replace(make_plan(section, records), has_new_pages=planner.has_new_pages)
        except DatabaseError as error:
            planner = plan_again()
            if not left:
                logger.warning("Sitemap section %s: the plan of its pages cannot be stored: %s", section.label, error)
    records = list(active(section))
    if split or planner.is_due(records):
        records = planner.renew(records, repack=repack, split=split)
        return replace(make_plan(section, records), is_stored=False)
    return make_plan(section, records)


def can_store() -> bool:
    """Return whether the database takes writes, by one that changes no row, and so waits for no lock of a row."""
    using = router.db_for_write(SitemapPage)
    with suppress(DatabaseError), transaction.atomic(using=using):
        SitemapPage.objects.using(using).filter(pk=0).update(number=F("number"))
        return True
    return False


def _renew_stored(planner: _Planner, *, repack: bool, split: Mapping[int, KeyValue] | None) -> list[SitemapPage]:
    planner.using = router.db_for_write(SitemapPage)
    with transaction.atomic(using=planner.using):
        _lock(planner.section)
        # Locked as well, so that a rendering recorded in the meantime is not overwritten.
        records = list(active(planner.section, planner.using).select_for_update())
        if not (split or planner.is_due(records)):
            return records
        before = {record.pk: values_of(record) for record in records}
        records = planner.renew(records, repack=repack, split=split)
        planner.save(records, before)
        if planner.retired or planner.checks_all:
            forget_retired(planner.section, planner.using)
        return records


class _Planner:
    """Brings the pages of one section up to date."""

    def __init__(
        self, check: Check, published: SectionEntry | None, only: Collection[int] | None, *, checks_all: bool
    ) -> None:
        self.section = check.section
        self.check = check
        self.checks_all = checks_all
        self.only = only
        self.published = published or SectionEntry()
        self.using: str | None = None
        """The database in which records are read and written; None if they are only read."""
        self.retired: list[SitemapPage] = []
        self.givers: dict[int, SitemapPage] = {}
        """Pages that gave up rows to new pages, by primary key."""
        self.has_new_pages = False

    def is_due(self, records: Sequence[SitemapPage]) -> bool:
        """Return whether the plan is missing, of another layout, or has pages that are to be checked."""
        layout = self.section.layout
        return not records or any(record.layout != layout or self._is_wanted(record) for record in records)

    def _is_wanted(self, record: SitemapPage) -> bool:
        is_chosen = self.only is None or record.number in self.only
        return self.checks_all or (is_chosen and self.check.is_due(record))

    def renew(
        self, records: list[SitemapPage], *, repack: bool, split: Mapping[int, KeyValue] | None
    ) -> list[SitemapPage]:
        """Return the current records; those that are no longer pages are added to ``retired``."""
        if self.section.paged_by == "position":
            return self._renew_positions()
        free = [record for record in records if not record.layout]
        records = [record for record in records if record.layout]
        if repack or any(record.layout != self.section.layout for record in records):
            self._retire(records)
            records = []
        if not records:
            records = self._cut(free)
            # Of the other pages the number of rows is known.
            wanted = records if self.only is None else records[-1:]
        elif split:
            # Only the parts: many pages may be split one after the other.
            records, wanted = self._split(records, split)
        else:
            wanted = [record for record in records if self._is_wanted(record)]
        records = list(self._checked(records, {id(record) for record in wanted}))
        if sum(record.rows != 0 for record in records) > MAX_URLS:
            raise self._too_many()
        records = self._numbered(records)
        holds.hold(self.givers.values(), timezone.now())
        return records

    def save(self, records: Sequence[SitemapPage], before: Mapping[int, Sequence[Any]]) -> None:
        """Write what differs from `before`: first the pages that give up their start, then those that take it."""
        for record in self.retired:
            record.retired_at, record.start_digest = self.check.now, None
            record.save(using=self.using, update_fields=_RETIRING if record.pk else None)
        moved = []
        are_all_checked = all(record.checked_at == self.check.now for record in records)
        for record in records:
            known = before.get(record.pk)
            if known is None:
                record.save(using=self.using)
                self.has_new_pages = True
                continue
            names = differing(record, known)
            if are_all_checked and "checked_at" in names:
                names.remove("checked_at")
            if names == ["rank"]:
                moved.append(record)
            elif names:
                record.save(using=self.using, update_fields=names)
        # One split moves all later pages, and a build checks all: too many for one query each.
        SitemapPage.objects.using(self.using).bulk_update(moved, ["rank"], batch_size=200)
        if are_all_checked and before:
            active(self.section, self.using).update(checked_at=self.check.now)

    def _retire(self, records: Sequence[SitemapPage], last: SitemapPage | None = None) -> None:
        """Retire pages by key, up to the page `last`; those that have rows are held."""
        self.retired += records
        for record, later in zip(records, [*records[1:], last], strict=False):
            if record.rows != 0:
                self._give(record, None if later is None else later.start)

    def _give(self, record: SitemapPage, end: list[Any] | None) -> None:
        """Note that a page that ended at `end` gives up rows, unless nobody can know it yet."""
        if record.pk and record.pk not in self.givers:
            holds.keep_end(record, end, self.check.now)
            self.givers[record.pk] = record

    def _cut(self, free: list[SitemapPage]) -> list[SitemapPage]:
        """Return new records for all rows; the record that only served as lock becomes the first page."""
        if free and self.published.pages and 1 not in self.published.pages:
            self.retired.append(free.pop())  # Number 1 was retired before the tables were lost.
        first = free[0] if free else self._new(None)
        first.layout = self.section.layout
        records = [first, *(self._new(start) for start in self._filled(Page(record=first)))]
        for record in records[:-1]:
            record.rows = self.section.rows_to_fill
        return records

    def _checked(self, records: Sequence[SitemapPage], wanted: Collection[int]) -> Iterator[SitemapPage]:
        """Yield `records` with their current row counts and validators; only those whose id is in `wanted`.

        A page with too many rows keeps the first of them; new pages take the rest.
        """
        for page in make_plan(self.section, records).pages:
            if id(page.record) not in wanted:
                yield page.record
                continue
            found = self.check.measure(page)
            starts = list(self._filled(page)) if (found.rows or 0) > self.section.rows_limit else []
            if not starts:
                yield self.check.note(page.record, found)
                continue
            self._give(page.record, self._stored(page.end))
            records = [page.record, *map(self._new, starts)]
            for record, start, end in zip(records, [page.start, *starts], [*starts, page.end], strict=True):
                yield self.check.note(record, self.check.measure(Page(record=record, start=start, end=end)))

    def _split(
        self, records: list[SitemapPage], full: Mapping[int, KeyValue]
    ) -> tuple[list[SitemapPage], list[SitemapPage]]:
        """Return the records after the pages in `full` are split, each at a row, and all parts of those pages."""
        found: list[SitemapPage] = []
        parts: list[SitemapPage] = []
        for page in make_plan(self.section, records).pages:
            found.append(page.record)
            at = full.get(page.number)
            if at is not None and self._is_inside(page, at):
                self._give(page.record, self._stored(page.end))
                uppers = [self._new(start) for start in self._cuts(page, at)]
                found += uppers
                parts += [page.record, *uppers]
        return found, parts

    def _is_inside(self, page: Page, at: KeyValue) -> bool:
        """Return whether the row `at` is on a page and not its first: another process may have split the page."""
        is_row = Q(**dict(zip(self.section.key.names, at, strict=True)))
        return page.record.start != self._stored(at) and page.rows(self.section).filter(is_row).exists()

    def _cuts(self, page: Page, at: KeyValue) -> list[KeyValue]:
        """Return `at` and the later rows at which a page is cut, so that each part has as many rows as the first one.

        The last part takes what remains: if the first rows are larger than most, only a few pages are small.
        """
        fit = count_rows(self.section, replace(page, end=at).rows(self.section))
        rest = replace(page, start=at)
        return [at, *itertools.islice(self._boundaries(rest, step=max(1, fit), limit=max(1, fit)), MOST_PARTS - 2)]

    def _filled(self, page: Page) -> Iterator[KeyValue]:
        """Yield the keys at which a page with too many rows is divided."""
        return self._boundaries(page, step=self.section.rows_to_fill, limit=self.section.rows_limit)

    def _boundaries(self, page: Page, *, step: int, limit: int) -> Iterator[KeyValue]:
        """Yield the keys at which a page is divided into parts of `step` rows; the last one may have up to `limit`.

        Each is counted from the one before: a small query whose cost does not grow with the table.
        """
        names = self.section.key.names

        def keys_from(start: KeyValue | None) -> QuerySet[Any, Any]:
            # Not a second lower bound: of two, SQLite searches with the lower one.
            rows = replace(page, start=start).rows(self.section)
            return rows.select_related(None).prefetch_related(None).order_by(*names).values_list(*names)

        before = rest = keys_from(page.start)
        last: KeyValue | None = None
        for count in itertools.count(1):
            at = _nth(rest, step)
            # The last two pages are joined if their rows fit the limit.
            if last is not None and (at is not None or _nth(before, limit) is not None):
                if count > MAX_URLS:
                    raise self._too_many()
                yield last
            if at is None:
                return
            before, rest, last = rest, keys_from(at), at

    def _too_many(self) -> TooManyPages:
        return TooManyPages(
            f"The sitemap {self.section.label!r} needs more than {MAX_URLS:,} pages, the most that an index may list. "
            "Raise its `limit`, or divide its rows among several sections or sites."
        )

    def _new(self, start: KeyValue | None) -> SitemapPage:
        section = self.section
        return SitemapPage(site=section.site.id, label=section.label, start=self._stored(start), layout=section.layout)

    def _stored(self, key: KeyValue | None) -> list[Any] | None:
        return None if key is None else self.section.key.dump(key)

    def _numbered(self, records: list[SitemapPage]) -> list[SitemapPage]:
        highest = numbered(self.section, self.using).aggregate(highest=Max("number"))["highest"] or 0
        last_published = max(self.published.pages, default=0)
        pairs = itertools.zip_longest(records, records[1:])
        records = [self._renumbered(one, later) if self._is_of_others(one) else one for one, later in pairs]
        fresh = [record for record in records if record.number is None]
        # Up to the highest number all were issued, those of retired pages included.
        known = {page.start: number for number, page in self.published.pages.items() if number > highest}
        numbers = itertools.count(max(highest, last_published) + 1)
        for record in fresh:
            record.number = known.get(_digest(record.start)) or next(numbers)
        if last_published > max(highest, *(record.number for record in records)):
            # So that nobody who does not read what is published issues this number again.
            last = self._new(None)
            last.number = last_published
            self.retired.append(last)
        for rank, record in enumerate(records, start=1):
            record.rank = rank
            record.start_digest = _digest(record.start)
        return records

    def _is_of_others(self, record: SitemapPage) -> bool:
        """Return whether the published page of this number has other rows, so that the tables must have been lost."""
        page = self.published.pages.get(record.number)
        if page is None:
            return False
        if page.start:
            return page.start != _digest(record.start)
        # Not known from the manifest. The first page always starts with the first row.
        return record.number != 1 and not record.built_digest and record.digest != page.digest

    def _renumbered(self, record: SitemapPage, later: SitemapPage | None) -> SitemapPage:
        """Return the page as a new one without a number, and retire its record; `later` is the page after it."""
        self._retire([record], later)
        unknown = {"id": None, "number": None, "built_digest": "", "built_at": None}
        return SitemapPage(
            **{**dict(zip(COLUMNS, values_of(record), strict=True)), **unknown, "shown_end": None, "shown_until": None}
        )

    def _renew_positions(self) -> list[SitemapPage]:
        # A number that comes back is the same page again: it is only a position.
        known = {record.number: record for record in numbered(self.section, self.using)}
        # An empty section keeps its first page, to hold the lock and the time of the check.
        sizes = sizes_of(self.section) or [0]
        if len(sizes) > MAX_URLS:
            raise self._too_many()
        kept = []
        for number, rows in enumerate(sizes, start=1):
            record = known.pop(number, None) or self._new(None)
            record.number = record.rank = number
            record.start, record.start_digest = None, _digest(["position", number])
            record.layout, record.retired_at = self.section.layout, None
            kept.append(self.check.note(record, Measure(rows=rows, validator=f"rows={rows}", newest=None)))
        self.retired += [record for record in known.values() if not record.is_retired]
        return kept


def _nth(keys: QuerySet[Any, Any], offset: int) -> KeyValue | None:
    return next(iter(keys[offset : offset + 1]), None)


def _digest(start: Any) -> str:
    # As in the record and in the manifest: one text for all of them.
    return sys.intern(hashlib.sha256(json.dumps(start).encode()).hexdigest())


def _make_lock(section: Section) -> None:
    """Make sure that the row to lock exists: the record of page number 1.

    Done before the transaction that locks it: on MariaDB a refused insert keeps a lock, and two of them a deadlock.
    """
    using = router.db_for_write(SitemapPage)
    if numbered(section, using).filter(number=1).exists():
        return
    with suppress(IntegrityError), transaction.atomic(using=using):
        # Without a layout the record is only a lock, until the first plan makes it the first page.
        lock = SitemapPage(site=section.site.id, label=section.label, number=1, start_digest=_digest(None))
        lock.save(using=using)


def _lock(section: Section) -> None:
    """Lock the section until the end of the transaction, by the record of page number 1, which is never deleted.

    It is an UPDATE because that locks on every database, including SQLite.
    """
    numbered(section, router.db_for_write(SitemapPage)).filter(number=1).update(number=F("number"))
