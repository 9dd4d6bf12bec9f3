"""The interface of whoever renders the pages of a build: tasks go in, outcomes come out."""

from __future__ import annotations

import traceback
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sitemaps_plus.errors import PageFull, PageNotFound, SitemapError
from sitemaps_plus.plan.overrides import PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.names import page_file
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.shapes import NO_SHAPE, Shape
from sitemaps_plus.render.pages import render_as_planned
from sitemaps_plus.stores.staging import Staging
from sitemaps_plus.validation.documents import check_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One page to render, and where to keep it until it is published."""

    label: str
    site: SiteOrigin
    page: Page
    staging: Staging
    strict: bool | None
    declared: str
    """The `declaration` of the section: another process must have the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a task, without the bytes of the page: those are in the staging area."""

    report: Report
    found: dict[str, Any] = field(default_factory=dict)
    """The keyword arguments for ``record_rendering``; empty where nothing was rendered."""
    is_written: bool = False
    crc: int = 0
    """CRC-32 of the staged gzip."""
    shape: Shape = NO_SHAPE
    """The shape of the URLs."""
    full: tuple[str, object] | None = None
    """Why the page has to be split, and the key to split it at."""
    error: Exception | None = None


class Executor(Protocol):
    """Renders pages: takes tasks while it has room, and returns their outcomes."""

    @property
    def has_room(self) -> bool:
        """Whether it takes a task now."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether an outcome is still to come."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task."""
        ...

    def wait(self) -> Sequence[tuple[Page, Outcome]]:
        """Return finished pages and their outcomes; none where none is finished within half a second."""
        ...

    def abandon(self) -> None:
        """End all tasks that are not finished; nobody writes to the staging area any more."""
        ...


class WorkerError(Exception):
    """An error of another process as text, because the error itself may not be picklable."""

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
        """Return `error` in a form that can be sent, with its traceback as a note."""
        sent = cls(type(error).__name__, str(error), isinstance(error, SitemapError))
        sent.add_note("In the other process:\n" + "".join(traceback.format_exception(error)))
        return sent


def declaration(section: Section) -> str:
    """Return the class and layout of a section, to compare them between processes."""
    cls = type(section.sitemap)
    return f"{cls.__module__}.{cls.__qualname__}, {section.layout}"


def render_task(section: Section, task: Task) -> Outcome:
    """Render a page to the staging area; only the build itself writes to the database."""
    found: dict[str, Any] = {}
    report = Report(task.label)
    has_override = find_override(PAGE, task.label) is not None
    try:
        page = Plan(section=section, pages=[task.page]).find(task.page.number)
        document = render_as_planned(
            section, page, strict=task.strict, record=lambda *_page, **values: found.update(values)
        )
        if has_override:
            # The writer's documents are valid; a template of the project may write anything.
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
        shape=document.sampler.shape(),
    )
