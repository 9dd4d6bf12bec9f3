"""Render every page of every section of every site to files, the index last."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import NoOrigin, PageEmpty, PageNotFound, SitemapError
from sitemaps_plus.origin import SiteOrigin, get_sites
from sitemaps_plus.overrides import INDEX, find_override
from sitemaps_plus.pages import Document, list_pages, make_index, neutral, render_planned
from sitemaps_plus.paging import refresh
from sitemaps_plus.plans import Plan, stored_plan
from sitemaps_plus.registry import registry
from sitemaps_plus.reports import Report
from sitemaps_plus.sections import Section, get_section
from sitemaps_plus.stores.files import FileStore, get_store
from sitemaps_plus.writer import IndexItem

logger = logging.getLogger("sitemaps_plus")

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
    labels: Sequence[str] = (), *, repack: bool = False, strict: bool | None = None, progress: Progress | None = None
) -> BuildResult:
    """Publish the pages of `labels`, of all sections without any, and the indexes of every site.

    Raises PageNotFound for a label that is not registered, and NoOrigin where no site is known; a ``Site`` with an
    unusable domain is an error of the result, and the others are built. A section that fails
    keeps its last published files and stays in the index.
    """
    for label in labels:
        registry[label]
    started = time.monotonic()
    result = BuildResult()
    with neutral():
        # All sites before the first is built: a host that is unusable is found before anything is published.
        for site in list(get_sites(partial(_unusable, result))):
            _SiteBuild(site, get_store(), result, strict=strict, progress=progress or _silent).run(
                tuple(dict.fromkeys(labels)) or tuple(registry), repack=repack
            )
    result.seconds = time.monotonic() - started
    return result


class _SiteBuild:
    """The build of one site."""

    def __init__(
        self, site: SiteOrigin, store: FileStore, result: BuildResult, *, strict: bool | None, progress: Progress
    ) -> None:
        self.site = site
        self.store = store
        self.result = result
        self.strict = strict
        self.progress = progress
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
        """Render all pages to `folder`; where one is split on the way, go on by the plan that has its new pages."""
        plan = refresh(section, force=True, repack=repack)
        rendered: set[int] = set()
        while waiting := [page.number for page in plan.pages if page.number not in rendered]:
            for number in waiting:
                rendered.add(number)
                newer = self._page(section, number, plan, done, folder)
                self.progress(f"{self.site.domain} {section.label}", len(rendered), len(newer.pages))
                if newer is not plan:
                    plan = newer
                    break
        return plan

    def _page(self, section: Section, number: int, plan: Plan, done: SectionResult, folder: Path) -> Plan:
        try:
            document, plan = render_planned(section, number, strict=self.strict, plan=plan)
        except PageEmpty as empty:
            # No row of the page has a URL at present: it is in no index.
            if isinstance(empty.report, Report):
                done.report.merge(empty.report)
            return plan
        except PageNotFound:
            return plan
        (folder / self._page_name(section.label, number)).write_bytes(document.gzipped)
        done.pages += 1
        done.urls += document.urls
        done.bytes += document.size
        done.report.merge(document.report)
        return plan

    def _publish(self, plan: Plan, folder: Path) -> None:
        """Publish the rendered pages, then the index that names them."""
        label = plan.section.label
        rendered = [page for page in plan.pages if (folder / self._page_name(label, page.number)).exists()]
        items = list(list_pages(replace(plan, pages=rendered), self._public_url))
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
        return list_pages(replace(plan, pages=there), self._public_url)

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

    @property
    def _public_url(self) -> str | None:
        given = get_settings().PUBLIC_URL
        if isinstance(given, Mapping):
            given = given.get(self.site.id)
        return f"{given.rstrip('/')}/" if given else None

    @staticmethod
    def _page_name(label: str, number: int) -> str:
        return f"sitemap-{label}-{number}.xml.gz"


def _unusable(result: BuildResult, error: NoOrigin) -> None:
    logger.error("A site cannot be built: %s", error)
    result.errors.append(_said(error))


def _silent(what: str, done: int, known: int) -> None:
    pass


def _log(error: Exception, what: str, *args: object) -> None:
    # Our own errors say what is wrong and what to do; of others a developer wants to see the way there.
    logger.error(f"{what}: %s", *args, error, exc_info=None if isinstance(error, SitemapError) else error)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
