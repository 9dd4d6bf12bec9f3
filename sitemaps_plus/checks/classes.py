"""Call checks with each registered Sitemap class, and read its declaration: no property is run, no query made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, partialmethod
from types import CodeType, FunctionType
from typing import Any

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.core.checks import CheckMessage, Error, Warning, register
from django.db.models import Model, QuerySet
from django.utils.functional import cached_property as django_cached_property

from sitemaps_plus.declare.hooks import class_of, name_of
from sitemaps_plus.declare.languages import languages_in
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.declare.sitemaps import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap
from sitemaps_plus.values.fields import Declared, Expression

Found = Iterator[tuple[str, str, str]]
"""The id of each message about a class, such as ``E007``, its text after the name of the class, and its hint."""

Check = Callable[[Any], Found]


SHIPPED = frozenset({*NewsSitemap.__mro__, *GenericSitemap.__mro__})
"""The base classes of this package and of Django, with everything that they derive from."""


def check_each(*tags: str) -> Callable[[Check], Check]:
    """Register a check that is called with each registered class or instance."""

    def add(check: Check) -> Check:
        register(partial(_messages, check), *tags)
        return check

    return add


def _messages(check: Check, **_kwargs: Any) -> list[CheckMessage]:
    sitemaps = (registry[label] for label in registry)
    return [_message(sitemap, *found) for sitemap in sitemaps for found in check(sitemap)]


def _message(sitemap: Any, id: str, text: str, hint: str) -> CheckMessage:
    level = Error if id.startswith("E") else Warning
    return level(f"{name_of(sitemap)}{text}", hint=hint, obj=class_of(sitemap), id=f"sitemaps_plus.{id}")


def declared(sitemap: Any, name: str, default: Any = None) -> Any:
    """Return an attribute as it is declared; `default` if it is a method or a property."""
    value = inspect.getattr_static(sitemap, name, default)
    return default if hasattr(type(value), "__get__") else value


def own_attributes(sitemap: Any) -> dict[str, Any]:
    """Return the public attributes and methods that the project gave a class or an instance, as they are declared."""
    classes = [cls for cls in reversed(class_of(sitemap).__mro__) if cls not in SHIPPED]
    given = {name: value for owner in classes for name, value in vars(owner).items()}
    if not isinstance(sitemap, type):
        given |= vars(sitemap)
    return {name: value for name, value in given.items() if not name.startswith("_")}


def is_read(sitemap: Any, name: str) -> bool:
    """Return whether code of the class, apart from a method of that name, reads or sets an attribute called `name`."""
    owners = (cls for cls in class_of(sitemap).__mro__ if cls not in SHIPPED)
    values = (value for owner in owners for known, value in vars(owner).items() if known != name)
    return any(name in code.co_names or name in code.co_consts for value in values for code in _codes(value))


def _codes(value: Any) -> Iterator[CodeType]:
    """Yield the code of a method or a property, and of the functions in it."""
    # Not isinstance(), which evaluates a lazy object.
    if type(value) is CodeType:
        yield value
        for constant in value.co_consts:
            yield from _codes(constant)
    elif type(value) is FunctionType:
        yield from _codes(inspect.unwrap(value).__code__)
    elif type(value) is property:
        yield from (code for one in (value.fget, value.fset) for code in _codes(one))
    elif type(value) in (classmethod, staticmethod):
        yield from _codes(value.__func__)
    elif type(value) in (cached_property, django_cached_property, partialmethod):
        yield from _codes(value.func)


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
