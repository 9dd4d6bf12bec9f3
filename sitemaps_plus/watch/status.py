"""Tell how the sitemaps of each site are, in few queries: what is listed, how full and how fresh, what builds did."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from django.db.models import BooleanField, Case, Value, When

from sitemaps_plus.build.publishing import PublishedSet
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.models import Build, DatabaseNow, SitemapPage
from sitemaps_plus.plan.pages import make_plan
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.validators import moment
from sitemaps_plus.render.pages import neutral
from sitemaps_plus.stores.files import get_store

logger = logging.getLogger("sitemaps_plus")

SHOWN_BUILDS = 60
"""Builds of a site that are looked at, the newest first."""

SHOWN_PROBLEMS = 20
"""Rows left out of a section that are named."""

# By the clock that wrote it.
_IS_OVER = Case(
    When(expires_at__lte=DatabaseNow(), then=Value(True)), default=Value(False), output_field=BooleanField()
)

Currency = Literal["current", "stale", "never built", "live", "empty", "unknown"]
"""Of built files against the rows; ``live`` where nothing is built, and views make what is asked for."""


class Fullest(NamedTuple):
    """The page that comes nearest to a limit."""

    number: int
    value: int
    limit: int

    @property
    def share(self) -> float:
        """0 to 1."""
        return min(1.0, self.value / self.limit) if self.limit else 0.0


class RowProblem(NamedTuple):
    """A row, or a part of one, that the built page does not show."""

    page: int
    key: str
    hook: str
    code: str
    reason: str


@dataclass(slots=True, kw_only=True)
class SectionStatus:
    """One section of one site."""

    label: str
    section: Section | None
    """None where the class cannot be used, see `error`."""
    error: str = ""
    path: str = ""
    """``row`` or ``object``."""
    decided_by: str = ""
    """The hook that needs objects."""
    pages: int = 0
    """Pages that the index lists."""
    urls: int = 0
    is_estimated: bool = False
    """Whether some pages have changed and were not rendered since, so that their rows were counted."""
    bytes: int = 0
    """Uncompressed, of the pages that were rendered since they changed."""
    fullest_by_urls: Fullest | None = None
    fullest_by_bytes: Fullest | None = None
    newest: datetime | None = None
    """When a page last changed."""
    checked_at: datetime | None = None
    """When the rows were last asked for."""
    built_at: datetime | None = None
    currency: Currency = "unknown"
    stale_since: datetime | None = None
    stale_pages: int = 0
    left_out: int = 0
    dropped: int = 0
    problems: list[RowProblem] = field(default_factory=list)
    build: Build | None = None
    """The newest build that was about this section."""
    outcome: dict[str, Any] = field(default_factory=dict)
    """What became of the section then, as `Build.sections` has it."""
    published_urls: int = 0
    """As the manifest of the published set says."""
    built: set[int] = field(default_factory=set)
    """The listed pages that a build has made."""
    missing_files: int = 0
    """How many of them have no file."""


@dataclass(slots=True, kw_only=True)
class SiteStatus:
    """One site."""

    site: SiteOrigin
    sections: list[SectionStatus] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    """The newest first; a running one among them."""
    running: Build | None = None
    died: Build | None = None
    """A build that gave no sign of life for longer than its lease holds."""
    storage_error: str = ""
    """Why the published set cannot be read."""
    is_manifest_lost: bool = False
    """Whether nothing is known of the built files any more."""
    missing_indexes: list[str] = field(default_factory=list)
    """Files of indexes that are not there."""
    unregistered: dict[str, int] = field(default_factory=dict)
    """The URLs of each section that is published and not registered any more."""

    @property
    def urls(self) -> int:
        """URLs of all sections."""
        return sum(section.urls for section in self.sections)

    @property
    def is_built(self) -> bool:
        """Whether anything was ever built."""
        return bool(self.builds) or any(section.built_at for section in self.sections)


def read_statuses(sites: Sequence[SiteOrigin]) -> list[SiteStatus]:
    """Return how each site is.

    Asks the database for all pages at once and for the builds of each site, and the storage for each site's manifest.
    """
    with neutral():
        return _facts(sites)


def read_running() -> list[Build]:
    """Return the builds that run now, of all sites; costs one query."""
    return list(Build.objects.exclude(lease=None).filter(expires_at__gt=DatabaseNow()).order_by("pk"))


def currency_of(section: Section) -> Callable[[SitemapPage], bool]:
    """Return what says of a page whether its built file is what its rows would give, as far as is known."""
    # Once for all pages: it takes longer than all else here.
    recipe, base = section.recipe, section.base

    def is_current(record: SitemapPage) -> bool:
        is_same = bool(record.digest) and record.digest == record.built_digest and record.recipe == recipe
        return is_same and record.origin == base

    return is_current


def _facts(sites: Sequence[SiteOrigin]) -> list[SiteStatus]:
    records: dict[tuple[int, str], list[SitemapPage]] = {}
    known = SitemapPage.objects.filter(site__in=[site.id for site in sites], retired_at=None)
    for record in known.order_by("rank", "number"):
        if record.layout:
            records.setdefault((record.site, record.label), []).append(record)
    return [_site_facts(site, records) for site in sites]


def _site_facts(site: SiteOrigin, records: dict[tuple[int, str], list[SitemapPage]]) -> SiteStatus:
    status = SiteStatus(site=site)
    status.builds = list(Build.objects.filter(site=site.id).annotate(is_over=_IS_OVER).order_by("-pk")[:SHOWN_BUILDS])
    for build in status.builds:
        if build.lease:
            status.running, status.died = (None, build) if build.is_over else (build, None)  # type: ignore[attr-defined]
    for label in registry:
        section = SectionStatus(label=label, section=None)
        try:
            section.section = get_section(label, site)
            _section_facts(section, section.section, records.get((site.id, label), []))
        except Exception as error:  # code of the project
            logger.warning("The status of the sitemap section %s cannot be told", label, exc_info=error)
            section.error = f"{type(error).__name__}: {error}"
        _last_build(section, status.builds)
        status.sections.append(section)
    if status.is_built:
        _published_facts(status)
    else:
        for section in status.sections:
            section.currency = "empty" if section.currency == "empty" else "live"
    return status


def _section_facts(status: SectionStatus, section: Section, records: Sequence[SitemapPage]) -> None:
    status.path, status.decided_by = section.hooks.path, section.hooks.decided_by or ""
    plan = make_plan(section, records)
    status.checked_at = plan.checked_at
    per_row = max(1, len(section.languages))
    is_current, urls_limit, max_bytes = currency_of(section), section.urls_limit, section.profile.max_bytes
    stale = []
    for page in plan.listed:
        record = page.record
        urls = (record.rows or 0) * per_row if record.urls is None else record.urls
        status.pages += 1
        status.urls += urls
        status.is_estimated |= record.urls is None
        status.bytes += record.bytes or 0
        status.fullest_by_urls = _fuller(status.fullest_by_urls, record.number, urls, urls_limit)
        status.fullest_by_bytes = _fuller(status.fullest_by_bytes, record.number, record.bytes or 0, max_bytes)
        if not is_current(record):
            stale.append(record)
        if record.built_digest:
            status.built.add(record.number)
            status.left_out += record.left_out
            status.dropped += record.dropped
            room = SHOWN_PROBLEMS - len(status.problems)
            status.problems += [RowProblem(record.number, *problem) for problem in record.problems[:room]]
    status.newest = _newest(record.changed_at for record in records)
    status.built_at = _newest(record.built_at for record in records)
    status.stale_pages = len(stale)
    if not status.pages and status.checked_at:
        status.currency = "empty"
    elif not status.built_at:
        # Also where nobody has asked for its rows yet: there may be any number.
        status.currency = "never built"
    elif stale:
        status.currency = "stale"
        changes = [moment(record.changed_at) for record in stale if record.changed_at]
        status.stale_since = min(changes, default=None)
    else:
        status.currency = "current"


def _last_build(status: SectionStatus, builds: Iterable[Build]) -> None:
    for build in builds:
        for outcome in build.sections:
            if outcome.get("label") == status.label:
                status.build, status.outcome = build, outcome
                return


def _published_facts(status: SiteStatus) -> None:
    site, sections = status.site, {section.label: section for section in status.sections}
    try:
        known = PublishedSet.open(site, get_store(), is_ours=False)
    except SitemapError as error:
        status.storage_error = str(error)
        return
    except Exception as error:  # each storage has errors of its own
        logger.warning("The published set of %s cannot be read", site.domain, exc_info=error)
        status.storage_error = f"{type(error).__name__}: {error}"
        return
    status.unregistered = known.unregistered
    status.missing_indexes = list(known.missing_indexes())
    # Where the manifest does not even know that something was built, it is the manifest that is missing.
    status.is_manifest_lost = not known.manifest.sections and any(section.built for section in sections.values())
    for label, section in sections.items():
        entry = known.manifest.section(label)
        section.published_urls = entry.urls
        if not status.is_manifest_lost:
            section.missing_files = len(section.built - entry.pages.keys())


def _fuller(fullest: Fullest | None, number: int, value: int, limit: int) -> Fullest:
    return Fullest(number, value, limit) if fullest is None or value > fullest.value else fullest


def _newest(moments: Iterable[datetime | None]) -> datetime | None:
    return max((moment(one) for one in moments if one), default=None)
