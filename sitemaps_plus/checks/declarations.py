"""Check the declarations of the registered Sitemap classes: no property is run, no query made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db.models import F, Field, Model, QuerySet
from django.utils import timezone

from sitemaps_plus.checks.classes import declared, languages_of_rows, model_of, sitemaps, values_of
from sitemaps_plus.declare.hooks import class_of, name_of
from sitemaps_plus.declare.related import Related
from sitemaps_plus.declare.sitemaps import NewsSitemap
from sitemaps_plus.declare.url_for import UrlFor
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap
from sitemaps_plus.plan.keys import Key
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.limits import MAX_URLS
from sitemaps_plus.values.base import Value
from sitemaps_plus.values.extensions import EXTENSIONS

STARTED = datetime.now(UTC)
"""About the time when the process started, when class bodies run."""

Found = Iterator[CheckMessage]


@register()
def check_limits(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E007: limit and fill have values that the protocol allows."""
    return [message for sitemap in sitemaps() for message in (*_check_limit(sitemap), *_check_fill(sitemap))]


def _check_limit(sitemap: Any) -> Found:
    limit = declared(sitemap, "limit", MAX_URLS)
    if type(limit) is not int or not 1 <= limit <= MAX_URLS:
        yield Error(
            f"{name_of(sitemap)}.limit is {limit!r}.",
            hint=f"Use a number from 1 to {MAX_URLS:,}, the most URLs that a sitemap may have.",
            obj=class_of(sitemap),
            id="sitemaps_plus.E007",
        )
    elif limit < (count := len(languages_of_rows(sitemap))):
        yield Error(
            f"{name_of(sitemap)}.limit is {limit}, but each row has {count} URLs, one per language.",
            hint=f"Set limit to {count} or more, or use fewer languages.",
            obj=class_of(sitemap),
            id="sitemaps_plus.E007",
        )


def _check_fill(sitemap: Any) -> Found:
    fill = declared(sitemap, "fill", 1.0)
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill <= 1:
        yield Error(
            f"{name_of(sitemap)}.fill is {fill!r}.",
            hint="Use a number above 0 and up to 1.0; 0.9 is right for most sections.",
            obj=class_of(sitemap),
            id="sitemaps_plus.E007",
        )


@register()
def check_keys(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E008 and W009: a key is unique, never null, and has an index."""
    return [message for sitemap in sitemaps() for message in _check_key(sitemap)]


def _check_key(sitemap: Any) -> Found:
    model, names = model_of(sitemap), declared(sitemap, "key", "pk")
    if model is None or names == "pk" or issubclass(class_of(sitemap), NewsSitemap):
        return
    try:
        fields = Key.of(model, names).fields
    except (InvalidSitemap, TypeError) as error:
        yield _key_error(sitemap, f": {error}", f"Name a column of {model.__name__}, or leave key out.")
        return
    nullable = next((field.name for field in fields if field.null), None)
    if nullable:
        yield _key_error(
            sitemap,
            f".key: {nullable} may be null, and such rows would be on no page.",
            "Choose a column that is never null, or leave key out for the primary key.",
        )
    if not _is_unique(model, fields):
        yield _key_error(
            sitemap,
            f".key: {names!r} is not unique, so pages cannot be divided by it.",
            f"Add a UniqueConstraint to {model.__name__}, or leave key out for the primary key.",
        )
    elif not _has_index(model, fields[0]):
        yield Warning(
            f"{name_of(sitemap)}.key: no index begins with {fields[0].name}, so every page reads the whole table.",
            hint=f"Add models.Index(fields={[field.name for field in fields]}) to {model.__name__}, or reorder key.",
            obj=class_of(sitemap),
            id="sitemaps_plus.W009",
        )


def _key_error(sitemap: Any, text: str, hint: str) -> Error:
    return Error(f"{name_of(sitemap)}{text}", hint=hint, obj=class_of(sitemap), id="sitemaps_plus.E008")


@register()
def check_changed_has_index(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W010: the column that rows are sorted or filtered by has an index."""
    return [message for sitemap in sitemaps() for message in _check_changed(sitemap)]


def _check_changed(sitemap: Any) -> Found:
    model, name = model_of(sitemap), _changed_column(sitemap)
    field = next((field for field in model._meta.concrete_fields if field.name == name), None) if model else None
    if model and field and not _has_index(model, field):
        yield Warning(
            f"{name_of(sitemap)} finds its newest rows by {model.__name__}.{name}, which has no index.",
            hint=f"Add db_index=True to the field, or models.Index(fields=[{name!r}]) to {model.__name__}.",
            obj=class_of(sitemap),
            id="sitemaps_plus.W010",
        )


def _changed_column(sitemap: Any) -> str | None:
    if issubclass(class_of(sitemap), NewsSitemap):
        return str(sitemap.date_field)
    given = (declared(sitemap, name) for name in ("changed", "lastmod"))
    first = next((value for value in given if value is not None), None)
    return str(getattr(first, "name", "")) if isinstance(first, F) else None


@register()
def check_dates(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E012: lastmod is not a text that is no date, such as the name of a column."""
    return [
        Error(
            f"{name_of(sitemap)}.lastmod is the text {value!r}, which is not a date, and the same for every row.",
            hint=f"For the column of that name write lastmod = F({value!r}).",
            obj=class_of(sitemap),
            id="sitemaps_plus.E012",
        )
        for sitemap in sitemaps()
        if isinstance(value := declared(sitemap, "lastmod"), str) and not _is_date(value)
    ]


@register()
def check_querysets(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W013: a class-level queryset does not compare with the time when the process started."""
    return [
        Warning(
            f"{name_of(sitemap)}.queryset compares with {moment.isoformat()}, the time "
            "when the process started, and it will not change until the process ends.",
            hint="Filter in get_queryset() instead, or compare with django.db.models.functions.Now().",
            obj=class_of(sitemap),
            id="sitemaps_plus.W013",
        )
        for sitemap in sitemaps()
        if isinstance(queryset := declared(sitemap, "queryset"), QuerySet)
        for moment in _moments(queryset.query.where)
        if _is_from_start(moment)
    ]


@register(Tags.urls)
def check_url_names(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E014: the URL patterns that UrlFor names exist."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    return [
        Error(
            f"{name_of(sitemap)}.{hook}: {problem}",
            hint="Correct the name or the keyword arguments of UrlFor.",
            obj=class_of(sitemap),
            id="sitemaps_plus.E014",
        )
        for sitemap in sitemaps()
        for hook in ("location", *EXTENSIONS)
        for value in values_of(sitemap, hook)
        for url_for in _url_fors(value)
        for problem in url_for.check()
    ]


def _url_fors(value: Any) -> Iterator[UrlFor]:
    """Yield each UrlFor in a declared value: the value itself, or in its fields."""
    if isinstance(value, UrlFor):
        yield value
    elif isinstance(value, Related):
        yield from _url_fors(value.value)
    elif isinstance(value, tuple):
        yield from (found for part in value for found in _url_fors(part))
    elif isinstance(value, Value):
        names = [field.name for field in dataclasses.fields(value)]  # type: ignore[arg-type]
        yield from (found for name in names for found in _url_fors(getattr(value, name)))


def _is_unique(model: type[Model], fields: Sequence[Field[Any, Any]]) -> bool:
    names = {field.name for field in fields}
    sets = [set(together) for together in model._meta.unique_together]
    sets += [set(constraint.fields) for constraint in model._meta.total_unique_constraints]
    sets.append({field.name for field in model._meta.pk_fields})
    return any(field.unique for field in fields) or any(together <= names for together in sets)


def _has_index(model: type[Model], field: Field[Any, Any]) -> bool:
    starts = [index.fields[0].lstrip("-") for index in model._meta.indexes if index.fields]
    starts += [together[0] for together in model._meta.unique_together]
    starts += [constraint.fields[0] for constraint in model._meta.total_unique_constraints]
    starts.append(model._meta.pk_fields[0].name)
    return field.unique or bool(getattr(field, "db_index", False)) or field.name in starts


def _is_date(text: str) -> bool:
    try:
        format_date(text, tz=UTC)
    except InvalidEntry:
        return False
    return True


def _moments(node: Any) -> Iterator[date]:
    """Yield the dates with which the conditions of a query compare."""
    for child in getattr(node, "children", ()):
        yield from _moments(child)
    compared = getattr(node, "rhs", None)
    values = compared if isinstance(compared, list | tuple) else [compared]
    yield from (value for value in values if isinstance(value, date))


def _is_from_start(moment: date) -> bool:
    if not isinstance(moment, datetime):
        return moment in (STARTED.date(), timezone.localdate(STARTED), STARTED.astimezone().date())
    if timezone.is_naive(moment):
        moment = timezone.make_aware(moment)
    # Nobody types microseconds: they come from now(), also after days were subtracted.
    return moment.microsecond != 0 or abs(moment - STARTED) < timedelta(hours=1)
