"""Have the database give dates as text, which saves making a datetime of each, and find those that are no dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import CharField, DateField, DateTimeField, Func
from django.db.models.expressions import Col

_VENDORS = ("sqlite", "postgresql", "mysql")

UTC_OFFSET = "+00:00"
"""What stands behind every text of a datetime."""

_SHAPE = b"0000-00-00 00:00:00\n"
_ANY_DIGIT = bytes.maketrans(b"123456789", b"000000000")

# Which digits may not stand at which places of a text, all those of one line together. Years before 1990 get a
# warning, and of the full centuries only 2000 is known here for its leap day: Python looks at the others.
_LEAP_DAY = {5: "0", 6: "2", 8: "2", 9: "9"}
_NONE = (
    {0: "0"},
    {0: "1", 1: "012345678"},
    {0: "1", 2: "012345678"},
    {5: "0", 6: "0"},
    {5: "1", 6: "3456789"},
    {5: "23456789"},
    {8: "0", 9: "0"},
    {8: "3", 9: "23456789"},
    {8: "456789"},
    {5: "0", 6: "2", 8: "3"},
    {2: "02468", 3: "1235679", **_LEAP_DAY},
    {2: "13579", 3: "01345789", **_LEAP_DAY},
    {1: "123456789", 2: "0", 3: "0", **_LEAP_DAY},
    {0: "13456789", 2: "0", 3: "0", **_LEAP_DAY},
    {5: "0", 6: "469", 8: "3", 9: "1"},
    {5: "1", 6: "1", 8: "3", 9: "1"},
)
_NONE_IN_TIMES = ({11: "2", 12: "456789"}, {11: "3456789"}, {14: "6789"}, {17: "6789"})


class DateTimeText(Func):
    """A datetime in UTC as ``2026-10-01 12:00:00``; parts of a second are cut off."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL: the text as it is stored, whole where something other wrote it with an offset."""
        is_plain = "substr(%(expressions)s, 20, 1) IN ('', '.') AND length(%(expressions)s) < 27"
        template = f"CASE WHEN {is_plain} THEN substr(%(expressions)s, 1, 19) ELSE %(expressions)s END"
        return self.as_sql(compiler, connection, template=template, **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL: the cast where it writes ISO 8601, which takes half as long."""
        connection.ensure_connection()
        is_iso = (connection.connection.info.parameter_status("DateStyle") or "").startswith("ISO")
        text = "left((%(expressions)s AT TIME ZONE 'UTC')::text, 19)"
        slow = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')"
        return self.as_sql(compiler, connection, template=text if is_iso else slow, **extra)

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL; the per cent signs are doubled for the driver, to which a zero date is none."""
        text = "date_format(%(expressions)s, '%%%%Y-%%%%m-%%%%d %%%%H:%%%%i:%%%%s')"
        template = f"nullif({text}, '0000-00-00 00:00:00')"
        return self.as_sql(compiler, connection, template=template, **extra)


class DateText(Func):
    """A date as ``2026-10-01``."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL: the text as it is stored."""
        return self.as_sql(compiler, connection, template="substr(%(expressions)s, 1, 10)", **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL."""
        return self.as_sql(compiler, connection, template="to_char(%(expressions)s, 'YYYY-MM-DD')", **extra)

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL; the per cent signs are doubled for the driver, to which a zero date is none."""
        template = "nullif(date_format(%(expressions)s, '%%%%Y-%%%%m-%%%%d'), '0000-00-00')"
        return self.as_sql(compiler, connection, template=template, **extra)


def as_text(expression: Any, query: Any, using: str) -> Func | None:
    """Return the expression for the text of a date column, or None where only Python makes the right one."""
    connection: Any = connections[using]
    column = expression.resolve_expression(query.chain())
    if connection.vendor not in _VENDORS or not isinstance(column, Col):
        return None
    # What a field of a project makes of its values is its own affair.
    if type(column.target) is DateTimeField and settings.USE_TZ and connection.timezone_name == "UTC":
        return DateTimeText(expression)
    return DateText(expression) if type(column.target) is DateField else None


def as_w3c(texts: Sequence[str], *, is_date: bool) -> list[str] | None:
    """Return dates, or datetimes, as W3C has them, but for the offset; None where one is none from 1990 on."""
    data = ("\n".join(texts) + "\n").encode("ascii", "replace")
    if _odd(data, is_date) != 0:
        return None
    if is_date:
        return list(texts)
    lines = bytearray(data)
    lines[10 :: len(_SHAPE)] = b"T" * len(texts)
    return lines.decode("ascii").split("\n")[:-1]


def odd_lines(texts: Sequence[str], *, is_date: bool) -> Iterator[int]:
    """Yield which of `texts` are no dates, or no datetimes, from 1990 on."""
    odd = _odd("".join(f"{text}\n" for text in texts).encode("ascii", "replace"), is_date)
    if odd is None:
        yield from (at for at, text in enumerate(texts) if len(texts) == 1 or [*odd_lines([text], is_date=is_date)])
    else:
        yield from (at for at, mark in enumerate(odd.to_bytes(len(texts), "little")) if mark)


def _odd(data: bytes, is_date: bool) -> int | None:
    """Return a number with one byte a line, zero where it is a date; None where it has not the shape of one."""
    shape = _SHAPE[:10] + b"\n" if is_date else _SHAPE
    if data.translate(_ANY_DIGIT) != shape * (len(data) // len(shape)):
        return None
    # All lines are compared at once: a number has a one in the byte of each line where a digit stands.
    masks: dict[tuple[int, str], int] = {}
    odd = 0
    for digits in _NONE if is_date else _NONE + _NONE_IN_TIMES:
        found = -1
        for which in digits.items():
            if which not in masks:
                place, wanted = which
                masks[which] = int.from_bytes(data[place :: len(shape)].translate(_ones(wanted)), "little")
            found &= masks[which]
        odd |= found
    return odd


@cache
def _ones(digits: str) -> bytes:
    """Return the table that turns `digits` into one, and all else into zero."""
    return bytes(chr(code) in digits for code in range(256))
