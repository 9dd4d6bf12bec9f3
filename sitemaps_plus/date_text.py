"""Have the database give dates as the text of W3C dates, which saves making a datetime of each."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import CharField, DateField, DateTimeField, Func
from django.db.models.expressions import Col

_VENDORS = ("sqlite", "postgresql", "mysql")


class DateTimeText(Func):
    """A datetime in UTC as ``2026-10-01T12:00:00+00:00``."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL: the text as it is stored, without parts of a second."""
        template = "replace(substr(%(expressions)s, 1, 19), ' ', 'T') || '+00:00'"
        return self.as_sql(compiler, connection, template=template, **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL."""
        template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\"')"
        return self.as_sql(compiler, connection, template=template, **extra)

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Return the SQL; the per cent signs are doubled for the driver."""
        template = "date_format(%(expressions)s, '%%%%Y-%%%%m-%%%%dT%%%%H:%%%%i:%%%%s+00:00')"
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
        """Return the SQL; the per cent signs are doubled for the driver."""
        template = "date_format(%(expressions)s, '%%%%Y-%%%%m-%%%%d')"
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
