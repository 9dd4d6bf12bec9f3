"""Record which rows, or parts of rows, a page leaves out and why, in bounded memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from sitemaps_plus.errors import InvalidEntry, SitemapError, StrictError

logger = logging.getLogger("sitemaps_plus")

PROBLEMS_PER_REPORT = 100
"""Problems that a report keeps; it counts the others."""

PROBLEMS_PER_BUILD = 10_000
"""Problems of a section that a build keeps in memory."""

PROBLEMS_PER_PAGE = 10
"""Problems that are stored with the record of a page."""

PROBLEMS_PER_SECTION = 5
"""Problems of a section in a list of sections: the history of builds, ``build_sitemaps``, the status of all sites."""

PROBLEMS_SHOWN = 20
"""Problems on the status page of a section."""

IN_RESULT = "is_in_result"
"""Attribute of log records that the result of a build repeats."""

_LONGEST_KEY = 200
_LONGEST_REASON = 500

_LEFT_OUT = "row {0.key} was left out because of its {0.hook}"
_DROPPED = "{0.hook} of row {0.key} was dropped"
_QUESTIONABLE = "{0.hook} of row {0.key} is questionable"

_keeps_broken: ContextVar[bool] = ContextVar("sitemaps_plus_keeps_broken", default=False)


class Problem(NamedTuple):
    """One row, or one part of a row, that a page does not contain as it was given."""

    label: str
    key: str
    hook: str
    code: str
    reason: str

    def as_list(self) -> list[str]:
        """Return what the database stores: key, hook, code and reason."""
        return list(self[1:])

    @classmethod
    def from_list(cls, label: str, values: Sequence[str]) -> Problem:
        """Return the problem of a section that `as_list` gave."""
        return cls(label, *values)


class Report:
    """The problems of the rows of one rendering.

    Under ``strict`` the first row left out, or part dropped, raises ``StrictError``. `on_left_out` is called with each
    row left out, also with those that are only counted.
    """

    def __init__(
        self, label: str, *, strict: bool = False, on_left_out: Callable[[Problem], None] | None = None
    ) -> None:
        self.label = label
        self.strict = strict
        self._on_left_out = on_left_out
        self.left_out = 0
        """Rows that are not in the page."""
        self.dropped = 0
        """Optional parts (lastmod, priority ...) that are missing from rows in the page."""
        self.warned = 0
        """Values that were changed or look wrong."""
        self.raised = 0
        """Rows left out and parts dropped because code of the project raised an error; the next time it may work."""
        self.problems: list[Problem] = []
        self._logged: set[tuple[str, str]] = set()

    def leave_out(self, key: object, hook: str, error: Exception) -> None:
        """Count a row that is left out because its location is invalid."""
        self.left_out += 1
        problem = self._note(key, hook, error)
        self._fail(problem, _LEFT_OUT)
        if self._on_left_out:
            self._on_left_out(problem)

    def drop(self, key: object, hook: str, error: Exception) -> None:
        """Count an optional part that is invalid; the row stays."""
        self.dropped += 1
        self._fail(self._note(key, hook, error), _DROPPED)

    def warn(self, key: object, hook: str, code: str, text: str) -> None:
        """Count a value that was changed or looks wrong; it stays."""
        self.warned += 1
        self._add(self._problem(key, hook, code, f"{text} [{code}]"), _QUESTIONABLE)

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to report."""
        return not (self.left_out or self.dropped or self.warned or self.raised or self.problems)

    def merge(self, other: Report) -> None:
        """Add the counts and the problems of another report."""
        self.left_out += other.left_out
        self.dropped += other.dropped
        self.warned += other.warned
        self.raised += other.raised
        self.problems += other.problems[: PROBLEMS_PER_REPORT - len(self.problems)]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, without the callback of this one."""
        return {**self.__dict__, "_on_left_out": None}

    def _note(self, key: object, hook: str, error: Exception) -> Problem:
        self.raised += not isinstance(error, InvalidEntry)
        code = error.code if isinstance(error, InvalidEntry) else type(error).__name__
        reason = str(error) if isinstance(error, SitemapError) else f"{type(error).__name__}: {error}"
        return self._problem(key, hook, code, reason)

    def _problem(self, key: object, hook: str, code: str, reason: str) -> Problem:
        return Problem(self.label, _one_line(key, _LONGEST_KEY), hook, code, _one_line(reason, _LONGEST_REASON))

    def _add(self, problem: Problem, template: str) -> None:
        if len(self.problems) < PROBLEMS_PER_REPORT:
            self.problems.append(problem)
        if (problem.hook, problem.code) not in self._logged:
            self._logged.add((problem.hook, problem.code))
            text = template.format(problem)
            logger.warning("Sitemap section %s: %s: %s", self.label, text, problem.reason, extra={IN_RESULT: True})

    def _fail(self, problem: Problem, template: str) -> None:
        if self.strict:
            reason = problem.reason.removesuffix(".")
            raise StrictError(
                f"Sitemap section {problem.label!r}: {template.format(problem)}: {reason}. This is an error "
                'because STRICT is on. Without --strict, or with SITEMAPS_PLUS["STRICT"] = False, such rows or parts '
                "are left out."
            )
        self._add(problem, template)


class Silence(Report):
    """A report that keeps and logs nothing, for rows that are rendered a second time."""

    def _add(self, problem: Problem, template: str) -> None:
        pass


class RowReport(Silence):
    """A report that logs nothing and keeps the problems of each row, for the few rows that a person looks at."""

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self.rows: dict[object, list[Problem]] = {}
        """By key."""

    def _problem(self, key: object, hook: str, code: str, reason: str) -> Problem:
        problem = super()._problem(key, hook, code, reason)
        self.rows.setdefault(key, []).append(problem)
        return problem


def _one_line(value: object, longest: int) -> str:
    # Rows may contain any text; it must not break a line of the log or fill the memory.
    text = str(value)[:longest]
    return text if text.isprintable() else repr(text)[1:-1]


@contextmanager
def keep_broken() -> Iterator[None]:
    """Let invalid values be created, with their error: a method that lists several values must not lose the others."""
    token = _keeps_broken.set(True)
    try:
        yield
    finally:
        _keeps_broken.reset(token)


def keeps_broken() -> bool:
    """Return whether invalid values are created now, with their error."""
    return _keeps_broken.get()
