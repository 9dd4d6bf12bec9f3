"""Turn what a Sitemap's ``items()`` returns into counts, slices and the dicts that Django's ``get_urls()`` gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import FieldError
from django.db.models import Count, FileField, Max, Model, QuerySet
from django.db.models.query import RawQuerySet
from django.utils import timezone, translation

from sitemaps_plus.declare.date_probe import plain_column
from sitemaps_plus.declare.hooks import (
    Column,
    Loader,
    Member,
    has_languages_per_item,
    languages_of,
    read_hook,
    read_hooks,
)
from sitemaps_plus.declare.languages import code_of, hreflang_of, languages_in, x_default_of
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, NotTranslated, shown
from sitemaps_plus.protocol.dates import as_datetime
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.values.extensions import EXTENSIONS
from sitemaps_plus.values.fields import Expression

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_NEWEST = "_sitemap_newest"


class Pairs(Sequence[tuple[Any, str]]):
    """The (item, language) pairs of a sitemap, made when they are asked for.

    With the same languages for every item a slice reads just its own items; with ``get_languages_for_item``
    overridden the items before it are read too, one after the other.
    """

    ordered = True

    def __init__(self, sitemap: Any, items: Any, report: Report | None = None) -> None:
        self._sitemap = sitemap
        self._all = items
        self._report = report or Report(type(sitemap).__name__)
        self._languages: list[str] | None = None
        if not has_languages_per_item(sitemap):
            self._languages = list(languages_of(sitemap))

    def __len__(self) -> int:
        if self._languages is not None:
            return _length(self._all) * len(self._languages)
        return sum(1 for _ in self._stream(0))

    @property
    def is_counted_out(self) -> bool:
        """Whether a slice reads all items before it, too."""
        return self._languages is None

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self[index : index + 1][0]
        start, stop = index.start or 0, index.stop
        if self._languages is None:
            return list(islice(self._stream(start), start, stop))
        if not self._languages:
            return []
        size = len(self._languages)
        first, last = start // size, None if stop is None else -(-stop // size)
        pairs = [(item, code) for item in self._all[first:last] for code in self._languages]
        return pairs[start - first * size : None if stop is None else stop - first * size]

    def items(self, start: int, stop: int) -> Sequence[Any]:
        """Return items without their languages, those from `start` up to, not including, `stop`."""
        return list(self._all[start:stop])

    def _stream(self, start: int) -> Iterator[tuple[Any, str]]:
        """Yield all pairs; what is wrong with an item is told where a slice from `start` on would have it."""
        passed = 0
        for item in self._all.iterator(chunk_size=2000) if isinstance(self._all, QuerySet) else self._all:
            for code in self._languages_for(item, is_told=passed >= start):
                passed += 1
                yield item, code

    def _languages_for(self, item: Any, *, is_told: bool) -> Sequence[str]:
        try:
            return languages_in(self._sitemap.get_languages_for_item(item))
        except Exception as error:  # user code of any kind: one bad item must not hurt the others
            if is_told:
                self._report.leave_out(key_of(item), "get_languages_for_item", error)
            return ()


def lazy_items(sitemap: Any, report: Report | None = None) -> Any:
    """Return the items as something that can be counted and sliced: (item, language) pairs where it is ``i18n``.

    `report` hears of items whose languages cannot be told.
    """
    items = sitemap.items()
    if isinstance(items, RawQuerySet) or not hasattr(items, "__getitem__"):
        items = list(items)
    items = _in_order(sitemap, with_columns(sitemap, items))
    return Pairs(sitemap, items, report) if sitemap.i18n else items


def with_columns(sitemap: Any, items: Any) -> Any:
    """Return `items` with the values of expression hooks under private names, where there are any."""
    columns = read_hooks(sitemap).columns
    if columns and not isinstance(items, QuerySet):
        (first, *_) = columns
        raise InvalidSitemap(
            f"{type(sitemap).__name__}: the expression {columns[first]!r} needs rows of the database, but items() "
            f"returned a {type(items).__name__}. Return a QuerySet, or make the hook a method."
        )
    return items.annotate(**columns) if columns else items


def _in_order(sitemap: Any, items: Any) -> Any:
    """Return a QuerySet without any order in the order of the key: slices of it must not overlap."""
    if not isinstance(items, QuerySet) or items.ordered or not is_plain(items):
        return items
    key = getattr(sitemap, "key", "pk")
    return items.order_by(*((key,) if isinstance(key, str) else key))


def is_plain(rows: QuerySet[Any]) -> bool:
    """Return whether the rows are objects of a model that can still be filtered and sorted."""
    query = rows.query
    is_whole = not (query.is_sliced or query.combinator or query.distinct_fields)
    return is_whole and rows._fields is None  # type: ignore[attr-defined]


def newest_of_all(lastmods: Iterable[date | datetime | None]) -> date | datetime | None:
    """Return the newest of `lastmods` as it was given, or None if there are none or one is missing."""
    newest, latest = None, None
    for lastmod in lastmods:
        if lastmod is None:
            return None
        moment = as_datetime(lastmod, tz=timezone.get_default_timezone())
        if latest is None or moment > latest:
            newest, latest = lastmod, moment
    return newest


def _length(items: Any) -> int:
    return int(items.count()) if isinstance(items, QuerySet) else len(items)


def row_of(sitemap: Any, item: Any) -> Any:
    """Return the item of an (item, language) pair, or the item itself where there are no languages."""
    return item[0] if sitemap.i18n else item


def value_of(sitemap: Any, name: str, row: Any) -> Any:
    """Return what a hook of any kind gives for one row."""
    hook = read_hook(sitemap, name)
    position = {alias: index for index, alias in enumerate(hook.columns)}
    return hook.getter(position)([column_of(sitemap, row, *column) for column in hook.columns.items()], row)


class _Reader:
    """Reads what belongs to the objects of a page, for all of them at once."""

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
            loc = self._loc(item, _language_of(item, language))
            if loc is not None:
                x_default = value_of(self._sitemap, "x_default", item)
                yield Member(getattr(item, cluster), getattr(item, row), getattr(item, language), loc, x_default)

    def _loc(self, item: Any, language: str) -> str | None:
        try:
            with translation.override(language):
                return absolute(self._base, self._sitemap._location(item))
        except Exception:  # user code of any kind: its own page says so
            return None


class _Loaded(NamedTuple):
    """What was loaded in place of a column's value."""

    value: Any


def _load(sitemap: Any, rows: Sequence[Any], base: str = "") -> None:
    """Replace the values of columns that stand for rows of other tables, in all of `rows` at once."""
    done: dict[Loader, Sequence[Any]] = {}
    for alias, column in read_hooks(sitemap).columns.items():
        if not isinstance(column, Column) or column.load is None:
            continue
        values = [getattr(row, alias) for row in rows]
        if any(isinstance(value, _Loaded) for value in values):
            continue
        # A relation that several parts of a row use is read once.
        if column.load not in done:
            done[column.load] = column.load(values, _Reader(sitemap, base))
        for row, found in zip(rows, done[column.load], strict=True):
            setattr(row, alias, _Loaded(found))


def _language_of(row: Any, alias: str) -> str:
    given = getattr(row, alias)
    return code_of(given) if given else settings.LANGUAGE_CODE


def column_of(sitemap: Any, row: Any, alias: str, expression: Any) -> Any:
    """Return what an expression gave for a row; for a file that is its storage's URL."""
    if isinstance(expression, Column):
        if expression.load and not isinstance(getattr(row, alias), _Loaded):
            _load(sitemap, [row])
        if expression.load:
            return getattr(row, alias).value
        expression = expression.expression
    value = getattr(row, alias)
    if not isinstance(value, str) or not isinstance(row, Model):
        return value
    storage = _storage(type(row), expression)
    if storage is None:
        return value
    return storage.url(value) if value else None


@lru_cache(maxsize=256)
def _storage(model: type[Model], expression: Any) -> Any:
    try:
        field = expression.resolve_expression(model._base_manager.all().query).output_field
    except FieldError:
        # It names an annotation of the queryset, which is computed and so no file.
        return None
    return field.storage if isinstance(field, FileField) else None


def key_of(item: Any) -> object:
    """Return what names an item in messages: its primary key, or what it looks like."""
    key = getattr(item, "pk", None)
    return shown(item) if key is None else key


def url_infos(sitemap: Any, page: Any, base: str, *, report: Report, paginator: Any = None) -> Iterator[dict[str, Any]]:
    """Yield what Django's ``get_urls()`` gives: one dict for each URL of a page.

    An item whose location raises is left out, another part that raises is dropped; `report` hears of both.
    """
    locations, siblings = _Locations(sitemap, base), read_hooks(sitemap).siblings
    items = list((paginator or sitemap.paginator).page(page).object_list)
    _load(sitemap, list({id(row): row for row in (row_of(sitemap, item) for item in items)}.values()), base)
    for item in items:
        row = row_of(sitemap, item)
        # The languages of an item stand together: each location is asked for once.
        if not sitemap.i18n or row is not locations.row:
            locations = _Locations(sitemap, base, row)
        language = item[1] if sitemap.i18n else ""
        try:
            with _spoken(_language_of(row, siblings[2]) if siblings else ""):
                location = locations.get(item, language)
        except Exception as error:  # user code of any kind: one bad item must not hurt the others
            report.leave_out(key_of(row), "location", error)
            continue
        lastmod, changefreq, priority = (
            _part(sitemap, item, name, report) for name in ("lastmod", "changefreq", "priority")
        )
        alternates = _alternates(sitemap, item, locations, report)
        with _spoken(language):
            media = {name: _part(sitemap, item, name, report) for name in EXTENSIONS if hasattr(sitemap, name)}
        yield {
            "item": item,
            "location": location,
            "lastmod": lastmod,
            "changefreq": changefreq,
            "priority": "" if priority is None else str(priority),
            "alternates": alternates,
            **media,
            **({"emit_deprecated": True} if getattr(sitemap, "emit_deprecated", False) else {}),
        }


def _spoken(language: str) -> AbstractContextManager[None]:
    return translation.override(language) if language else nullcontext()


class _Locations:
    """The addresses of one item, by language."""

    def __init__(self, sitemap: Any, base: str, row: Any = None) -> None:
        self.row = row
        self._sitemap = sitemap
        self._base = base
        self._found: dict[str, str] = {}

    def get(self, item: Any, language: str) -> str:
        """Return the address of `item` in `language`, or in no language in particular."""
        if language not in self._found:
            location = self._sitemap._location(item, language) if language else self._sitemap._location(item)
            self._found[language] = absolute(self._base, location)
        return self._found[language]


def _part(sitemap: Any, item: Any, name: str, report: Report) -> Any:
    try:
        return sitemap._get(name, item)
    except Exception as error:  # user code of any kind
        report.drop(key_of(row_of(sitemap, item)), name, error)
        return None


def _alternates(sitemap: Any, item: Any, locations: _Locations, report: Report) -> list[dict[str, str]]:
    if not (sitemap.i18n and sitemap.alternates and _is_linked(item[1])):
        return []
    found: dict[str, str] = {}
    for code in languages_in(sitemap.get_languages_for_item(item[0])):
        try:
            found[code] = locations.get(item, code)
        except NotTranslated:
            continue
        except Exception as error:  # user code of any kind
            report.drop(key_of(item[0]), "alternates", error)
    others = x_default_of(_part(sitemap, item, "x_default", report), found)
    if others is not None:
        found["x-default"] = others
    return [{"location": location, "lang_code": code} for code, location in found.items()]


def _is_linked(language: str) -> bool:
    """Return whether others link to the language, so that it may link to them."""
    try:
        return hreflang_of(language) is not None
    except InvalidEntry:
        return False


def latest_lastmod(sitemap: Any) -> date | datetime | None:
    """Return the newest lastmod of all items, or None if one has none or only reading every row would tell."""
    lastmod: Any = getattr(sitemap, "lastmod", None)
    is_hook = isinstance(lastmod, Expression)
    if not callable(lastmod) and not is_hook:
        return lastmod  # type: ignore[no-any-return]
    items = sitemap.items()
    if isinstance(items, QuerySet):
        column = lastmod if is_hook else plain_column(sitemap, "lastmod", items.model)
        return None if column is None or items.query.combinator else _newest_in(items, column)
    try:
        return newest_of_all(lastmod(item) for item in items)
    except Exception as error:  # user code of any kind: the index can do without
        Report(type(sitemap).__name__).drop("the index", "lastmod", error)
        return None


def _newest_in(rows: QuerySet[Any], column: Any) -> Any:
    # Counted beside it: one row without a date could be the newest.
    dated = rows if isinstance(column, str) else rows.annotate(**{_NEWEST: column})
    name = column if isinstance(column, str) else _NEWEST
    found = dated.aggregate(newest=Max(name), rows=Count("*"), dated=Count(name))
    return found["newest"] if found["rows"] == found["dated"] else None


def absolute(base: str, location: Any) -> str:
    """Return `location` behind `base` unless it names a scheme of its own.

    Raises InvalidEntry where the two together would name another host.
    """
    text = "" if location is None else str(location)
    if location is None or (text and text[0] not in "/?#" and not _SCHEME.match(text)):
        raise InvalidEntry(
            "E-URL-EMPTY" if location is None else "E-URL-RELATIVE",
            f"The location {shown(location)} is no address; give a path that begins with '/', or an absolute URL.",
        )
    return text if _SCHEME.match(text) else base + text
