"""Say what a build would render, and why, without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.db import router, transaction
from django.utils import timezone

from sitemaps_plus.build.due import Reason, unlisted, why_due
from sitemaps_plus.build.publishing import PublishedSet
from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import chosen_labels
from sitemaps_plus.errors import NoOrigin
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.plan.sites import SiteOrigin, chosen_sites
from sitemaps_plus.plan.validators import fingerprint_of
from sitemaps_plus.render.pages import neutral
from sitemaps_plus.stores.files import get_store
from sitemaps_plus.stores.manifest import SectionEntry


class Due(NamedTuple):
    """A page that a build would render or take out of the index, and why."""

    site: str
    label: str
    number: int
    """0 for an index."""
    reason: str
    is_stale: bool
    """False where the published page may well be what rendering would give."""


def examine(labels: Sequence[str] = (), *, sites: Sequence[str] = (), full: bool = False) -> Iterator[Due]:
    """Yield the pages that a build would render, or take out of the index, and why; nothing is written.

    Raises as `build` does, for a site that cannot be built after all others; a section that cannot be planned raises
    its error.
    """
    labels = chosen_labels(labels)
    errors: list[NoOrigin] = []
    with neutral():
        for site in chosen_sites(sites, errors.append):
            known = PublishedSet.open(site, get_store(), is_ours=False)
            for label in labels:
                yield from _examined(site, label, known.manifest.section(label), full=full)
            for label, reason in known.stale_indexes(labels):
                yield Due(site.domain, label, 0, reason, is_stale=True)
    for error in errors:
        raise error


def _examined(site: SiteOrigin, label: str, entry: SectionEntry, *, full: bool) -> Iterator[Due]:
    with _planned_for_now(get_section(label, site)) as plan:
        found = [
            Due(site.domain, label, page.number, *reason)
            for page, reason in _all_due(plan, entry, full=full, is_strict=get_settings().STRICT)
        ]
        gone = "it has no URLs any more"
        found += [Due(site.domain, label, number, gone, is_stale=True) for number in unlisted(plan, entry)]
    yield from found


def _all_due(plan: Plan, entry: SectionEntry, *, full: bool, is_strict: bool) -> Iterator[tuple[Page, Reason]]:
    check = due_check(plan.section, entry, full=full, is_strict=is_strict)
    for page in plan.pages:
        if reason := check(plan, page):
            yield page, reason


def due_check(
    section: Section, entry: SectionEntry, *, full: bool, is_strict: bool, fingerprint: str | None = None
) -> Callable[[Plan, Page], Reason | None]:
    """Return what tells why a page of a section is due; `fingerprint` is that of the section, where that is known."""
    fingerprint = fingerprint_of(section) if fingerprint is None else fingerprint
    now = timezone.now()

    def check(plan: Plan, page: Page) -> Reason | None:
        reason = why_due(plan, page, entry, fingerprint, is_strict=is_strict, now=now)
        return reason or (Reason("all are rendered", is_stale=False) if full and plan.is_listed(page) else None)

    return check


@contextmanager
def _planned_for_now(section: Section) -> Iterator[Plan]:
    """Give the plan as it would be now, and leave the stored one as it is."""
    with transaction.atomic(using=router.db_for_write(SitemapPage)):
        yield refresh(section, force=True)
        transaction.set_rollback(True, using=router.db_for_write(SitemapPage))
