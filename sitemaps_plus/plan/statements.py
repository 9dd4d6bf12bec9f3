"""Statements that Django compiles once, to be executed with other values: compiling costs ten times as much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db.models import Expression, Field, Q, QuerySet
from django.db.models.sql import Query
from django.db.models.sql.subqueries import UpdateQuery

from sitemaps_plus.models import SitemapPage


class Slot(Expression):
    """The place of a value in a statement, which the statement gets by `name` when it is executed."""

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """Return the SQL of a parameter."""
        return "%s", [self]


class _Statement:
    """Compiled SQL and its parameters, some of which are slots."""

    def __init__(self, compiler: Any) -> None:
        self.connection = compiler.connection
        self.sql, self._params = compiler.as_sql()

    def params(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the parameters with `values` in their slots, as the database stores them."""
        return [self._stored(one, values) if isinstance(one, Slot) else one for one in self._params]

    def _stored(self, slot: Slot, values: Mapping[str, Any]) -> Any:
        return slot.output_field.get_db_prep_save(values[slot.name], connection=self.connection)


class AggregateStatement(_Statement):
    """The statement of ``rows.aggregate(...)``; `rows` has slots in its filters."""

    def __init__(self, compiler: Any) -> None:
        super().__init__(compiler)
        self._compiler = compiler
        columns = compiler.query.annotation_select
        self._names = tuple(columns)
        self._converters = compiler.get_converters(columns.values())

    @classmethod
    def of(cls, rows: QuerySet[Any], aggregates: Mapping[str, Any]) -> AggregateStatement | None:
        """Return the statement; None where Django needs a subquery, or knows that there are no rows.

        None also where a package has its own class of queries: those of soft deletion add a condition when they are
        compiled.
        """
        is_own = type(rows).aggregate is not QuerySet.aggregate or type(rows).count is not QuerySet.count
        if type(rows.query) is not Query or is_own:
            return None
        query: Any = rows.query.chain(klass=_Uncompiled)
        try:
            query.get_aggregation(rows.db, dict(aggregates))
        except _Reached as reached:
            try:
                return None if reached.compiler.query.subquery else cls(reached.compiler)
            except EmptyResultSet:
                return None
        return None

    def run(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what ``aggregate()`` returns for rows with these values."""
        with self.connection.cursor() as cursor:
            cursor.execute(self.sql, self.params(values))
            rows = [cursor.fetchone()[: len(self._names)]]
        found = next(iter(self._compiler.apply_converters(rows, self._converters)))
        return dict(zip(self._names, found, strict=True))


class _Reached(Exception):
    """Django is about to execute a query; this is its compiler."""

    def __init__(self, compiler: Any) -> None:
        super().__init__()
        self.compiler = compiler


class _Uncompiled(Query):
    """A query that is never executed."""

    def get_compiler(self, *args: Any, **options: Any) -> Any:
        """Raise the compiler: nothing in Django returns that of an aggregate."""
        raise _Reached(super().get_compiler(*args, **options))


class Update(NamedTuple):
    """New values for the record of one page."""

    pk: int
    values: Mapping[str, Any]
    validators: tuple[str, str] | None = None
    """Only where the record has one of these two; else another process has measured the page meanwhile."""


class UpdateStatement(_Statement):
    """The statement that stores some columns of one record of a page."""

    @classmethod
    def of(cls, columns: Mapping[str, Any], *, using: str, is_conditional: bool) -> UpdateStatement:
        """Return the statement for `columns`, each with its slot or an expression of slots.

        It is conditional if the record must have the validator ``before`` or ``after``.
        """
        chosen = Q(pk=Slot("pk", _field("id")))
        if is_conditional:
            chosen &= Q(validator=Slot("before", _field("validator"))) | Q(validator=Slot("after", _field("validator")))
        query: Any = SitemapPage.objects.using(using).filter(chosen).query.chain(klass=UpdateQuery)
        query.add_update_values(dict(columns))
        return cls(query.get_compiler(using))

    def run(self, updates: Sequence[Update]) -> None:
        """Store `updates`, all of the columns of this statement."""
        with self.connection.cursor() as cursor:
            cursor.executemany(self.sql, [self.params(self._values(update)) for update in updates])

    def _values(self, update: Update) -> dict[str, Any]:
        before, after = update.validators or ("", "")
        return {**update.values, "pk": update.pk, "before": before, "after": after}


def _field(name: str) -> Field[Any, Any]:
    return SitemapPage._meta.get_field(name)  # type: ignore[return-value]
