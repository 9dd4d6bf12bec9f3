"""Tell which pages of a plan a build has to render, and why: all others are what rendering would give."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.validators import longest, moment
from sitemaps_plus.stores.manifest import SectionEntry


class Reason(NamedTuple):
    """Why a page has to be rendered."""

    text: str
    is_stale: bool = True
    """False where the published page may well be what rendering would give."""


def why_due(
    plan: Plan, page: Page, published: SectionEntry, fingerprint: str, *, is_strict: bool, now: datetime
) -> Reason | None:
    """Return why a build has to render a page, or None where what is `published` is what rendering would give.

    `fingerprint` is that of the section now; with `is_strict` a page that leaves anything out is rendered again.
    """
    section, record = plan.section, page.record
    if not plan.is_listed(page):
        # Nobody renders what has no rows; what lost all its URLs may have them again.
        return Reason("it had no usable row", is_stale=False) if record.rows != 0 else None
    known = published.pages.get(page.number)
    if known is None or not record.built_digest:
        return Reason(
            "its file is missing, or what the manifest knew of it" if record.built_digest else "it was never built"
        )
    if not known.formats:
        return Reason("its file is missing, or was not finished")
    if record.origin and record.origin != section.base:
        return Reason("its URLs begin otherwise now")
    if not record.digest or not record.digest == record.built_digest == known.digest:
        return Reason("its rows changed")
    if section.paged_by == "position" and fingerprint and fingerprint != published.fingerprint:
        return Reason("rows of the section changed")
    if record.recipe != section.recipe or record.urls is None:
        return Reason("its URLs are made in another way now")
    if section.is_windowed or (section.paged_by == "position" and not fingerprint):
        # A window moves with the clock, and what a section makes by itself is known when it is made.
        return Reason("only rendering tells whether it changed", is_stale=False)
    if _is_old(section, page, now):
        return Reason("its rows were last read long ago, see MAX_AGE", is_stale=False)
    if known.raised:
        return Reason("code of the project raised for a row of it, and may not do so again", is_stale=False)
    if is_strict and (known.left_out or known.dropped):
        return Reason("parts of it were left out", is_stale=False)
    return None


def _is_old(section: Section, page: Page, now: datetime) -> bool:
    built_at = page.record.built_at
    if built_at is None:
        return True
    age = (now - moment(built_at)).total_seconds()
    # A build in the future was made by a clock that was wrong.
    return not 0 <= age <= longest(f"{section.site.id}|{section.label}|{page.number}")


def unlisted(plan: Plan, published: SectionEntry) -> Iterator[int]:
    """Yield the published pages that the plan lists no more."""
    listed = {page.number for page in plan.listed}
    return (number for number in published.pages if number not in listed)
