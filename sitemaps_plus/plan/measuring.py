"""Measure many pages of a section at one moment with statements that are compiled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Count, QuerySet

from sitemaps_plus.plan.keys import KeyValue, stored_field
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.statements import AggregateStatement, Slot
from sitemaps_plus.plan.validators import Aggregation, Measure, by_key, count_rows, measure


class Measuring:
    """Measures pages of a section cut by key, as `plan.validators.measure` does, at the moment `now`."""

    def __init__(self, section: Section, now: datetime) -> None:
        self.section = section
        self.now = now
        self._measures: dict[tuple[bool, bool], AggregateStatement | None] = {}
        self._counts: dict[tuple[bool, bool], AggregateStatement | None] = {}

    def measure(self, page: Page) -> Measure:
        """Return what the rows of a page are now."""
        statement = self._of(page, self._measures, lambda rows: self._asked(rows).statement)
        if statement is None:
            return self._measured_alone(page)
        found = statement.run(self._bounds(page))
        return self._any.measure(found, lambda: self._measured_alone(page).newest)

    def count(self, page: Page) -> int:
        """Return how many rows a page has now."""

        def compiled(rows: QuerySet[Any]) -> AggregateStatement | None:
            return AggregateStatement.of(by_key(self.section, rows), {"rows": Count("*")})

        statement = self._of(page, self._counts, compiled)
        if statement is None:
            return count_rows(self.section, page.rows(self.section))
        return int(statement.run(self._bounds(page))["rows"])

    def _of(
        self,
        page: Page,
        known: dict[tuple[bool, bool], AggregateStatement | None],
        compiled: Callable[[QuerySet[Any]], AggregateStatement | None],
    ) -> AggregateStatement | None:
        """Return the statement for pages that have the same bounds as `page`; None if Django has to execute it."""
        kind = (page.start is None, page.end is None)
        if kind not in known:
            start, end = self._slots("start", page.start), self._slots("end", page.end)
            known[kind] = compiled(replace(page, start=start, end=end).rows(self.section))
        return known[kind]

    def _measured_alone(self, page: Page) -> Measure:
        return measure(self.section, page.rows(self.section), self.now)

    @cached_property
    def _any(self) -> Aggregation:
        return self._asked(self.section.queryset())

    def _asked(self, rows: QuerySet[Any]) -> Aggregation:
        return Aggregation(self.section, rows, self.now)

    def _slots(self, name: str, bound: KeyValue | None) -> KeyValue | None:
        fields = self.section.key.fields
        return bound and tuple(Slot(f"{name}{at}", stored_field(field)) for at, field in enumerate(fields))

    def _bounds(self, page: Page) -> dict[str, Any]:
        parts = (("start", page.start or ()), ("end", page.end or ()))
        return {f"{name}{at}": value for name, bound in parts for at, value in enumerate(bound)}
