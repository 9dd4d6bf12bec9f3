"""Collect the rendered pages of one section: each page of the newest plan that is due, once."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace

from sitemaps_plus.build.due import WhyDue
from sitemaps_plus.build.executors.base import Outcome
from sitemaps_plus.errors import PageFull
from sitemaps_plus.plan.currency import Reason
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.records import record_renderings
from sitemaps_plus.plan.seen import seen_validator
from sitemaps_plus.protocol.reports import PROBLEMS_PER_BUILD, Report
from sitemaps_plus.protocol.shapes import Shape
from sitemaps_plus.render.pages import MOST_SPLITS, does_not_fit, split_pages

_RECORDED = ("newest", "began", "seconds")
"""What nobody asks of a rendering after it is recorded."""


class Assembly:
    """The pages of a section while they are rendered.

    An outcome is valid while the newest plan has the same rows under that number. Only this class changes the plan:
    pages whose outcomes say that they are full are split, all at once when nothing else is left to render.
    """

    def __init__(self, plan: Plan, why_due: WhyDue) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self.error: Exception | None = None
        """The error of the first failed page in plan order; then no more pages are handed out."""
        self._why_due = why_due
        self._failed: Page | None = None
        self._rendered: dict[int, Page] = {}
        self._out: set[int] = set()
        self._full: dict[int, tuple[Page, PageFull]] = {}
        self._splits: Counter[int] = Counter()
        self.reasons: dict[int, Reason] = {}
        """Why each page is rendered, by number."""
        self.moved: set[int] = set()
        """The pages whose rows moved while they were rendered, as far as that is known."""
        self._problems = 0
        self._nothing = Report(plan.section.label)
        # The fingerprint of a section by position is made of the rows of all pages.
        self._done_with = _RECORDED if plan.section.paged_by == "position" else (*_RECORDED, "seen")
        self._shapes: dict[Shape, Shape] = {}
        self._follow(plan)

    @property
    def is_open(self) -> bool:
        """Whether a page is waiting, full or being rendered."""
        return bool(self._out or ((self._waiting or self._full) and not self.error))

    @property
    def known(self) -> int:
        """How many pages are due, as far as that is known."""
        return len(self.outcomes) + len(self._out) + len(self._full) + len(self._waiting)

    def hand_out(self) -> Page | None:
        """Return the next page to render; None where there is none, or not before others are rendered."""
        if self._full and not (self._waiting or self._out or self.error):
            self._split()
        if self.error or not self._waiting:
            return None
        page = self._waiting.popleft()
        self._out.add(page.number)
        return page

    def take(self, page: Page, outcome: Outcome) -> bool:
        """Take the outcome of a page, and return whether it is valid."""
        self._out.remove(page.number)
        if not self._is_planned(page):
            # Another process has cut the page meanwhile, so it has other rows now.
            self._follow(self.plan)
        elif outcome.error:
            self._fail(page, outcome.error)
        elif outcome.full:
            self._full[page.number] = page, PageFull(outcome.full[0], split_at=outcome.full[1])
            if self.plan.section.paged_by == "position":
                # Nobody can split it: this is an error, and all further rendering would be in vain.
                self._split()
        else:
            self._keep(page, outcome)
            return True
        return False

    def settle(self, report: Report) -> list[tuple[int, Outcome]]:
        """Record the outcomes in plan order, up to a page that failed, and return them with the pages' numbers."""
        settled = list(self._settled())
        for _, outcome in settled:
            report.merge(outcome.report)
        record_renderings(
            self.plan.section,
            ((page, outcome.found) for page, outcome in settled if outcome.found and self._is_current(page, outcome)),
        )
        for _, outcome in settled:
            for name in self._done_with:
                outcome.found.pop(name, None)
        return [(page.number, outcome) for page, outcome in settled]

    def _settled(self) -> Iterator[tuple[Page, Outcome]]:
        for page in self.plan.pages:
            if self._failed and page.number == self._failed.number:
                return
            outcome = self.outcomes.get(page.number)
            if outcome is not None and self._is_planned(self._rendered[page.number]):
                yield page, outcome

    def _is_current(self, page: Page, outcome: Outcome) -> bool:
        """Return whether a page still has the rows that were rendered, as far as the planner knows."""
        known = self._rendered[page.number].record.validator
        shown = seen_validator(self.plan.section, known, outcome.found["seen"])
        if shown != known or page.record.validator != known:
            self.moved.add(page.number)
        # If the planner has seen another change since, this is the old content.
        return page.record.validator in (known, shown)

    def _follow(self, plan: Plan) -> None:
        self.plan = plan
        self._planned = {page.number: page for page in plan.pages}
        for number, page in list(self._rendered.items()):
            if not self._is_planned(page):
                del self._rendered[number], self.outcomes[number]
        self._full = {number: full for number, full in self._full.items() if self._is_planned(full[0])}
        self._waiting: deque[Page] = deque()
        for page in plan.pages:
            is_taken = page.number in self._out or page.number in self._full or page.number in self.outcomes
            if not is_taken and (reason := self._why_due(plan, page)):
                self._waiting.append(page)
                self.reasons[page.number] = reason

    def _is_planned(self, page: Page) -> bool:
        planned = self._planned.get(page.number)
        return planned is not None and (planned.start, planned.end) == (page.start, page.end)

    def _keep(self, page: Page, outcome: Outcome) -> None:
        self._rendered[page.number], self.outcomes[page.number] = page, self._shared(outcome)
        self._problems += len(outcome.report.problems)
        if self._problems > PROBLEMS_PER_BUILD:
            # Only the first problems are shown, and pages are rendered nearly in their order.
            outcome.report.problems.clear()

    def _shared(self, outcome: Outcome) -> Outcome:
        """Return an outcome that shares with those before what most pages have in common: memory, for many pages."""
        report, found = outcome.report, outcome.found
        shape = self._shapes.setdefault(outcome.shape, outcome.shape)
        if report.is_empty:
            report = self._nothing
            found = {**found, "report": report} if found else found
        if found:
            # Most often as in the record of the page, and later in the manifest.
            found["digest"] = sys.intern(found["digest"])
        return replace(outcome, shape=shape, report=report, found=found)

    def _fail(self, page: Page, error: Exception) -> None:
        order = list(self._planned)
        if self._failed is None or order.index(page.number) < order.index(self._failed.number):
            self._failed, self.error = page, error

    def _split(self) -> None:
        full, self._full = self._full, {}
        self._splits.update(full.keys())
        section = self.plan.section
        # A page that never fits fails; the others are of no use without it.
        worn = next((page for page, _ in full.values() if self._splits[page.number] > MOST_SPLITS), None)
        try:
            if worn:
                raise does_not_fit(section, worn.number)
            self._follow(split_pages(section, {number: error for number, (_, error) in full.items()}))
        except Exception as error:
            self._fail(worn or next(iter(full.values()))[0], error)
