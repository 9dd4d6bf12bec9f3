"""Turn the hooks of a Sitemap class into columns for the database and a getter for each hook.

An attribute is a constant. The database computes an ORM expression for each row. A method is called with each object.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.db.models import QuerySet

from sitemaps_plus.declare.languages import languages_in, same_language
from sitemaps_plus.errors import InvalidSitemap, shown
from sitemaps_plus.values.base import Value, attempt
from sitemaps_plus.values.extensions import EXTENSIONS
from sitemaps_plus.values.fields import Declared, Expression

HOOKS = ("location", "lastmod", "changefreq", "priority")
"""The hooks that become elements of every ``<url>``."""

LANGUAGE_HOOKS = ("languages", "x_default")
"""The hooks for the languages of a row and for its URL in all other languages."""

Kind = Literal["missing", "constant", "expression", "declared", "method"]
Values = Sequence[Any]
Getter = Callable[[Values, Any], Any]
"""A function of the values of a row's columns and, on the object path, the object."""


class Member(NamedTuple):
    """One row of a cluster: rows with the same content in several languages."""

    cluster: Any
    row: Any
    """The row's primary key."""
    language: str
    loc: str
    x_default: Any
    """The value of the hook `x_default` for the row."""


class Reader(Protocol):
    """The section whose rows are read, as the loader of a column sees it."""

    @property
    def rows(self) -> QuerySet[Any]:
        """All rows of the section."""

    @property
    def languages(self) -> Sequence[str]:
        """The languages that its rows may have."""

    def members(self, clusters: Iterable[Any]) -> Iterable[Member]:
        """Yield the rows of `clusters` that have a URL, in the order of the key."""


Loader = Callable[[Sequence[Any], Reader], Sequence[Any]]
"""A function from the values of a column in some rows to the values that the hooks get in their place."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """An expression with the language it is for, or the loader of its values."""

    expression: Any
    language: str | None = None
    """The only language that needs it."""
    load: Loader | None = None
    """Replaces the values of many rows by what the hooks get."""

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Any:
        """Return the expression bound to a query."""
        return self.expression.resolve_expression(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Several:
    """The declared values of one hook; an invalid one is replaced by the error that it raised."""

    values: tuple[Declared, ...]

    def expressions(self) -> dict[str, Any]:
        """Return the expressions of all values."""
        return {
            f"{index}.{name}": expression
            for index, value in enumerate(self.values)
            for name, expression in value.expressions().items()
        }

    def builder(self) -> Callable[[Values], list[Any]]:
        """Return the function from the expressions' values to the finished values."""
        builds = [(value.builder(), len(value.expressions())) for value in self.values]

        def build(values: Values) -> list[Any]:
            row, made = iter(values), []
            for one, size in builds:
                found = attempt(one, list(islice(row, size)))
                made += found if isinstance(found, list) else [found]
            return made

        return build


def depends_on_language(value: Any) -> bool:
    """Return whether a declared value builds another text in each language."""
    columns = value.expressions().values() if isinstance(value, Declared) else ()
    return getattr(value, "gives", None) == "text" or any(
        isinstance(column, Column) and column.language is not None for column in columns
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One part of an entry, as the class declares it."""

    name: str
    kind: Kind
    value: Any = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The expressions to select, by private alias."""
    aliases: Sequence[str] = ()
    """The aliases of all its expressions; `columns` lacks those that the section does not need."""

    def getter(self, position: Mapping[str, int]) -> Getter:
        """Return the function that computes this part for one row, in the active language."""
        if self.kind == "method":
            return lambda values, item: self.value(item)
        if self.kind == "expression":
            (alias,) = self.columns
            return lambda values, item, index=position[alias]: values[index]  # type: ignore[misc]
        if self.kind == "declared":
            build = self.value.builder()
            indices = [position.get(alias) for alias in self.aliases]
            if None in indices:
                return lambda values, item: build([None if index is None else values[index] for index in indices])
            return lambda values, item: build([values[index] for index in indices])  # type: ignore[index]
        return lambda values, item: self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """All hooks of one section."""

    location: Hook
    lastmod: Hook
    changefreq: Hook
    priority: Hook
    images: Hook
    videos: Hook
    news: Hook
    hreflang: Hook
    languages: Hook
    x_default: Hook
    changed: Hook
    decided_by: tuple[str, ...] = ()
    """The methods that need objects; none on the row path."""

    @property
    def path(self) -> Literal["row", "object"]:
        """Whether rows are read as plain values or as objects."""
        return "object" if self.decided_by else "row"

    @property
    def shown(self) -> tuple[Hook, ...]:
        """The hooks that become parts of an entry."""
        return (self.location, self.lastmod, self.changefreq, self.priority, *self.media)

    @property
    def media(self) -> tuple[Hook, ...]:
        """Those that the class has of the hooks for links, images, videos and news."""
        hooks = (self.hreflang, self.images, self.videos, self.news)
        return tuple(hook for hook in hooks if hook.kind != "missing")

    @property
    def columns(self) -> dict[str, Any]:
        """The expressions of all hooks of an entry, by private alias."""
        hooks = (*self.shown, self.languages, self.x_default)
        return {alias: expression for hook in hooks for alias, expression in hook.columns.items()}

    @property
    def siblings(self) -> tuple[str, ...]:
        """The aliases of cluster, row and language if rows are translations of each other; else empty."""
        if self.hreflang.kind != "declared":
            return ()
        names = dict(zip(self.hreflang.value.expressions(), self.hreflang.aliases, strict=True))
        index = next((str(at) for at, value in enumerate(self.hreflang.value.values) if _links(value)), None)
        return () if index is None else tuple(names[f"{index}.{part}"] for part in ("cluster", "row", "language"))


def read_hooks(sitemap: Any) -> Hooks:
    """Return the hooks of a Sitemap instance; raise InvalidSitemap if one cannot work."""
    found = {name: read_hook(sitemap, name) for name in (*HOOKS, *EXTENSIONS, *LANGUAGE_HOOKS, "changed")}
    if found["changed"].kind in ("constant", "method", "declared"):
        given = found["changed"].value
        column = given if isinstance(given, str) else "updated_at"
        raise InvalidSitemap(
            f"{name_of(sitemap)}.changed must be an ORM expression such as F({column!r}): "
            "the database uses it to find changes."
        )
    hooks = Hooks(**found, decided_by=())
    if hooks.siblings and sitemap.i18n:
        raise InvalidSitemap(
            f"{name_of(sitemap)}.hreflang links rows with one language each, but i18n = True gives "
            "every row all languages. Remove one of the two."
        )
    return replace(hooks, decided_by=_decided_by(sitemap, hooks))


def _decided_by(sitemap: Any, hooks: Hooks) -> tuple[str, ...]:
    """Return the names of the methods that need objects."""
    used = list(hooks.shown)
    if sitemap.i18n or hooks.siblings:
        used.append(hooks.x_default)
    if sitemap.i18n:
        used.append(hooks.languages)
    methods = [hook.name for hook in used if hook.kind == "method"]
    if sitemap.i18n and overrides_languages(sitemap):
        methods.append("get_languages_for_item")
    if not has_location(sitemap):
        methods[0] = "get_absolute_url"
    return tuple(methods)


def has_location(sitemap: Any) -> bool:
    """Return whether a class has a location of its own; that of Django's calls ``get_absolute_url()``."""
    return inspect.getattr_static(sitemap, "location", None) is not contrib.Sitemap.location


def read_hook(sitemap: Any, name: str) -> Hook:
    """Return one hook of a Sitemap instance, or of a class as far as it is known without an instance."""
    value = getattr(sitemap, name, None)
    # Only an instance has the value of a property.
    if value is None or isinstance(value, property | cached_property):
        return Hook(name=name, kind="missing")
    if isinstance(value, type):
        raise InvalidSitemap(
            f"{name_of(sitemap)}.{name} is the class {value.__name__}; give an instance: {value.__name__}(...)."
        )
    if name in EXTENSIONS and not callable(value):
        value = _several(sitemap, name, value)
    if isinstance(value, Expression):
        return Hook(name=name, kind="expression", value=value, columns={_alias(name, 0): value})
    if isinstance(value, Declared):
        parts = {_alias(name, index): part for index, part in enumerate(value.expressions().values())}
        is_class = isinstance(sitemap, type)
        columns = {
            alias: part for alias, part in parts.items() if is_class or is_needed(part, lambda: languages_of(sitemap))
        }
        return Hook(name=name, kind="declared", value=value, columns=columns, aliases=tuple(parts))
    if callable(value):
        return Hook(name=name, kind="method", value=value)
    return Hook(name=name, kind="constant", value=value)


def _several(sitemap: Any, name: str, value: Any) -> Several:
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    for one in values:
        if isinstance(one, type) or not _may_be(name, one):
            raise InvalidSitemap(
                f"{name_of(sitemap)}.{name} holds {shown(one)}. Give values, as in "
                f"{name} = [{EXTENSIONS[name].declared}], or a method that returns them for an object."
            )
    return Several(values)


def _may_be(name: str, given: Any) -> bool:
    """Return whether the hook `name` can take what a declared value gives."""
    if isinstance(given, Value):
        return isinstance(given, EXTENSIONS[name].kind)
    match getattr(given, "gives", "value"):
        case "links":
            return name == "hreflang"
        case "values":
            return _may_be(name, given.value)
        case kind:
            return kind == "value" and isinstance(given, Declared)


def _links(value: Any) -> bool:
    return getattr(value, "gives", None) == "links"


def _alias(name: str, index: int) -> str:
    # Numbered: names may contain "__", which Django would read as a lookup.
    return f"_sitemap_{name}_{index}"


def is_needed(expression: Any, languages: Callable[[], Iterable[str]]) -> bool:
    """Return whether a section needs an expression; `languages` is only called if it is for one language."""
    if not isinstance(expression, Column) or expression.language is None:
        return True
    return any(same_language(expression.language, code) for code in languages())


def languages_of(sitemap: Any) -> Sequence[str]:
    """Return the languages that rows of a Sitemap instance may have: its own, or those of the project."""
    if not sitemap.i18n:
        return (settings.LANGUAGE_CODE,)
    if is_constant(sitemap.languages):
        return tuple(languages_in(sitemap._languages()))
    return tuple(code for code, _ in settings.LANGUAGES)


def has_languages_per_item(sitemap: Any) -> bool:
    """Return whether each row has languages of its own."""
    return overrides_languages(sitemap) or not is_constant(getattr(sitemap, "languages", None))


def overrides_languages(sitemap: Any) -> bool:
    """Return whether the class overrides ``get_languages_for_item``, which then is called with each object."""
    cls = class_of(sitemap)
    shipped = (contrib.Sitemap.get_languages_for_item, getattr(cls, "_shipped_get_languages_for_item", None))
    return cls.get_languages_for_item not in shipped


def class_of(sitemap: Any) -> Any:
    """Return the class of a registered class or instance."""
    return sitemap if isinstance(sitemap, type) else type(sitemap)


def name_of(sitemap: Any) -> str:
    """Return the name of the class of a registered class or instance."""
    return str(class_of(sitemap).__name__)


def is_constant(value: Any) -> bool:
    """Return whether an attribute is the same for every row."""
    return not callable(value) and not isinstance(value, Expression | Declared)
