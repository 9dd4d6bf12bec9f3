"""Render the pages of a build in this process, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from sitemaps_plus.build.executors.base import Outcome, Task, render_task
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section


class Here:
    """Renders each page when its task is submitted."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._finished: list[tuple[Page, Outcome]] = []

    @property
    def has_room(self) -> bool:
        """Whether the last page was taken by `wait`."""
        return not self._finished

    @property
    def is_busy(self) -> bool:
        """Whether a page is there for `wait`."""
        return bool(self._finished)

    def submit(self, task: Task) -> None:
        """Render a page."""
        self._finished.append((task.page, render_task(self._section, task)))

    def wait(self) -> Sequence[tuple[Page, Outcome]]:
        """Return the page and its outcome."""
        finished, self._finished = self._finished, []
        return finished

    def abandon(self) -> None:
        """Do nothing: no task outlives `submit`."""
