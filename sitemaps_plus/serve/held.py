"""Make a page that gave rows to other pages with the rows that it had, as far as they fit."""

from __future__ import annotations

from datetime import UTC, datetime

from sitemaps_plus.errors import PageFull, PageGone
from sitemaps_plus.plan.holds import was_current
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.render.pages import render_as_planned, render_part
from sitemaps_plus.stores.cache import Kept
from sitemaps_plus.stores.packing import Document


def render_held(plan: Plan, page: Page, *, as_text: bool, kept: Kept | None, last: bytes | None) -> Document:
    """Return a held page; its last version if all of its rows cannot be rendered and that was current at the time.

    `last` is the gzip of the last version, `kept` its metadata. Raises PageGone if there is nothing to show.
    """
    if not plan.has_key_of(page.record):
        if document := _last_document(page, kept, last):
            return document
        raise PageGone(f"Page {page.number} of the sitemap {plan.section.label!r} is gone; see the index.")
    try:
        return render_as_planned(plan.section, page, as_text=as_text)
    except PageFull as full:
        return render_full(plan, page, full, as_text=as_text, kept=kept, last=last)


def render_full(
    plan: Plan, page: Page, full: PageFull, *, as_text: bool, kept: Kept | None, last: bytes | None
) -> Document:
    """Return a held page after rendering all of its rows raised `full`."""
    return _last_document(page, kept, last) or render_part(plan.section, page, full, as_text=as_text)


def _last_document(page: Page, kept: Kept | None, last: bytes | None) -> Document | None:
    if kept is None or last is None or not was_current(page.record, kept.checked_at):
        return None
    changed_at = None if kept.changed_at is None else datetime.fromtimestamp(kept.changed_at, UTC)
    return Document(gzipped=last, digest=kept.digest, size=kept.size, changed_at=changed_at)
