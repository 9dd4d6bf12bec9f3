"""Bring pages up to date as far as a request can wait: one page, or those checked longest ago for a short while."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from django.db import DatabaseError, router, transaction
from django.db.models import F

from sitemaps_plus.conf import get_settings
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.checking import Check, differing, values_of
from sitemaps_plus.plan.pages import Page, Plan, active, numbered, read_page, stored_plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.validators import moment

logger = logging.getLogger("sitemaps_plus")

BUDGET = 0.5
"""Seconds for which one request for an index checks pages; it checks at least one."""

OPEN = 10
"""The last page of a section counts as checked so many times longer ago: most rows are appended."""


# Site and label of sections that failed when they were last checked.
_failing: set[tuple[int, str]] = set()


def refresh_page(section: Section, number: int, *, since: datetime | None = None) -> Plan:
    """Return a plan with page `number`, checked at most ``CHECK_EVERY`` seconds ago and not before `since`.

    It may lack other pages: neither their records nor their rows are read, unless the page has to be split. Pages by
    position are checked together.
    """
    if section.paged_by == "position":
        return refresh(section, since=since)
    page, has_new_pages = read_page(section, number), False
    if page is None or page.record.layout != section.layout:
        first = active(section).first()
        if first is None or first.layout != section.layout:
            plan = refresh(section, only=())
            has_new_pages = plan.has_new_pages
            page = next((page for page in plan.pages if page.number == number), None)
    if page is None:
        return Plan(section=section, pages=[], has_new_pages=has_new_pages)
    check = Check(section, since)
    if check.is_due(page.record):
        page = _checked(check, page)
        if page is None:
            plan = refresh(section, since=since, only=[number])
            return replace(plan, has_new_pages=plan.has_new_pages or has_new_pages)
    return Plan(section=section, pages=[page], has_new_pages=has_new_pages)


def _checked(check: Check, page: Page) -> Page | None:
    """Return a page by key after checking it; None if that takes a planner: to split it, or to do it in memory."""
    using, section, record = router.db_for_write(SitemapPage), check.section, page.record
    if record.pk is None:
        # The database refuses writes: the whole plan was made in memory.
        return replace(page, record=check.note(record, check.measure(page)))
    with suppress(DatabaseError), transaction.atomic(using=using):
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
    return None


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
    one section, so that nothing can be shown without its plan.
    """

    def __init__(self, sections: Sequence[Section], since: datetime | None = None, *, is_needed: bool = False) -> None:
        self._sections = sections
        self._since = since
        self._is_needed = is_needed
        self._left = BUDGET
        self._has_checked = False

    def plans(self) -> list[Plan]:
        """Return the plan of each section, after checking pages for as long as the time of this round lasts."""
        started = time.monotonic()
        plans = [self._known(section) for section in self._sections]
        # One for all pages of a section, whose statements are compiled once.
        checks = [Check(section, self._since) for section in self._sections]
        checked: dict[tuple[int, int], Page] = {}
        for turn in sorted(self._turns(plans, checks), key=self._order):
            if self._has_checked and time.monotonic() - started >= self._left:
                break
            section, plan = self._sections[turn.at], plans[turn.at]
            if plan.has_failed:
                continue
            self._has_checked = True
            try:
                if turn.page and (page := _checked(checks[turn.at], turn.page)):
                    checked[turn.at, page.number] = page
                else:
                    newer = refresh(section, since=self._since, only=[turn.page.number] if turn.page else None)
                    plans[turn.at] = replace(newer, has_new_pages=newer.has_new_pages or plan.has_new_pages)
                _failing.discard((section.site.id, section.label))
            except Exception as error:
                plans[turn.at] = self._last_known(section, error)
        self._left -= time.monotonic() - started
        return [
            replace(plan, pages=[checked.get((at, page.number), page) for page in plan.pages])
            for at, plan in enumerate(plans)
        ]

    def _known(self, section: Section) -> Plan:
        try:
            return refresh(section, only=())
        except Exception as error:
            return self._last_known(section, error)

    def _order(self, turn: _Turn) -> tuple[bool, float, int]:
        section = self._sections[turn.at]
        # Sections that fail come last: their pages stay the oldest, and would use up the time of all others.
        return (section.site.id, section.label) in _failing, -turn.age, turn.rank

    def _last_known(self, section: Section, error: Exception) -> Plan:
        """Return the plan of a section that fails as it was last stored; raise `error` if nothing can be shown."""
        _failing.add((section.site.id, section.label))
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
            due = [rank for rank, page in enumerate(plan.pages) if check.is_due(page.record)]
            if plan.section.paged_by == "position":
                if due:
                    age = max(_age(plan.pages[rank], now) for rank in due)
                    yield _Turn(OPEN * age, -1, at, None)
                continue
            for rank in due:
                page, is_open = plan.pages[rank], rank == last
                yield _Turn((OPEN if is_open else 1) * _age(page, now), -1 if is_open else rank, at, page)


def _age(page: Page, now: datetime) -> float:
    """Return the seconds since a page was checked; by whichever clock."""
    checked = page.record.checked_at
    return math.inf if checked is None else abs((now - moment(checked)).total_seconds())
