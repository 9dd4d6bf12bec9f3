"""Detect changed rows without rendering: one aggregate over the key range of a page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import (
    Aggregate,
    BigIntegerField,
    Count,
    DateField,
    DateTimeField,
    ExpressionWrapper,
    F,
    Func,
    IntegerField,
    Max,
    Q,
    QuerySet,
    TextField,
)
from django.utils import timezone

from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.statements import AggregateStatement
from sitemaps_plus.protocol.dates import as_datetime
from sitemaps_plus.stores.cache import AHEAD

STAMP = "_sitemap_validator_stamp"
"""The column of a row's stamp."""

_PREFIX = "_sitemap_validator_"
_MAX_LENGTH = 255
# A date lasts until noon of the next day in UTC in the last time zone of the world.
_DAYS_IN_FLUX = timedelta(days=2)
_ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The facts about the rows of a page that one query returns."""

    rows: int | None
    """None where only rendering can count them."""
    validator: str
    """Equal as long as the rows are: count, sum of integer keys, exact sum and maximum of ``changed``."""
    newest: datetime | None
    """The newest lastmod that is not in the future; None where the database cannot compute it."""
    settles_at: datetime | None = None
    """From when on a rendering holds until the validator differs; None where only rendering tells of changes."""


class Fingerprint(NamedTuple):
    """What tells whether any row of a section changed, as `Measure` tells it of one page."""

    validator: str = ""
    newest: datetime | None = None
    settles_at: datetime | None = None

    @property
    def text(self) -> str:
        """The text to compare; empty where each page has a validator of its own, or only rendering tells."""
        return f"{self.validator} {self.newest}" if self.validator else ""


class Aggregation:
    """What to ask the database about `rows` for their `Measure` at the moment `now`, and what the answer says."""

    def __init__(self, section: Section, rows: QuerySet[Any], now: datetime) -> None:
        self._section = section
        self._wanted, columns = _aggregates(section, rows)
        self._past: dict[str, Any] = {}
        self._last: date = now
        kind = None if section.newest is None else _output_field(rows, section.newest)
        if isinstance(kind, DateField):
            columns[f"{_PREFIX}lastmod"] = section.newest
            self._last = now if isinstance(kind, DateTimeField) else moment(now).astimezone(UTC).date()
            self._past["newest"] = Max(f"{_PREFIX}lastmod", filter=Q(**{f"{_PREFIX}lastmod__lte": self._last}))
        self._is_same = section.newest == section.changed
        if not self._is_same:
            self._wanted |= self._past
        self._rows = by_key(section, rows).annotate(**columns)

    @property
    def statement(self) -> AggregateStatement | None:
        """The statement of `aggregate`, for rows with slots."""
        return AggregateStatement.of(self._rows, self._wanted)

    def aggregate(self) -> dict[str, Any]:
        """Ask the database."""
        found: dict[str, Any] = self._rows.aggregate(**self._wanted)
        return found

    def aggregate_newest(self) -> Any:
        """Ask the database for the newest lastmod that is not in the future."""
        return self._rows.aggregate(**self._past)["newest"]

    def measure(self, found: dict[str, Any], newest_of_past: Callable[[], Any]) -> Measure:
        """Return the measure of rows of which `aggregate` gave `found`.

        `newest_of_past` is called if a date is in the future.
        """
        newest, latest = found.pop("newest", None), found.get("latest")
        if self._past and self._is_same:
            # The maximum of all dates is the newest, unless it is in the future.
            is_past = latest is None or moment(latest) <= moment(self._last)
            newest = latest if is_past else newest_of_past()
        return Measure(
            rows=found["rows"],
            validator=validator_of(found),
            newest=None if newest is None else moment(newest),
            settles_at=_settles_at(self._section, latest),
        )


def measure(section: Section, rows: QuerySet[Any], now: datetime) -> Measure:
    """Return count, validator and newest lastmod of `rows`: one query, or two if a date is in the future."""
    asked = Aggregation(section, rows, now)
    return asked.measure(asked.aggregate(), asked.aggregate_newest)


def count_rows(section: Section, rows: QuerySet[Any]) -> int:
    """Return how many rows `measure` would find, in one query that costs a tenth."""
    return by_key(section, rows).count()


def by_key(section: Section, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return `rows` to be counted; of distinct ones only the key, because DISTINCT would compare every column."""
    return rows.values(*section.key.names) if rows.query.distinct and not rows.query.group_by else rows


def settles_at(section: Section, last: int | None) -> datetime | None:
    """Return what `Measure.settles_at` is for rows whose last stamp is `last`."""
    is_date = last is not None and isinstance(section.changed_field, DateField)
    return _settles_at(section, (_EPOCH + timedelta(microseconds=last)).date() if is_date else None)  # type: ignore[arg-type]


def _settles_at(section: Section, latest: Any) -> datetime | None:
    """Return from when on the validator sees every change that moves ``changed``; None if it may miss one."""
    kind = section.changed_field
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
        aggregates[f"keys{index}"] = ExactSum(name)
    if section.changed is None:
        return aggregates, {}
    columns = {f"{_PREFIX}changed": section.changed}
    latest = Max(f"{_PREFIX}changed")
    aggregates["latest"] = latest
    stamp = stamp_of(section, rows)
    if stamp is not None:
        columns[STAMP] = stamp
        aggregates["stamps"] = ExactSum(STAMP)
        # Of the maximum: that of all stamps would cost as much as their sum.
        aggregates["last"] = Stamp(latest) if isinstance(stamp, Stamp) else latest
    return aggregates, columns


def stamp_of(section: Section, rows: QuerySet[Any]) -> Any:
    """Return the expression for an integer that moves with ``changed``; None if that is no date and no integer."""
    if section.changed is None:
        return None
    kind = _output_field(rows, section.changed)
    if isinstance(kind, DateField):
        return Stamp(section.changed)
    # Wrapped, because a field class of the project may convert its values.
    return ExpressionWrapper(section.changed, BigIntegerField()) if isinstance(kind, IntegerField) else None


def validator_of(found: Mapping[str, Any]) -> str:
    """Return the validator of rows that have these values; without ``last``, the beginning of it."""
    names = sorted(found.keys() - {"last", "latest"} if "stamps" in found else found.keys())
    names += ["last"] if "last" in found else []
    validator = " ".join(f"{name}={_text(found[name])}" for name in names)
    # The maximum of `changed` may be a text of any length.
    return hashlib.sha256(validator.encode()).hexdigest() if len(validator) > _MAX_LENGTH else validator


def fingerprint_of(section: Section) -> Fingerprint:
    """Return what tells whether any row of a section changed; for pages cut by position.

    Empty where each page has a validator of its own, and where only rendering shows a change.
    """
    if section.paged_by == "key" or section.makes_its_urls or section.model is None:
        return Fingerprint()
    found = measure(section, section.queryset(), timezone.now())
    return Fingerprint(found.validator, found.newest, found.settles_at)


def moment(value: date | datetime) -> datetime:
    """Return a lastmod as an aware moment; a date is its midnight UTC."""
    return as_datetime(value, tz=timezone.get_default_timezone())


def is_ahead(value: date | datetime | None) -> bool:
    """Return whether a stored moment is in the future: it was stored by a clock that was wrong.

    The clocks of two machines may differ by `AHEAD` seconds.
    """
    return value is not None and moment(value) - moment(timezone.now()) > timedelta(seconds=AHEAD)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _output_field(rows: QuerySet[Any], expression: Any) -> Any:
    return expression.resolve_expression(rows.query.chain()).output_field


def sum_on_sqlite(sql: str) -> str:
    """Return the SQL for the sum of an integer, which SQLite adds up in 64 bits: it raises on overflow."""
    return sum_of_parts(f"{sql} >> 32", 2**32, f"{sql} & {2**32 - 1}")


def sum_of_parts(high: str, base: int, low: str) -> str:
    """Return the SQL for the sum of ``high * base + low`` as a text that `exact` reads."""
    return f"SUM({high}) || ' {base} ' || SUM({low})"


def exact(text: str | None, *args: Any) -> int | None:
    """Return a sum that a database gives as one number, or as that of high parts, their base, and that of low parts."""
    if text is None:
        return None
    high, base, low = text.split() if " " in text else (text, 1, 0)
    return int(high) * int(base) + int(low)


class ExactSum(Aggregate):
    """The exact sum of an integer column."""

    template = "SUM(%(expressions)s)"
    output_field = TextField()

    @cached_property
    def convert_value(self) -> Callable[..., int | None]:
        """The function that reads the sum."""
        return exact

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of SQLite."""
        source = self.source_expressions[0]
        if isinstance(source, Stamp):
            seconds, microseconds, params = source.parts_on_sqlite(compiler, connection)
            return sum_of_parts(seconds, 1_000_000, microseconds), params
        sql, params = compiler.compile(source)
        return sum_on_sqlite(f"({sql})"), (*params, *params)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of PostgreSQL."""
        return self.as_sql(compiler, connection, template="SUM(%(expressions)s)::text", **context)

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of MariaDB and MySQL."""
        return self.as_sql(compiler, connection, template="CAST(SUM(%(expressions)s) AS CHAR)", **context)


class Stamp(Func):
    """The microseconds from 1970 to a date or datetime, as an integer."""

    output_field = BigIntegerField()
    # Django asks no database for the aggregates of no rows.
    empty_result_set_value = None

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of SQLite, which stores dates as text."""
        seconds, microseconds, params = self.parts_on_sqlite(compiler, connection)
        return f"({seconds} * 1000000 + {microseconds})", params

    def parts_on_sqlite(self, compiler: Any, connection: Any) -> tuple[str, str, tuple[Any, ...]]:
        """Return the SQL of seconds, which are 0 for a text that is no date, microseconds, and the parameters."""
        sql, params = compiler.compile(self.source_expressions[0])
        has_epoch = connection.Database.sqlite_version_info >= (3, 38)
        # Without the parts of a second, which SQLite rounds: the last half millisecond would count as the next second.
        whole = f"substr({sql}, 1, 19)"
        seconds = f"unixepoch({whole})" if has_epoch else f"CAST(strftime('%%s', {whole}) AS INTEGER)"
        # Another program may have stored any text.
        microseconds = f"CAST(round(substr({sql}, 20, 7) * 1000000) AS INTEGER) %% 10000000"
        return f"ifnull({seconds}, 0)", microseconds, (*params, *params)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of PostgreSQL, where a date may be infinite."""
        sql, params = compiler.compile(self.source_expressions[0])
        microseconds = f"trunc(EXTRACT(EPOCH FROM {sql}) * 1000000)"
        return f"CASE WHEN isfinite({sql}) THEN {microseconds} END", (*params, *params)

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of MariaDB and MySQL."""
        template = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %(expressions)s)"
        return self.as_sql(compiler, connection, template=template, **context)
