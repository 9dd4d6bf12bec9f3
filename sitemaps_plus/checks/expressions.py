"""Resolve the expressions of the registered classes against their models, without a query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import Aggregate, DateField, F, OuterRef, QuerySet, Subquery

from sitemaps_plus.checks.classes import Found, check_each, declared, languages_of_rows, model_of, queryset_of
from sitemaps_plus.declare.hooks import Column, Hooks, class_of, is_needed, read_hooks
from sitemaps_plus.declare.related import Related, find_relation
from sitemaps_plus.declare.sitemaps import NewsSitemap, makes_rows
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.values.extensions import EXTENSIONS

_CHOICES = re.compile(r"(?<=Choices are: ).*")


class _Part(NamedTuple):
    """An expression of a hook, and the rows that it is computed for."""

    hook: str
    expression: Any
    rows: QuerySet[Any]
    prefix: str = ""
    """The start of messages about it: the declaration that contains it."""


@check_each()
def check_expressions(sitemap: Any) -> Found:
    """sitemaps_plus.E020 and W021: the columns that hooks read exist, and have one value for each row."""
    for part in _parts(sitemap):
        if problem := _problem(part):
            yield "E020", f".{part.hook}: {part.prefix}{problem}", _remedy(part)
        elif name := _to_many(part):
            problem = "so each row would be listed once per related row, each time with one value."
            text = f".{part.hook}: F({name!r}) follows a relation to many rows, {problem}"
            yield "W021", text, _related_hint(part.hook, name)


def _remedy(part: _Part) -> str:
    if isinstance(part.expression, Column) and part.expression.language:
        return (
            f"Add the column for {part.expression.language!r}, name another one for it in PerLanguage({{...}}), or "
            "remove that language from `languages` or LANGUAGES."
        )
    model = part.rows.model.__name__
    return f"Correct the name. If {model} does not have the column, get_queryset() may annotate it."


def _related_hint(hook: str, name: str) -> str:
    relation, _, column = name.partition("__")
    if hook == "images" and column and "__" not in column:
        return f"Write images = Related({relation!r}, Image(loc=F({column!r}))), which reads all of them."
    if hook in EXTENSIONS:
        related = f"{hook} = Related({relation!r}, ...)"
        return f"Write {related}, whose value is built from each related row; this reads all of them."
    return f"Choose one of them with Max({name!r}), another aggregate, a Subquery, or Related(..., language=...)."


# The expressions of a class


def _parts(sitemap: Any) -> Iterator[_Part]:
    """Yield the expressions of the hooks of a class; nothing if a method returns its rows."""
    rows = queryset_of(sitemap)
    if rows is None or makes_rows(class_of(sitemap)):
        return
    languages = _languages(sitemap)
    for hook in _hooks(read_hooks(sitemap)):
        for expression in hook.columns.values():
            if not is_needed(expression, lambda: languages):
                continue
            related = getattr(getattr(expression, "load", None), "__self__", None)
            if isinstance(related, Related):
                yield from _parts_of(related, hook.name, rows, languages)
            else:
                yield _Part(hook.name, expression, rows)


def _hooks(hooks: Hooks) -> Sequence[Any]:
    return (*hooks.shown, hooks.languages, hooks.x_default, hooks.changed)


def _parts_of(related: Related, hook: str, rows: QuerySet[Any], languages: Sequence[str]) -> Iterator[_Part]:
    """Yield the expressions for related rows; another check reports a relation that does not exist."""
    with suppress(InvalidSitemap):
        others = find_relation(rows.model, related.relation).model._default_manager.all()  # type: ignore[arg-type]
        prefix = f"Related({related.relation!r}): "
        given = [*related.parts(), *([] if related.language is None else [related.language])]
        for expression in given:
            if is_needed(expression, lambda: languages):
                yield _Part(hook, expression, others, prefix)
        yield _Part(hook, _Filter(related.filter), others, f"{prefix}filter: ")
        yield _Part(hook, _Order(related.order_by), others, f"{prefix}order_by: ")


class _Filter(NamedTuple):
    condition: Any

    def apply(self, rows: QuerySet[Any]) -> None:
        if self.condition is not None:
            rows.filter(self.condition)


class _Order(NamedTuple):
    names: Any

    def apply(self, rows: QuerySet[Any]) -> None:
        rows.order_by(*([self.names] if isinstance(self.names, str) else self.names))


def _languages(sitemap: Any) -> Sequence[str]:
    """Return the languages in which a class makes URLs; all of the project if each row has its own."""
    if not declared(sitemap, "i18n", True):
        return (settings.LANGUAGE_CODE,)
    return languages_of_rows(sitemap) or [code for code, _ in settings.LANGUAGES]


# The problem of one expression


def _problem(part: _Part) -> str | None:
    try:
        if isinstance(part.expression, _Filter | _Order):
            part.expression.apply(part.rows)
        else:
            part.expression.resolve_expression(part.rows.query.chain())
    except FieldError as error:
        return _CHOICES.sub(_without_ours, str(error))
    except Exception:  # an expression of any kind; reading the rows reports it
        return None
    return None


def _without_ours(choices: re.Match[str]) -> str:
    return ", ".join(name for name in choices[0].split(", ") if not name.startswith("_sitemap_"))


def _to_many(part: _Part) -> str | None:
    """Return the name in an expression that joins many rows to one, or None."""
    # A related row may join many: there is a value for each of them.
    if part.prefix:
        return None
    query = part.rows.query.chain()
    known = set(query.alias_map)
    with suppress(Exception):  # an expression of any kind
        part.expression.resolve_expression(query)
    # The queryset joins these rows already, and has chosen from them.
    if set(query.alias_map) <= known:
        return None
    names = (name for name in _names(part.expression) if name.partition("__")[0] not in query.annotations)
    return next((name for name in names if _leads_to_many(query, name)), None)


def _names(expression: Any) -> Iterator[str]:
    """Yield the names that an expression reads for each row."""
    if isinstance(expression, Column):
        expression = expression.expression
    if isinstance(expression, F) and not isinstance(expression, OuterRef):
        yield str(expression.name)  # type: ignore[attr-defined]
    elif not isinstance(expression, Aggregate | Subquery) and hasattr(expression, "get_source_expressions"):
        for source in expression.get_source_expressions():
            yield from _names(source)


def _leads_to_many(query: Any, name: str) -> bool:
    path, *_ = query.names_to_path(name.split("__"), query.get_meta())
    return any(step.m2m for step in path)


# Articles


@check_each()
def check_news(sitemap: Any) -> Found:
    """sitemaps_plus.E022: a section of news has a date field and a window of time; other rows have their date field."""
    if issubclass(class_of(sitemap), NewsSitemap):
        yield from _check_date_field(sitemap)
        yield from _check_window(sitemap)
    elif issubclass(class_of(sitemap), contrib.GenericSitemap):
        yield from _check_date_attribute(sitemap)


def _check_date_attribute(sitemap: Any) -> Found:
    """Report a date field that objects do not have; it may also be a property or an annotation."""
    queryset, name = queryset_of(sitemap), declared(sitemap, "date_field")
    if queryset is None or name is None or makes_rows(class_of(sitemap)):
        return
    if not hasattr(queryset.model, name) and name not in queryset.query.annotations:
        text = f".date_field is {name!r}, which {queryset.model.__name__} does not have."
        yield "E022", text, f"Name the field with the date of the last change. {_dates_of(queryset.model)}"


def _dates_of(model: Any) -> str:
    dates = ", ".join(field.name for field in model._meta.concrete_fields if isinstance(field, DateField)) or "none"
    return f"Fields with dates: {dates}."


def _check_date_field(sitemap: Any) -> Found:
    model, name = model_of(sitemap), declared(sitemap, "date_field")
    if model is None or name is None:
        return
    try:
        field: Any = model._meta.get_field(name)
    except FieldDoesNotExist:
        field = None
    if not isinstance(field, DateField):
        reason = "is not a field" if field is None else f"is a {type(field).__name__}"
        text = f".date_field is {name!r}, which {reason} of {model.__name__}."
        yield "E022", text, f"Name the field with the time of publication. {_dates_of(model)}"


def _check_window(sitemap: Any) -> Found:
    window = declared(sitemap, "window", timedelta(days=2))
    if not isinstance(window, timedelta) or window <= timedelta():
        yield "E022", f".window is {window!r}.", "Give a timedelta above zero, as in window = timedelta(days=2)."
