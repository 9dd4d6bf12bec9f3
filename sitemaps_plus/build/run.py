"""Build every site: its sections one after the other, then its index."""

from __future__ import annotations

import errno
import logging
import time
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import connections

from sitemaps_plus.build.executors.base import Executor, WorkerError
from sitemaps_plus.build.executors.crew import make_crew
from sitemaps_plus.build.lease import Lease, hold
from sitemaps_plus.build.options import BuildOptions
from sitemaps_plus.build.publishing import PublishedSet
from sitemaps_plus.build.results import BuildProgress, BuildResult, SectionResult
from sitemaps_plus.build.section import SectionBuild
from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import chosen_labels, registry
from sitemaps_plus.errors import BuildLocked, LeaseLost, NoOrigin, SitemapError, Stopped
from sitemaps_plus.models import Build
from sitemaps_plus.plan.sections import get_section, neutral
from sitemaps_plus.plan.sites import SiteOrigin, chosen_sites
from sitemaps_plus.plan.verification import Allowance
from sitemaps_plus.protocol.names import site_directory
from sitemaps_plus.protocol.reports import IN_RESULT, Report
from sitemaps_plus.signals import published as published_signal
from sitemaps_plus.stores.cache import get_cache
from sitemaps_plus.stores.files import get_store
from sitemaps_plus.stores.staging import clear_staging

logger = logging.getLogger("sitemaps_plus")

_DISK = (errno.EACCES, errno.EDQUOT, errno.ENOSPC, errno.EPERM, errno.EROFS)


def build(labels: Sequence[str] = (), **options: Any) -> BuildResult:
    """Publish what changed in `labels`, in all sections without any, and the indexes of every site.

    `options` are the fields of `BuildOptions`. Only pages are rendered whose rows or recipe changed, or whose last
    rendering is older than ``MAX_AGE``. Raises PageNotFound for a label that is not registered, and NoOrigin for an
    unknown site, or where there is none. A ``Site`` with an unusable domain is an error of the result, and the others
    are built. A section that fails keeps its published files and stays in the index.
    """
    given = BuildOptions(labels=labels, **options)
    labels = chosen_labels(labels)
    started = time.monotonic()
    result = BuildResult()
    with neutral(), make_crew(given.processes) as crew:
        if not labels and not given.allow_shrink:
            raise SitemapError(
                "No sitemap is registered, so there is nothing to build, and what is published stays. Register a "
                "Sitemap class in the sitemaps.py of an app in INSTALLED_APPS."
            )
        # All sites before the first is built: an unusable host is found before anything is published.
        for site in chosen_sites(given.sites, partial(_add_unusable, result)):
            if not result.is_stopped:
                _build_site(site, labels, given, result, crew)
    result.seconds = time.monotonic() - started
    return result


def _build_site(
    site: SiteOrigin, labels: Sequence[str], options: BuildOptions, result: BuildResult, crew: Executor | None
) -> None:
    try:
        with hold(
            site,
            started_by=options.started_by,
            labels=options.labels,
            if_locked=options.if_locked,
            waiting=partial(_wait, options),
        ) as lease:
            known = len(result.errors)
            try:
                SiteBuild(site, result, options, crew, lease).run(labels)
            finally:
                lease.report = {**result.of_site(site.domain), "errors": result.errors[known:]}
    except BuildLocked as locked:
        result.locked.append(str(locked))
    except Stopped:
        result.is_stopped = True
    except SitemapError as error:
        _log(result, error, "The site %s cannot be built", site.domain)
        result.errors.append(f"site {site.domain}: {_describe(error)}")
    else:
        if lease.is_lost:
            result.errors.append(
                f"site {site.domain}: Another build took over before this one had ended; build again, as the files "
                "may be of either."
            )


class SiteBuild:
    """The build of one site."""

    def __init__(
        self, site: SiteOrigin, result: BuildResult, options: BuildOptions, crew: Executor | None, lease: Lease
    ) -> None:
        self.site = site
        self.result = result
        self.options = options
        self._crew = crew
        self._lease = lease

    def run(self, labels: Sequence[str]) -> None:
        """Build the sections and the index; errors go to the result."""
        try:
            get_store().require_replacing()
            get_store().sweep(site_directory(self.site.domain))
            if self._lease.is_held:
                clear_staging(site_directory(self.site.domain))
            published = PublishedSet(self.site, is_verified=self.options.full, pause=self._lease.keep)
            published.repair()
            self._allowance = Allowance(len(registry))
        except Exception as error:
            self._fail(error, "The published set of %s cannot be built upon", f"site {self.site.domain}")
            return
        try:
            self._build_sections(published, labels)
        except LeaseLost as error:
            # From here on the files are another build's.
            self._fail(error, "The build of %s ends", f"site {self.site.domain}")
        else:
            self._build_index(published)
        self._send_signal(published)

    def _build_sections(self, published: PublishedSet, labels: Sequence[str]) -> None:
        try:
            for label in labels:
                self._build_section(published, label)
            # The index is for whoever has the lease now.
            self._lease.keep(now=True)
        except Stopped:
            # The index gets all that was published so far.
            self.result.is_stopped = True
            self._lease.result = Build.Result.STOPPED

    def _build_section(self, published: PublishedSet, label: str) -> None:
        self._pause()
        done = SectionResult(site=self.site.domain, label=label, report=Report(label))
        self.result.sections.append(done)
        try:
            SectionBuild(
                get_section(label, self.site),
                done,
                published=published,
                options=self.options,
                allowance=self._allowance,
                crew=self._crew,
                pause=self._pause,
                report=self._report,
            ).run()
            # Live pages follow at once.
            get_cache().look_again([label, ""])
        except (Stopped, LeaseLost) as error:
            done.keep_published(_describe(error), published.manifest.section(label))
            done.is_stopped = isinstance(error, Stopped)
            raise
        except Exception as error:
            _log(self.result, error, "Sitemap section %s of %s could not be built", label, self.site.domain)
            done.keep_published(_describe(error), published.manifest.section(label))
            self._lease.result = Build.Result.FAILED
            _close_broken_connections()

    def _build_index(self, published: PublishedSet) -> None:
        try:
            may_drop = self._may_drop_unregistered(published)
            path = published.finish(prune=self.options.prune, keeps_unregistered=not may_drop)
            if path:
                self.result.indexes.append(path)
        except Exception as error:
            self._fail(error, "The index of %s could not be built", f"index of {self.site.domain}")

    def _may_drop_unregistered(self, published: PublishedSet) -> bool:
        """Report which sections leave the index because they are no longer registered; return whether they may."""
        gone, most = published.unregistered, get_settings().MAX_SHRINK
        if not gone:
            return True
        total = sum(section.urls for section in published.manifest.sections.values())
        counted = f"{', '.join(gone)} with {sum(gone.values()):,} of {total:,} URLs"
        if self.options.allow_shrink or sum(gone.values()) <= total * most:
            logger.warning("No longer registered, and taken out of the index of %s: %s", self.site.domain, counted)
            return True
        error = SitemapError(
            f"No longer registered: {counted}. They stay in the index. If that is meant, take them out with "
            "--allow-shrink. If not, look at INSTALLED_APPS, and at the code that registers them."
        )
        self._fail(error, "Sections of %s are missing", f"site {self.site.domain}")
        return False

    def _pause(self) -> None:
        """Between two pages: raise Stopped where the build is to end, and renew the lease."""
        if self.options.is_stopped and self.options.is_stopped():
            raise Stopped("The build was asked to stop; what it has published is whole.")
        self._lease.keep()

    def _report(self, progress: BuildProgress) -> None:
        if self.options.progress:
            self.options.progress(f"{self.site.domain} {progress.label}", progress.done, progress.known)
        self._lease.report_progress(progress)

    def _fail(self, error: Exception, text: str, where: str) -> None:
        _log(self.result, error, text, self.site.domain)
        self.result.errors.append(f"{where}: {_describe(error)}")
        self._lease.result = Build.Result.FAILED

    def _send_signal(self, published: PublishedSet) -> None:
        changed = list(published.changed)
        removed = [url for url in published.removed if url not in published.changed]
        if changed or removed:
            published_signal.send_robust(SiteOrigin, site=self.site, changed=changed, removed=removed)


def _wait(options: BuildOptions, notice: str) -> None:
    if options.is_stopped and options.is_stopped():
        raise Stopped("The build was asked to stop while it waited for another one.")
    if options.progress:
        options.progress(notice, 0, 0)


def _add_unusable(result: BuildResult, error: NoOrigin) -> None:
    logger.error("A site cannot be built: %s", error, extra={IN_RESULT: True})
    result.errors.append(_describe(error))


def _close_broken_connections() -> None:
    """Let the next section have a connection that works."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def _log(result: BuildResult, error: Exception, text: str, *args: object) -> None:
    # Our own errors say what is wrong and what to do; for others a developer wants the traceback.
    is_ours = error.is_ours if isinstance(error, WorkerError) else isinstance(error, SitemapError)
    # A full disk, or one that is not writable, is no mistake in code.
    is_known = is_ours or (isinstance(error, OSError) and error.errno in _DISK)
    if not is_known:
        # That of the other process is a note.
        lines = error.__notes__ if isinstance(error, WorkerError) else traceback.format_exception(error)
        result.tracebacks[_describe(error)] = "".join(lines).rstrip()
    logger.error(f"{text}: %s", *args, error, exc_info=None if is_known else error, extra={IN_RESULT: True})


def _describe(error: Exception) -> str:
    return f"{error.kind if isinstance(error, WorkerError) else type(error).__name__}: {error}"
