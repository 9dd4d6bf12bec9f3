"""Turn a URL into the condition with which the database finds the row that has this URL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Q, QuerySet
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse
from django.utils import translation

from sitemaps_plus.declare.per_language import PerLanguage
from sitemaps_plus.declare.related import Related, find_relation
from sitemaps_plus.declare.url_for import UrlFor
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.protocol.addresses import canonical, normalize
from sitemaps_plus.values.fields import Declared, Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The condition that the rows with one URL match."""

    condition: Q
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Expressions that the condition uses, by alias."""
    is_exact: bool = False
    """Whether each row that fits has the URL, at least in one language."""
    views: frozenset[str] = frozenset()
    """Names of the URL patterns that match the URL; set if they decide whether the URL belongs to the section."""
    key: Q | None = None
    """The part of the condition that identifies one row by itself; None if that is all of it, or nothing."""

    def rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return those of the rows that fit."""
        found: QuerySet[Any] = rows.annotate(**self.columns).filter(self.condition)
        return found


class NotSearchable(SitemapError, LookupError):
    """The database cannot find the rows of the section by their URL."""


def lookup_of(section: Section, url: str) -> Lookup | None:
    """Return the condition for a canonical URL, or None if no row of the section can have it.

    The row may have the URL without its query string, too. Raises NotSearchable if that would need the URL of every
    row.
    """
    location = section.hooks.location
    if section.model is None or section.makes_its_urls:
        raise NotSearchable
    if isinstance(location.value, UrlFor):
        # No database stores a null character, and some raise an error for a query with one.
        return None if "\0" in unquote(url) else _join(_by_pattern(section, url, location.value))
    if _is_absolute_url(section):
        return None if "\0" in unquote(url) else _join(_by_fields(section, url))
    if location.kind == "expression":
        return None if "\0" in unquote(url) else _by_text(section, url, location.value)
    raise NotSearchable


def languages_of_url(section: Section, url: str) -> set[str]:
    """Return the languages of a section in which a view answers a URL."""
    return {language for language, _ in _matches(section, url)}


def views_of(section: Section, url: str) -> frozenset[str]:
    """Return the names of the URL patterns that match a URL in the languages of a section."""
    return frozenset(match.view_name for _, match in _matches(section, url))


def _is_absolute_url(section: Section) -> bool:
    return type(section.sitemap).location is contrib.Sitemap.location and section.hooks.location.kind == "method"


def _join(found: Iterator[Lookup]) -> Lookup | None:
    """Combine the conditions of all languages, which are often the same."""
    lookups: dict[str, Lookup] = {}
    for one in found:
        lookups.setdefault(repr((one.condition, one.columns)), one)
    if not lookups:
        return None
    condition, key, columns = Q(), Q(), dict[str, Any]()
    for one in lookups.values():
        condition |= one.condition
        key |= one.key or Q()
        columns |= one.columns
    return Lookup(
        key=key or None,
        condition=condition,
        columns=columns,
        is_exact=all(one.is_exact for one in lookups.values()),
        views=frozenset().union(*(one.views for one in lookups.values())),
    )


def _matches(section: Section, url: str) -> Iterator[tuple[str, Any]]:
    """Yield each language with the match of the URLconf for a URL."""
    path = unquote(_path(section, url).partition("?")[0])
    prefix = get_script_prefix()
    if not path.startswith(prefix):
        return
    every = [code for code, _ in settings.LANGUAGES] if section.hooks.siblings else section.languages
    for language in every or (settings.LANGUAGE_CODE,):
        with translation.override(language):
            try:
                yield language, resolve(f"/{path.removeprefix(prefix)}")
            except Resolver404:
                continue


def _path(section: Section, url: str) -> str:
    return url.removeprefix(str(section.origin)) if url.startswith(f"{section.origin}/") else ""


def _by_pattern(section: Section, url: str, location: UrlFor) -> Iterator[Lookup]:
    for language, match in _matches(section, url):
        given = match.captured_kwargs or {}
        columns = {name for name, value in location.kwargs.items() if isinstance(value, Declared | Expression)}
        constants = {name: value for name, value in location.kwargs.items() if name not in columns}
        if match.args or not columns <= set(given) or not set(given) <= set(location.kwargs):
            continue
        with translation.override(language):
            try:
                path = reverse(location.viewname, kwargs={**given, **constants})
                is_same = canonical(normalize(path, origin=section.origin)) == url.partition("?")[0]
            except (NoReverseMatch, SitemapError):
                continue
            if is_same and _has_columns(location, columns):
                yield _with_values(section, language, {name: (location.kwargs[name], given[name]) for name in columns})


def _has_columns(location: UrlFor, names: Iterable[str]) -> bool:
    """Return whether the values of a location have a column in the active language."""
    values = [location.kwargs[name] for name in names]
    return not any(isinstance(value, PerLanguage) and value.position() is None for value in values)


def _with_values(section: Section, language: str, given: Mapping[str, tuple[Any, Any]]) -> Lookup:
    condition, key, columns = Q(), Q(), dict[str, Any]()
    for at, (declared, value) in enumerate(given[name] for name in sorted(given)):
        if isinstance(declared, Related):
            condition &= _by_relation(section, declared, value)
            continue
        expression: Any = _expression(declared)
        if isinstance(expression, F):
            found = Q(**{expression.name: value})  # type: ignore[attr-defined]
            condition &= found
            if _is_unique(section, expression.name):  # type: ignore[attr-defined]
                key &= found
            continue
        alias = f"_sitemap_find_{at}_{language.replace('-', '_')}"
        columns[alias] = expression
        condition &= Q(**{alias: value})
    return Lookup(condition=condition, columns=columns, is_exact=True, key=key if key != condition else None)


def _is_unique(section: Section, name: str) -> bool:
    """Return whether a field identifies one row."""
    if name == "pk" or section.key.names == (name,):
        return True
    try:
        return bool(section.model._meta.get_field(name).unique)
    except (FieldDoesNotExist, AttributeError):
        # An annotation, a path to a related row, or a relation.
        return False


def _expression(declared: Any) -> Any:
    """Return the column of a value in the active language."""
    if isinstance(declared, PerLanguage):
        return list(declared.expressions().values())[declared.position() or 0].expression
    if isinstance(declared, Declared):
        raise NotSearchable
    return declared


def _by_relation(section: Section, declared: Related, value: Any) -> Q:
    """Return the condition that a related row has a value, in any language; its URL decides later."""
    relation = find_relation(section.model, declared.relation)
    related = relation.model._default_manager.using(section.queryset().db).filter(**relation.conditions())
    if declared.filter is not None:
        related = related.filter(declared.filter)
    parents = related.annotate(_sitemap_find=declared.value).filter(_sitemap_find=value).values(relation.parent)
    return Q(pk__in=parents)


def _by_fields(section: Section, url: str) -> Iterator[Lookup]:
    """Yield the condition that fields have the values of the URL parameters with the same names.

    Raises NotSearchable if no view matches the URL, as with a separate front end, or if none has such a parameter.
    """
    is_searchable = False
    for _, match in _matches(section, url):
        captured = match.captured_kwargs or {}
        given = {str(field): value for name, value in captured.items() if (field := _field(section.model, name))}
        if given:
            is_searchable = True
            key = {field: value for field, value in given.items() if _is_unique(section, field)}
            yield Lookup(
                condition=Q(**given),
                views=frozenset([match.view_name]),
                key=Q(**key) if key and len(key) < len(captured) else None,
            )
    if not is_searchable:
        raise NotSearchable


def _field(model: Any, parameter: str) -> str | None:
    """Return the field that a URL parameter is named after: ``slug``, ``product_slug``, ``pk`` or ``id``."""
    name = parameter.removeprefix(f"{model._meta.model_name}_")
    if name in ("pk", "id"):
        return "pk"
    try:
        found = model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return name if getattr(found, "concrete", False) and not found.is_relation else None


def _by_text(section: Section, url: str, expression: Any) -> Lookup:
    """Return the condition that an expression of the database gives the URL, in any of its spellings."""
    bare = url.partition("?")[0]
    paths = [_path(section, text) for text in (url, bare)]
    texts = {form for text in (url, bare, *paths) if text for form in (text, unquote(text))}
    # Spaces around a location are removed when it is written.
    forms = {f"{before}{text}{after}" for text in texts for before in ("", " ") for after in ("", " ", "\n")}
    alias = "_sitemap_find"
    return Lookup(condition=Q(**{f"{alias}__in": sorted(forms)}), columns={alias: expression})
