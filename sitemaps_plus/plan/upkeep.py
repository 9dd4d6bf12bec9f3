"""Bring pages up to date as far as a request can wait: one page, or those checked longest ago for a short while."""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from django.db import DatabaseError, router, transaction
from django.db.models import F

from sitemaps_plus.conf import get_settings
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.checking import Check, differing, values_of
from sitemaps_plus.plan.pages import Page, Plan, active, numbered, read_page, stored_plan
from sitemaps_plus.plan.planner import can_store, refresh
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.validators import moment

logger = logging.getLogger("sitemaps_plus")

BUDGET = 0.5
"""Seconds for which one request for an index checks pages; it checks at least one."""

OPEN = 10
"""The last page of a section counts as checked so many times longer ago: most rows are appended."""

_AT_ONCE = 500


# When sections failed that failed at their last check, in seconds since 1970; by site and label.
_failed_at: dict[tuple[int, str], float] = {}


def refresh_page(section: Section, number: int, *, since: datetime | None = None) -> Plan:
    """Return a plan with page `number`, checked at most ``CHECK_EVERY`` seconds ago and not before `since`.

    It may lack other pages: neither their records nor their rows are read, unless the page has to be split. Pages by
    position are checked together.
    """
    if section.paged_by == "position":
        return refresh(section, since=since)
    page, has_new_pages = read_page(section, number), False
    if page is None or page.record.layout != section.layout:
        plan = _with_new_pages(section, number, since)
        has_new_pages = plan.has_new_pages
        page = next((page for page in plan.pages if page.number == number), None)
    if page is None:
        return Plan(section=section, pages=[], has_new_pages=has_new_pages)
    check = Check(section, since)
    if check.is_due(page.record):
        found = _checked(check, page, since)
        if isinstance(found, Plan):
            return replace(found, has_new_pages=found.has_new_pages or has_new_pages)
        page = found
    return Plan(section=section, pages=[page], has_new_pages=has_new_pages)


def _with_new_pages(section: Section, number: int, since: datetime | None) -> Plan:
    """Return a plan that may have page `number`, which is not stored: of a new layout, or of a split in memory."""
    first = active(section).first()
    if first is None or first.layout != section.layout:
        return refresh(section, only=())
    if numbered(section).filter(number=number).exists() or can_store():
        return Plan(section=section, pages=[])
    # An index that was made in memory may list it.
    return refresh(section, since=since, attempts=0)


def _checked(check: Check, page: Page, since: datetime | None) -> Page | Plan:
    """Return a page by key after checking it; a plan with it if that takes a planner: to split it, or in memory."""
    try:
        checked, attempts = _stored(check, page), 2
    except DatabaseError:
        # Whoever has waited for a lock in vain does not wait twice more.
        checked, attempts = None, 1
    return checked or refresh(check.section, since=since, only=[page.number], attempts=attempts)


def _stored(check: Check, page: Page) -> Page | None:
    """Return a page by key after storing its check; None if it has to be split."""
    using, section, record = router.db_for_write(SitemapPage), check.section, page.record
    if record.pk is None:
        # The database refuses writes: the whole plan was made in memory.
        return replace(page, record=check.note(record, check.measure(page)))
    with transaction.atomic(using=using):
        # Only this page is locked: a planner locks all pages before it changes one of them.
        numbered(section, using).filter(pk=record.pk).update(number=F("number"))
        stored = active(section, using).filter(pk=record.pk).first()
        if stored is None or stored.layout != section.layout:
            return None
        if stored.checked_at != record.checked_at:
            # Another request has checked it, and may have split it.
            return read_page(section, page.number, using)
        found = check.measure(page)
        if (found.rows or 0) > section.rows_limit:
            return None
        before = values_of(stored)
        check.note(stored, found).save(using=using, update_fields=differing(stored, before))
    return replace(page, record=stored)


def _unchanged(check: Check, page: Page) -> Page | None:
    """Return a page as it is after a check that finds nothing new, which is not stored yet; else None."""
    found, record = check.measure(page), copy(page.record)
    if record.pk is None or (found.rows or 0) > check.section.rows_limit:
        return None
    before = values_of(record)
    return replace(page, record=record) if differing(check.note(record, found), before) == ["checked_at"] else None


class _Turn(NamedTuple):
    """A page by key that is due, or all pages of a section by position."""

    age: float
    """Seconds since the last check, weighted."""
    rank: int
    """How many pages of the section come before it: of equal age, pages of all sections take turns."""
    at: int
    """Which of the sections."""
    page: Page | None
    """None for all pages."""


class Round:
    """The checks of all pages of some sections, of which each request for an index makes as many as its time allows.

    What is left is due at the next request. `since` makes pages due sooner. `is_needed` says that the index is about
    one section, so that nothing can be shown without its plan. If the database refuses writes, the next request would
    begin again: then all pages of all sections are checked in memory, however long it takes.
    """

    def __init__(self, sections: Sequence[Section], since: datetime | None = None, *, is_needed: bool = False) -> None:
        self._sections = sections
        self._since = since
        self._is_needed = is_needed
        self._left = BUDGET
        self._has_checked = False
        self._in_memory: dict[int, Plan] = {}
        self._is_refused: bool | None = None
        """Whether the database refuses writes; None before one was tried."""
        self._to_store: defaultdict[int, list[int]] = defaultdict(list)
        """The primary keys of the pages of each section whose check has found nothing new."""

    def plans(self) -> list[Plan]:
        """Return the plan of each section, after checking pages for as long as the time of this round lasts."""
        started = time.monotonic()
        plans = [self._known(at) for at in range(len(self._sections))]
        # One for all pages of a section, whose statements are compiled once.
        checks = [Check(section, self._since) for section in self._sections]
        checked: dict[tuple[int, int], Page] = {}
        for turn in sorted(self._turns(plans, checks), key=lambda turn: (-turn.age, turn.rank)):
            if self._has_checked and not self._is_refused and time.monotonic() - started >= self._left:
                break
            section, plan = self._sections[turn.at], plans[turn.at]
            if plan.has_failed or turn.at in self._in_memory:
                continue
            self._has_checked = True
            try:
                found = self._after(turn, checks[turn.at])
                _failed_at.pop((section.site.id, section.label), None)
            except Exception as error:
                found = self._last_known(section, error)
            if isinstance(found, Plan):
                plans[turn.at] = replace(found, has_new_pages=found.has_new_pages or plan.has_new_pages)
            else:
                checked[turn.at, found.number] = found
        self._store(checks)
        self._left -= time.monotonic() - started
        return [
            replace(plan, pages=[checked.get((at, page.number), page) for page in plan.pages])
            for at, plan in enumerate(plans)
        ]

    def _known(self, at: int) -> Plan:
        if at in self._in_memory:
            return self._in_memory[at]
        section = self._sections[at]
        try:
            plan = refresh(section, only=())
        except Exception as error:
            return self._last_known(section, error)
        self._is_refused = self._is_refused or not plan.is_stored or None
        return plan

    def _after(self, turn: _Turn, check: Check) -> Page | Plan:
        """Return a page after its turn; the plan of its section if that was made anew."""
        section = check.section
        if turn.page and not self._is_refused:
            # Most pages are as they were: of these the checks are stored together, once a write has succeeded.
            if self._is_refused is False and (page := _unchanged(check, turn.page)):
                self._to_store[turn.at].append(page.record.pk)
                return page
            found = _checked(check, turn.page, self._since)
            self._is_refused = isinstance(found, Plan) and not found.is_stored
            if not self._is_refused:
                return found
        plan = refresh(section, since=self._since, attempts=0 if self._is_refused else 2)
        if not plan.is_stored:
            self._is_refused, self._in_memory[turn.at] = True, plan
        return plan

    def _store(self, checks: Sequence[Check]) -> None:
        """Store the checks that have found nothing new. If that fails, the pages are due again."""
        using = router.db_for_write(SitemapPage)
        for at, keys in self._to_store.items():
            for first in range(0, len(keys), _AT_ONCE):
                some = numbered(self._sections[at], using).filter(pk__in=keys[first : first + _AT_ONCE])
                with suppress(DatabaseError), transaction.atomic(using=using):
                    some.update(checked_at=checks[at].now)
        self._to_store.clear()

    def _last_known(self, section: Section, error: Exception) -> Plan:
        """Return the plan of a section that fails as it was last stored; raise `error` if nothing can be shown."""
        _failed_at[section.site.id, section.label] = time.time()
        plan = None if get_settings().STRICT else stored_plan(section)
        if plan is None or (self._is_needed and not plan.pages):
            raise error
        text = "Sitemap section %s cannot be planned; the index lists its last known pages"
        logger.error(text, section.label, exc_info=error)
        return replace(plan, has_failed=True)

    def _turns(self, plans: Sequence[Plan], checks: Sequence[Check]) -> Iterator[_Turn]:
        for at, (plan, check) in enumerate(zip(plans, checks, strict=True)):
            if plan.has_failed:
                continue
            now, last = moment(check.now), len(plan.pages) - 1
            failed_at = _failed_at.get((plan.section.site.id, plan.section.label))
            # A failure counts as a check: the pages stay the oldest, and would use up the time of all other sections.
            most = math.inf if failed_at is None else abs(now.timestamp() - failed_at)
            due = [rank for rank, page in enumerate(plan.pages) if check.is_due(page.record)]
            if plan.section.paged_by == "position":
                if due:
                    age = min(most, max(_age(plan.pages[rank], now) for rank in due))
                    yield _Turn(OPEN * age, -1, at, None)
                continue
            for rank in due:
                page, is_open = plan.pages[rank], rank == last
                age = min(most, _age(page, now))
                yield _Turn((OPEN if is_open else 1) * age, -1 if is_open else rank, at, page)


def _age(page: Page, now: datetime) -> float:
    """Return the seconds since a page was checked; by whichever clock."""
    checked = page.record.checked_at
    return math.inf if checked is None else abs((now - moment(checked)).total_seconds())
