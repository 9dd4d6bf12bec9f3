"""Render the pages that are due of every section of every site, and publish them; the index last."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal, NamedTuple

from django.db import router, transaction
from django.utils import timezone

from sitemaps_plus.assembly import Assembly
from sitemaps_plus.conf import get_settings
from sitemaps_plus.due import Reason, rows_of, unlisted, why_due
from sitemaps_plus.errors import BuildLocked, LeaseLost, NoOrigin, PageNotFound, SitemapError, Stopped
from sitemaps_plus.guard import Shape, merge, why_not
from sitemaps_plus.lease import Lease, hold
from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.origin import SiteOrigin, get_sites
from sitemaps_plus.pages import neutral
from sitemaps_plus.paging import refresh
from sitemaps_plus.plans import Page, Plan
from sitemaps_plus.publishing import PublishedSet, Ready
from sitemaps_plus.registry import registry
from sitemaps_plus.reports import Report
from sitemaps_plus.sections import Section, get_section
from sitemaps_plus.serving import serve
from sitemaps_plus.signals import published
from sitemaps_plus.sources import Wanted
from sitemaps_plus.stores.cache import get_cache
from sitemaps_plus.stores.files import get_store, site_directory
from sitemaps_plus.stores.manifest import SectionEntry
from sitemaps_plus.stores.staging import Staging, stage
from sitemaps_plus.workers import Crew, Here, Renderer, Task, WorkerError, declaration, make_crew

logger = logging.getLogger("sitemaps_plus")

Progress = Callable[[str, int, int], None]
"""Called with what is being built, the pages done and the pages known so far."""

IfLocked = Literal["fail", "wait", "skip"]


@dataclass(slots=True, kw_only=True)
class SectionResult:
    """What became of one section of one site."""

    site: str
    label: str
    pages: int = 0
    """Pages that are listed."""
    rendered: int = 0
    """Pages that were made, and perhaps found unchanged."""
    skipped: int = 0
    """Pages that are as they were."""
    written: int = 0
    """Pages whose files were replaced."""
    numbers: list[int] = field(default_factory=list)
    """The pages that are listed."""
    urls: int = 0
    bytes: int = 0
    """Uncompressed."""
    left_out: int = 0
    """Rows that are on no page, also of pages that were not made now."""
    report: Report
    """What was left out of the pages that were made now."""
    error: str | None = None
    """Why the section was not published; its files stay as they were."""
    is_held_back: bool = False
    """Whether only ``allow_shrink`` is missing."""


@dataclass(slots=True, kw_only=True)
class BuildResult:
    """What a build did."""

    sections: list[SectionResult] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """What failed beside the sections: an index, a site."""
    indexes: list[str] = field(default_factory=list)
    """Where the index of each site is."""
    locked: list[str] = field(default_factory=list)
    """The sites that another build was building."""
    is_stopped: bool = False
    """Whether the build was asked to stop before it was through."""
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether everything was published."""
        is_through = not (self.errors or self.locked or self.is_stopped)
        return is_through and all(section.error is None for section in self.sections)


class Due(NamedTuple):
    """A page that a build would render or take out of the index, and why."""

    site: str
    label: str
    number: int
    """0 for an index."""
    reason: str
    is_stale: bool
    """False where the published page may well be what rendering would give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    full: bool
    repack: bool
    strict: bool | None
    progress: Progress
    allow_shrink: bool
    prune: bool
    is_stopped: Callable[[], bool]


def build(
    labels: Sequence[str] = (),
    *,
    sites: Sequence[str] = (),
    full: bool = False,
    repack: bool = False,
    strict: bool | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    warm_cache: bool = False,
    allow_shrink: bool = False,
    prune: bool = False,
    if_locked: IfLocked = "fail",
    is_stopped: Callable[[], bool] | None = None,
) -> BuildResult:
    """Publish what changed in `labels`, in all sections without any, and the indexes of every site, or of `sites`.

    Only pages are rendered whose rows or recipe changed, or whose last rendering is older than ``MAX_AGE``; with `full`
    all. Raises PageNotFound for a label that is not registered, and NoOrigin where no site is known, or a site is not;
    a ``Site`` with an unusable domain is an error of the result, and the others are built. A section that fails keeps
    its last published files and stays in the index, and so does one that `allow_shrink` would let lose most of its
    URLs. A site that another build is building is named in the result; with `if_locked` "wait" that is waited for.
    `prune` removes files that no index lists without their ``GRACE_PERIOD``. `is_stopped` is asked between pages. With
    more than one of `workers`, so many processes render pages; 0 means one for each core. `warm_cache` puts what was
    published into the cache, so that no request renders.
    """
    labels = _known(labels)
    started = time.monotonic()
    result = BuildResult()
    options = _Options(
        full=full,
        repack=repack,
        strict=strict,
        progress=progress or _silent,
        allow_shrink=allow_shrink,
        prune=prune,
        is_stopped=is_stopped or _never,
    )
    with neutral(), make_crew(workers) as crew:
        # All sites before the first is built: a host that is unusable is found before anything is published.
        for site in _chosen(sites, partial(_unusable, result)):
            if result.is_stopped:
                break
            try:
                with hold(
                    site,
                    if_locked="wait" if if_locked == "wait" else "fail",
                    waiting=partial(_wait, options),
                ) as lease:
                    _SiteBuild(site, result, options, crew, lease).run(labels)
            except BuildLocked as locked:
                result.locked.append(str(locked))
                continue
            except Stopped:
                result.is_stopped = True
                break
            if warm_cache and not result.is_stopped:
                _warm(site, result)
    result.seconds = time.monotonic() - started
    return result


def examine(labels: Sequence[str] = (), *, sites: Sequence[str] = (), full: bool = False) -> Iterator[Due]:
    """Yield the pages that a build would render, or take out of the index, and why; nothing is written.

    Raises as `build` does; a section that cannot be planned raises its error.
    """
    labels = _known(labels)
    with neutral():
        for site in _chosen(sites, None):
            known = PublishedSet.open(site, get_store(), is_ours=False)
            for label in labels:
                yield from _examined(site, label, known.manifest.section(label), full=full)
            for label, reason in known.stale_indexes(labels):
                yield Due(site.domain, label, 0, reason, is_stale=True)


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
    check = _due_check(plan.section, entry, full=full, is_strict=is_strict)
    for page in plan.pages:
        if reason := check(plan, page):
            yield page, reason


def _due_check(
    section: Section, entry: SectionEntry, *, full: bool, is_strict: bool, rows: str | None = None
) -> Callable[[Plan, Page], Reason | None]:
    rows = rows_of(section) if rows is None else rows
    now = timezone.now()

    def check(plan: Plan, page: Page) -> Reason | None:
        reason = why_due(plan, page, entry, rows, is_strict=is_strict, now=now)
        return reason or (Reason("all are rendered", is_stale=False) if full and plan.is_listed(page) else None)

    return check


@contextmanager
def _planned_for_now(section: Section) -> Iterator[Plan]:
    """Give the plan as it would be now, and leave the stored one as it is."""
    with transaction.atomic(using=router.db_for_write(SitemapPage)):
        yield refresh(section, force=True)
        transaction.set_rollback(True, using=router.db_for_write(SitemapPage))


class _SiteBuild:
    """The build of one site."""

    def __init__(
        self, site: SiteOrigin, result: BuildResult, options: _Options, crew: Crew | None, lease: Lease
    ) -> None:
        self.site = site
        self.result = result
        self.options = options
        self.crew = crew
        self.lease = lease

    def run(self, labels: Sequence[str]) -> None:
        try:
            self.set = PublishedSet.open(self.site, get_store())
        except Exception as error:
            self._failed(error, "The published set of %s cannot be built upon", f"site {self.site.domain}")
            return
        try:
            for label in labels:
                self._section(label)
        except Stopped:
            # What was published so far gets into the index.
            self.result.is_stopped = True
            self.lease.result = Build.Result.STOPPED
        except LeaseLost as error:
            # From here on the files are another build's.
            self._failed(error, "The build of %s ends", f"site {self.site.domain}")
            self._tell()
            return
        try:
            place = self.set.finish(prune=self.options.prune)
            if place:
                self.result.indexes.append(place)
        except Exception as error:
            self._failed(error, "The index of %s could not be built", f"index of {self.site.domain}")
        self._tell()

    def _failed(self, error: Exception, text: str, what: str) -> None:
        _log(error, text, self.site.domain)
        self.result.errors.append(f"{what}: {_said(error)}")
        self.lease.result = Build.Result.FAILED

    def _tell(self) -> None:
        changed = list(self.set.changed)
        removed = [url for url in self.set.removed if url not in self.set.changed]
        if changed or removed:
            published.send_robust(SiteOrigin, site=self.site, changed=changed, removed=removed)

    def _section(self, label: str) -> None:
        self._pause()
        done = SectionResult(site=self.site.domain, label=label, report=Report(label))
        self.result.sections.append(done)
        try:
            section = get_section(label, self.site)
            with stage(site_directory(self.site.domain), label) as staging:
                began = timezone.now()
                rows = rows_of(section)
                assembly = self._render(section, done, staging, rows)
                self._publish(assembly, done, staging, rows, began)
            # What live pages show follows at once.
            get_cache().look_again([label, ""])
        except (Stopped, LeaseLost) as error:
            done.error = _said(error)
            raise
        except Exception as error:
            _log(error, "Sitemap section %s of %s could not be built", label, self.site.domain)
            done.error = _said(error)
            self.lease.result = Build.Result.FAILED

    def _pause(self) -> None:
        """Say that the build lives, and end it where that is wanted: between two pages."""
        if self.options.is_stopped():
            raise Stopped("The build was asked to stop; what it has published is whole.")
        self.lease.keep()

    def _render(self, section: Section, done: SectionResult, staging: Staging, rows: str) -> Assembly:
        """Render the pages that are due to the staging area and return what came of them."""
        is_strict = get_settings().STRICT if self.options.strict is None else self.options.strict
        entry = self.set.manifest.section(section.label)
        check = _due_check(section, entry, full=self.options.full, is_strict=is_strict, rows=rows)
        assembly = Assembly(refresh(section, force=True, repack=self.options.repack), check)
        here = Here(section)
        try:
            while assembly.is_open:
                self._pause()
                # One page is not worth the start of a process.
                is_for_crew = self.crew and (self.crew.is_busy or assembly.known > 1)
                self._work(assembly, self.crew if self.crew and is_for_crew else here, staging)
        finally:
            if self.crew:
                # None may write to the staging area when it is removed.
                self.crew.abandon()
            for outcome in assembly.settle(done.report):
                done.rendered += 1
                if outcome.is_written:
                    self._count(done, outcome.found["urls"], outcome.found["size"])
            done.left_out = done.report.left_out
        if assembly.error:
            # A process that was stopped together with this one did not fail.
            self._pause()
            raise assembly.error
        return assembly

    def _work(self, assembly: Assembly, renderer: Renderer, staging: Staging) -> None:
        """Hand out pages while the renderer has room, and take what is finished."""
        section = assembly.plan.section
        while renderer.has_room and (page := assembly.hand_out()):
            renderer.submit(
                Task(
                    label=section.label,
                    site=self.site,
                    page=page,
                    staging=staging,
                    strict=self.options.strict,
                    declared=declaration(section),
                )
            )
        for page, outcome in renderer.wait() if renderer.is_busy else ():
            if assembly.take(page, outcome):
                self.options.progress(f"{self.site.domain} {section.label}", len(assembly.outcomes), assembly.known)

    def _publish(self, assembly: Assembly, done: SectionResult, staging: Staging, rows: str, began: datetime) -> None:
        """Publish the pages that were rendered, if the section is not to be held back."""
        plan, outcomes = assembly.plan, assembly.outcomes
        entry = self.set.manifest.section(done.label)
        pages = []
        for page in plan.pages:
            if page.number in outcomes:
                if outcomes[page.number].is_written:
                    pages.append(page)
            elif plan.is_listed(page) and (known := entry.pages.get(page.number)):
                pages.append(page)
                done.skipped += 1
                self._count(done, known.urls, known.bytes)
                done.left_out += known.left_out
        if done.report.left_out and not done.urls:
            # What a broken release looks like. A section without rows is another matter.
            raise SitemapError(
                f"All {done.report.left_out:,} rows were left out, so the section keeps its files. "
                f"The first one: {done.report.problems[0].hook}: {done.report.problems[0].reason}"
            )
        written = {page.number: outcomes[page.number] for page in pages if page.number in outcomes}
        shapes = [
            written[page.number].shape if page.number in written else entry.pages[page.number].shape for page in pages
        ]
        self._guard(plan.section, entry, done, shapes)
        ready = Ready(
            plan=plan,
            pages=pages,
            outcomes=written,
            staging=staging,
            rows=rows,
            began=began,
        )
        done.written = self.set.publish(ready, self._pause)
        done.pages, done.numbers = len(pages), [page.number for page in pages]

    def _guard(
        self, section: Section, entry: SectionEntry, done: SectionResult, shapes: Iterable[dict[str, Any]]
    ) -> None:
        """Raise SitemapError where the section looks broken beside what is published."""
        if self.options.allow_shrink:
            return
        reason = why_not(
            # News come and go.
            urls_before=0 if section.is_windowed else entry.urls,
            urls_now=done.urls,
            shape_before=_merged(page.shape for page in entry.pages.values()),
            shape_now=_merged(shapes),
            most=get_settings().MAX_SHRINK,
        )
        if reason:
            done.is_held_back = True
            raise SitemapError(reason)

    def _count(self, done: SectionResult, urls: int, size: int) -> None:
        done.pages += 1
        done.urls += urls
        done.bytes += size


def _merged(shapes: Iterable[dict[str, Any]]) -> Shape:
    return merge(Shape.from_json(shape) for shape in shapes if shape)


def _known(labels: Sequence[str]) -> Sequence[str]:
    for label in labels:
        registry[label]
    return tuple(dict.fromkeys(labels)) or tuple(registry)


def _chosen(names: Sequence[str], unusable: Callable[[NoOrigin], None] | None) -> list[SiteOrigin]:
    """Return the sites of those names, ids or domains; all without any."""
    sites = list(get_sites(unusable))
    known = {name: site for site in sites for name in (str(site.id), site.domain)}
    if missing := [name for name in names if name not in known]:
        there = ", ".join(f"{site.id} ({site.domain})" for site in sites)
        raise NoOrigin(f"There is no site {missing[0]!r}. Name one of these by its id or its domain: {there}.")
    chosen = {known[name].id for name in names}
    return [site for site in sites if not names or site.id in chosen]


def _wait(options: _Options, notice: str) -> None:
    if options.is_stopped():
        raise Stopped("The build was asked to stop while it waited for another one.")
    options.progress(notice, 0, 0)


def _warm(site: SiteOrigin, result: BuildResult) -> None:
    """Have the cache of live pages filled with what was published; a cache that fails says so in the log."""
    wanted = [Wanted(site=site)]
    for section in result.sections:
        if section.site == site.domain and not section.error and section.urls:
            wanted.append(Wanted(site=site, label=section.label))
            wanted += [Wanted(site=site, label=section.label, number=number) for number in section.numbers]
    for one in wanted:
        try:
            serve(one)
            if not get_cache().has(one.name, one.label):
                result.errors.append(f"cache of {site.domain}: it does not keep what it is given; the log says why")
                return
        except PageNotFound:
            # What it lists has gone since.
            continue
        except Exception as error:
            _log(error, "The cache could not be filled with %s", one.name)
            result.errors.append(f"cache of {one.name}: {_said(error)}")


def _unusable(result: BuildResult, error: NoOrigin) -> None:
    logger.error("A site cannot be built: %s", error)
    result.errors.append(_said(error))


def _silent(what: str, done: int, known: int) -> None:
    pass


def _never() -> bool:
    return False


def _log(error: Exception, what: str, *args: object) -> None:
    # Our own errors say what is wrong and what to do; of others a developer wants to see the way there.
    is_ours = error.is_ours if isinstance(error, WorkerError) else isinstance(error, SitemapError)
    logger.error(f"{what}: %s", *args, error, exc_info=None if is_ours else error)


def _said(error: Exception) -> str:
    return f"{error.kind if isinstance(error, WorkerError) else type(error).__name__}: {error}"
