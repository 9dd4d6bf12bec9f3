"""The pipeline: turn a site, a section and a number into the finished document."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import Literal

from django.conf import settings
from django.urls import NoReverseMatch, get_script_prefix, get_urlconf, reverse, set_urlconf
from django.utils import timezone, translation

from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.languages import hreflang_of
from sitemaps_plus.errors import PageEmpty, PageFull, PageNotFound, SitemapError
from sitemaps_plus.plan.overrides import INDEX, PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan, stored_plan
from sitemaps_plus.plan.planner import record_rendering, refresh
from sitemaps_plus.plan.sections import Section, get_section, get_sections
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Scope
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.entries import Cleaner
from sitemaps_plus.protocol.limits import Limits
from sitemaps_plus.protocol.names import index_file, page_file
from sitemaps_plus.protocol.reports import Problem, Report
from sitemaps_plus.protocol.shapes import Sampler
from sitemaps_plus.protocol.writer import IndexItem, Tally, write_index, write_text, write_urlset
from sitemaps_plus.render import object_path, row_path
from sitemaps_plus.render.own_template import index_with_template, write_with_template
from sitemaps_plus.signals import entry_left_out, page_rendered
from sitemaps_plus.stores.packing import Packed, pack, unpack
from sitemaps_plus.values.base import keep_broken

logger = logging.getLogger("sitemaps_plus")

Format = Literal["xml", "txt"]

Record = Callable[..., None]
"""Called as ``record_rendering`` is: with section, page, and what the rendering found by name."""

MOST_SPLITS = 64
"""How often one page may be split in a row before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A finished sitemap or index, kept compressed."""

    gzipped: bytes
    digest: str
    """SHA-256 of the uncompressed bytes."""
    size: int
    """Uncompressed bytes."""
    urls: int = 0
    changed_at: datetime | None = None
    checked_at: datetime | None = None
    """When the database was last asked for what an index lists."""
    report: Report = field(default_factory=lambda: Report("index"))
    sampler: Sampler = field(default_factory=Sampler)
    """Tells what the URLs of a page look like."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the uncompressed bytes."""
        return unpack(self.gzipped)


def render_page(
    section: Section, number: int, *, form: Format = "xml", strict: bool | None = None, plan: Plan | None = None
) -> Document:
    """Return one page; raise PageNotFound, PageGone, or StrictError where ``STRICT`` is on and a row is bad.

    A page that turns out too large is split on the way: its number keeps the lower part.
    """
    document, _ = render_planned(section, number, form=form, strict=strict, plan=plan)
    return document


def render_planned(
    section: Section, number: int, *, form: Format = "xml", strict: bool | None = None, plan: Plan | None = None
) -> tuple[Document, Plan]:
    """Return one page and the plan that it is of, which is a new one if the page had to be split."""
    with neutral():
        plan = plan or refresh(section)
        for _ in range(MOST_SPLITS):
            page = plan.find(number)
            try:
                return render_as_planned(section, page, form=form, strict=strict), plan
            except PageFull as full:
                plan = split_page(section, number, full)
        raise does_not_fit(section, number)


def render_as_planned(
    section: Section, page: Page, *, form: Format = "xml", strict: bool | None = None, record: Record = record_rendering
) -> Document:
    """Return one page of a plan as it is; raise PageFull where it has to be split, PageEmpty where it has no URL.

    `record` keeps what the rendering found; it is called before PageEmpty is raised.
    """
    with neutral():
        return _render(section, page, form, get_settings().STRICT if strict is None else strict, record)


def split_page(section: Section, number: int, full: PageFull) -> Plan:
    """Return the plan with a page cut where it is full; raise PageFull where pages have no key to be cut at."""
    if section.paged_by == "position":
        raise PageFull(f"{full} It is paged by position; lower `limit` on {section.name}.", split_at=None) from full
    return refresh(section, split=(number, _as_key(full.split_at)))


def does_not_fit(section: Section, number: int) -> SitemapError:
    """Return the error of a page that is still too large when it was split `MOST_SPLITS` times."""
    return SitemapError(f"Page {number} of the sitemap {section.label!r} does not fit after {MOST_SPLITS} splits.")


def render_index(site: SiteOrigin, *, label: str | None = None, since: datetime | None = None) -> Document:
    """Return the index of a site, or of one section; reads the plan, never the rows.

    A plan that was not checked `since` a moment is checked now.
    """
    with neutral():
        sections = [get_section(label, site)] if label else list(get_sections(site))
        plans = [_plan_or_last(section, since, is_needed=bool(label)) for section in sections]
        items = [item for plan in plans for item in list_pages(plan)]
        if not items:
            # An index without sitemaps is invalid.
            raise PageNotFound(f"The sitemap {label or site.domain!r} has no URLs at present.")
        moments = [page.record.changed_at for plan in plans for page in plan.listed]
        changed_at = max(filter(None, moments), default=None) if all(moments) else None
        document = make_index(items, changed_at)
        return replace(document, checked_at=min(filter(None, (plan.checked_at for plan in plans)), default=None))


def make_index(items: Iterable[IndexItem], changed_at: datetime | None = None) -> Document:
    """Return an index of `items`."""
    listed = list(items)
    template = find_override(INDEX)
    packed = _packed(write_index(listed) if template is None else [index_with_template(listed, template)])
    return Document(
        gzipped=packed.data, digest=packed.digest, size=packed.size, urls=len(listed), changed_at=changed_at
    )


def list_pages(plan: Plan, base: str | None = None) -> Iterator[IndexItem]:
    """Yield what an index says of each page that has URLs; `base` is the address of their directory."""
    section = plan.section
    # A class with a protocol of its own is served under it: its URLs have the same scheme.
    base = base or f"{section.origin}{directory()}"
    for page in plan.listed:
        yield IndexItem(base + page_file(section.label, page.number, get_settings().EXTENSION), lastmod_of(page))


def lastmod_of(page: Page) -> str | None:
    """Return what an index says of when a page changed."""
    changed_at = page.record.changed_at
    return None if changed_at is None else format_date(changed_at.astimezone(UTC), tz=UTC)


def base_of(section: Section) -> str:
    """Return where crawlers fetch the built pages of a section, ending in a slash."""
    return public_url(section.site) or f"{section.origin}{directory()}"


def directory() -> str:
    """Return the path that the sitemap URLs lie under, "/" where the URLconf is included at the root."""
    try:
        return reverse("sitemaps_plus:index").removesuffix(index_file())
    except NoReverseMatch:
        # Only built files are used: they are published at the root.
        return get_script_prefix()


def public_url(site: SiteOrigin) -> str | None:
    """Return where crawlers fetch a built set, ending in a slash; None where that is the origin's root."""
    given = get_settings().PUBLIC_URL
    if isinstance(given, Mapping):
        given = given.get(site.id)
    return f"{given.rstrip('/')}/" if given else None


def make_cleaner(section: Section, report: Report) -> Cleaner:
    """Return what makes protocol text of the values of a section's hooks."""
    return Cleaner(
        scope=Scope(origin=section.origin, any_host=bool(getattr(section.sitemap, "cross_submission", ""))),
        tz=timezone.get_default_timezone(),
        # Aware, whatever USE_TZ says: dates are compared with it.
        now=datetime.now(UTC),
        report=report,
        profile=section.profile,
        hreflang=cache(hreflang_of),
    )


@contextmanager
def neutral() -> Iterator[None]:
    """Render for everybody: not in the language, time zone or URLconf of whoever asks."""
    urlconf = get_urlconf()
    with ExitStack() as stack:
        stack.enter_context(translation.override(settings.LANGUAGE_CODE))
        stack.enter_context(timezone.override(timezone.get_default_timezone()))
        stack.callback(set_urlconf, urlconf)
        set_urlconf(None)
        stack.enter_context(keep_broken())
        yield


def _render(section: Section, page: Page, form: Format, strict: bool, record: Record) -> Document:
    started = time.perf_counter()
    report, tally = Report(section.label, strict=strict, on_left_out=_listener(section)), Tally()
    cleaner = make_cleaner(section, report)
    sampler = Sampler()
    packed = _packed(sampler.watch(_written(section, page, form, cleaner, tally)))
    seconds = time.perf_counter() - started
    if form == "xml" and section.site.is_configured:
        record(section, page, digest=packed.digest, urls=tally.urls, size=packed.size, newest=cleaner.newest.value)
    page_rendered.send_robust(
        type(section.sitemap),
        site=section.site,
        label=section.label,
        number=page.number,
        form=form,
        urls=tally.urls,
        bytes=packed.size,
        left_out=report.left_out,
        seconds=seconds,
    )
    if not tally.urls and not (section.is_windowed and page.number == 1):
        raise PageEmpty(f"Page {page.number} of the sitemap {section.label!r} has no URLs at present.", report=report)
    return Document(
        gzipped=packed.data,
        digest=packed.digest,
        size=packed.size,
        urls=tally.urls,
        changed_at=page.record.changed_at,
        report=report,
        sampler=sampler,
    )


def _listener(section: Section) -> Callable[[Problem], None] | None:
    """Return what sends `entry_left_out`; None where nobody listens, so that a row left out costs no more."""
    sender = type(section.sitemap)
    if not entry_left_out.has_listeners(sender):
        return None

    def tell(problem: Problem) -> None:
        entry_left_out.send_robust(sender, site=section.site, **problem._asdict())

    return tell


def _written(section: Section, page: Page, form: Format, cleaner: Cleaner, tally: Tally) -> Iterator[bytes]:
    """Return the bytes of a page: of the writer, or of the project's template."""
    limits = Limits(urls=section.profile.max_urls, bytes=section.profile.max_bytes, bytes_to_fill=section.bytes_to_fill)
    template = find_override(PAGE, section.label) if form == "xml" else None
    if template is not None:
        groups = object_path.read_groups(section, page, cleaner, keeps_given=True)
        write = partial(write_with_template, template=template, prefixes=section.prefixes, cleaner=cleaner)
        return write(groups, limits=limits, report=cleaner.report, tally=tally)
    is_row_path = section.reads_values
    if form == "txt":
        # Cut where the XML is: both come from the same rows.
        read = row_path.read_groups if is_row_path else object_path.read_groups
        return write_text(read(section, page, cleaner), limits=limits, report=cleaner.report, tally=tally)
    text = (row_path if is_row_path else object_path).read_blocks(section, page, cleaner)
    return write_urlset(text, prefixes=section.prefixes, limits=limits, report=cleaner.report, tally=tally)


def _packed(pieces: Iterable[bytes]) -> Packed:
    return pack(pieces, get_settings().GZIP_LEVEL)


def _plan_or_last(section: Section, since: datetime | None, *, is_needed: bool) -> Plan:
    try:
        return refresh(section, since=since)
    except Exception:
        plan = None if get_settings().STRICT else stored_plan(section)
        if plan is None or (is_needed and not plan.pages):
            raise
        logger.exception("Sitemap section %s cannot be planned; the index lists its last known pages", section.label)
        return plan


def _as_key(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)
