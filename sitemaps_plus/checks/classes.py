"""Read the declaration of a registered Sitemap class: no property is run, no query made."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.db.models import Model, QuerySet

from sitemaps_plus.declare.hooks import class_of
from sitemaps_plus.declare.languages import languages_in
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.declare.sitemaps import ModelSitemap, Sitemap
from sitemaps_plus.values.fields import Declared, Expression


def sitemaps() -> Iterator[Any]:
    """Yield the registered classes and instances."""
    return (registry[label] for label in registry)


def declared(sitemap: Any, name: str, default: Any = None) -> Any:
    """Return an attribute as it is declared; `default` if it is a method or a property."""
    value = inspect.getattr_static(sitemap, name, default)
    return default if hasattr(type(value), "__get__") else value


def queryset_of(sitemap: Any) -> QuerySet[Any] | None:
    """Return the declared rows of a section, or None."""
    queryset = declared(sitemap, "queryset")
    is_known = issubclass(class_of(sitemap), ModelSitemap | contrib.GenericSitemap)
    return queryset if is_known and isinstance(queryset, QuerySet) else None


def model_of(sitemap: Any) -> type[Model] | None:
    """Return the model of the declared rows, or None."""
    queryset = queryset_of(sitemap)
    return None if queryset is None else queryset.model


def languages_of_rows(sitemap: Any) -> Sequence[str]:
    """Return the declared languages of every row; none without URLs per language, or if a method returns them."""
    cls = class_of(sitemap)
    touched = cls._languages not in (contrib.Sitemap._languages, Sitemap._languages)  # type: ignore[attr-defined]
    if touched or not declared(sitemap, "i18n", False):
        return ()
    given = declared(sitemap, "languages", ())
    if isinstance(given, Expression | Declared):
        return ()
    return [code for code, _ in settings.LANGUAGES] if given is None else languages_in(given)


def values_of(sitemap: Any, hook: str) -> Iterator[Any]:
    """Yield the declared values of a hook such as ``images``; none if it is a method."""
    given = declared(sitemap, hook)
    for value in given if isinstance(given, list | tuple) else (given,):
        if isinstance(value, Declared) and not isinstance(value, type):
            yield value
