"""Tell which version of a document the rows give now, and make it: from a current built file, else by rendering."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from django.urls import get_script_prefix
from django.utils import timezone

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import PageEmpty, PageFull, PageNotFound, SitemapError
from sitemaps_plus.plan import verification
from sitemaps_plus.plan.currency import UNDECIDED, CurrencyCheck
from sitemaps_plus.plan.holds import checked_no_later, is_held
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.records import has_moved, record_rendering, record_unseen
from sitemaps_plus.plan.sections import Section, get_section, neutral
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.upkeep import refresh_page
from sitemaps_plus.plan.validators import Fingerprint, fingerprint_of, is_ahead, moment
from sitemaps_plus.plan.verification import age_of, compare_after, longest
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.render.indexes import render_index
from sitemaps_plus.render.pages import Record, render_planned
from sitemaps_plus.serve.held import render_full, render_held
from sitemaps_plus.stores.cache import Kept
from sitemaps_plus.stores.packing import Document, count_differences, unpack
from sitemaps_plus.stores.published import PublishedFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The document that a request asks for."""

    site: SiteOrigin
    label: str = ""
    """The section; empty for the index of the site."""
    number: int = 0
    """The page; 0 for an index."""
    as_text: bool = False
    """Whether it is a list of URLs, one a line, in place of XML."""

    @property
    def name(self) -> str:
        """A name that no other document has, under the script prefix now active."""
        syntax = "txt" if self.as_text else "xml"
        return f"{self.site.origin}|{self.site.id}|{get_script_prefix()}|{self.label}|{self.number}|{syntax}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A document and its version."""

    document: Document
    version: str
    checked_at: datetime | None
    rendered_at: float
    """When its rows were read, in seconds since 1970; a built file may be older than this request."""
    seconds: float = 0.0
    """How long its last rendering took, if that is known."""
    has_new_pages: bool = False
    """Whether pages were added to a plan when it was made."""
    has_failed: bool = False
    """Whether a section could not be checked, and the index lists its last known pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLook:
    """An index before it is made: the version of its plans is the index itself."""

    wanted: Wanted
    since: datetime | None
    compare: Callable[[Sequence[Wanted]], bool] | None
    version: str = ""
    checked_at: datetime | None = None
    is_due: bool = True
    has_new_pages: bool = False

    def make(self, last: bytes | None) -> Made:
        """Make the index."""
        checked: list[Plan] = []

        def compare(plans: Sequence[Plan]) -> bool:
            checked.extend(plans)
            return self._compare(plans)

        document = render_index(self.wanted.site, label=self.wanted.label or None, since=self.since, compare=compare)
        return Made(
            document=document,
            version="",
            checked_at=document.checked_at,
            rendered_at=time.time(),
            has_new_pages=any(plan.has_new_pages for plan in checked),
            has_failed=any(plan.has_failed for plan in checked),
        )

    def _compare(self, plans: Sequence[Plan]) -> bool:
        """Have small pages compared whose last rendering is too old, the oldest first: their dates depend on it."""
        now, found = moment(timezone.now()), []
        for plan in plans if self.compare else ():
            check = CurrencyCheck(plan.section)
            for page in plan.pages:
                one = replace(self.wanted, label=plan.section.label, number=page.number)
                # A page that nobody has rendered has no date that could be wrong. One without URLs may have some now.
                # A large one is compared when it is requested: the index has to be quick.
                seconds = page.record.seconds if page.record.digest and page.record.rows != 0 else None
                # What is rendered of a held page is not recorded.
                if seconds is None or seconds >= verification.CHEAP or is_held(page.record, now):
                    continue
                if _is_due(one, page, check):
                    found.append((age_of(page, now), one))
        found.sort(key=lambda pair: -pair[0])
        return bool(found and self.compare and self.compare([one for _, one in found]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLook:
    """A page as the database tells of it, before it is made."""

    wanted: Wanted
    plan: Plan
    page: Page
    fingerprint: Fingerprint
    version: str
    """Equal as long as the database tells of no change."""
    is_decided: bool
    """Whether the database tells of every change that moves ``changed``."""
    is_due: bool
    """Whether it is time to render the page only to compare it with its last version."""
    kept: Kept | None
    """The last version."""
    last: bytes | None
    """Its gzip, whatever its version is."""
    find: Callable[[Plan, int], Page]
    """Returns the page of a plan as it is to be shown."""

    @property
    def checked_at(self) -> datetime | None:
        """When its rows were checked; for a held page earlier, so that it is looked at when its time is over."""
        return _checked_at(self.page)

    @property
    def has_new_pages(self) -> bool:
        """Whether pages were added to its plan."""
        return self.plan.has_new_pages

    def make(self, last: bytes | None) -> Made:
        """Make the page; `last` is the gzip of its last version, if that has the version that is known now."""
        document = None if self.is_due or self.wanted.as_text or self.page.is_held else self._built()
        if document is not None:
            rendered_at = _rendered_at(self.wanted, self.page, None)
            return self._made(document, self.plan, self.page, rendered_at, self.page.record.seconds or 0.0)
        began, started = time.time(), time.monotonic()
        record = self.page.record
        # With another recipe, which leaves the URLs unknown, or another origin it has to differ.
        known = record.digest if record.urls and record.origin == self.plan.section.base else ""
        document, plan, page = self._rendered(last)
        seconds = time.monotonic() - started
        if self.is_decided and plan is self.plan and not (self.wanted.as_text or page.is_held):
            self._tell_unseen(known, last, document)
        if self.kept and document.gzipped is self.last:
            began = self.kept.rendered_at
        made = self._made(document, plan, page, began, seconds)
        # With no version it is made again at the next check.
        return replace(made, version="") if self._may_lack_rows(made) else made

    def _may_lack_rows(self, made: Made) -> bool:
        """Return whether rows moved while a document was made whose rows are not added up: by position, or as text."""
        section = self.plan.section
        is_added_up = section.paged_by == "key" and not self.wanted.as_text
        is_same = self.kept is not None and self.kept.digest == made.document.digest
        if is_added_up or is_same or self.page.is_held:
            return False
        with neutral():
            return has_moved(section, self.page, self.fingerprint)

    def _tell_unseen(self, known: str, last: bytes | None, document: Document) -> None:
        """Record that a page differs from its last rendering, of digest `known`, although the database told nothing."""
        # By position the digest outlives its rows: only the last version tells that nothing was told.
        section = self.plan.section
        is_untold = last is not None or section.paged_by == "key"
        if known in ("", document.digest) or not is_untold:
            return
        with neutral():
            if has_moved(section, self.page, self.fingerprint):
                return
        if last is None:
            built = PublishedFiles(self.wanted.site.domain).read_document(self.wanted.label, self.page.number)
            last = built.gzipped if built and built.digest == known else None
        record_unseen(self.page, count_differences(unpack(last), document.chunks()) if last else 0)

    def _rendered(self, last: bytes | None) -> tuple[Document, Plan, Page]:
        """Return the page with its plan; raise SitemapError if errors in code of the project took most of its URLs.

        Such a rendering is not recorded: `last` goes on being served.
        """
        found: list[tuple[Section, Page, dict[str, Any]]] = []
        empty: PageEmpty | None = None
        try:
            document, plan, page = self._render(lambda section, page, **values: found.append((section, page, values)))
            report, urls = document.report, document.urls
        except PageEmpty as error:
            empty, report, urls = error, cast(Report, error.report), 0
        before = _count_urls(last) if last and report.raised else 0
        if urls < before * (1 - get_settings().MAX_SHRINK):
            first = report.problems[0]
            raise SitemapError(
                f"Page {self.page.number} of the sitemap {self.wanted.label!r} would have {urls:,} URLs in place of "
                f"{before:,}, because code of the project raised errors. The first: row {first.key}, {first.hook}: "
                f"{first.reason}"
            )
        for section, one, values in found:
            record_rendering(section, one, **values)
            changed_at = one.record.changed_at
        if empty:
            raise empty
        if self.wanted.as_text and not page.is_held:
            return replace(document, changed_at=self._text_changed_at(document)), plan, page
        return replace(document, changed_at=changed_at) if found else document, plan, page

    def _render(self, record: Record) -> tuple[Document, Plan, Page]:
        """Return the page with its plan, which is a new one if it had to be split; held pages are not recorded."""
        section, as_text, plan, page = self.plan.section, self.wanted.as_text, self.plan, self.page
        if page.is_held:
            return render_held(plan, page, as_text=as_text, kept=self.kept, last=self.last), plan, page
        try:
            document, plan = render_planned(
                section, page.number, as_text=as_text, plan=plan, record=record, find=self.find
            )
            return document, plan, page if plan is self.plan else self.find(plan, page.number)
        except PageFull as full:
            with neutral():
                plan = refresh_page(section, page.number)
                page = self.find(plan, page.number)
            if not page.is_held or full.split_at is None:
                raise
            return render_full(plan, page, full, as_text=as_text, kept=self.kept, last=self.last), plan, page

    def _text_changed_at(self, document: Document) -> datetime | None:
        """Return when the text of a page changed, which is not recorded: that of the XML may be older."""
        kept, dates = self.kept, [document.changed_at]
        if kept and kept.changed_at is not None:
            dates.append(datetime.fromtimestamp(kept.changed_at, UTC))
        if kept and kept.version == self.version and kept.digest != document.digest:
            dates.append(timezone.now())
        return max((moment(date) for date in dates if date and not is_ahead(date)), default=None)

    def _made(self, document: Document, plan: Plan, page: Page, rendered_at: float, seconds: float) -> Made:
        with neutral():
            # Rendering has set its date.
            version = _version(plan.section, page, self.fingerprint)
        return Made(
            document=document,
            version=version,
            checked_at=_checked_at(page),
            rendered_at=rendered_at,
            seconds=seconds,
            has_new_pages=self.plan.has_new_pages or plan is not self.plan,
        )

    def _built(self) -> Document | None:
        """Return the built file of the page, or None unless it is current."""
        section, record = self.plan.section, self.page.record
        # Without the manifest: reading it for each page would cost more than it saves.
        reason = CurrencyCheck(section).why_not_current(record, known=None)
        if reason and not (reason is UNDECIDED and section.max_age):
            return None
        if get_settings().STRICT and (record.left_out or record.dropped):
            # Rendering raises the error that says which row it is.
            return None
        document = PublishedFiles(section.site.domain).read_document(section.label, self.page.number)
        if document is None or document.digest != record.digest:
            return None
        return replace(document, urls=record.urls or 0, changed_at=record.changed_at)


Look = IndexLook | PageLook


def look(
    wanted: Wanted,
    since: datetime | None = None,
    *,
    kept: Kept | None = None,
    last: bytes | None = None,
    saved_at: float = 0.0,
    compare: Callable[[Sequence[Wanted]], bool] | None = None,
    holds: bool = False,
) -> Look:
    """Return what the database tells of a document; it is queried unless that happened after `since`.

    Without `since` it is queried at most once per ``CHECK_EVERY``. `kept` is the last version, and `saved_at` is when a
    row of the section was last saved, in seconds since 1970; both tell whether the page is due to be compared.
    `last` is the gzip of the last version. `compare` is called with those pages of an index that are due, and returns
    whether it rendered any. With `holds` a page that gave up rows has them as long as it is held.

    Raises PageNotFound and PageGone.
    """
    if not wanted.number:
        return IndexLook(wanted=wanted, since=since, compare=compare)
    with neutral():
        section = get_section(wanted.label, wanted.site)
        plan = refresh_page(section, wanted.number, since=since)
        find = Plan.find_shown if holds else Plan.find
        page = find(plan, wanted.number)
        if page.record.is_retired:
            # Its rows are only compared, at each look.
            page.record.checked_at = timezone.now()
        # Read before the page is made: a row that changes in between gives another version the next time.
        fingerprint = fingerprint_of(section)
        check = CurrencyCheck(section, fingerprint)
        is_due = _is_due(wanted, page, check, kept=kept, saved_at=saved_at)
        if page.record.urls == 0 and not plan.is_listed(page) and not is_due and not page.is_held:
            raise PageNotFound(f"Page {page.number} of the sitemap {section.label!r} has no URLs at present.")
        return PageLook(
            wanted=wanted,
            plan=plan,
            page=page,
            fingerprint=fingerprint,
            version=_version(section, page, fingerprint),
            is_decided=check.is_decided(page.record, _rendered_at(wanted, page, kept)),
            is_due=is_due,
            kept=kept,
            last=last,
            find=find,
        )


def _checked_at(page: Page) -> datetime | None:
    record = page.record
    return checked_no_later(record, record.checked_at) if page.is_held else record.checked_at


def _is_due(
    wanted: Wanted,
    page: Page,
    check: CurrencyCheck,
    *,
    kept: Kept | None = None,
    saved_at: float = 0.0,
) -> bool:
    """Return whether the last rendering of a page is too old to be served without comparing."""
    rendered_at, seconds = _rendered_at(wanted, page, kept), page.record.seconds
    after = compare_after(
        check.section,
        seconds if seconds is not None else kept.seconds if kept else 0.0,
        is_decided=check.is_decided(page.record, rendered_at),
        is_reported=saved_at > rendered_at,
    )
    after = min(after, longest(wanted.name))
    age = time.time() - rendered_at
    if age >= 0 and after <= get_settings().CHECK_EVERY:
        # At every check: the rendering that followed a check is a little younger than it.
        checked_at = page.record.checked_at
        is_checked_since = checked_at is not None and moment(checked_at).timestamp() > rendered_at
        return is_checked_since or not get_settings().CHECK_EVERY
    # A negative age comes from a clock that was wrong.
    return not 0 <= age <= after


def _rendered_at(wanted: Wanted, page: Page, kept: Kept | None) -> float:
    """Return when a page was last rendered, here or by any process, in seconds since 1970; 0 if never."""
    verified_at = page.record.verified_at or page.record.built_at
    # The text of a page is not recorded, and what is recorded may be about other bytes: of another process or host.
    is_other = wanted.as_text or (kept is not None and kept.digest != page.record.digest)
    recorded = 0.0 if verified_at is None or is_other else moment(verified_at).timestamp()
    return max(recorded, kept.rendered_at if kept else 0.0)


def _count_urls(page: bytes) -> int:
    data = b"".join(unpack(page))
    return data.count(b"<url>") or data.count(b"\n")


def _version(section: Section, page: Page, fingerprint: Fingerprint) -> str:
    record = page.record
    # changed_at: a future lastmod shows once it is past, without a change of a row, and others may have seen more.
    parts = [record.validator, record.changed_at, fingerprint.text, section.recipe, section.base]
    return " ".join(map(str, [*parts, "held"] if page.is_held else parts))
