"""Turn one page of a section into a finished document, and split it where it is too large."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import PageEmpty, PageFull, SitemapError
from sitemaps_plus.plan.overrides import PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.planner import record_rendering, refresh
from sitemaps_plus.plan.sections import Section, neutral
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
"""Called as ``record_rendering`` is: with section, page, and what the rendering found by name."""

MOST_SPLITS = 64
"""How often one page may be split in a row before it is given up."""


def render_planned(
    section: Section, number: int, *, as_text: bool = False, strict: bool | None = None, plan: Plan | None = None
) -> tuple[Document, Plan]:
    """Return one page, and its plan, which is a new one where the page was too large and had to be split.

    Raises PageNotFound, PageGone, or StrictError where ``STRICT`` is on and a row is bad.
    """
    with neutral():
        plan = plan or refresh(section)
        for _ in range(MOST_SPLITS):
            page = plan.find(number)
            try:
                return render_as_planned(section, page, as_text=as_text, strict=strict), plan
            except PageFull as full:
                plan = split_page(section, number, full)
        raise does_not_fit(section, number)


def render_as_planned(
    section: Section,
    page: Page,
    *,
    as_text: bool = False,
    strict: bool | None = None,
    record: Record = record_rendering,
) -> Document:
    """Return one page of a plan as it is; raise PageFull where it has to be split, PageEmpty where it has no URL.

    `record` keeps what the rendering found; it is called before PageEmpty is raised.
    """
    with neutral():
        return _render(section, page, as_text, get_settings().STRICT if strict is None else strict, record)


def split_page(section: Section, number: int, full: PageFull) -> Plan:
    """Return the plan with a page cut where it is full; raise PageFull where pages have no key to be cut at."""
    if section.paged_by == "position":
        raise PageFull(f"{full} It is paged by position; lower `limit` on {section.name}.", split_at=None) from full
    return refresh(section, split=(number, _as_key(full.split_at)))


def does_not_fit(section: Section, number: int) -> SitemapError:
    """Return the error of a page that is still too large when it was split `MOST_SPLITS` times."""
    return SitemapError(f"Page {number} of the sitemap {section.label!r} does not fit after {MOST_SPLITS} splits.")


def _render(section: Section, page: Page, as_text: bool, strict: bool, record: Record) -> Document:
    started = time.perf_counter()
    report, tally = Report(section.label, strict=strict, on_left_out=_listener(section)), Tally()
    cleaner = section.cleaner(report)
    sampler = Sampler()
    packed = pack(sampler.watch(_written(section, page, as_text, cleaner, tally)), get_settings().GZIP_LEVEL)
    seconds = time.perf_counter() - started
    if section.site.is_configured and not as_text:
        record(section, page, digest=packed.digest, urls=tally.urls, size=packed.size, newest=cleaner.newest.value)
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
    return replace(packed, urls=tally.urls, changed_at=page.record.changed_at, report=report, sampler=sampler)


def _listener(section: Section) -> Callable[[Problem], None] | None:
    """Return what sends `entry_left_out`; None where nobody listens, so that a row left out costs no more."""
    sender = type(section.sitemap)
    if not entry_left_out.has_listeners(sender):
        return None

    def tell(problem: Problem) -> None:
        entry_left_out.send_robust(sender, site=section.site, **problem._asdict())

    return tell


def _written(section: Section, page: Page, as_text: bool, cleaner: Cleaner, tally: Tally) -> Iterator[bytes]:
    """Return the bytes of a page: of the writer, or of the project's template."""
    limits = Limits(urls=section.profile.max_urls, bytes=section.profile.max_bytes, bytes_to_fill=section.bytes_to_fill)
    template = None if as_text else find_override(PAGE, section.label)
    if template is not None:
        groups = object_path.read_groups(section, page, cleaner, keeps_given=True)
        write = partial(write_with_template, template=template, prefixes=section.prefixes, cleaner=cleaner)
        return write(groups, limits=limits, report=cleaner.report, tally=tally)
    is_row_path = section.reads_values
    if as_text:
        # Cut where the XML is: both come from the same rows.
        read = row_path.read_groups if is_row_path else object_path.read_groups
        return write_text(read(section, page, cleaner), limits=limits, report=cleaner.report, tally=tally)
    text = (row_path if is_row_path else object_path).read_blocks(section, page, cleaner)
    return write_urlset(text, prefixes=section.prefixes, limits=limits, report=cleaner.report, tally=tally)


def _as_key(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)
