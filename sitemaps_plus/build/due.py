"""Decide which pages a build renders, and why.

`plan.currency` says whether a built file is stale, for builds, views and the admin alike: a new reason for which the
file surely differs belongs there. The reasons here make a build render a page whose file may still be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from django.db import router, transaction
from django.utils import timezone

from sitemaps_plus.build.publishing import PublishedSet
from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import chosen_labels, registry
from sitemaps_plus.errors import NoOrigin
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.currency import NO_URLS, UNDECIDED, CurrencyCheck, Reason, unlisted
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, get_section, neutral
from sitemaps_plus.plan.sites import SiteOrigin, chosen_sites
from sitemaps_plus.plan.validators import Fingerprint, fingerprint_of, moment
from sitemaps_plus.plan.verification import Allowance, age_of, longest
from sitemaps_plus.stores.manifest import SectionEntry

NO_USABLE_ROW = Reason("none of its rows had a usable URL when it was last rendered", is_stale=False)
OLD = Reason("its rows were last read long ago, see MAX_AGE", is_stale=False)
RAISED = Reason("your code raised an error for one of its rows, which may work now", is_stale=False)
COUNTED = Reason("a view found other rows or parts of rows left out than the build", is_stale=False)
LEFT_OUT = Reason("rows or parts of rows were left out, and the build is strict", is_stale=False)
RECOVERED = Reason("the manifest was lost, and does not say what was left out of it", is_stale=False)
FULL = Reason("--full renders all pages", is_stale=False)
VERIFIED = Reason("it is verified: a row may have changed without its date", is_stale=False)

CONFIRMING = (OLD, FULL, VERIFIED)
"""The reasons for rendering a page that should not have changed, as far as the database tells."""

WhyDue = Callable[[Plan, Page], Reason | None]
"""Returns why a build has to render a page of a plan, or None where it has not."""


class Due(NamedTuple):
    """A page that a build would render or take out of the index, and why."""

    site: str
    label: str
    number: int
    """0 for an index."""
    reason: str
    is_stale: bool
    """False where the published page may still be what rendering would give."""


def examine(labels: Sequence[str] = (), *, sites: Sequence[str] = (), full: bool = False) -> Iterator[Due]:
    """Yield the pages that a build would render, or take out of the index, and why; nothing is written.

    A section whose class raises is yielded with the error as its reason. Raises the errors of `build`; the error of a
    site that cannot be built comes after all other sites.
    """
    labels = chosen_labels(labels)
    errors: list[NoOrigin] = []
    with neutral():
        for site in chosen_sites(sites, errors.append):
            published, allowance = PublishedSet(site), Allowance(len(registry))
            planned = []
            for label in labels:
                try:
                    known = published.manifest.section(label)
                    yield from _examine_section(site, label, known, allowance, full=full)
                    planned.append(label)
                except Exception as error:  # code of the project
                    yield Due(
                        site.domain, label, 0, f"it cannot be built: {type(error).__name__}: {error}", is_stale=True
                    )
            for label, reason in published.stale_indexes(planned):
                yield Due(site.domain, label, 0, reason, is_stale=True)
    for unusable in errors:
        raise unusable


def due_check(
    plan: Plan,
    known: SectionEntry,
    fingerprint: Fingerprint,
    allowance: Allowance,
    *,
    full: bool,
    is_strict: bool,
) -> WhyDue:
    """Return the function that says why a build has to render a page of a section, in `plan` or a later plan.

    `known` is the manifest entry of the section. With `is_strict` a page that leaves anything out is rendered, so that
    the build fails with what it leaves out. Pages that need not be rendered are verified as far as `allowance` goes.
    """
    section = plan.section
    currency = CurrencyCheck(section, fingerprint)
    now = moment(timezone.now())

    def why_needed(plan: Plan, page: Page) -> Reason | None:
        if not plan.is_listed(page):
            # Nobody renders a page without rows. One whose rows all had no URL may have some now.
            return NO_USABLE_ROW if page.record.rows != 0 else None
        reason = currency.why_not_current(page.record, known)
        is_young = reason is UNDECIDED and age_of(page, now) < (section.max_age or 0.0)
        if reason and not is_young:
            return reason
        other = (
            (OLD if _is_old(section, page, now) else None)
            or _why_retry(known, page, is_strict=is_strict)
            or (FULL if full else None)
        )
        # Nothing told that such a page would stay as it is.
        return UNDECIDED if other and is_young else other

    rest = [page for page in plan.listed if not why_needed(plan, page)]
    verified = allowance.choose(section, rest, now)

    def why_due(plan: Plan, page: Page) -> Reason | None:
        return why_needed(plan, page) or (VERIFIED if page.number in verified and plan.is_listed(page) else None)

    return why_due


def _why_retry(known: SectionEntry, page: Page, *, is_strict: bool) -> Reason | None:
    entry, record = known.pages[page.number], page.record
    if entry.is_recovered:
        return RECOVERED
    if entry.raised:
        return RAISED
    # A view has rendered it: the bytes are the same, but not what is missing.
    if (entry.left_out, entry.dropped) != (record.left_out, record.dropped):
        return COUNTED
    return LEFT_OUT if is_strict and (entry.left_out or entry.dropped) else None


def _is_old(section: Section, page: Page, now: datetime) -> bool:
    built_at = page.record.built_at
    if built_at is None:
        return True
    age = (now - moment(built_at)).total_seconds()
    # A build in the future was made by a clock that was wrong.
    return not 0 <= age <= longest(f"{section.site.id}|{section.label}|{page.number}")


def _examine_section(
    site: SiteOrigin, label: str, known: SectionEntry, allowance: Allowance, *, full: bool
) -> Iterator[Due]:
    section = get_section(label, site)
    with _planned_for_now(section, known) as plan:
        why_due = due_check(plan, known, fingerprint_of(section), allowance, full=full, is_strict=get_settings().STRICT)
        found = [(page.number, reason) for page in plan.pages if (reason := why_due(plan, page))]
        found += [(number, NO_URLS) for number in unlisted(plan, known)]
    yield from (Due(site.domain, label, number, *reason) for number, reason in found)


@contextmanager
def _planned_for_now(section: Section, known: SectionEntry) -> Iterator[Plan]:
    """Give the plan as it would be now, and leave the stored one as it is."""
    with transaction.atomic(using=router.db_for_write(SitemapPage)):
        yield refresh(section, force=True, published=known)
        transaction.set_rollback(True, using=router.db_for_write(SitemapPage))
