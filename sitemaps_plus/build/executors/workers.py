"""Render the pages of a plan to files, in this process or in several, and tell what came of each."""

from __future__ import annotations

import logging
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from django.urls import get_resolver

from sitemaps_plus.build.executors.pool import Ended, Pool, Setup, obstacle, usable_cores
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import PageFull, PageNotFound, SitemapError
from sitemaps_plus.plan.overrides import PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.names import page_file
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.render.pages import render_as_planned
from sitemaps_plus.stores.staging import Staging
from sitemaps_plus.validation.documents import check_document

logger = logging.getLogger("sitemaps_plus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One page to render, and where it is to wait until it is published."""

    label: str
    site: SiteOrigin
    page: Page
    staging: Staging
    strict: bool | None
    declared: str
    """What `declaration` says of the section: another process must know the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a task, without the bytes of the page: those wait elsewhere."""

    report: Report
    found: dict[str, Any] = field(default_factory=dict)
    """What ``record_rendering`` keeps, by name; empty where nothing was rendered."""
    is_written: bool = False
    crc: int = 0
    """CRC-32 of what was written, gzip and all."""
    shape: dict[str, Any] = field(default_factory=dict)
    """What the URLs look like."""
    full: tuple[str, object] | None = None
    """Why the page has to be split, and the key to do it at."""
    error: Exception | None = None


class WorkerError(Exception):
    """An error of another process in its own words: the error itself may not be able to leave it."""

    def __init__(self, kind: str, text: str, is_ours: bool) -> None:
        super().__init__(kind, text, is_ours)
        self.kind = kind
        """Name of the error's class."""
        self.text = text
        self.is_ours = is_ours
        """Whether it was a SitemapError."""

    def __str__(self) -> str:
        """Return the text of the error."""
        return self.text

    @classmethod
    def of(cls, error: Exception) -> WorkerError:
        """Return what can be sent of `error`; the way there is a note on it."""
        told = cls(type(error).__name__, str(error), isinstance(error, SitemapError))
        told.add_note("In the other process:\n" + "".join(traceback.format_exception(error)))
        return told


class Renderer(Protocol):
    """Who renders pages: takes tasks while it has room, and tells what came of them."""

    @property
    def has_room(self) -> bool:
        """Whether it takes a task now."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether there is something to wait for."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task."""
        ...

    def wait(self) -> Sequence[tuple[Page, Outcome]]:
        """Return the pages that have been finished, if any soon are, and what came of each."""
        ...


class Here:
    """Render in this process, one page after the other."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._finished: list[tuple[Page, Outcome]] = []

    @property
    def has_room(self) -> bool:
        """Whether the last page was asked for."""
        return not self._finished

    @property
    def is_busy(self) -> bool:
        """Whether a page waits to be asked for."""
        return bool(self._finished)

    def submit(self, task: Task) -> None:
        """Render a page."""
        self._finished.append((task.page, _render(self._section, task)))

    def wait(self) -> Sequence[tuple[Page, Outcome]]:
        """Return the page, and what came of it."""
        finished, self._finished = self._finished, []
        return finished


class Crew:
    """Render in processes of their own, several pages at a time."""

    def __init__(self, pool: Pool[Task, Outcome]) -> None:
        self._pool = pool

    @property
    def has_room(self) -> bool:
        """Whether fewer pages are on their way than there may be processes."""
        return self._pool.has_room

    @property
    def is_busy(self) -> bool:
        """Whether a page is on its way."""
        return self._pool.is_busy

    def submit(self, task: Task) -> None:
        """Hand a page to a process."""
        self._pool.submit(task)

    def wait(self) -> Sequence[tuple[Page, Outcome]]:
        """Return the pages that are finished, and what came of each; the process of one may have died."""
        return [(task.page, _outcome(task, answer)) for task, answer in self._pool.wait()]

    def abandon(self) -> None:
        """End the processes that are rendering: nobody wants their pages any more."""
        self._pool.abandon()


@contextmanager
def make_crew(workers: int) -> Iterator[Crew | None]:
    """Give a crew of so many processes, 0 for one a core; None where this process does it all.

    Raises ValueError for fewer. Where others would not see the same rows, it says so and gives None.
    """
    if workers < 0:
        raise ValueError(f"There cannot be {workers} workers: give 1 or more, or 0 for one on each core.")
    size = workers or usable_cores()
    reason = obstacle() if size > 1 else None
    if reason:
        logger.warning("One process builds the sitemaps, not %s: %s.", size, reason)
    if reason or size == 1:
        yield None
        return
    with Pool[Task, Outcome](size, f"{__name__}.make_answer", Setup.of_this_process()) as pool:
        yield Crew(pool)


def declaration(section: Section) -> str:
    """Return which class a section is of and how it is cut, to compare between processes."""
    cls = type(section.sitemap)
    return f"{cls.__module__}.{cls.__qualname__}, {section.layout}"


def _render(section: Section, task: Task) -> Outcome:
    """Render a page to the staging area; what it finds is recorded by the build, the only writer of the database."""
    found: dict[str, Any] = {}
    report = Report(task.label)
    has_override = find_override(PAGE, task.label) is not None
    try:
        page = Plan(section=section, pages=[task.page]).find(task.page.number)
        document = render_as_planned(
            section, page, strict=task.strict, record=lambda *_page, **values: found.update(values)
        )
        if has_override:
            # The writer gives nothing else; what a template of the project gives is known when it is read.
            check_document(document.chunks(), section)
        task.staging.write(page_file(task.label, page.number), document.gzipped)
    except PageFull as full:
        return Outcome(report=report, full=(str(full), full.split_at))
    except PageNotFound as missing:
        # No row of the page has a URL at present: it is in no index.
        return Outcome(report=getattr(missing, "report", report), found=found)
    except Exception as error:
        return Outcome(report=report, error=error)
    return Outcome(
        report=document.report,
        found=found,
        is_written=True,
        crc=zlib.crc32(document.gzipped),
        shape=document.sampler.shape().as_json(),
    )


def make_answer() -> Callable[[Task], Outcome]:
    """Return what a process does with each task."""
    return partial(_answer, _Sections())


def _answer(sections: _Sections, task: Task) -> Outcome:
    try:
        outcome = _render(sections.get(task), task)
    except Exception as error:
        outcome = Outcome(report=Report(task.label), error=error)
    return outcome if outcome.error is None else Outcome(report=outcome.report, error=WorkerError.of(outcome.error))


def _outcome(task: Task, answer: Outcome | Ended) -> Outcome:
    if isinstance(answer, Outcome):
        return answer
    text = f"The process that rendered page {task.page.number} {answer}."
    if answer.status < 0:
        text += " The system does that when memory runs out: use fewer workers, or a smaller `limit`."
    return Outcome(report=Report(task.label), error=SitemapError(text))


class _Sections:
    """The section that a process renders: made once for all pages of a plan, as in the build."""

    def __init__(self) -> None:
        self._staging: Staging | None = None
        self._section: Section | None = None

    def get(self, task: Task) -> Section:
        if self._section is None or task.staging != self._staging:
            self._section, self._staging = _same_section(task), task.staging
        return self._section


def _same_section(task: Task) -> Section:
    if task.label not in registry:
        # Some projects register there, and nothing has read it here.
        _ = get_resolver().url_patterns
    if task.label not in registry:
        raise SitemapError(
            f"No section {task.label!r} is registered in a process of its own. Register it where every process does, "
            "in the sitemaps.py of an app, or build without workers."
        )
    section = get_section(task.label, task.site)
    if declaration(section) != task.declared:
        raise SitemapError(
            f"The section {task.label!r} is another one in a process of its own: {declaration(section)}, not "
            f"{task.declared}. Declare it without what only the running process knows, or build without workers."
        )
    return section
