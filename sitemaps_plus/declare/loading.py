"""Load related rows for many rows at once, and find the URLs of a row in all of its languages.

Used for registered sections (``render/renderer.py``) and for classic ones (``declare/items.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import FieldError
from django.db.models import FileField, Model, QuerySet
from django.utils import translation

from sitemaps_plus.declare.hooks import (
    Column,
    Loader,
    Member,
    Reader,
    has_location,
    languages_of,
    name_of,
    read_hook,
    read_hooks,
)
from sitemaps_plus.declare.languages import own_language, x_default_of
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, shown
from sitemaps_plus.protocol.addresses import SPACE

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")

C = TypeVar("C")


def load_columns(
    loaders: Mapping[C, Loader], read: Callable[[C], Sequence[Any]], reader: Reader
) -> Iterator[tuple[C, Sequence[Any]]]:
    """Yield each column with the values that hooks get in place of those that `read` returns.

    A relation that several columns use is loaded once.
    """
    done: dict[Loader, Sequence[Any]] = {}
    for column, load in loaders.items():
        if load not in done:
            done[load] = load(read(column), reader)
        yield column, done[load]


def storages_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the storages of the files among the output fields of columns, by alias."""
    return {alias: field.storage for alias, field in fields.items() if isinstance(field, FileField)}


def file_url(storage: Any, name: Any) -> str | None:
    """Return the URL of a file, None for an empty name."""
    return storage.url(str(name)) if name else None


@dataclass(slots=True)
class Addresses:
    """The addresses of one row by language, and the errors of languages without one."""

    locs: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    elsewhere: dict[str, Any] = field(default_factory=dict)
    """Addresses on other hosts, which another sitemap lists and this one links to."""

    def find(self, language: str, locate: Callable[[str], str]) -> str:
        """Return the address in `language`; `locate` is called once for each language, and may raise an error."""
        if language in self.errors:
            raise self.errors[language]
        if language not in self.locs:
            try:
                self.locs[language] = locate(language)
            except Exception as error:  # user code of any kind
                self.errors[language] = error
                raise
        return self.locs[language]

    def linked(self, languages: Iterable[str], x_default: Any) -> dict[str, Any]:
        """Return the addresses that the row links to: those in `languages`, in that order, and ``x-default``."""
        every = {**self.locs, **self.elsewhere}
        hrefs = {code: every[code] for code in languages if code in every}
        others = x_default_of(x_default, hrefs)
        return hrefs if others is None else {**hrefs, "x-default": others}


def location_error(sitemap: Any, item: Any, error: Exception) -> Exception:
    """Return the error of the location of an item, or a clearer one if neither the class nor the item gives one."""
    is_missing = isinstance(error, AttributeError) and error.name == "get_absolute_url" and error.obj is item
    if not is_missing or has_location(sitemap):
        return error
    kind = type(item)
    return InvalidSitemap(
        f"{name_of(sitemap)} has no location, and {kind.__name__} has no get_absolute_url(). "
        f"{location_remedy(sitemap, kind)}"
    )


def location_remedy(sitemap: Any, kind: type) -> str:
    """Return what to give a class without a location whose items are of this type."""
    cls = name_of(sitemap)
    if not issubclass(kind, Model):
        return f"Give {cls} a method location(self, item) that returns the path of an item."
    example = "a method location(self, item)"
    if hasattr(sitemap, "queryset"):
        example = f'a location, as in location = UrlFor("{kind._meta.model_name}-detail", pk=F("pk"))'
    return f"Give {cls} {example}, or give {kind.__name__} a get_absolute_url()."


def absolute(base: str, location: Any) -> str:
    """Return `location` as an absolute URL: after `base`, unless it has a scheme.

    Raises InvalidEntry for a location that would change the host.
    """
    given = "" if location is None else str(location)
    # Blank stays blank, for the error: without text it would be the home page.
    text = given.strip(SPACE) or given
    if location is None or (text and text[0] not in "/?#" and not _SCHEME.match(text)):
        raise InvalidEntry(
            "E-URL-EMPTY" if location is None else "E-URL-RELATIVE",
            f"The location {shown(location)} is not a URL; give a path that begins with '/', or an absolute URL.",
        )
    return text if _SCHEME.match(text) else base + text


# Objects with the values of columns as attributes: those of classic sections


def value_of(sitemap: Any, name: str, row: Any) -> Any:
    """Return the value of a hook of any kind for one row."""
    hook = read_hook(sitemap, name)
    position = {alias: index for index, alias in enumerate(hook.columns)}
    return hook.getter(position)([column_of(sitemap, row, *column) for column in hook.columns.items()], row)


class _Loaded(NamedTuple):
    """The loaded value of a column, which replaces that of the database."""

    value: Any


def load_objects(sitemap: Any, rows: Sequence[Any], base: str = "") -> None:
    """Replace the values of the columns with loaders, in all of `rows` at once."""
    columns = {
        alias: column.load
        for alias, column in read_hooks(sitemap).columns.items()
        if isinstance(column, Column)
        and column.load is not None
        and not any(isinstance(getattr(row, alias), _Loaded) for row in rows)
    }

    def read(alias: str) -> list[Any]:
        return [getattr(row, alias) for row in rows]

    for alias, found in load_columns(columns, read, _ObjectReader(sitemap, base)):
        for row, value in zip(rows, found, strict=True):
            setattr(row, alias, _Loaded(value))


class _ObjectReader:
    """The section of some objects, for the loaders of columns."""

    def __init__(self, sitemap: Any, base: str = "") -> None:
        self._sitemap = sitemap
        self._base = base

    @property
    def rows(self) -> QuerySet[Any]:
        """All rows of the section."""
        return self._sitemap.items()  # type: ignore[no-any-return]

    @property
    def languages(self) -> Sequence[str]:
        """The languages that rows may have."""
        return languages_of(self._sitemap)

    def members(self, clusters: Iterable[Any]) -> Iterator[Member]:
        """Yield the rows of `clusters` that have an address, in the order of the key."""
        hooks, key = read_hooks(self._sitemap), getattr(self._sitemap, "key", "pk")
        cluster, row, language = hooks.siblings
        column = hooks.columns[cluster].expression.name
        wanted = self.rows.filter(**{f"{column}__in": list(clusters)}).annotate(**hooks.columns)
        for item in wanted.order_by(*((key,) if isinstance(key, str) else key)):
            loc = self._loc(item, own_language(getattr(item, language)))
            if loc is not None:
                x_default = value_of(self._sitemap, "x_default", item)
                yield Member(getattr(item, cluster), getattr(item, row), getattr(item, language), loc, x_default)

    def _loc(self, item: Any, language: str) -> str | None:
        try:
            with translation.override(language):
                return absolute(self._base, self._sitemap._location(item))
        except Exception:  # user code of any kind: the page of the row reports it
            return None


def column_of(sitemap: Any, row: Any, alias: str, expression: Any) -> Any:
    """Return the value of an expression for a row; for a file, its URL."""
    if isinstance(expression, Column):
        if expression.load and not isinstance(getattr(row, alias), _Loaded):
            load_objects(sitemap, [row])
        if expression.load:
            return getattr(row, alias).value
        expression = expression.expression
    value = getattr(row, alias)
    if not isinstance(value, str) or not isinstance(row, Model):
        return value
    storage = _storage(type(row), expression)
    return value if storage is None else file_url(storage, value)


@lru_cache(maxsize=256)
def _storage(model: type[Model], expression: Any) -> Any:
    try:
        field = expression.resolve_expression(model._base_manager.all().query).output_field
    except FieldError:
        # It names an annotation of the queryset: a computed value is not a file.
        return None
    return field.storage if isinstance(field, FileField) else None
