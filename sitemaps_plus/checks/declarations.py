"""Check the registered Sitemap classes, as they are written down: no property is run, no database asked."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db.models import F, Field, Model, QuerySet
from django.utils import timezone

from sitemaps_plus.dates import format_date
from sitemaps_plus.entries import MAX_URLS
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap
from sitemaps_plus.keys import Key
from sitemaps_plus.registry import registry
from sitemaps_plus.sitemaps import ModelSitemap, NewsSitemap
from sitemaps_plus.url_for import UrlFor

STARTED = datetime.now(UTC)
"""When the process started, about: class bodies are evaluated then."""

Found = Iterator[CheckMessage]


@register()
def check_limits(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E007: limit and fill are within the protocol."""
    return [message for sitemap in _sitemaps() for message in (*_check_limit(sitemap), *_check_fill(sitemap))]


def _check_limit(sitemap: Any) -> Found:
    limit = _declared(sitemap, "limit", MAX_URLS)
    if type(limit) is not int or not 1 <= limit <= MAX_URLS:
        yield Error(
            f"{_name(sitemap)}.limit is {limit!r}.",
            hint=f"Use a number from 1 to {MAX_URLS:,}: a sitemap may hold no more URLs.",
            obj=_class(sitemap),
            id="sitemaps_plus.E007",
        )
    elif limit < (count := len(_languages(sitemap))):
        yield Error(
            f"{_name(sitemap)}.limit is {limit}, but each row has {count} URLs, one a language.",
            hint=f"Raise limit to {count} or more, or name fewer languages.",
            obj=_class(sitemap),
            id="sitemaps_plus.E007",
        )


def _check_fill(sitemap: Any) -> Found:
    fill = _declared(sitemap, "fill", 1.0)
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill <= 1:
        yield Error(
            f"{_name(sitemap)}.fill is {fill!r}.",
            hint="Use a share above 0 and up to 1.0; 0.9 fits most sections.",
            obj=_class(sitemap),
            id="sitemaps_plus.E007",
        )


@register()
def check_keys(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E008 and W009: a key is unique, never null, and has an index."""
    return [message for sitemap in _sitemaps() for message in _check_key(sitemap)]


def _check_key(sitemap: Any) -> Found:
    model, names = _model(sitemap), _declared(sitemap, "key", "pk")
    if model is None or names == "pk" or issubclass(_class(sitemap), NewsSitemap):
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
            f".key: {names!r} is not unique, so that a page cannot say where it starts.",
            f"Add a UniqueConstraint to {model.__name__}, or leave key out for the primary key.",
        )
    elif not _has_index(model, fields[0]):
        yield Warning(
            f"{_name(sitemap)}.key: no index begins with {fields[0].name}, so that every page reads the whole table.",
            hint=f"Add models.Index(fields={[field.name for field in fields]}) to {model.__name__}, or reorder key.",
            obj=_class(sitemap),
            id="sitemaps_plus.W009",
        )


def _key_error(sitemap: Any, text: str, hint: str) -> Error:
    return Error(f"{_name(sitemap)}{text}", hint=hint, obj=_class(sitemap), id="sitemaps_plus.E008")


@register()
def check_changed_has_index(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W010: a column that is sorted or filtered by has an index."""
    return [message for sitemap in _sitemaps() for message in _check_changed(sitemap)]


def _check_changed(sitemap: Any) -> Found:
    model, name = _model(sitemap), _changed_column(sitemap)
    field = next((field for field in model._meta.concrete_fields if field.name == name), None) if model else None
    if model and field and not _has_index(model, field):
        yield Warning(
            f"{_name(sitemap)} looks for the newest rows by {model.__name__}.{name}, which has no index.",
            hint=f"Add db_index=True to the field, or models.Index(fields=[{name!r}]) to {model.__name__}.",
            obj=_class(sitemap),
            id="sitemaps_plus.W010",
        )


def _changed_column(sitemap: Any) -> str | None:
    if issubclass(_class(sitemap), NewsSitemap):
        return str(sitemap.date_field)
    given = (_declared(sitemap, name) for name in ("changed", "lastmod"))
    first = next((value for value in given if value is not None), None)
    return str(getattr(first, "name", "")) if isinstance(first, F) else None


@register()
def check_alternates(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W011: alternates and x_default need i18n."""
    return [
        Warning(
            f"{_name(sitemap)}.{name} has no effect: {_name(sitemap)}.i18n is False.",
            hint=f"Set i18n = True on {_name(sitemap)}, or take {name} away.",
            obj=_class(sitemap),
            id="sitemaps_plus.W011",
        )
        for sitemap in _sitemaps()
        for name in ("alternates", "x_default")
        if _declared(sitemap, name, False) and not _declared(sitemap, "i18n", True)
    ]


@register()
def check_dates(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E012: lastmod is not the name of a column, which would be taken for a date."""
    return [
        Error(
            f"{_name(sitemap)}.lastmod is the text {value!r}, which is no date and the same for every row.",
            hint=f"For the column of that name write lastmod = F({value!r}).",
            obj=_class(sitemap),
            id="sitemaps_plus.E012",
        )
        for sitemap in _sitemaps()
        if isinstance(value := _declared(sitemap, "lastmod"), str) and not _is_date(value)
    ]


@register()
def check_querysets(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W013: a class-level queryset does not hold the moment at which the process started."""
    return [
        Warning(
            f"{_name(sitemap)}.queryset compares with {moment.isoformat()}, which was "
            '"now" when the process started and stays the same until it ends.',
            hint="Override get_queryset() and filter there, or compare with django.db.models.functions.Now().",
            obj=_class(sitemap),
            id="sitemaps_plus.W013",
        )
        for sitemap in _sitemaps()
        if isinstance(queryset := _declared(sitemap, "queryset"), QuerySet)
        for moment in _moments(queryset.query.where)
        if _is_from_start(moment)
    ]


@register(Tags.urls)
def check_url_names(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E014: the URL names that UrlFor was given exist."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    return [
        Error(
            f"{_name(sitemap)}.location: {problem}",
            hint="Correct the name or the keyword arguments of UrlFor.",
            obj=_class(sitemap),
            id="sitemaps_plus.E014",
        )
        for sitemap in _sitemaps()
        if isinstance(location := _declared(sitemap, "location"), UrlFor)
        for problem in location.check()
    ]


def _sitemaps() -> Iterator[Any]:
    return (registry[label] for label in registry)


def _declared(sitemap: Any, name: str, default: Any = None) -> Any:
    """Return an attribute as it is written down; `default` where a method or property would have to be run."""
    value = inspect.getattr_static(sitemap, name, default)
    return default if hasattr(type(value), "__get__") else value


def _class(sitemap: Any) -> Any:
    return sitemap if isinstance(sitemap, type) else type(sitemap)


def _name(sitemap: Any) -> str:
    return str(_class(sitemap).__name__)


def _languages(sitemap: Any) -> Sequence[str]:
    """Return the languages that every row has; none where there are no URLs per language, or only code knows."""
    cls = _class(sitemap)
    if not _declared(sitemap, "i18n", False) or cls._languages is not contrib.Sitemap._languages:  # type: ignore[attr-defined]
        return ()
    given = _declared(sitemap, "languages", ())
    return [code for code, _ in settings.LANGUAGES] if given is None else given


def _model(sitemap: Any) -> type[Model] | None:
    queryset = _declared(sitemap, "queryset")
    is_known = issubclass(_class(sitemap), ModelSitemap | contrib.GenericSitemap)
    return queryset.model if is_known and isinstance(queryset, QuerySet) else None


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
    """Yield the dates that the conditions of a query compare with."""
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
    # Nobody writes microseconds by hand: they come from now(), also with days taken off.
    return moment.microsecond != 0 or abs(moment - STARTED) < timedelta(hours=1)
