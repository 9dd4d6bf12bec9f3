"""Tell how long a page that gave rows to other pages is served with the rows that it had.

A crawler reads an index first and its pages later. A row that moves to a new page is missed by all who have an index
that does not list that page yet. Therefore its old page goes on being served with it until nobody has such an index.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sitemaps_plus.conf import get_settings
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.validators import moment
from sitemaps_plus.stores.cache import AHEAD, CLAIM, REST

MARGIN = CLAIM + 2 * REST
"""Seconds by which an index may be older than ``CHECK_EVERY``: a process that died while it renewed the index holds the
claim, and a renewal may fail once."""


def duration() -> timedelta:
    """Return how long a page is held; nothing where each request asks the database."""
    every = get_settings().CHECK_EVERY
    return timedelta(seconds=every + MARGIN) if every else timedelta()


def is_held(record: SitemapPage, now: datetime) -> bool:
    """Return whether a page is served with the rows up to its ``shown_end`` at present."""
    if record.shown_until is None:
        return False
    rest = moment(record.shown_until) - moment(now)
    # A longer one was stored by a clock that was wrong.
    return timedelta() < rest <= duration() + timedelta(seconds=AHEAD)


def hold(records: Iterable[SitemapPage], now: datetime) -> None:
    """Hold pages from `now` on, whose ``shown_end`` is set already."""
    period = duration()
    for record in records:
        record.shown_until = now + period if period else None


def keep_end(record: SitemapPage, end: list[Any] | None, now: datetime) -> None:
    """Note where a page ended before it gives up rows; of a page that is held already, the rows of then are more."""
    if not is_held(record, now):
        record.shown_end = end


def checked_no_later(record: SitemapPage, checked_at: datetime | None) -> datetime | None:
    """Return when a held page counts as checked: so early that it is looked at when its time is over."""
    if record.shown_until is None or checked_at is None:
        return checked_at
    return min(moment(checked_at), moment(record.shown_until) - timedelta(seconds=get_settings().CHECK_EVERY))


def was_current(record: SitemapPage, checked_at: float) -> bool:
    """Return whether a version, checked at a time in seconds since 1970, could be served when its page was held."""
    if record.shown_until is None:
        return False
    began = moment(record.shown_until) - duration()
    return checked_at >= began.timestamp() - get_settings().CHECK_EVERY - 2 * REST
