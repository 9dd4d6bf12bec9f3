"""Render every page of every section of every site to files, the index last."""

from __future__ import annotations

import logging
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

from sitemaps_plus.errors import NoOrigin, PageFull, SitemapError
from sitemaps_plus.origin import SiteOrigin, get_sites
from sitemaps_plus.overrides import INDEX, find_override
from sitemaps_plus.pages import (
    MOST_SPLITS,
    Document,
    does_not_fit,
    list_pages,
    make_index,
    neutral,
    public_url,
    split_page,
)
from sitemaps_plus.paging import record_rendering, refresh
from sitemaps_plus.plans import Page, Plan, stored_plan
from sitemaps_plus.registry import registry
from sitemaps_plus.reports import KEPT, Report
from sitemaps_plus.sections import Section, get_section
from sitemaps_plus.stores.files import FileStore, get_store
from sitemaps_plus.workers import Crew, Here, Outcome, Renderer, Task, WorkerError, declaration, make_crew
from sitemaps_plus.writer import IndexItem

logger = logging.getLogger("sitemaps_plus")

_MOST_PROBLEMS = 100 * KEPT

Progress = Callable[[str, int, int], None]
"""Called with what is being built, the pages done and the pages known so far."""


@dataclass(slots=True, kw_only=True)
class SectionResult:
    """What became of one section of one site."""

    site: str
    label: str
    pages: int = 0
    urls: int = 0
    bytes: int = 0
    report: Report
    error: str | None = None
    """Why the section was not published; its files stay as they were."""


@dataclass(slots=True, kw_only=True)
class BuildResult:
    """What a build did."""

    sections: list[SectionResult] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """What failed beside the sections: an index, a site."""
    indexes: list[str] = field(default_factory=list)
    """Where the index of each site is."""
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether everything was published."""
        return not self.errors and all(section.error is None for section in self.sections)


def build(
    labels: Sequence[str] = (),
    *,
    repack: bool = False,
    strict: bool | None = None,
    progress: Progress | None = None,
    workers: int = 1,
) -> BuildResult:
    """Publish the pages of `labels`, of all sections without any, and the indexes of every site.

    Raises PageNotFound for a label that is not registered, and NoOrigin where no site is known; a ``Site`` with an
    unusable domain is an error of the result, and the others are built. A section that fails
    keeps its last published files and stays in the index. With more than one of `workers`, so many processes render
    pages; 0 means one for each core.
    """
    for label in labels:
        registry[label]
    started = time.monotonic()
    result = BuildResult()
    with neutral(), make_crew(workers) as crew:
        # All sites before the first is built: a host that is unusable is found before anything is published.
        for site in list(get_sites(partial(_unusable, result))):
            _SiteBuild(site, get_store(), result, strict=strict, progress=progress or _silent, crew=crew).run(
                tuple(dict.fromkeys(labels)) or tuple(registry), repack=repack
            )
    result.seconds = time.monotonic() - started
    return result


class _SiteBuild:
    """The build of one site."""

    def __init__(
        self,
        site: SiteOrigin,
        store: FileStore,
        result: BuildResult,
        *,
        strict: bool | None,
        progress: Progress,
        crew: Crew | None,
    ) -> None:
        self.site = site
        self.store = store
        self.result = result
        self.strict = strict
        self.progress = progress
        self.crew = crew
        self.listed: dict[str, list[IndexItem]] = {}
        """What the indexes of the sections list that this build has published."""

    def run(self, labels: Sequence[str], *, repack: bool) -> None:
        for label in labels:
            self._section(label, repack=repack)
        try:
            place = self._site_index()
            if place:
                self.result.indexes.append(place)
        except Exception as error:
            _log(error, "The index of %s could not be built", self.site.domain)
            self.result.errors.append(f"index of {self.site.domain}: {_said(error)}")

    def _section(self, label: str, *, repack: bool) -> None:
        done = SectionResult(site=self.site.domain, label=label, report=Report(label))
        self.result.sections.append(done)
        try:
            section = get_section(label, self.site)
            with tempfile.TemporaryDirectory(prefix="sitemaps_plus-") as folder:
                plan = self._render(section, done, Path(folder), repack=repack)
                if done.report.left_out and not done.urls:
                    # What a broken release looks like. A section without rows is another matter.
                    raise SitemapError(
                        f"All {done.report.left_out:,} rows were left out, so the section keeps its files. "
                        f"The first one: {done.report.problems[0].hook}: {done.report.problems[0].reason}"
                    )
                self._publish(plan, Path(folder))
        except Exception as error:
            _log(error, "Sitemap section %s of %s could not be built", label, self.site.domain)
            done.error = _said(error)

    def _render(self, section: Section, done: SectionResult, folder: Path, *, repack: bool) -> Plan:
        """Render all pages to `folder` and return the plan that they are of."""
        pages = _Pages(refresh(section, force=True, repack=repack))
        here = Here(section)
        try:
            while pages.is_open:
                # One page is not worth the start of a process.
                is_for_crew = self.crew and (self.crew.is_busy or len(pages.plan.pages) > 1)
                self._work(pages, self.crew if self.crew and is_for_crew else here, folder)
        finally:
            if self.crew:
                # None may write to the folder when it is removed.
                self.crew.abandon()
            pages.settle(done)
        if pages.error:
            raise pages.error
        return pages.plan

    def _work(self, pages: _Pages, renderer: Renderer, folder: Path) -> None:
        """Hand out pages while the renderer has room, and take what is finished."""
        section = pages.plan.section
        while renderer.has_room and (page := pages.hand_out()):
            file = folder / self._page_name(section.label, page.number)
            renderer.submit(
                Task(
                    label=section.label,
                    site=self.site,
                    page=page,
                    file=str(file),
                    strict=self.strict,
                    declared=declaration(section),
                )
            )
        for page, outcome in renderer.wait() if renderer.is_busy else ():
            if pages.take(page, outcome):
                self.progress(f"{self.site.domain} {section.label}", len(pages.outcomes), len(pages.plan.pages))

    def _publish(self, plan: Plan, folder: Path) -> None:
        """Publish the rendered pages, then the index that names them."""
        label = plan.section.label
        rendered = [page for page in plan.pages if (folder / self._page_name(label, page.number)).exists()]
        items = list(list_pages(replace(plan, pages=rendered), public_url(self.site)))
        # Made before anything is published: a template of the project may fail.
        index = make_index(items) if items else None
        # New numbers first: should it break off, an older page still has the rows that it gave to them.
        for page in sorted(rendered, key=lambda page: page.number, reverse=True):
            name = self._page_name(label, page.number)
            self.store.publish(f"{self._host}/{name}", (folder / name).read_bytes())
        self._publish_index(f"sitemap-{label}", index)
        self.listed[label] = items

    def _site_index(self) -> str | None:
        """Publish the index of the site from the section indexes, which list what is really there."""
        items = [item for label in registry for item in self._listed(label)]
        return self._publish_index("sitemap", make_index(items) if items else None)

    def _listed(self, label: str) -> Iterator[IndexItem]:
        if label in self.listed:
            yield from self.listed[label]
            return
        document = self.store.read(f"{self._host}/sitemap-{label}.xml")
        if document is None:
            return
        if find_override(INDEX) is not None:
            # What a template of the project wrote may be anything.
            yield from self._published(label)
            return
        for element in ET.fromstring(document):  # noqa: S314 - written by an earlier build
            found = {child.tag.rpartition("}")[2]: child.text or "" for child in element}
            yield IndexItem(found["loc"], found.get("lastmod"))

    def _published(self, label: str) -> Iterator[IndexItem]:
        """Yield the pages of the last known plan that an earlier build has published."""
        plan = stored_plan(get_section(label, self.site))
        there = [page for page in plan.pages if self.store.has(f"{self._host}/{self._page_name(label, page.number)}")]
        return list_pages(replace(plan, pages=there), public_url(self.site))

    def _publish_index(self, name: str, document: Document | None) -> str | None:
        """Publish an index and return where it is; an index without sitemaps would be invalid, and is removed."""
        files = (f"{self._host}/{name}.xml.gz", f"{self._host}/{name}.xml")
        if document is None:
            for file in files:
                self.store.remove(file)
            return None
        for file, data in zip(files, (document.gzipped, b"".join(document.chunks())), strict=True):
            self.store.publish(file, data)
        return self.store.where(files[-1])

    @property
    def _host(self) -> str:
        # A colon is no part of a file name everywhere.
        return self.site.domain.replace(":", "_")

    @staticmethod
    def _page_name(label: str, number: int) -> str:
        return f"sitemap-{label}-{number}.xml.gz"


class _Pages:
    """The pages of one section on their way: all of the newest plan, each rendered once.

    What was rendered counts while the newest plan has the same rows under that number. Only here a plan changes: who
    renders says that a page is full, and it is split when that is heard.
    """

    def __init__(self, plan: Plan) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self.error: Exception | None = None
        """Of the pages that failed, the first one's; nothing is handed out any more."""
        self._failed: Page | None = None
        self._rendered: dict[int, Page] = {}
        self._out: set[int] = set()
        self._splits: Counter[int] = Counter()
        self._problems = 0
        self._follow(plan)

    @property
    def is_open(self) -> bool:
        """Whether a page waits or is being rendered."""
        return bool(self._out or (self._waiting and not self.error))

    def hand_out(self) -> Page | None:
        """Return the next page to render."""
        if self.error or not self._waiting:
            return None
        page = self._waiting.popleft()
        self._out.add(page.number)
        return page

    def take(self, page: Page, outcome: Outcome) -> bool:
        """Take what came of a page, and return whether it counts."""
        self._out.remove(page.number)
        if not self._is_planned(page):
            # Another process cut it meanwhile: these are not its rows.
            self._follow(self.plan)
        elif outcome.error:
            self._fail(page, outcome.error)
        elif outcome.full:
            self._split(page, PageFull(outcome.full[0], split_at=outcome.full[1]))
        else:
            self._keep(page, outcome)
            return True
        return False

    def settle(self, done: SectionResult) -> None:
        """Add up in the order of the rows, up to a page that failed, and record what was found."""
        section = self.plan.section
        for page in self.plan.pages:
            if self._failed and page.number == self._failed.number:
                return
            outcome = self.outcomes.get(page.number)
            if outcome is None or not self._is_planned(self._rendered[page.number]):
                continue
            done.report.merge(outcome.report)
            if outcome.is_written:
                done.pages += 1
                done.urls += outcome.found["urls"]
                done.bytes += outcome.found["size"]
            # What the planner has seen change since is another content.
            if outcome.found and page.record.validator == self._rendered[page.number].record.validator:
                record_rendering(section, page, **outcome.found)

    def _follow(self, plan: Plan) -> None:
        self.plan = plan
        self._ranges = {page.number: (page.start, page.end) for page in plan.pages}
        for number, page in list(self._rendered.items()):
            if not self._is_planned(page):
                del self._rendered[number], self.outcomes[number]
        self._waiting = deque(page for page in plan.pages if page.number not in self._out | self.outcomes.keys())

    def _is_planned(self, page: Page) -> bool:
        return self._ranges.get(page.number) == (page.start, page.end)

    def _keep(self, page: Page, outcome: Outcome) -> None:
        self._rendered[page.number], self.outcomes[page.number] = page, outcome
        self._problems += len(outcome.report.problems)
        if self._problems > _MOST_PROBLEMS:
            # The result shows the first few, and pages come nearly in their order.
            outcome.report.problems.clear()

    def _fail(self, page: Page, error: Exception) -> None:
        order = list(self._ranges)
        if self._failed is None or order.index(page.number) < order.index(self._failed.number):
            self._failed, self.error = page, error

    def _split(self, page: Page, full: PageFull) -> None:
        self._splits[page.number] += 1
        section = self.plan.section
        try:
            if self._splits[page.number] > MOST_SPLITS:
                raise does_not_fit(section, page.number)
            self._follow(split_page(section, page.number, full))
        except Exception as error:
            self._fail(page, error)


def _unusable(result: BuildResult, error: NoOrigin) -> None:
    logger.error("A site cannot be built: %s", error)
    result.errors.append(_said(error))


def _silent(what: str, done: int, known: int) -> None:
    pass


def _log(error: Exception, what: str, *args: object) -> None:
    # Our own errors say what is wrong and what to do; of others a developer wants to see the way there.
    is_ours = error.is_ours if isinstance(error, WorkerError) else isinstance(error, SitemapError)
    logger.error(f"{what}: %s", *args, error, exc_info=None if is_ours else error)


def _said(error: Exception) -> str:
    return f"{error.kind if isinstance(error, WorkerError) else type(error).__name__}: {error}"
