"""Check values, and turn those with ORM expressions into functions that build a value for each row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from itertools import accumulate, islice, pairwise
from typing import Any, ClassVar, Self, TypeAlias

from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, shown
from sitemaps_plus.protocol.reports import keeps_broken
from sitemaps_plus.values.fields import Rule, gives_list, is_empty, several

# Neither expressions nor lazy text: these need no further look.
_PLAIN = (str, int, float, Decimal, date, bytes)
_Fill: TypeAlias = Callable[[Iterator[Any]], Any]


class Path(str):
    """A path from `UrlFor`: it certainly belongs to this site, which a path written by hand may not."""

    __slots__ = ()


class Value:
    """Base of the values: fields with one rule each, which may hold ORM expressions.

    Without expressions, each field keeps the value that its rule returns. With one, nothing is checked yet.
    """

    __slots__ = ("_broken",)

    _rules: ClassVar[Mapping[str, Rule]]
    """The rule of each field, in the order of the schema."""
    _required: ClassVar[Sequence[str]] = ()
    """Fields that are never empty."""
    _one_of: ClassVar[Sequence[str]] = ()
    """Fields of which at least one is not empty."""
    _lists: ClassVar[Sequence[str]] = ()
    """Fields that take several values."""

    def __post_init__(self) -> None:
        """Apply the rules to the fields; raise `InvalidEntry` for a broken one, or keep it (see `keep_broken`)."""
        try:
            self._keep()
        except InvalidEntry as error:
            if not keeps_broken():
                raise
            object.__setattr__(self, "_broken", error)

    @property
    def broken(self) -> InvalidEntry | None:
        """The error of the rule that the value breaks, if it was created under `keep_broken`."""
        return getattr(self, "_broken", None)

    def _keep(self) -> None:
        given = [(name, value) for name in self._rules if (value := getattr(self, name)) is not None]
        pending = False
        for name, value in given:
            if isinstance(value, list):
                # Immutable and hashable.
                object.__setattr__(self, name, tuple(value))
            if not isinstance(value, _PLAIN):
                self._check_form(name, value)
            pending = pending or is_pending(value)
        if pending:
            return
        for name, value in given:
            kept = self._rules[name](f"{type(self).__name__}.{name}", value)
            if kept is not value:
                object.__setattr__(self, name, kept)
        for name in self._required:
            if getattr(self, name) is None:
                raise InvalidEntry("E-REQUIRED", f"{type(self).__name__}.{name} is empty, but required.")
        self._check()

    def expressions(self) -> dict[str, Any]:
        """Return the expressions by the name of their field; nested names are ``uploader.name`` or ``tags.0``."""
        return dict(pair for name in self._rules for pair in _expressions(name, getattr(self, name)))

    def builder(self) -> Callable[[Sequence[Any]], Self | None]:
        """Return the function from the values of `expressions()`, in their order, to the finished value.

        The function returns None if the expression of a required field is empty: the row has no such value. It raises
        `InvalidEntry` if a rule is broken.
        """
        given = {name: value for name in self._rules if (value := getattr(self, name)) is not None}
        fills = {name: _filler(value) for name, value in given.items() if is_pending(value)}
        constants = {name: value for name, value in given.items() if name not in fills}
        if not fills:
            return lambda values: self
        needed = [name for name in self._required if name in fills]
        choice = [name for name in self._one_of if name in fills]
        if any(not is_empty(constants.get(name)) for name in self._one_of):
            choice = []
        make = type(self)
        take = _taker(given, fills)
        if needed == list(given) and is_expression(given[needed[0]]) and len(needed) == 1:
            # A faster way for images with only a URL, of which a page may have many.
            (only,) = needed
            return lambda values: None if is_empty(values[0]) else make(**{only: values[0]})

        def build(values: Sequence[Any]) -> Any:
            row = take(values)
            if missing := [name for name in needed if is_empty(row[name])]:
                return make._incomplete(missing)
            if choice and all(is_empty(row[name]) for name in choice):
                return None
            for part in row.values():
                if isinstance(part, Exception):
                    raise part
            return make(**constants, **row)

        return build

    def settled(self) -> Self:
        """Return this value with its lazy texts in the active language, and checked."""
        changed = {}
        for name in self._rules:
            value = getattr(self, name)
            if (settled := _settled(value)) is not value:
                changed[name] = settled
        if not changed:
            return self
        made = replace(self, **changed)  # type: ignore[type-var]
        if made.broken is not None:
            raise made.broken
        return made

    def _check_form(self, name: str, value: Any) -> None:
        """Raise an error for a declaration that is wrong for every row: a class, or a list in a field for one value."""
        where = f"{type(self).__name__}.{name}"
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, type):
                message = f"{where} is the class {part.__name__}; give an instance: {part.__name__}(...)."
                raise InvalidEntry("E-FIELD-TYPE", message)
            if name not in self._lists and gives_list(part):
                raise InvalidSitemap(f"{where} is {shown(part)}, which gives {self._instead_of_list(name, part)}")

    def _instead_of_list(self, name: str, given: Any) -> str:
        if given.gives == "links":
            return "links to other rows. Give it to hreflang itself."
        return (
            "a list, but takes one value. Put the value inside, as in "
            f"Related({given.relation!r}, {type(self).__name__}({name}={given.value!r})), or choose one with language=."
        )

    def _check(self) -> None:
        """Raise `InvalidEntry` if fields contradict each other."""

    @classmethod
    def _incomplete(cls, missing: Sequence[str]) -> None:
        """Return None, as a row with empty required fields has no such value; override it to raise `InvalidEntry`."""


def is_expression(value: object) -> bool:
    """Return whether the database computes `value`; a QuerySet is a list of values here, not a subquery."""
    return hasattr(value, "resolve_expression") and not hasattr(value, "__iter__")


def is_pending(value: object) -> bool:
    """Return whether `value` is or contains an expression."""
    if value is None or isinstance(value, _PLAIN):
        return False
    if isinstance(value, tuple | list):
        return any(map(is_pending, value))
    if isinstance(value, Value):
        return any(is_pending(getattr(value, name)) for name in value._rules)
    # UrlFor has to be built even without expressions.
    return is_expression(value) or _is_declared(value)


def nested(kind: type[Value], field: str | None = None) -> Rule:
    """Return the rule for a nested value; with `field`, the value of that field may be given in its place."""

    def rule(where: str, value: Any) -> Any:
        if isinstance(value, kind):
            if value.broken is not None:
                raise value.broken
            return value
        if field is None or isinstance(value, Value):
            raise InvalidEntry("E-FIELD-TYPE", f"{where} is {shown(value)}; give {kind.__name__}(...).")
        kept = kind._rules[field](where, value)
        return None if kept is None else kind(**{field: kept})

    return rule


def nested_list(kind: type[Value], field: str | None = None) -> Rule:
    """Return the rule for a list of nested values, or a single one."""
    many = several(nested(kind, field))

    def rule(where: str, value: Any) -> Any:
        return many(where, (value,) if isinstance(value, (kind, str)) else value)

    return rule


def _is_declared(value: object) -> bool:
    return hasattr(value, "expressions") and hasattr(value, "builder")


def _expressions(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        for index, part in enumerate(value):
            yield from _expressions(f"{path}.{index}", part)
    elif _is_declared(value):
        for name, part in value.expressions().items():
            yield f"{path}.{name}", part
    elif is_expression(value):
        yield path, value


def _taker(given: Mapping[str, Any], fills: Mapping[str, _Fill]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    """Return the function from the values of a row to the fields with expressions; a failed field has its error."""
    if all(is_expression(given[name]) for name in fills):
        names = tuple(fills)
        return lambda values: dict(zip(names, values, strict=True))

    sizes = [sum(1 for _ in _expressions(name, given[name])) for name in fills]
    ends = list(accumulate(sizes, initial=0))

    def take(values: Sequence[Any]) -> dict[str, Any]:
        parts = zip(fills.items(), pairwise(ends), strict=True)
        return {name: attempt(fill, iter(values[start:end])) for (name, fill), (start, end) in parts}

    return take


def attempt(build: Callable[[Any], Any], values: Any) -> Any:
    """Return the result of `build` for `values`, or the error that it raises: it must not affect other values."""
    try:
        return build(values)
    except Exception as error:  # code of the project may raise anything
        return error


def _filler(value: Any) -> _Fill:
    """Return the function that takes its share of the values of a row and builds the value of a field from it."""
    if isinstance(value, tuple):
        fillers = [_filler(part) for part in value]
        return lambda row: tuple(_flat(fill(row) for fill in fillers))
    if _is_declared(value):
        build, size = value.builder(), len(value.expressions())
        if getattr(value, "gives", None) == "path":
            return partial(_path, build, size)
        return lambda row: build(list(islice(row, size)))
    return next if is_expression(value) else lambda row: value


def _flat(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield the parts of a list that are not empty, and the parts of lists in it (`Related`)."""
    for part in parts:
        if isinstance(part, list):
            yield from _flat(part)
        elif isinstance(part, Exception):
            raise part
        elif not is_empty(part):
            yield part


def _path(build: Callable[[Sequence[Any]], str], size: int, row: Iterator[Any]) -> Path | None:
    """Return the path that `UrlFor` builds, or None if a value is empty: there is no such page."""
    values = list(islice(row, size))
    return None if any(map(is_empty, values)) else Path(build(values))


def _settled(value: Any) -> Any:
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, tuple):
        parts = tuple(map(_settled, value))
        return value if all(map(operator.is_, parts, value)) else parts
    if isinstance(value, Value):
        return value.settled()
    return str(value)
