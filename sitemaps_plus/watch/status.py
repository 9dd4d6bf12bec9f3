"""Read the state of the sitemaps of each site in few queries: counts, sizes, currency, problems and builds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from django.db.models import DurationField, ExpressionWrapper, F
from django.utils import timezone

from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.models import LEASE, SILENT, Build, DatabaseNow, SitemapPage
from sitemaps_plus.plan.currency import CONTENT_CHANGED, NO_URLS, CurrencyCheck, Reason, unlisted, unregistered
from sitemaps_plus.plan.pages import Plan, make_plan, url_count
from sitemaps_plus.plan.sections import Section, get_section, neutral
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.validators import fingerprint_of, is_ahead, moment
from sitemaps_plus.protocol.reports import PROBLEMS_SHOWN, Problem
from sitemaps_plus.stores.manifest import Manifest, SectionEntry
from sitemaps_plus.stores.published import PublishedFiles

logger = logging.getLogger("sitemaps_plus")

SHOWN_BUILDS = 60
"""Most builds of a site that are read, the newest first."""

TIME_LEFT = ExpressionWrapper(F("expires_at") - DatabaseNow(), output_field=DurationField())
"""How long the lease of a build holds if it is not renewed; the database compares, as its clock wrote the value."""

UNSEEN_SHOWN = timedelta(days=7)
"""How long it is shown that a page had changed although the database told of no change."""

Failure = Literal["failed", "held back", "stopped"]
"""How a build of a section ended that did not publish it."""

Currency = Literal["current", "undecided", "stale", "never built", "live", "empty", "unknown", "failed", "held back"]
"""Whether built files match the rows: ``undecided`` if only rendering tells; ``live`` if nothing is built, so that the
views render on request; ``failed`` and ``held back`` if the last build left them as they were.
"""


class Fullest(NamedTuple):
    """The page that comes closest to a limit."""

    number: int
    value: int
    limit: int


@dataclass(slots=True, kw_only=True)
class SectionStatus:
    """The state of one section of one site."""

    label: str
    section: Section | None
    """None if the class cannot be used; `error` has the reason."""
    error: str = ""
    path: str = ""
    """How rows are read: ``row`` or ``object``."""
    decided_by: Sequence[str] = ()
    """The methods that need objects."""
    pages: int = 0
    """Number of pages that the index lists."""
    urls: int = 0
    is_estimated: bool = False
    """Whether `urls` counts rows of pages that changed and were not rendered since."""
    bytes: int = 0
    """Uncompressed bytes of the pages that were rendered since they changed."""
    fullest_by_urls: Fullest | None = None
    fullest_by_bytes: Fullest | None = None
    newest: datetime | None = None
    """When a page last changed."""
    checked_at: datetime | None = None
    """When the rows were last queried."""
    built_at: datetime | None = None
    currency: Currency = "unknown"
    stale_since: datetime | None = None
    """When rows of the first of the stale pages changed, if that is why they are stale."""
    stale: dict[int, Reason] = field(default_factory=dict)
    """The reason why a built page is stale, by number."""
    undecided: set[int] = field(default_factory=set)
    """Numbers of the rendered pages of which only rendering tells whether they changed."""
    comparing: float = 0.0
    """Seconds that it takes to render these pages."""
    max_age: float | None = None
    """Seconds for which the class does not want pages to be compared."""
    told_by: str = ""
    """The column or hook that tells of changes."""
    unseen: dict[int, int] = field(default_factory=dict)
    """How many URLs of a page had changed, as was found lately, although the database told of no change, by number."""
    left_out: int = 0
    dropped: int = 0
    problems: list[tuple[int, Problem]] = field(default_factory=list)
    first_left_out: Problem | None = None
    """The first stored problem that left out a row."""
    build: Build | None = None
    """The newest build of this section."""
    outcome: dict[str, Any] = field(default_factory=dict)
    """The result of the section in that build, as in `Build.sections`."""
    published_urls: int = 0
    """Number of published URLs, according to the manifest."""
    built: set[int] = field(default_factory=set)
    """Numbers of the listed pages that a build has rendered."""
    missing_files: int = 0
    """Number of built pages that have no file."""

    @property
    def is_counted(self) -> bool:
        """Whether a request or a build has counted its rows."""
        return self.checked_at is not None or bool(self.urls) or self.is_unpublished

    @property
    def is_unpublished(self) -> bool:
        """Whether its last build did not publish it; then it counts with what is published."""
        return self.currency in ("failed", "held back")


@dataclass(slots=True, kw_only=True)
class SiteStatus:
    """The state of one site."""

    site: SiteOrigin
    sections: list[SectionStatus] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    """The newest first; includes a running build."""
    running: Build | None = None
    """A build that has a lease; it may have died, see `silence`."""
    silence: int = 0
    """Seconds without a sign of life of the running build; 0 if it renews its lease in time."""
    died: Build | None = None
    """A build whose lease has expired before it ended."""
    is_built: bool = False
    """Whether a build of the site was ever started, according to the database or the manifest."""
    storage_error: str = ""
    """Why the published files cannot be read."""
    is_manifest_lost: bool = False
    """Whether pages were built, but the manifest knows none of them."""
    is_database_lost: bool = False
    """Whether the manifest knows pages of these sections, but the database knows of none that was built."""
    missing_indexes: list[str] = field(default_factory=list)
    """Names of the missing files of indexes."""
    unregistered: dict[str, int] = field(default_factory=dict)
    """Number of URLs of each section that is published but no longer registered."""

    @property
    def urls(self) -> int:
        """The number of URLs of all sections."""
        return sum(section.urls for section in self.sections)

    @property
    def last_ended(self) -> Build | None:
        """The newest build that has ended."""
        return next((build for build in self.builds if build.ended_at), None)


def read_statuses(sites: Sequence[SiteOrigin]) -> list[SiteStatus]:
    """Return the state of each site.

    Reads all pages in one query, the builds of each site in one more, and the manifest of each site from the storage.
    Each section that is paged by position costs an aggregate over its rows.
    """
    with neutral():
        records: dict[tuple[int, str], list[SitemapPage]] = {}
        known = SitemapPage.objects.filter(site__in=[site.id for site in sites], retired_at=None)
        for record in known.order_by("rank", "number"):
            if record.layout:
                records.setdefault((record.site, record.label), []).append(record)
        return [_site_facts(site, records) for site in sites]


def read_running() -> list[Build]:
    """Return the builds of all sites that have a lease, in one query; `silence_of` says which of them may have died."""
    held = Build.objects.exclude(lease=None).filter(expires_at__gt=DatabaseNow())
    return list(held.annotate(time_left=TIME_LEFT).order_by("pk"))


def silence_of(build: Build) -> int:
    """Return the seconds without a sign of life of a running build; 0 if it renews its lease in time.

    The build needs `TIME_LEFT` as ``time_left``.
    """
    seconds = LEASE - build.time_left.total_seconds()  # type: ignore[attr-defined]
    return int(seconds) if seconds >= SILENT else 0


def _site_facts(site: SiteOrigin, records: dict[tuple[int, str], list[SitemapPage]]) -> SiteStatus:
    status = SiteStatus(site=site)
    known_builds = Build.objects.filter(site=site.id).annotate(time_left=TIME_LEFT)
    status.builds = list(known_builds.order_by("-pk")[:SHOWN_BUILDS])
    for build in status.builds:
        if build.lease and build.time_left <= timedelta():  # type: ignore[attr-defined]
            status.died = build
        elif build.lease:
            status.running, status.silence = build, silence_of(build)
    known = {label: records.get((site.id, label), []) for label in registry}
    has_built = any(record.built_at for some in known.values() for record in some)
    status.is_built = bool(status.builds) or has_built
    status.is_built = status.is_built or _has_manifest(site)
    manifest = _published_facts(status) if status.is_built else None
    for label, some in known.items():
        section = SectionStatus(label=label, section=None)
        try:
            section.section = get_section(label, site)
            _section_facts(section, section.section, some, manifest)
        except Exception as error:  # the project's code
            logger.warning("The status of the sitemap section %s cannot be read", label, exc_info=error)
            section.error = f"{type(error).__name__}: {error}"
        _last_build(section, status.builds, some)
        if not status.is_built and not section.error:
            section.currency = "empty" if section.currency == "empty" else "live"
        status.sections.append(section)
    if manifest is not None:
        _compare_with_manifest(status, manifest)
        # The first build publishes pages before it stores that they are built.
        is_known = has_built or bool(status.running)
        status.is_database_lost = not is_known and any(section.published_urls for section in status.sections)
    return status


def _section_facts(
    status: SectionStatus, section: Section, records: Sequence[SitemapPage], manifest: Manifest | None
) -> None:
    status.path, status.decided_by = section.hooks.path, section.hooks.decided_by
    status.max_age, status.told_by = section.max_age, section.told_by
    plan = make_plan(section, records)
    status.checked_at = plan.checked_at
    _page_facts(status, section, plan)
    check = CurrencyCheck(section, fingerprint_of(section) if records else None)
    _comparison_facts(status, plan, check)
    status.newest = _newest(record.changed_at for record in records if not is_ahead(record.changed_at))
    status.built_at = _newest(record.built_at for record in records)
    if status.built_at:
        known = manifest.section(section.label) if manifest else None
        status.stale = dict(_stale(plan, known, check))
        status.stale_since = _stale_since(plan, status.stale)
    if not status.pages and status.checked_at:
        status.currency = "empty"
    elif not status.built_at:
        # Its rows may not have been queried yet, so there can be any number of them.
        status.currency = "never built"
    else:
        status.currency = "stale" if status.stale else "undecided" if status.undecided else "current"


def _page_facts(status: SectionStatus, section: Section, plan: Plan) -> None:
    urls_limit, max_bytes = section.urls_limit, section.profile.max_bytes
    for page in plan.listed:
        record = page.record
        urls = url_count(section, record)
        status.pages += 1
        status.urls += urls
        status.is_estimated |= record.urls is None
        status.bytes += record.bytes or 0
        status.fullest_by_urls = _fuller(status.fullest_by_urls, record.number, urls, urls_limit)
        status.fullest_by_bytes = _fuller(status.fullest_by_bytes, record.number, record.bytes or 0, max_bytes)
        if record.built_digest:
            status.built.add(record.number)
            status.left_out += record.left_out
            status.first_left_out = status.first_left_out or _first_left_out(section, record)
            status.dropped += record.dropped
            room = PROBLEMS_SHOWN - len(status.problems)
            status.problems += [
                (record.number, Problem.from_list(status.label, values)) for values in record.problems[:room]
            ]


def _first_left_out(section: Section, record: SitemapPage) -> Problem | None:
    """Return the first stored problem that surely left out a row of a page."""
    if not record.left_out:
        return None
    hooks = {"location", "languages", "get_languages_for_item"}
    if record.dropped and section.sitemap.i18n:
        # The location may only be missing in one language of a row.
        hooks.discard("location")
    problems = (Problem.from_list(section.label, values) for values in record.problems)
    found = (one for one in problems if one.hook in hooks or one.code == "E-LANGUAGE")
    return next((one for one in found if not one.code.startswith("W-")), None)


def _comparison_facts(status: SectionStatus, plan: Plan, check: CurrencyCheck) -> None:
    since = moment(timezone.now()) - UNSEEN_SHOWN
    for page in plan.listed:
        record = page.record
        if record.seconds is not None and not check.is_decided(record):
            status.undecided.add(record.number)
            status.comparing += record.seconds
        if record.unseen_at and moment(record.unseen_at) >= since:
            status.unseen[record.number] = record.unseen


def _stale(plan: Plan, known: SectionEntry | None, check: CurrencyCheck) -> Iterator[tuple[int, Reason]]:
    """Yield the numbers of the stale pages with the reasons."""
    for page in plan.listed:
        reason = check.why_not_current(page.record, known)
        if reason and reason.is_stale:
            yield page.number, reason
    for number in unlisted(plan, known) if known else ():
        yield number, NO_URLS


def _stale_since(plan: Plan, stale: dict[int, Reason]) -> datetime | None:
    # The record of a page says when its rows changed, not when its class changed or its file was lost.
    records = (page.record for page in plan.pages if stale.get(page.number) in (CONTENT_CHANGED, NO_URLS))
    changes = [moment(one.changed_at) for one in records if one.changed_at and _is_later(one.changed_at, one.built_at)]
    return min(changes, default=None)


def _is_later(changed_at: datetime, built_at: datetime | None) -> bool:
    # Files from a backup differ from their pages although no row has changed since the build.
    return built_at is None or moment(changed_at) > moment(built_at)


def failure_of(outcome: Mapping[str, Any]) -> Failure | None:
    """Return how the build of a section ended that did not publish it, from its result in `Build.sections`."""
    if not outcome.get("error"):
        return None
    return "held back" if outcome.get("held_back") else "stopped" if outcome.get("stopped") else "failed"


def _last_build(status: SectionStatus, builds: Iterable[Build], records: Iterable[SitemapPage]) -> None:
    found = [(build, one) for build in builds for one in build.sections if one.get("label") == status.label]
    if found:
        status.build, status.outcome = found[0]
    failure = failure_of(status.outcome)
    if failure and failure != "stopped":
        counts = {name: status.outcome.get(name) or 0 for name in ("urls", "pages", "bytes", "left_out")}
        status.urls, status.pages, status.bytes, status.left_out = counts.values()
        status.currency, status.is_estimated = failure, False
        # If the class raises, it was not read yet.
        status.built_at = _newest(record.built_at for record in records)


def _published_facts(status: SiteStatus) -> Manifest | None:
    """Read what is published; return the manifest, or None if the storage fails."""
    files = PublishedFiles(status.site.domain)
    try:
        manifest = files.checked_manifest(status.site.base)
        status.missing_indexes = list(files.missing_indexes())
    except SitemapError as error:
        status.storage_error = str(error)
        return None
    except Exception as error:  # each storage has errors of its own
        logger.warning("The published files of %s cannot be read", status.site.domain, exc_info=error)
        status.storage_error = f"{type(error).__name__}: {error}"
        return None
    status.unregistered = unregistered(manifest)
    return manifest


def _has_manifest(site: SiteOrigin) -> bool:
    """Return whether there is a manifest; False if the storage fails, which a site without builds may not need."""
    try:
        return PublishedFiles(site.domain).manifest is not None
    except Exception as error:  # each storage has errors of its own
        logger.debug("The manifest of %s cannot be read", site.domain, exc_info=error)
        return False


def _compare_with_manifest(status: SiteStatus, manifest: Manifest) -> None:
    # If pages were built but the manifest knows no section, the manifest itself is lost.
    status.is_manifest_lost = not manifest.sections and any(section.built for section in status.sections)
    for section in status.sections:
        entry = manifest.section(section.label)
        section.published_urls = entry.urls
        if not status.is_manifest_lost:
            section.missing_files = len(section.built - entry.pages.keys())


def _fuller(fullest: Fullest | None, number: int, value: int, limit: int) -> Fullest:
    return Fullest(number, value, limit) if fullest is None or value > fullest.value else fullest


def _newest(moments: Iterable[datetime | None]) -> datetime | None:
    return max((moment(one) for one in moments if one), default=None)
