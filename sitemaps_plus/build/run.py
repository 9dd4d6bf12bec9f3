"""Render the pages that are due of every section of every site, and publish them; the index last."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args

from django.db import connections
from django.utils import timezone

from sitemaps_plus.build.assembly import Assembly
from sitemaps_plus.build.due import due_check
from sitemaps_plus.build.executors.workers import Crew, Here, Renderer, Task, WorkerError, declaration, make_crew
from sitemaps_plus.build.lease import Lease, hold
from sitemaps_plus.build.publishing import PublishedSet, Ready
from sitemaps_plus.build.results import BuildResult, SectionResult
from sitemaps_plus.build.shrink_guard import why_not_publish
from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import chosen_labels
from sitemaps_plus.errors import BuildLocked, LeaseLost, NoOrigin, SitemapError, Stopped
from sitemaps_plus.models import Build
from sitemaps_plus.plan.pages import active
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, get_section, neutral
from sitemaps_plus.plan.sites import SiteOrigin, chosen_sites
from sitemaps_plus.plan.validators import fingerprint_of
from sitemaps_plus.protocol.names import site_directory
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.shapes import Shape, merge
from sitemaps_plus.signals import published
from sitemaps_plus.stores.cache import get_cache
from sitemaps_plus.stores.files import get_store
from sitemaps_plus.stores.manifest import SectionEntry
from sitemaps_plus.stores.staging import Staging, stage

logger = logging.getLogger("sitemaps_plus")

Progress = Callable[[str, int, int], None]
"""Called with what is being built, the pages done and the pages known so far."""

IfLocked = Literal["fail", "wait", "skip"]

_DISK = (errno.EACCES, errno.EDQUOT, errno.ENOSPC, errno.EPERM, errno.EROFS)


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
    allow_shrink: bool = False,
    prune: bool = False,
    if_locked: IfLocked = "fail",
    started_by: str = "",
    is_stopped: Callable[[], bool] | None = None,
) -> BuildResult:
    """Publish what changed in `labels`, in all sections without any, and the indexes of every site, or of `sites`.

    Only pages are rendered whose rows or recipe changed, or whose last rendering is older than ``MAX_AGE``; with `full`
    all. Raises PageNotFound for a label that is not registered, and NoOrigin where no site is known, or a site is not;
    a ``Site`` with an unusable domain is an error of the result, and the others are built. A section that fails keeps
    its last published files and stays in the index, and so does one that `allow_shrink` would let lose most of its
    URLs. A site that another build is building is named in the result; with `if_locked` "wait" that is waited for.
    `prune` removes files that no index lists without their ``GRACE_PERIOD``. `is_stopped` is asked between pages. With
    more than one of `workers`, so many processes render pages; 0 means one for each core. `started_by` is kept in
    the history.
    """
    asked, labels = labels, chosen_labels(labels)
    if if_locked not in get_args(IfLocked):
        raise ValueError(f"if_locked is {if_locked!r}, not one of {', '.join(get_args(IfLocked))}.")
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
        if not labels and not allow_shrink:
            raise SitemapError(
                "No sitemap is registered, so there is nothing to build, and what is published stays. Register a "
                "Sitemap class in the sitemaps.py of an app in INSTALLED_APPS."
            )
        # All sites before the first is built: a host that is unusable is found before anything is published.
        for site in chosen_sites(sites, partial(_unusable, result)):
            if result.is_stopped:
                break
            try:
                with hold(
                    site,
                    started_by=started_by,
                    labels=asked,
                    if_locked="wait" if if_locked == "wait" else "fail",
                    waiting=partial(_wait, options),
                ) as lease:
                    known = len(result.errors)
                    try:
                        _SiteBuild(site, result, options, crew, lease).run(labels)
                    finally:
                        lease.report = {**result.of_site(site.domain), "errors": result.errors[known:]}
            except BuildLocked as locked:
                result.locked.append(str(locked))
                continue
            except Stopped:
                result.is_stopped = True
                break
            except SitemapError as error:
                _log(error, "The site %s cannot be built", site.domain)
                result.errors.append(f"site {site.domain}: {_said(error)}")
                continue
            if lease.is_lost:
                result.errors.append(
                    f"site {site.domain}: Another build took over before this one had ended; build again, as the files "
                    "may be of either."
                )
    result.seconds = time.monotonic() - started
    return result


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
            get_store().sweep(site_directory(self.site.domain))
            self.set = PublishedSet(self.site, is_verified=self.options.full)
        except Exception as error:
            self._failed(error, "The published set of %s cannot be built upon", f"site {self.site.domain}")
            return
        try:
            for label in labels:
                self._section(label)
            # The index is for who has the lease now.
            self.lease.keep(now=True)
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
            place = self.set.finish(prune=self.options.prune, keeps_unregistered=not self._may_drop_unregistered())
            if place:
                self.result.indexes.append(place)
        except Exception as error:
            self._failed(error, "The index of %s could not be built", f"index of {self.site.domain}")
        self._tell()

    def _may_drop_unregistered(self) -> bool:
        """Say which sections leave the index because nobody registers them, and whether they may."""
        gone, most = self.set.unregistered, get_settings().MAX_SHRINK
        total = sum(section.urls for section in self.set.manifest.sections.values())
        if not gone:
            return True
        what = f"{', '.join(gone)} with {sum(gone.values()):,} of {total:,} URLs"
        if self.options.allow_shrink or sum(gone.values()) <= total * most:
            logger.warning("Not registered any more, and taken out of the index of %s: %s", self.site.domain, what)
            return True
        error = SitemapError(
            f"Not registered any more: {what}. They stay in the index. If that is meant, take them out with "
            "--allow-shrink. If not, look at INSTALLED_APPS, and at what registers them."
        )
        self._failed(error, "Sections of %s are missing", f"site {self.site.domain}")
        return False

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
                fingerprint = fingerprint_of(section)
                assembly = self._render(section, done, staging, fingerprint)
                self._publish(assembly, done, staging, fingerprint, began)
            # What live pages show follows at once.
            get_cache().look_again([label, ""])
        except (Stopped, LeaseLost) as error:
            self._stays(done, error)
            done.is_stopped = isinstance(error, Stopped)
            raise
        except Exception as error:
            _log(error, "Sitemap section %s of %s could not be built", label, self.site.domain)
            self._stays(done, error)
            self.lease.result = Build.Result.FAILED
            _close_broken_connections()

    def _stays(self, done: SectionResult, error: Exception) -> None:
        """Note the error, and what is listed all the same."""
        done.error = _said(error)
        pages = self.set.manifest.section(done.label).pages
        done.pages, done.numbers = len(pages), list(pages)
        done.urls, done.bytes = sum(page.urls for page in pages.values()), sum(page.bytes for page in pages.values())

    def _pause(self) -> None:
        """Say that the build lives, and end it where that is wanted: between two pages."""
        if self.options.is_stopped():
            raise Stopped("The build was asked to stop; what it has published is whole.")
        self.lease.keep()

    def _render(self, section: Section, done: SectionResult, staging: Staging, fingerprint: str) -> Assembly:
        """Render the pages that are due to the staging area and return what came of them."""
        is_strict = get_settings().STRICT if self.options.strict is None else self.options.strict
        entry = self.set.manifest.section(section.label)
        # The database knows what a lost manifest would, until the plan is renewed.
        self.urls_before = entry.urls or sum(record.urls or 0 for record in active(section) if record.built_digest)
        check = due_check(section, entry, fingerprint, full=self.options.full, is_strict=is_strict)
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
                self.lease.say(f"{section.label}: {len(assembly.outcomes):,} / {assembly.known:,}")

    def _publish(
        self, assembly: Assembly, done: SectionResult, staging: Staging, fingerprint: str, began: datetime
    ) -> None:
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
            fingerprint=fingerprint,
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
        reason = why_not_publish(
            # News come and go.
            urls_before=0 if section.is_windowed else self.urls_before,
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


def _wait(options: _Options, notice: str) -> None:
    if options.is_stopped():
        raise Stopped("The build was asked to stop while it waited for another one.")
    options.progress(notice, 0, 0)


def _unusable(result: BuildResult, error: NoOrigin) -> None:
    logger.error("A site cannot be built: %s", error)
    result.errors.append(_said(error))


def _close_broken_connections() -> None:
    """Let the next section have a connection that works."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def _silent(what: str, done: int, known: int) -> None:
    pass


def _never() -> bool:
    return False


def _log(error: Exception, what: str, *args: object) -> None:
    # Our own errors say what is wrong and what to do; of others a developer wants to see the way there.
    is_ours = error.is_ours if isinstance(error, WorkerError) else isinstance(error, SitemapError)
    # A full disk, or one that may not be written to, is nobody's mistake in code.
    is_known = is_ours or (isinstance(error, OSError) and error.errno in _DISK)
    logger.error(f"{what}: %s", *args, error, exc_info=None if is_known else error)


def _said(error: Exception) -> str:
    return f"{error.kind if isinstance(error, WorkerError) else type(error).__name__}: {error}"
