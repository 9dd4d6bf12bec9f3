"""Turn the hooks of a Sitemap class into columns for the database and one getter each.

An attribute is a constant. An ORM expression is computed by the database for each row. A method is called with each
object.
"""

from __future__ import annotations

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
"""The hooks whose values are shown."""

LANGUAGE_HOOKS = ("languages", "x_default")
"""The hooks that say which languages a row has, and which address is for all others."""

Kind = Literal["missing", "constant", "expression", "declared", "method"]
Values = Sequence[Any]
Getter = Callable[[Values, Any], Any]
"""Called with the values of a row's columns and, on the object path, the object."""


class Member(NamedTuple):
    """One row of a cluster of rows that say the same in several languages."""

    cluster: Any
    row: Any
    """The row's primary key."""
    language: str
    loc: str
    x_default: Any
    """What the hook of that name gives for the row."""


class Reader(Protocol):
    """What the loader of a column may ask of the section whose rows are read."""

    @property
    def rows(self) -> QuerySet[Any]:
        """All rows of the section."""

    @property
    def languages(self) -> Sequence[str]:
        """The languages that its rows may have."""

    def members(self, clusters: Iterable[Any]) -> Iterable[Member]:
        """Yield the rows of `clusters` that have an address, in the order of the key."""


Loader = Callable[[Sequence[Any], Reader], Sequence[Any]]
"""Called with the values of a column in some rows; returns what the hooks see in their place."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """An expression, and what is to be known of its values."""

    expression: Any
    language: str | None = None
    """The only language in which it is needed."""
    load: Loader | None = None
    """Turns the values of many rows into what the hooks see."""

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Any:
        """Return the expression bound to a query."""
        return self.expression.resolve_expression(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Several:
    """Several declared values of one hook; a broken one comes as the error that it raised."""

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
    """One part of an entry, as a class declares it."""

    name: str
    kind: Kind
    value: Any = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The expressions to select, by private alias."""
    aliases: Sequence[str] = ()
    """The aliases of all its expressions; one that the section does not need is not among `columns`."""

    def getter(self, position: Mapping[str, int]) -> Getter:
        """Return the function that gives this part for one row, under the language now active."""
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
    decided_by: str | None = None
    """The hook that is a method, and so needs the object; None on the row path."""

    @property
    def path(self) -> Literal["row", "object"]:
        """Whether rows come as plain values or as objects."""
        return "row" if self.decided_by is None else "object"

    @property
    def shown(self) -> tuple[Hook, ...]:
        """The hooks whose values are in an entry."""
        return (self.location, self.lastmod, self.changefreq, self.priority, *self.media)

    @property
    def media(self) -> tuple[Hook, ...]:
        """The hooks among them that give values with tags of their own, as far as the class has them."""
        hooks = (self.hreflang, self.images, self.videos, self.news)
        return tuple(hook for hook in hooks if hook.kind != "missing")

    @property
    def columns(self) -> dict[str, Any]:
        """The expressions of all hooks that make an entry, by private alias."""
        hooks = (*self.shown, self.languages, self.x_default)
        return {alias: expression for hook in hooks for alias, expression in hook.columns.items()}

    @property
    def siblings(self) -> tuple[str, ...]:
        """The aliases of cluster, row and language where rows are translations of each other, else nothing."""
        if self.hreflang.kind != "declared":
            return ()
        names = dict(zip(self.hreflang.value.expressions(), self.hreflang.aliases, strict=True))
        of = next((str(at) for at, value in enumerate(self.hreflang.value.values) if _links(value)), None)
        return () if of is None else tuple(names[f"{of}.{part}"] for part in ("cluster", "row", "language"))


def read_hooks(sitemap: Any) -> Hooks:
    """Return the hooks of a Sitemap instance; raise InvalidSitemap for one that cannot work."""
    found = {name: read_hook(sitemap, name) for name in (*HOOKS, *EXTENSIONS, *LANGUAGE_HOOKS, "changed")}
    if found["changed"].kind in ("constant", "method", "declared"):
        given = found["changed"].value
        column = given if isinstance(given, str) else "updated_at"
        raise InvalidSitemap(
            f"{name_of(sitemap)}.changed must be an ORM expression such as F({column!r}): "
            "the database looks for changes by it."
        )
    hooks = Hooks(**found, decided_by=None)
    if hooks.siblings and sitemap.i18n:
        raise InvalidSitemap(
            f"{name_of(sitemap)}.hreflang links rows that have one language each, but i18n = True gives "
            "every row all languages. Take one of the two away."
        )
    return replace(hooks, decided_by=_decided_by(sitemap, hooks))


def _decided_by(sitemap: Any, hooks: Hooks) -> str | None:
    """Return the first hook that needs the object."""
    used = list(hooks.shown)
    if sitemap.i18n or hooks.siblings:
        used.append(hooks.x_default)
    if sitemap.i18n:
        used.append(hooks.languages)
    methods = [hook.name for hook in used if hook.kind == "method"]
    if sitemap.i18n and asks_each_item(sitemap):
        methods.append("get_languages_for_item")
    return methods[0] if methods else None


def read_hook(sitemap: Any, name: str) -> Hook:
    """Return one hook of a Sitemap instance, or of a class as far as that can tell."""
    value = getattr(sitemap, name, None)
    # What a property gives only an instance can tell.
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
        columns = {alias: part for alias, part in parts.items() if _is_needed(part, sitemap)}
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
    """Return whether a declared value can give the values of the hook `name`."""
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
    # Numbered: the names of parts may hold "__", which would read as a lookup.
    return f"_sitemap_{name}_{index}"


def _is_needed(column: Any, sitemap: Any) -> bool:
    """Return whether the section has the language that a column is for."""
    if not isinstance(column, Column) or column.language is None or isinstance(sitemap, type):
        return True
    return any(same_language(column.language, code) for code in languages_of(sitemap))


def languages_of(sitemap: Any) -> Sequence[str]:
    """Return the languages that the rows of a Sitemap instance may have; its own, or those of the project."""
    if not sitemap.i18n:
        return (settings.LANGUAGE_CODE,)
    if is_constant(sitemap.languages):
        return tuple(languages_in(sitemap._languages()))
    return tuple(code for code, _ in settings.LANGUAGES)


def has_languages_per_item(sitemap: Any) -> bool:
    """Return whether each row says which languages it has."""
    return asks_each_item(sitemap) or not is_constant(getattr(sitemap, "languages", None))


def asks_each_item(sitemap: Any) -> bool:
    """Return whether the class overrides ``get_languages_for_item``, which then needs the object."""
    cls = class_of(sitemap)
    shipped = (contrib.Sitemap.get_languages_for_item, getattr(cls, "_shipped_get_languages_for_item", None))
    return cls.get_languages_for_item not in shipped


def class_of(sitemap: Any) -> Any:
    """Return the class of a sitemap, which may be a class or an instance."""
    return sitemap if isinstance(sitemap, type) else type(sitemap)


def name_of(sitemap: Any) -> str:
    """Return the name of its class, for messages."""
    return str(class_of(sitemap).__name__)


def is_constant(value: Any) -> bool:
    """Return whether an attribute is the same for every row."""
    return not callable(value) and not isinstance(value, Expression | Declared)
