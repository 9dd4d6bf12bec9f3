"""Compare the record of a page with its rows, by one aggregate over its range of the key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import Any

from django.utils import timezone

from sitemaps_plus.conf import get_settings
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.measuring import Measuring
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.records import newest_of
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.validators import Measure, is_ahead, moment
from sitemaps_plus.stores.cache import AHEAD


class Check:
    """A check of pages of one section at one moment, `now`.

    A page is due if it was checked ``CHECK_EVERY`` seconds ago or earlier, or before `since`. With `only_counts` rows
    are only counted, because rendering adds them up.
    """

    def __init__(self, section: Section, since: datetime | None = None, *, only_counts: bool = False) -> None:
        self.section = section
        self.now = timezone.now()
        self._since = since
        self._only_counts = only_counts
        self._measuring = Measuring(section, self.now)
        period, now = timedelta(seconds=get_settings().CHECK_EVERY), moment(self.now)
        # A check in the future comes from a clock that was wrong.
        self._after, self._before = now - period, now + min(period, timedelta(seconds=AHEAD))

    def is_due(self, record: SitemapPage) -> bool:
        """Return whether a page was never checked, or too long ago."""
        if record.checked_at is None:
            return True
        checked = moment(record.checked_at)
        return not self._after < checked < self._before or (self._since is not None and checked < self._since)

    @cached_property
    def _recipe(self) -> str:
        # Once for all pages: computing it takes longer than most checks.
        return self.section.recipe

    def measure(self, page: Page) -> Measure:
        """Return what the rows of a page are now."""
        if self._only_counts:
            record = page.record
            return Measure(
                rows=self._measuring.count(page),
                validator=record.validator,
                newest=None,
                settles_at=record.settles_at and moment(record.settles_at),
            )
        return self._measuring.measure(page)

    def note(self, record: SitemapPage, found: Measure) -> SitemapPage:
        """Return `record` with the values found; ``changed_at`` moves if they differ from the last ones."""
        differs = bool(record.validator) and record.validator != found.validator
        known = record.changed_at
        # Since when crawlers know the page as it is now, nobody can tell after a clock was wrong.
        is_unknown = is_ahead(known)
        moved = self.now if differs or is_unknown else None
        if moved or known is None or self._may_show_more(record, found.newest):
            record.changed_at = newest_of(None if is_unknown else known, found.newest, moved)
        if differs or record.changed_at != known:
            # Unknown until the next rendering, which would otherwise report the same change again.
            record.digest, record.urls, record.bytes = "", None, None
        if record.recipe != self._recipe:
            record.urls = None
        record.rows, record.validator, record.recipe = found.rows, found.validator, self._recipe
        record.settles_at, record.checked_at = newest_of(found.settles_at), self.now
        return record

    def _may_show_more(self, record: SitemapPage, newest: datetime | None) -> bool:
        """Return whether a rendering of the same rows may show a later date than the last one."""
        if newest is None or record.verified_at is None or self.section.newest != self.section.changed:
            return True
        # One that was in the future then. Else they differ because a rendering knows dates to the second alone.
        return newest > moment(record.verified_at)


COLUMNS = tuple(field.attname for field in SitemapPage._meta.concrete_fields)

values_of = attrgetter(*COLUMNS)
"""Returns the values of the columns of a record, as a tuple: a section may have thousands of pages."""


def differing(record: SitemapPage, before: Sequence[Any]) -> list[str]:
    """Return the names of the columns whose values differ from `before`."""
    now = values_of(record)
    return (
        [] if now == before else [name for name, one, other in zip(COLUMNS, now, before, strict=True) if one != other]
    )
