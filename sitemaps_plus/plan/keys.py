"""Turn the key of a model, one column or several, into conditions, an order and values that can be stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import (
    BooleanField,
    Expression,
    F,
    Field,
    Func,
    GeneratedField,
    IntegerField,
    Lookup,
    Model,
    Q,
    Value,
)

from sitemaps_plus.errors import InvalidSitemap

KeyValue = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """The unique columns that a section is divided by, most significant first."""

    fields: tuple[Field[Any, Any], ...]

    @classmethod
    def of(cls, model: type[Model], names: str | tuple[str, ...]) -> Key:
        """Return the key made of the columns `names`; ``"pk"`` means every column of a composite primary key."""
        fields: list[Field[Any, Any]] = []
        for name in (names,) if isinstance(names, str) else names:
            field = model._meta.pk if name == "pk" else _get_field(model, name)
            fields += getattr(field, "fields", None) or [field]
        return cls(tuple(fields))

    def __str__(self) -> str:
        """Return the names of the columns."""
        return ",".join(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The attribute names of the columns: for a relation the name of its id."""
        return tuple(field.attname for field in self.fields)

    @property
    def summable(self) -> tuple[str, ...]:
        """The integer columns, whose values a validator adds up."""
        return tuple(field.attname for field in self.fields if isinstance(stored_field(field), IntegerField))

    @property
    def is_converted(self) -> bool:
        """Whether a field class turns the stored values into others, whose sum is another one."""
        return any(hasattr(stored_field(field), "from_db_value") for field in self.fields)

    def at_or_after(self, value: KeyValue) -> Q:
        """Return the condition for the row at `value` and all later rows."""
        return self._beyond(value, "gte")

    def after(self, value: KeyValue) -> Q:
        """Return the condition for all rows after `value`."""
        return self._beyond(value, "gt")

    def up_to(self, value: KeyValue) -> Q:
        """Return the condition for the row at `value` and all earlier rows."""
        return self._beyond(value, "lte")

    def before(self, value: KeyValue) -> Q:
        """Return the condition for all rows before `value`."""
        return self._beyond(value, "lt")

    def dump(self, value: KeyValue) -> list[Any]:
        """Return `value` as JSON stores it."""
        return json.loads(json.dumps(list(value), default=str))  # type: ignore[no-any-return]

    def load(self, stored: list[Any]) -> KeyValue:
        """Return the key of a value that `dump` returned."""
        return tuple(stored_field(field).to_python(part) for field, part in zip(self.fields, stored, strict=True))

    def _beyond(self, value: KeyValue, lookup: str) -> Q:
        if len(self.fields) > 1:
            return Q(_Beyond(self.fields, value, lookup))
        return Q(**{f"{self.names[0]}__{lookup}": value[0]})


def as_shown(value: KeyValue) -> object:
    """Return a key as messages show it: a key of one column without its tuple."""
    return value[0] if len(value) == 1 else tuple(value)


class _Tuple(Func):
    """Several expressions in parentheses."""

    template = "(%(expressions)s)"
    output_field = BooleanField()


class _Beyond(Lookup):
    """A comparison of several columns with as many values, decided by the first that differs: ``(a, b) >= (1, 2)``.

    It is a lookup because some databases use no index for other conditions: they compare the result with true.
    """

    lookup_name = "beyond"

    def __init__(self, fields: Sequence[Field[Any, Any]], value: KeyValue, lookup: str) -> None:
        self.operator = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}[lookup]
        values = [
            part if isinstance(part, Expression) else Value(part, output_field=stored_field(field))
            for field, part in zip(fields, value, strict=True)
        ]
        super().__init__(_Tuple(*(F(field.attname) for field in fields)), _Tuple(*values))

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        left, before = compiler.compile(self.lhs)
        right, after = compiler.compile(self.rhs)
        return f"{left} {self.operator} {right}", [*before, *after]

    def as_mysql(self, compiler: Any, connection: Any) -> Any:
        # Written out because these databases use no index for a comparison of tuples; the others only use it for that.
        sides = zip(self.lhs.source_expressions, self.rhs.source_expressions, strict=True)
        *leading, (column, value) = ([compiler.compile(one) for one in pair] for pair in sides)
        sql, params = f"{column[0]} {self.operator} {value[0]}", [*column[1], *value[1]]
        strict = self.operator[0]
        for (name, before), (part, given) in reversed(leading):
            sql = f"({name} {strict}= {part} AND ({name} {strict} {part} OR {sql}))"
            params = [*before, *given, *before, *given, *params]
        return sql, params

    as_oracle = as_mysql


def _get_field(model: type[Model], name: str) -> Field[Any, Any]:
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist as error:
        raise InvalidSitemap(f"key = {name!r}: {model.__name__} has no field of this name.") from error
    if not getattr(field, "concrete", False):
        raise InvalidSitemap(f"key = {name!r}: {model.__name__}.{name} is not a column of the table.")
    return field  # type: ignore[return-value]


def stored_field(field: Any) -> Any:
    """Return the field that decides what the column holds: for a relation, the key that it finally points to."""
    while field.is_relation:
        field = field.target_field
    return field.output_field if isinstance(field, GeneratedField) else field
