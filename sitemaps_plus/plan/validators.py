"""Detect changed rows without rendering: one aggregate over the key range of a page."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db.models import Aggregate, Count, DateField, DateTimeField, F, IntegerField, Max, Q, QuerySet, TextField
from django.utils import timezone

from sitemaps_plus.plan.sections import Section
from sitemaps_plus.protocol.dates import as_datetime

_PREFIX = "_sitemap_validator_"
_MAX_LENGTH = 255
_PRIME = 2**31 - 1
# A date lasts until noon of the next day in UTC in the last time zone of the world.
_DAYS_IN_FLUX = timedelta(days=2)
_ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The facts about the rows of a page that one query returns."""

    rows: int | None
    """None where only rendering can count them."""
    validator: str
    """Equal as long as the rows are: count, exact sum and maximum of ``changed``, sum of integer keys."""
    newest: datetime | None
    """The newest lastmod that is not in the future; None where the database cannot compute it."""
    settles_at: datetime | None = None
    """From when on a rendering holds until the validator differs; None where only rendering tells of changes."""


class Fingerprint(NamedTuple):
    """What tells whether any row of a section changed, as `Measure` tells it of one page."""

    text: str = ""
    settles_at: datetime | None = None


def measure(section: Section, rows: QuerySet[Any], now: datetime) -> Measure:
    """Return count, validator and newest lastmod of `rows`: one query, or two if a date is in the future."""
    aggregates, columns = _aggregates(section, rows)
    if rows.query.distinct and not rows.query.group_by:
        # DISTINCT would compare every column.
        rows = rows.values(*section.key.names)
    past: dict[str, Any] = {}
    kind = None if section.newest is None else _output_field(rows, section.newest)
    if isinstance(kind, DateField):
        columns[f"{_PREFIX}lastmod"] = section.newest
        last = now if isinstance(kind, DateTimeField) else moment(now).astimezone(UTC).date()
        past["newest"] = Max(f"{_PREFIX}lastmod", filter=Q(**{f"{_PREFIX}lastmod__lte": last}))
    rows = rows.annotate(**columns)
    is_same = section.newest == section.changed
    found = rows.aggregate(**aggregates, **({} if is_same else past))
    newest = found.pop("newest", None)
    if past and is_same:
        # The maximum of all dates is the newest, unless it is in the future.
        latest = found["latest"]
        newest = latest if latest is None or moment(latest) <= moment(last) else rows.aggregate(**past)["newest"]
    return Measure(
        rows=found["rows"],
        validator=_short(" ".join(f"{name}={_text(found[name])}" for name in sorted(found))),
        newest=None if newest is None else moment(newest),
        settles_at=_settles_at(section, rows, found.get("latest")),
    )


def _settles_at(section: Section, rows: QuerySet[Any], latest: Any) -> datetime | None:
    """Return from when on the validator sees every change that moves ``changed``; None if it may miss one."""
    if section.changed is None:
        return None
    kind = _output_field(rows, section.changed)
    if isinstance(kind, DateTimeField):
        # A date of creation never moves, unless the class says that its rows do not change.
        is_fixed = isinstance(section.changed, F) and kind.auto_now_add and section.hooks.changed.kind == "missing"
        return None if is_fixed else _ALWAYS
    if isinstance(kind, DateField):
        # A second change on one day leaves the date as it is.
        is_day = isinstance(latest, date)
        return datetime.combine(latest, time(), UTC) + _DAYS_IN_FLUX if is_day else _ALWAYS
    return _ALWAYS if isinstance(kind, IntegerField) else None


def _aggregates(section: Section, rows: QuerySet[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the aggregates of a validator, and the columns that they need."""
    aggregates: dict[str, Any] = {"rows": Count("*")}
    for index, name in enumerate(section.key.summable):
        aggregates[f"keys{index}"] = _ExactSum(name)
    if section.changed is None:
        return aggregates, {}
    column = f"{_PREFIX}changed"
    aggregates["latest"] = Max(column)
    kind = _output_field(rows, section.changed)
    if isinstance(kind, DateField):
        aggregates["moments"] = _ExactMoments(column)
    elif isinstance(kind, IntegerField):
        aggregates["moments"] = _ExactSum(column)
    return aggregates, {column: section.changed}


def fingerprint_of(section: Section) -> Fingerprint:
    """Return what tells whether any row of a section changed; for pages cut by position.

    Empty where each page has a validator of its own, and where only rendering shows a change.
    """
    if section.paged_by == "key" or section.makes_its_urls or section.model is None:
        return Fingerprint()
    found = measure(section, section.queryset(), timezone.now())
    return Fingerprint(f"{found.validator} {found.newest}", found.settles_at)


def moment(value: date | datetime) -> datetime:
    """Return a lastmod as an aware moment; a date is its midnight UTC."""
    return as_datetime(value, tz=timezone.get_default_timezone())


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _short(validator: str) -> str:
    # The maximum of `changed` may be a text of any length.
    is_long = len(validator) > _MAX_LENGTH
    return hashlib.sha256(validator.encode()).hexdigest() if is_long else validator


def _output_field(rows: QuerySet[Any], expression: Any) -> Any:
    return expression.resolve_expression(rows.query.chain()).output_field


class _ExactSum(Aggregate):
    """The exact sum of an integer column as text; on SQLite the sum of remainders, which cannot overflow."""

    template = "SUM(%(expressions)s)"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # SQLite sums in 64 bits and raises on overflow; a sum of remainders stays far below. The divisor is a prime, so
        # that values which only differ in their upper bits, such as ids of several tenants, have different remainders.
        sql, params = compiler.compile(self.source_expressions[0])
        return f"CAST(SUM({sql} %% {_PRIME}) AS TEXT)", params

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="SUM(%(expressions)s)::text", **context)

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="CAST(SUM(%(expressions)s) AS CHAR)", **context)


class _ExactMoments(Aggregate):
    """The sum of a date or datetime column, exact to the microsecond, as text."""

    template = "COUNT(%(expressions)s)"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # SQLite stores dates as text. Seconds and fractions are added separately: a float sums the fractions exactly.
        sql, params = compiler.compile(self.source_expressions[0])
        has_epoch = connection.Database.sqlite_version_info >= (3, 38)
        seconds = f"unixepoch({sql})" if has_epoch else f"CAST(strftime('%%s', {sql}) AS INTEGER)"
        return f"(SUM({seconds}) || ',' || printf('%%.6f', TOTAL(substr({sql}, 20))))", (*params, *params)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="SUM(EXTRACT(EPOCH FROM %(expressions)s))::text", **context)

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "CAST(SUM(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %(expressions)s)) AS CHAR)"
        return self.as_sql(compiler, connection, template=template, **context)
