"""Turn the plans of the sections of a site into its index, or that of one section."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from django.conf import settings

from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import REGISTER_REMEDY, registry
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.plan.overrides import INDEX, find_override
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.sections import get_section, get_sections, neutral
from sitemaps_plus.plan.sites import SiteOrigin, directory
from sitemaps_plus.plan.upkeep import Round
from sitemaps_plus.plan.validators import is_ahead
from sitemaps_plus.protocol.dates import format_date, parse_w3c
from sitemaps_plus.protocol.names import page_file
from sitemaps_plus.protocol.writer import IndexItem, write_index
from sitemaps_plus.render.own_template import index_with_template
from sitemaps_plus.stores.packing import Document, pack


def render_index(
    site: SiteOrigin,
    *,
    label: str | None = None,
    since: datetime | None = None,
    compare: Callable[[Sequence[Plan]], bool] | None = None,
) -> Document:
    """Return the index of a site, or of one section: it lists the pages of the plans and reads no rows.

    Pages that are due are checked first, as far as the time goes (see `plan.upkeep.Round`); `since` makes them due
    sooner. `compare` may render pages, and returns whether it did.
    """
    with neutral():
        sections = [get_section(label, site)] if label else list(get_sections(site))
        checks = Round(sections, since, is_needed=bool(label))
        plans = checks.plans()
        if compare and compare(plans):
            plans = checks.plans()
        items = [item for plan in plans for item in list_pages(plan)]
        if not items:
            if settings.DEBUG and not len(registry):
                raise PageNotFound(f"No Sitemap class is registered, so there is no sitemap. {REGISTER_REMEDY}")
            # An index without sitemaps is invalid.
            raise PageNotFound(f"The sitemap {label or site.domain!r} has no URLs at present.")
        moments = [_changed_at(page) for plan in plans for page in plan.listed]
        changed_at = max(filter(None, moments), default=None) if all(moments) else None
        document = make_index(items, changed_at)
        dates = [plan.checked_at for plan in plans]
        # None: the checks go on at the next request.
        return replace(document, checked_at=None if None in dates else min(filter(None, dates)))


def make_index(items: Iterable[IndexItem], changed_at: datetime | None = None) -> Document:
    """Return an index of `items`."""
    counter = itertools.count()
    # One after the other: there may be thousands.
    counted = (item for item, _ in zip(items, counter, strict=False))
    template = find_override(INDEX)
    pieces = write_index(counted) if template is None else [index_with_template(list(counted), template)]
    document = pack(pieces, get_settings().GZIP_LEVEL)
    return replace(document, urls=next(counter), changed_at=changed_at)


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
