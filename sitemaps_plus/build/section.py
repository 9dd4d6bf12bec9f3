"""Build one section of one site: render the pages that are due to staging, then publish them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from django.utils import timezone

from sitemaps_plus.build.assembly import Assembly
from sitemaps_plus.build.due import CONFIRMING, VERIFIED, due_check
from sitemaps_plus.build.executors.base import Executor, Outcome, Task, declaration
from sitemaps_plus.build.executors.here import Here
from sitemaps_plus.build.options import BuildOptions
from sitemaps_plus.build.publishing import PublishedSet
from sitemaps_plus.build.ready import Ready
from sitemaps_plus.build.results import BuildProgress, SectionResult
from sitemaps_plus.build.shrink_guard import why_not_publish
from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.plan.pages import Page, active
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.records import has_moved, record_unseen
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.seen import seen_fingerprint
from sitemaps_plus.plan.validators import Fingerprint, fingerprint_of
from sitemaps_plus.plan.verification import Allowance
from sitemaps_plus.protocol.names import page_file, site_directory
from sitemaps_plus.protocol.shapes import merge
from sitemaps_plus.stores.packing import count_differences, unpack
from sitemaps_plus.stores.staging import Staging, stage


class SectionBuild:
    """The build of one section; `result` is filled on the way, so that it also tells how far a failed build came.

    `pause` is called between pages and raises where the build has to end. `report` is called with the progress.
    """

    def __init__(
        self,
        section: Section,
        result: SectionResult,
        *,
        published: PublishedSet,
        options: BuildOptions,
        allowance: Allowance,
        crew: Executor | None,
        pause: Callable[[], None],
        report: Callable[[BuildProgress], None],
    ) -> None:
        self.section = section
        self.result = result
        self.published = published
        self.options = options
        self.allowance = allowance
        self.known = published.manifest.section(section.label)
        self._crew = crew
        self._pause = pause
        self._report = report

    def run(self) -> None:
        """Render and publish; raise SitemapError where the section has to keep its files."""
        with stage(site_directory(self.section.site.domain), self.section.label) as staging:
            began = timezone.now()
            fingerprint = fingerprint_of(self.section)
            # Before the plan is renewed: the database knows the number where the manifest does not.
            urls_before = self.known.urls_published or sum(
                page.urls or 0 for page in active(self.section) if page.built_digest
            )
            assembly = self._render(staging, fingerprint)
            pages = self._listed(assembly)
            self._guard(urls_before, pages, assembly.outcomes)
            unseen = self._unseen(assembly, pages, staging, fingerprint)
            self._publish(assembly, pages, staging, fingerprint, began)
            for page, count in unseen:
                record_unseen(page, count)
                self.result.unseen[page.number] = count
                self.result.told_by = self.section.told_by

    def _unseen(
        self, assembly: Assembly, pages: list[Page], staging: Staging, fingerprint: Fingerprint
    ) -> list[tuple[Page, int]]:
        """Return the pages that differ from their files although nothing told so, and how many URLs differ."""
        found = []
        for page in pages:
            outcome = assembly.outcomes.get(page.number)
            if outcome is None or assembly.reasons.get(page.number) not in CONFIRMING:
                continue
            if self.known.digest(page.number) in ("", outcome.found["digest"]):
                continue
            if page.number in assembly.moved or has_moved(self.section, page, fingerprint):
                continue
            before = self.published.files.read_page(self.section.label, page.number)
            after = staging.read(page_file(self.section.label, page.number))
            found.append((page, count_differences(unpack(before), unpack(after)) if before else 0))
        return found

    def _render(self, staging: Staging, fingerprint: Fingerprint) -> Assembly:
        """Render the pages that are due to the staging area, and return them."""
        options, result = self.options, self.result
        renders_all = options.full or options.repack or not self.known.pages
        plan = refresh(self.section, force=True, repack=options.repack, renders_all=renders_all, published=self.known)
        check = due_check(plan, self.known, fingerprint, self.allowance, full=options.full, is_strict=options.is_strict)
        assembly = Assembly(plan, check)
        here = Here(self.section)
        try:
            while assembly.is_open:
                self._pause()
                # One page is not worth the start of a process.
                is_for_crew = self._crew and (self._crew.is_busy or assembly.known > 1)
                self._work(assembly, self._crew if self._crew and is_for_crew else here, staging)
        finally:
            if self._crew:
                # The staging area is about to be removed.
                self._crew.abandon()
            for number, outcome in assembly.settle(result.report):
                result.rendered += 1
                result.verified += assembly.reasons[number] is VERIFIED
                if outcome.is_written:
                    result.count_page(outcome.found["urls"], outcome.found["size"])
            result.left_out = result.report.left_out
        if assembly.error:
            # A process that was stopped together with this one did not fail.
            self._pause()
            raise assembly.error
        return assembly

    def _work(self, assembly: Assembly, executor: Executor, staging: Staging) -> None:
        """Submit pages while the executor has room, and take the finished ones."""
        while executor.has_room and (page := assembly.hand_out()):
            executor.submit(self._task(page, assembly.plan.section, staging))
        for page, outcome in executor.wait() if executor.is_busy else ():
            if assembly.take(page, outcome):
                self._report(BuildProgress(self.section.label, len(assembly.outcomes), assembly.known))

    def _task(self, page: Page, section: Section, staging: Staging) -> Task:
        return Task(
            label=section.label,
            site=section.site,
            page=page,
            staging=staging,
            strict=self.options.strict,
            declared=declaration(section),
        )

    def _listed(self, assembly: Assembly) -> list[Page]:
        """Return the pages that the index will list: the rendered ones that have URLs, and those that stay."""
        plan, outcomes, result = assembly.plan, assembly.outcomes, self.result
        pages = []
        for page in plan.pages:
            if page.number in outcomes:
                if outcomes[page.number].is_written:
                    pages.append(page)
            elif plan.is_listed(page) and (known := self.known.pages.get(page.number)):
                pages.append(page)
                result.skipped += 1
                result.count_page(known.urls, known.bytes)
                result.left_out += known.left_out
        return pages

    def _guard(self, urls_before: int, pages: Iterable[Page], outcomes: dict[int, Outcome]) -> None:
        """Raise SitemapError where the section looks broken in comparison with its published pages."""
        result = self.result
        if result.report.left_out and not result.urls:
            # A broken release looks like this. A section without rows is another matter.
            first = result.report.problems[0]
            raise SitemapError(
                f"All {result.report.left_out:,} rows were left out, so the section keeps its files. "
                f"The first one: row {first.key}, {first.hook}: {first.reason}"
            )
        if self.options.allow_shrink:
            return
        objection = why_not_publish(
            # News come and go.
            urls_before=0 if self.section.is_windowed else urls_before,
            urls_now=result.urls,
            shape_before=merge(page.shape for page in self.known.pages.values()),
            shape_now=merge((outcomes.get(page.number) or self.known.pages[page.number]).shape for page in pages),
            most=get_settings().MAX_SHRINK,
        )
        if objection:
            result.objection = objection
            raise SitemapError(str(objection))

    def _publish(
        self, assembly: Assembly, pages: list[Page], staging: Staging, fingerprint: Fingerprint, began: datetime
    ) -> None:
        ready = Ready(
            plan=assembly.plan,
            pages=pages,
            outcomes={page.number: found for page in pages if (found := assembly.outcomes.get(page.number))},
            staging=staging,
            fingerprint=self._shown_fingerprint(assembly, fingerprint),
            began=began,
        )
        self.result.written = self.published.publish(ready, self._pause)
        self.result.pages, self.result.numbers = len(pages), [page.number for page in pages]

    def _shown_fingerprint(self, assembly: Assembly, fingerprint: Fingerprint) -> str:
        """Return the text of the fingerprint of the rows that the published pages show, by position."""
        outcomes = assembly.outcomes
        if not fingerprint.text or all(page.number in outcomes for page in assembly.plan.pages):
            return seen_fingerprint(self.section, fingerprint, (one.found.get("seen") for one in outcomes.values()))
        # Of the other pages nobody knows which rows they show, if one of these shows other rows than before.
        rendered = ((self.known.digest(number), one.found.get("digest")) for number, one in outcomes.items())
        return fingerprint.text if all(before == now for before, now in rendered) else ""
