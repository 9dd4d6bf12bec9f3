"""Turn one page of a section into a finished document, and split it where it is too large."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from django.utils import timezone

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import PageEmpty, PageFull, SitemapError
from sitemaps_plus.plan.overrides import PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.records import record_rendering
from sitemaps_plus.plan.sections import Section, neutral
from sitemaps_plus.plan.seen import SeenRows
from sitemaps_plus.protocol.entries import Cleaner
from sitemaps_plus.protocol.limits import Limits
from sitemaps_plus.protocol.reports import Problem, Report
from sitemaps_plus.protocol.shapes import Sampler
from sitemaps_plus.protocol.writer import Tally, write_text, write_urlset
from sitemaps_plus.render import object_path, row_path
from sitemaps_plus.render.own_template import write_with_template
from sitemaps_plus.signals import entry_left_out, page_rendered
from sitemaps_plus.stores.packing import Document, pack

Record = Callable[..., None]
"""Called like ``record_rendering``: with the section, the page, and the results of the rendering by name."""

MOST_SPLITS = 64
"""Most splits of one page before rendering gives up."""


def render_planned(
    section: Section,
    number: int,
    *,
    as_text: bool = False,
    strict: bool | None = None,
    plan: Plan | None = None,
    record: Record = record_rendering,
    find: Callable[[Plan, int], Page] = Plan.find,
) -> tuple[Document, Plan]:
    """Return one page and its plan; this is a new plan if the page was too large and had to be split.

    `find` returns the page of a plan. Raises PageNotFound, PageGone, PageFull if the page is held and too large, or
    StrictError if ``STRICT`` is on and a row is invalid.
    """
    with neutral():
        plan = plan or refresh(section)
        for _ in range(MOST_SPLITS):
            page = find(plan, number)
            try:
                return render_as_planned(section, page, as_text=as_text, strict=strict, record=record), plan
            except PageFull as full:
                if page.is_held:
                    raise
                plan = split_pages(section, {number: full})
        raise does_not_fit(section, number)


def render_part(section: Section, page: Page, full: PageFull, *, as_text: bool = False) -> Document:
    """Return as many rows of a page as fit, from its start on, after rendering all of them raised `full`."""
    with neutral():
        for _ in range(MOST_SPLITS):
            page = replace(page, end=_as_key(full.split_at))
            try:
                return render_as_planned(section, page, as_text=as_text)
            except PageFull as still:
                # Rows were inserted in the meantime.
                full = still
        raise does_not_fit(section, page.number)


def render_as_planned(
    section: Section,
    page: Page,
    *,
    as_text: bool = False,
    strict: bool | None = None,
    record: Record = record_rendering,
) -> Document:
    """Return one page of a plan, without splitting it; raise PageFull if it is too large, PageEmpty if it has no URL.

    `record` stores the results of the rendering; it is called before PageEmpty is raised.
    """
    with neutral():
        return _render(section, page, as_text, get_settings().STRICT if strict is None else strict, record)


def split_pages(section: Section, full: Mapping[int, PageFull]) -> Plan:
    """Return the plan with full pages cut at the rows that no longer fit; raise PageFull if it is paged by position."""
    if section.paged_by == "position":
        first = next(iter(full.values()))
        raise PageFull(f"{first} It is paged by position; lower `limit` on {section.name}.", split_at=None) from first
    return refresh(section, split={number: _as_key(one.split_at) for number, one in full.items()})


def does_not_fit(section: Section, number: int) -> SitemapError:
    """Return the error for a page that is too large even after `MOST_SPLITS` splits."""
    return SitemapError(f"Page {number} of the sitemap {section.label!r} does not fit after {MOST_SPLITS} splits.")


def _render(section: Section, page: Page, as_text: bool, strict: bool, record: Record) -> Document:
    began, started = timezone.now(), time.perf_counter()
    report, tally = Report(section.label, strict=strict, on_left_out=_listener(section)), Tally()
    cleaner = section.cleaner(report)
    sampler, seen = Sampler(), SeenRows(section)
    packed = pack(sampler.watch(_written(section, page, as_text, cleaner, tally, seen)), get_settings().GZIP_LEVEL)
    seconds = time.perf_counter() - started
    # A held page has other rows than its record.
    if section.site.is_configured and not as_text and not page.is_held:
        record(
            section,
            page,
            digest=packed.digest,
            urls=tally.urls,
            size=packed.size,
            newest=cleaner.newest.value,
            began=began,
            seconds=seconds,
            report=report,
            seen=seen.sums,
        )
    page_rendered.send_robust(
        type(section.sitemap),
        site=section.site,
        label=section.label,
        number=page.number,
        form="txt" if as_text else "xml",
        urls=tally.urls,
        bytes=packed.size,
        left_out=report.left_out,
        seconds=seconds,
    )
    if not tally.urls and not (section.is_windowed and page.number == 1):
        raise PageEmpty(f"Page {page.number} of the sitemap {section.label!r} has no URLs at present.", report=report)
    # The date of a held page is that of the form that it will have: earlier bytes must not have the same one.
    changed_at = None if page.is_held else page.record.changed_at
    return replace(packed, urls=tally.urls, changed_at=changed_at, report=report, sampler=sampler)


def _listener(section: Section) -> Callable[[Problem], None] | None:
    """Return the function that sends `entry_left_out`, or None if the signal has no receiver."""
    sender = type(section.sitemap)
    if not entry_left_out.has_listeners(sender):
        return None

    def tell(problem: Problem) -> None:
        entry_left_out.send_robust(sender, site=section.site, **problem._asdict())

    return tell


def _written(
    section: Section, page: Page, as_text: bool, cleaner: Cleaner, tally: Tally, seen: SeenRows
) -> Iterator[bytes]:
    """Yield the bytes of a page, from the writer or from a template of the project."""
    limits = Limits(urls=section.profile.max_urls, bytes=section.profile.max_bytes, bytes_to_fill=section.bytes_to_fill)
    template = None if as_text else find_override(PAGE, section.label)
    if template is not None:
        groups = object_path.read_groups(section, page, cleaner, seen, keeps_given=True)
        write = partial(write_with_template, template=template, prefixes=section.prefixes, cleaner=cleaner)
        return write(groups, limits=limits, report=cleaner.report, tally=tally)
    is_row_path = section.reads_values
    if as_text:
        # With the same limits as the XML: both formats of a page list the same rows.
        read = row_path.read_groups if is_row_path else object_path.read_groups
        return write_text(read(section, page, cleaner, seen), limits=limits, report=cleaner.report, tally=tally)
    text = (row_path if is_row_path else object_path).read_blocks(section, page, cleaner, seen)
    return write_urlset(text, prefixes=section.prefixes, limits=limits, report=cleaner.report, tally=tally)


def _as_key(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)
