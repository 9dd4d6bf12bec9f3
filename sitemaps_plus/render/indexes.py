"""Turn the plans of the sections of a site into its index, or that of one section."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from django.conf import settings

from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import REGISTER_REMEDY, registry
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.plan.overrides import INDEX, find_override
from sitemaps_plus.plan.pages import Page, Plan, stored_plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, get_section, get_sections, neutral
from sitemaps_plus.plan.sites import SiteOrigin, directory
from sitemaps_plus.plan.validators import is_ahead
from sitemaps_plus.protocol.dates import format_date, parse_w3c
from sitemaps_plus.protocol.names import page_file
from sitemaps_plus.protocol.writer import IndexItem, write_index
from sitemaps_plus.render.own_template import index_with_template
from sitemaps_plus.stores.packing import Document, pack

logger = logging.getLogger("sitemaps_plus")


def render_index(
    site: SiteOrigin,
    *,
    label: str | None = None,
    since: datetime | None = None,
    compare: Callable[[Sequence[Plan]], bool] | None = None,
) -> Document:
    """Return the index of a site, or of one section: it lists the pages of the plans and reads no rows.

    A plan that is due (see `plan.planner.refresh`) is brought up to date first, which costs one aggregate a page;
    `since` makes it due sooner. `compare` may render pages, and returns whether it did.
    """
    with neutral():
        sections = [get_section(label, site)] if label else list(get_sections(site))
        plans = [_plan_or_last(section, since, is_needed=bool(label)) for section in sections]
        if compare and compare(plans):
            plans = [_plan_or_last(section, since, is_needed=bool(label)) for section in sections]
        items = [item for plan in plans for item in list_pages(plan)]
        if not items:
            if settings.DEBUG and not len(registry):
                raise PageNotFound(f"No Sitemap class is registered, so there is no sitemap. {REGISTER_REMEDY}")
            # An index without sitemaps is invalid.
            raise PageNotFound(f"The sitemap {label or site.domain!r} has no URLs at present.")
        moments = [_changed_at(page) for plan in plans for page in plan.listed]
        changed_at = max(filter(None, moments), default=None) if all(moments) else None
        document = make_index(items, changed_at)
        return replace(document, checked_at=min(filter(None, (plan.checked_at for plan in plans)), default=None))


def make_index(items: Iterable[IndexItem], changed_at: datetime | None = None) -> Document:
    """Return an index of `items`."""
    listed = list(items)
    template = find_override(INDEX)
    pieces = write_index(listed) if template is None else [index_with_template(listed, template)]
    return replace(pack(pieces, get_settings().GZIP_LEVEL), urls=len(listed), changed_at=changed_at)


def list_pages(plan: Plan, base: str | None = None) -> Iterator[IndexItem]:
    """Yield the index item of each page that has URLs; `base` is the URL of the directory of the pages."""
    section = plan.section
    # The section's origin, not the site's: a class may have a protocol of its own.
    base = base or f"{section.origin}{directory()}"
    for page in plan.listed:
        yield IndexItem(base + page_file(section.label, page.number, get_settings().EXTENSION), lastmod_of(page))


def lastmod_of(page: Page) -> str | None:
    """Return the lastmod of a page in an index."""
    changed_at = _changed_at(page)
    return None if changed_at is None else format_date(changed_at.astimezone(UTC), tz=UTC)


def is_lastmod_ahead(lastmod: str | None) -> bool:
    """Return whether a lastmod of an earlier index was written by a clock that was wrong."""
    try:
        return lastmod is not None and is_ahead(parse_w3c(lastmod))
    except ValueError:
        # Somebody wrote something else into the manifest.
        return False


def _changed_at(page: Page) -> datetime | None:
    # A date of the future is replaced when the plan is checked.
    return None if is_ahead(page.record.changed_at) else page.record.changed_at


def _plan_or_last(section: Section, since: datetime | None, *, is_needed: bool) -> Plan:
    try:
        return refresh(section, since=since)
    except Exception:
        plan = None if get_settings().STRICT else stored_plan(section)
        if plan is None or (is_needed and not plan.pages):
            raise
        logger.exception("Sitemap section %s cannot be planned; the index lists its last known pages", section.label)
        return plan
