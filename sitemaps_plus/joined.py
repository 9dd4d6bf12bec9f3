"""Read a chunk of rows as one text a column: the database joins the values, and Python makes no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import CharField, IntegerField, QuerySet, TextField
from django.db.models.expressions import RawSQL

from sitemaps_plus.plan.keys import KeyValue
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section

_LAST = object()
"""Stands among the parameters of a statement for the key behind which it reads."""

# How a database joins the values of a column, and which key is the last one. SQLite may hold bytes anywhere, which
# are no text: they get a line too many, as a text of several lines has.
_SQL = {
    "sqlite": (
        "group_concat(CASE typeof({0}) WHEN 'blob' THEN char(10) ELSE coalesce({0}, '') END, char(10))",
        "max(k)",
    ),
    "postgresql": ("string_agg(coalesce({}::text, ''), E'\\n')", "(array_agg(k))[count(*)]"),
}


class Joined(NamedTuple):
    """A chunk of rows, in the order of the key."""

    size: int
    last: KeyValue
    columns: Sequence[Sequence[str]]
    """The texts of each column; "" where a row has none."""


class JoinedRows:
    """The rows of one page, read in chunks of `size`."""

    def __init__(self, section: Section, page: Page, columns: Mapping[str, Any], size: int) -> None:
        self._key = section.key.fields[0]
        rows = [page.rows(section), page.rows(section, after=(RawSQL("%s", [_LAST]),))]
        self._connection: Any = connections[rows[0].db]
        self._is_text = True
        self._first, self._next = (self._compiled(section, wanted, columns, size) for wanted in rows)

    @classmethod
    def of(cls, section: Section, page: Page, columns: Mapping[str, Any], size: int) -> JoinedRows | None:
        """Return the rows of `page`, or None where the columns are not all texts or whole numbers in the database."""
        if len(section.key.names) > 1 or connections[section.queryset().db].vendor not in _SQL or not columns:
            return None
        try:
            rows = cls(section, page, columns, size)
        except EmptyResultSet:
            # Known without asking, as of `pk__in=[]`: there is no statement to be had.
            return None
        return rows if rows._is_text else None

    def read(self, after: KeyValue | None) -> Joined | None:
        """Return the first rows, or those `after` a key; None where one value has several lines."""
        sql, params = self._first if after is None else self._next
        if after is not None:
            given = self._key.get_db_prep_value(after[0], self._connection)
            params = [given if param is _LAST else param for param in params]
        with self._connection.cursor() as cursor:
            cursor.execute(sql, params)
            count, last, *texts = cursor.fetchone()
        columns = [text.split("\n") if count else [] for text in texts]
        if any(len(column) != count for column in columns):
            return None
        for convert in self._converters:
            last = convert(last, self._key_column, self._connection)
        return Joined(count, (last,), columns)

    def _compiled(
        self, section: Section, wanted: QuerySet[Any], columns: Mapping[str, Any], size: int
    ) -> tuple[str, Sequence[Any]]:
        """Return the statement, compiled once for all chunks."""
        plain = wanted.order_by(*section.key.names).select_related(None).prefetch_related(None)
        chosen = plain.annotate(**columns).values_list(*section.key.names, *columns)[:size]
        compiler: Any = chosen.query.get_compiler(connection=self._connection)
        inner, params = compiler.as_sql()
        # A QuerySet class of the project may select in an order of its own, and more than it was asked for.
        aliases, (key,) = [alias for _, _, alias in compiler.select], section.key.names
        if sorted(map(str, aliases)) != sorted([key, *columns]):
            self._is_text = False
            return "", ()
        expressions = [expression for expression, _, _ in compiler.select]
        converters = compiler.get_converters(expressions)
        at_key = aliases.index(key)
        self._key_column = expressions.pop(at_key)
        self._converters, _ = converters.pop(at_key, ((), None))
        texts = (CharField, TextField, IntegerField)
        self._is_text &= not converters and all(isinstance(one.output_field, texts) for one in expressions)
        joined, last = _SQL[self._connection.vendor]
        names = {alias: "k" if alias == key else f"c{at}" for at, alias in enumerate(aliases)}
        shown = ", ".join(["count(*)", last, *(joined.format(names[alias]) for alias in columns)])
        return f"WITH chunk({', '.join(names.values())}) AS ({inner}) SELECT {shown} FROM chunk", params  # noqa: S608
