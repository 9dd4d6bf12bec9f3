"""Check the declarations of the registered Sitemap classes: no property is run, no query made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.db.models import F, Field, Model, QuerySet
from django.utils import timezone

from sitemaps_plus.checks.classes import (
    Found,
    check_each,
    declared,
    languages_of_rows,
    model_of,
    queryset_of,
    values_of,
)
from sitemaps_plus.declare.hooks import class_of, has_location, is_constant
from sitemaps_plus.declare.loading import location_remedy
from sitemaps_plus.declare.related import Related
from sitemaps_plus.declare.sitemaps import NewsSitemap, makes_rows, overrides
from sitemaps_plus.declare.url_for import UrlFor
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap
from sitemaps_plus.plan.keys import Key
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.limits import MAX_URLS
from sitemaps_plus.protocol.text import CHANGEFREQS, check_changefreq, format_priority
from sitemaps_plus.values.base import Value
from sitemaps_plus.values.extensions import EXTENSIONS

STARTED = datetime.now(UTC)
"""About the time when the process started, when class bodies run."""


@check_each()
def check_limit(sitemap: Any) -> Found:
    """sitemaps_plus.E007: limit is a number of URLs that the protocol allows, and that the URLs of one row need."""
    limit = declared(sitemap, "limit", MAX_URLS)
    if type(limit) is not int or not 1 <= limit <= MAX_URLS:
        hint = f"Use a number from 1 to {MAX_URLS:,}, the most URLs that a sitemap may have."
        yield "E007", f".limit is {limit!r}.", hint
    elif limit < (count := len(languages_of_rows(sitemap))):
        text = f".limit is {limit}, but each row has {count} URLs, one per language."
        yield "E007", text, f"Set limit to {count} or more, or use fewer languages."


@check_each()
def check_protocol(sitemap: Any) -> Found:
    """sitemaps_plus.E007: protocol is one of the two that URLs of a site have."""
    protocol = declared(sitemap, "protocol")
    if protocol not in (None, "http", "https"):
        yield "E007", f".protocol is {protocol!r}.", 'Use "http" or "https", or leave it out for that of the origin.'


@check_each()
def check_constants(sitemap: Any) -> Found:
    """sitemaps_plus.E007: changefreq and priority have a value that the protocol allows."""
    for name, check, hint in (
        ("changefreq", check_changefreq, f"Use one of {', '.join(CHANGEFREQS)}."),
        ("priority", format_priority, "Use a number from 0.0 to 1.0."),
    ):
        value = declared(sitemap, name)
        if not is_constant(value) or value is None or value == "":
            continue
        try:
            check(value)
        except InvalidEntry as error:
            yield "E007", f".{name}: {error.text}", hint


@check_each()
def check_fill(sitemap: Any) -> Found:
    """sitemaps_plus.E007: fill is a share of a page."""
    fill = declared(sitemap, "fill", 1.0)
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill <= 1:
        yield "E007", f".fill is {fill!r}.", "Use a number above 0 and up to 1.0; 0.9 is right for most sections."


@check_each()
def check_key(sitemap: Any) -> Found:
    """sitemaps_plus.E008 and W009: a key is unique, never null, and has an index."""
    model, names = model_of(sitemap), declared(sitemap, "key", "pk")
    if model is None or names == "pk" or issubclass(class_of(sitemap), NewsSitemap):
        return
    try:
        fields = Key.of(model, names).fields
    except (InvalidSitemap, TypeError) as error:
        yield "E008", f": {error}", f"Name a column of {model.__name__}, or leave key out."
        return
    nullable = next((field.name for field in fields if field.null), None)
    if nullable:
        text = f".key: {nullable} may be null, and such rows would be on no page."
        yield "E008", text, "Choose a column that is never null, or leave key out for the primary key."
    if not _is_unique(model, fields):
        text = f".key: {names!r} is not unique, so pages cannot be divided by it."
        yield "E008", text, f"Add a UniqueConstraint to {model.__name__}, or leave key out for the primary key."
    elif not _has_index(model, fields[0]):
        text = f".key: no index begins with {fields[0].name}, so every page reads the whole table."
        index = f"models.Index(fields={[field.name for field in fields]})"
        yield "W009", text, f"Add {index} to {model.__name__}, or reorder key."


@check_each()
def check_location(sitemap: Any) -> Found:
    """sitemaps_plus.E025: the class has a location, or its model a get_absolute_url()."""
    queryset, methods = queryset_of(sitemap), ("_location", "_get", "_urls", "get_urls")
    is_known = queryset is not None and not makes_rows(class_of(sitemap)) and not overrides(sitemap, *methods)
    if queryset is None or not is_known or has_location(sitemap):
        return
    # A queryset may return objects of models that derive from its own.
    if not any(hasattr(model, "get_absolute_url") for model in _family(queryset.model)):
        name = queryset.model.__name__
        text = f" has no location, and {name} has no get_absolute_url(), so no row has a URL."
        yield "E025", text, location_remedy(sitemap, queryset.model)


def _family(model: type[Model]) -> Iterator[type[Model]]:
    yield model
    for derived in model.__subclasses__():
        yield from _family(derived)


@check_each()
def check_changed_has_index(sitemap: Any) -> Found:
    """sitemaps_plus.W010: the column that rows are sorted or filtered by has an index."""
    model, name = model_of(sitemap), _changed_column(sitemap)
    field = next((field for field in model._meta.concrete_fields if field.name == name), None) if model else None
    if model and field and not _has_index(model, field):
        hint = f"Add db_index=True to the field, or models.Index(fields=[{name!r}]) to {model.__name__}."
        yield "W010", f" finds its newest rows by {model.__name__}.{name}, which has no index.", hint


def _changed_column(sitemap: Any) -> str | None:
    if issubclass(class_of(sitemap), NewsSitemap):
        return str(sitemap.date_field)
    given = (declared(sitemap, name) for name in ("changed", "lastmod"))
    first = next((value for value in given if value is not None), None)
    return str(getattr(first, "name", "")) if isinstance(first, F) else None


@check_each()
def check_date(sitemap: Any) -> Found:
    """sitemaps_plus.E012: lastmod is not a text that is no date, such as the name of a column."""
    value = declared(sitemap, "lastmod")
    if isinstance(value, str) and not _is_date(value):
        text = f".lastmod is the text {value!r}, which is not a date, and the same for every row."
        yield "E012", text, f"For the column of that name write lastmod = F({value!r})."


@check_each()
def check_path(sitemap: Any) -> Found:
    """sitemaps_plus.E012: location is not a text that is no URL, such as the name of a column."""
    value = declared(sitemap, "location")
    if isinstance(value, str) and not value.strip().lower().startswith(("/", "http://", "https://")):
        text = f".location is the text {value!r}, which is not a URL, and the same for every row."
        column = f' For the column of that name write location = UrlFor("...", {value}=F("{value}")).'
        yield "E012", text, "Begin a path with '/'." + (column if value.isidentifier() else "")


@check_each()
def check_queryset(sitemap: Any) -> Found:
    """sitemaps_plus.W013: a class-level queryset does not compare with the time when the process started."""
    queryset = declared(sitemap, "queryset")
    for moment in _moments(queryset.query.where) if isinstance(queryset, QuerySet) else ():
        if _is_from_start(moment):
            since = f"{moment.isoformat()}, the time when the process started"
            text = f".queryset compares with {since}, and it will not change until the process ends."
            yield "W013", text, "Filter in get_queryset() instead, or compare with django.db.models.functions.Now()."


@check_each(Tags.urls)
def check_url_names(sitemap: Any) -> Found:
    """sitemaps_plus.E014: the URL patterns that UrlFor names exist."""
    for hook in ("location", *EXTENSIONS) if getattr(settings, "ROOT_URLCONF", None) else ():
        for value in values_of(sitemap, hook):
            for problem, remedy in (found for url_for in _url_fors(value) for found in url_for.check()):
                yield "E014", f".{hook}: {problem}", remedy


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
