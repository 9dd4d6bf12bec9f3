"""Render the pages of a build in processes of their own, several at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from django.urls import get_resolver

from sitemaps_plus.build.executors.base import Outcome, Task, WorkerError, declaration, render_task
from sitemaps_plus.build.executors.pool import Ended, Pool, Setup, obstacle, usable_cores
from sitemaps_plus.build.options import Workers
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.stores.staging import Staging

logger = logging.getLogger("sitemaps_plus")


class Crew:
    """Hands each page to a process of a pool."""

    def __init__(self, pool: Pool[Task, Outcome]) -> None:
        self._pool = pool

    @property
    def has_room(self) -> bool:
        """Whether a process is free."""
        return self._pool.has_room

    @property
    def is_busy(self) -> bool:
        """Whether a process is rendering."""
        return self._pool.is_busy

    def submit(self, task: Task) -> None:
        """Hand a page to a process."""
        self._pool.submit(task)

    def wait(self) -> Sequence[tuple[Page, Outcome]]:
        """Return the pages that are finished and their outcomes; a process that died is an error of its page."""
        return [(task.page, _outcome(task, answer)) for task, answer in self._pool.wait()]

    def abandon(self) -> None:
        """End the processes that are rendering."""
        self._pool.abandon()


@contextmanager
def make_crew(workers: Workers) -> Iterator[Crew | None]:
    """Give a crew of so many processes; None where this process renders all pages.

    Where other processes would not see the same rows, log it and give None.
    """
    size = usable_cores() if workers == "auto" else workers
    reason = obstacle() if size > 1 else None
    if reason:
        logger.warning("One process builds the sitemaps, not %s: %s.", size, reason)
    if reason or size == 1:
        yield None
        return
    with Pool[Task, Outcome](size, f"{__name__}.make_answer", Setup.of_this_process()) as pool:
        yield Crew(pool)


def make_answer() -> Callable[[Task], Outcome]:
    """Return the function that a process calls with each task."""
    return partial(_answer, _Sections())


def _answer(sections: _Sections, task: Task) -> Outcome:
    try:
        outcome = render_task(sections.get(task), task)
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
    """The section that a process renders, made once for all pages of a plan."""

    def __init__(self) -> None:
        self._staging: Staging | None = None
        self._section: Section | None = None

    def get(self, task: Task) -> Section:
        if self._section is None or task.staging != self._staging:
            self._section, self._staging = _same_section(task), task.staging
        return self._section


def _same_section(task: Task) -> Section:
    if task.label not in registry:
        # Some projects register in their URLconf, which this process has not read yet.
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
