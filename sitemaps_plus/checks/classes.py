"""Read a registered Sitemap class as it is written down: no property is run, no database asked."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from django.contrib import sitemaps as contrib
from django.db.models import Model, QuerySet

from sitemaps_plus.hooks import Declared
from sitemaps_plus.registry import registry
from sitemaps_plus.sitemaps import ModelSitemap


def sitemaps() -> Iterator[Any]:
    """Yield what is registered: classes and instances."""
    return (registry[label] for label in registry)


def declared(sitemap: Any, name: str, default: Any = None) -> Any:
    """Return an attribute as it is written down; `default` where a method or property would have to be run."""
    value = inspect.getattr_static(sitemap, name, default)
    return default if hasattr(type(value), "__get__") else value


def class_of(sitemap: Any) -> Any:
    """Return the class of what is registered."""
    return sitemap if isinstance(sitemap, type) else type(sitemap)


def name_of(sitemap: Any) -> str:
    """Return the class's name, for messages."""
    return str(class_of(sitemap).__name__)


def queryset_of(sitemap: Any) -> QuerySet[Any] | None:
    """Return the rows of a section, None where only code knows them."""
    queryset = declared(sitemap, "queryset")
    is_known = issubclass(class_of(sitemap), ModelSitemap | contrib.GenericSitemap)
    return queryset if is_known and isinstance(queryset, QuerySet) else None


def model_of(sitemap: Any) -> type[Model] | None:
    """Return the model of the rows, None where only code knows it."""
    queryset = queryset_of(sitemap)
    return None if queryset is None else queryset.model


def values_of(sitemap: Any, hook: str) -> Iterator[Any]:
    """Yield the values that a hook such as ``images`` declares; none where a method gives them."""
    given = declared(sitemap, hook)
    for value in given if isinstance(given, list | tuple) else (given,):
        if isinstance(value, Declared) and not isinstance(value, type):
            yield value
