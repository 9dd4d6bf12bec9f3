"""Tell how soon a page is rendered again only to compare it with its last rendering.

A validator does not see every change. What it cannot see is found by rendering, which may take only a small share of
the time: views use `compare_after`, builds an `Allowance`.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from datetime import datetime

from sitemaps_plus.conf import get_settings
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.validators import is_ahead, moment

CHEAP = 0.05
"""Seconds of rendering up to which a page is compared at every check: a check takes nearly as long."""

REST = 100
"""A page that took s seconds is not compared again before so many times s seconds are over: 1 % of the time."""

LATEST = 3_600
"""Seconds after which a view verifies a decided page, however long that takes."""

SPARE = 0.1
"""Seconds that every build may spend on verifying, so that small sites are verified as a whole."""

UNKNOWN = 1.0
"""The assumed cost, in seconds, of a page whose rendering was never timed."""


def compare_after(section: Section, seconds: float, *, is_decided: bool, is_reported: bool = False) -> float:
    """Return the age in seconds from which on a view renders a page again to compare it.

    `seconds` is how long its last rendering took. `is_reported` says that a row was saved since. The ``max_age`` of the
    class makes the age longer.
    """
    is_cheap = seconds < CHEAP
    every = 0.0 if is_reported and (is_cheap or not is_decided) else get_settings().CHECK_EVERY
    cost = 0.0 if is_cheap else REST * seconds
    return max(every, min(cost, LATEST) if is_decided else cost, section.max_age or 0.0)


def longest(name: str) -> float:
    """Return the seconds after which a page is rendered again whatever its validator says, by ``MAX_AGE``.

    It differs with `name`, so that not all pages become due at once.
    """
    spread = int.from_bytes(hashlib.sha256(name.encode()).digest()[:2], "big") / 65_536
    return get_settings().MAX_AGE * (0.8 + 0.2 * spread)


class Allowance:
    """The time that a build of one site may spend on verifying pages, shared by its sections.

    It is 1 % of the time since the section was last rendered by a build, and `SPARE` for the whole build. Where builds
    are so frequent that this is never enough for the page whose turn it is, chance decides: a page that costs five
    times as much is verified by every fifth build.
    """

    def __init__(self, sections: int) -> None:
        self._rest = REST * max(1, sections)
        self._spare = SPARE

    def choose(self, section: Section, pages: Sequence[Page], now: datetime) -> set[int]:
        """Return the numbers of those of `pages` that are to be verified: the ones verified longest ago."""
        dates = [page.record.built_at for page in pages]
        built = [moment(date) for date in dates if date and not is_ahead(date)]
        earned = max(0.0, (now - max(built)).total_seconds()) / self._rest if built else 0.0
        chosen: set[int] = set()
        for age, page in sorted(((age_of(page, now), page) for page in pages), key=lambda one: -one[0]):
            cost = _cost(page)
            if age < (section.max_age or 0.0):
                break
            if cost <= earned:
                earned -= cost
            elif cost <= self._spare:
                self._spare -= cost
            elif earned and random.random() * cost < earned:  # noqa: S311 - nothing depends on who guesses it
                earned = 0.0
            else:
                # Else the next one would have a chance, too, and all together more than their share.
                earned = 0.0
                continue
            chosen.add(page.number)
        return chosen


def age_of(page: Page, now: datetime) -> float:
    """Return the seconds since a page was last compared; infinite where it never was, or by a wrong clock."""
    verified_at = page.record.verified_at
    age = -1.0 if verified_at is None else (now - moment(verified_at)).total_seconds()
    return math.inf if age < 0 else age


def _cost(page: Page) -> float:
    return UNKNOWN if page.record.seconds is None else page.record.seconds
