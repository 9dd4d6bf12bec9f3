"""Turn the items of a Sitemap into counts, slices and the dicts that Django's ``get_urls()`` returns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.db.models.query import RawQuerySet
from django.utils import timezone, translation

from sitemaps_plus.declare.date_probe import plain_column
from sitemaps_plus.declare.hooks import Hooks, has_languages_per_item, languages_of, name_of, read_hooks
from sitemaps_plus.declare.languages import languages_in, own_language, valid_hreflang_of
from sitemaps_plus.declare.loading import Addresses, absolute, load_objects, location_error
from sitemaps_plus.errors import InvalidSitemap, NotTranslated, shown
from sitemaps_plus.protocol.dates import as_datetime
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.values.extensions import EXTENSIONS
from sitemaps_plus.values.fields import Expression

logger = logging.getLogger("sitemaps_plus")

_NEWEST = "_sitemap_newest"


class Pairs(Sequence[tuple[Any, str]]):
    """The (item, language) pairs of a sitemap, made when they are needed.

    If every item has the same languages, a slice only reads its own items. If ``get_languages_for_item`` is overridden,
    it also reads all items before them.
    """

    ordered = True

    def __init__(self, sitemap: Any, items: Any, report: Report | None = None) -> None:
        self._sitemap = sitemap
        self._all = items
        self._report = report or Report(name_of(sitemap))
        self._languages: list[str] | None = None
        if not has_languages_per_item(sitemap):
            self._languages = list(languages_of(sitemap))

    def __len__(self) -> int:
        if self._languages is not None:
            return _length(self._all) * len(self._languages)
        return sum(1 for _ in self._stream(0))

    @property
    def is_counted_out(self) -> bool:
        """Whether a slice also reads all items before it."""
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
        """Return the items from `start` up to, not including, `stop`, without languages."""
        return list(self._all[start:stop])

    def _stream(self, start: int) -> Iterator[tuple[Any, str]]:
        """Yield all pairs; report the errors of items from `start` on."""
        passed = 0
        for item in self._all.iterator(chunk_size=2000) if isinstance(self._all, QuerySet) else self._all:
            for code in self._languages_for(item, is_reported=passed >= start):
                passed += 1
                yield item, code

    def _languages_for(self, item: Any, *, is_reported: bool) -> Sequence[str]:
        try:
            return languages_in(self._sitemap.get_languages_for_item(item))
        except Exception as error:  # user code of any kind: the other items must not suffer
            if is_reported:
                self._report.leave_out(key_of(item), "get_languages_for_item", error)
            return ()


def lazy_items(sitemap: Any, report: Report | None = None, columns: Mapping[str, Any] | None = None) -> Any:
    """Return the items as a sequence that can be counted and sliced; with ``i18n`` as (item, language) pairs.

    Items whose languages cannot be found are added to `report`. Rows get the values of the expressions `columns`, too.
    """
    items = sitemap.items()
    if columns:
        items = items.annotate(**columns)
    if not isinstance(items, Iterable) and not hasattr(items, "__getitem__"):
        # Not its repr(), which may make a query.
        given = "None" if items is None else f"a {type(items).__name__}"
        raise InvalidSitemap(
            f"{name_of(sitemap)}.items() returned {given}. Return a QuerySet, as in Model.objects.all(), or a list."
        )
    if isinstance(items, RawQuerySet) or not hasattr(items, "__getitem__"):
        items = list(items)
    items = _in_order(sitemap, with_columns(sitemap, items))
    return Pairs(sitemap, items, report) if sitemap.i18n else items


def with_columns(sitemap: Any, items: Any) -> Any:
    """Return `items` with the values of expression hooks, if there are any, under private names."""
    hooks = read_hooks(sitemap)
    columns = hooks.columns
    if columns and not isinstance(items, QuerySet):
        (first, *_) = columns
        raise InvalidSitemap(
            f"{name_of(sitemap)}: the expression {columns[first]!r} needs rows of the database, but items() "
            f"returned a {type(items).__name__}. Return a QuerySet, or make the hook a method."
        )
    if columns:
        check_computed(sitemap, hooks, items)
    return items.annotate(**columns) if columns else items


def check_computed(sitemap: Any, hooks: Hooks, rows: QuerySet[Any]) -> None:
    """Raise InvalidSitemap if a hook takes values from the database and `rows` cannot have more columns."""
    hook = next((hook.name for hook in (*hooks.shown, hooks.languages, hooks.x_default) if hook.columns), None)
    added = f"{name_of(sitemap)}.{hook} takes values from the database, which cannot be added to the rows of"
    if hook and rows.query.combinator:
        raise InvalidSitemap(f"{added} {rows.query.combinator}(). {without_combinator(rows)}, or make {hook} a method.")
    if hook and rows._fields is not None:  # type: ignore[attr-defined]
        raise InvalidSitemap(
            f"{added} values() or values_list(). Leave that call out, as only the columns that hooks name are read "
            f"anyway, or make {hook} a method."
        )


def without_combinator(rows: QuerySet[Any]) -> str:
    """Return the advice how to list the rows of a union(), an intersection() or a difference() without it."""
    if {query.model for query in rows.query.combined_queries} != {rows.model}:
        return "Register a section for each model instead"
    conditions = {"union": "Q(...) | Q(...)", "intersection": "Q(...), Q(...)", "difference": "Q(...), ~Q(...)"}
    return f"Write {rows.model.__name__}.objects.filter({conditions[str(rows.query.combinator)]}) instead"


def _in_order(sitemap: Any, items: Any) -> Any:
    """Return an unordered QuerySet in the order of the key: its slices must not overlap."""
    if not isinstance(items, QuerySet) or items.ordered or not is_plain(items):
        return items
    key = getattr(sitemap, "key", "pk")
    return items.order_by(*((key,) if isinstance(key, str) else key))


def is_plain(rows: QuerySet[Any]) -> bool:
    """Return whether the rows are objects of a model, and can be filtered and sorted."""
    query = rows.query
    is_whole = not (query.is_sliced or query.combinator or query.distinct_fields)
    return is_whole and rows._fields is None  # type: ignore[attr-defined]


def newest_of_all(lastmods: Iterable[date | datetime | None]) -> date | datetime | None:
    """Return the newest of `lastmods` unchanged; None if there are none, or if one is missing."""
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
    """Return the item of an (item, language) pair; without ``i18n`` the item itself."""
    return item[0] if sitemap.i18n else item


def key_of(item: Any) -> object:
    """Return the name of an item in messages: its primary key, or a short text."""
    key = getattr(item, "pk", None)
    return shown(item) if key is None else key


def info_key(info: Mapping[str, Any]) -> object:
    """Return the name of the item of a dict of ``get_urls()`` in messages; without an item its location."""
    item = info.get("item")
    if item is None:
        return shown(info.get("location"))
    # With i18n it is a pair of item and language; a get_urls() of the project may give anything.
    return key_of(item[0] if isinstance(item, tuple) and item else item)


def url_infos(sitemap: Any, page: Any, base: str, *, report: Report, paginator: Any = None) -> Iterator[dict[str, Any]]:
    """Yield the dicts that Django's ``get_urls()`` returns, one for each URL of a page.

    An item whose location raises is left out, any other part that raises is dropped; both are added to `report`.
    """
    siblings, known, addresses = read_hooks(sitemap).siblings, None, Addresses()
    items = list((paginator or sitemap.paginator).page(page).object_list)
    load_objects(sitemap, list({id(row): row for row in (row_of(sitemap, item) for item in items)}.values()), base)
    for item in items:
        row = row_of(sitemap, item)
        # All languages of an item follow each other, so that each address is made once.
        if not sitemap.i18n or row is not known:
            known, addresses = row, Addresses()
        locate = partial(_locate, sitemap, base, item)
        language = item[1] if sitemap.i18n else ""
        try:
            with _active(own_language(getattr(row, siblings[2])) if siblings else ""):
                location = addresses.find(language, locate)
        except Exception as error:  # user code of any kind: the other items must not suffer
            report.leave_out(key_of(row), "location", location_error(sitemap, row, error))
            continue
        info = {"item": item, "location": location, **_parts(sitemap, item, report)}
        info["alternates"] = _alternates(sitemap, item, addresses, locate, report)
        with _active(language):
            info |= {name: _part(sitemap, item, name, report) for name in EXTENSIONS if hasattr(sitemap, name)}
        yield info | ({"emit_deprecated": True} if getattr(sitemap, "emit_deprecated", False) else {})


def _parts(sitemap: Any, item: Any, report: Report) -> dict[str, Any]:
    found = {name: _part(sitemap, item, name, report) for name in ("lastmod", "changefreq", "priority")}
    return {**found, "priority": "" if found["priority"] is None else str(found["priority"])}


def _active(language: str) -> AbstractContextManager[None]:
    return translation.override(language) if language else nullcontext()


def _locate(sitemap: Any, base: str, item: Any, language: str) -> str:
    """Return the address of `item` in `language`; without one in the active language."""
    return absolute(base, sitemap._location(item, language) if language else sitemap._location(item))


def _part(sitemap: Any, item: Any, name: str, report: Report) -> Any:
    try:
        return sitemap._get(name, item)
    except Exception as error:  # user code of any kind
        report.drop(key_of(row_of(sitemap, item)), name, error)
        return None


def _alternates(
    sitemap: Any, item: Any, addresses: Addresses, locate: Callable[[str], str], report: Report
) -> list[dict[str, str]]:
    # Without an hreflang of its own it gets no links: they must be mutual.
    if not (sitemap.i18n and sitemap.alternates and valid_hreflang_of(item[1])):
        return []
    languages = languages_in(sitemap.get_languages_for_item(item[0]))
    for code in languages:
        try:
            addresses.find(code, locate)
        except NotTranslated:
            continue
        except Exception as error:  # user code of any kind
            report.drop(key_of(item[0]), "alternates", error)
    linked = addresses.linked(languages, _part(sitemap, item, "x_default", report))
    return [{"location": location, "lang_code": code} for code, location in linked.items()]


def latest_lastmod(sitemap: Any) -> date | datetime | None:
    """Return the newest lastmod of all items; None if an item has none, or if only reading every row finds it."""
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
    except Exception as error:  # user code of any kind: the index works without it
        logger.warning("Sitemap section %s: its lastmod in the index was dropped: %r", name_of(sitemap), error)
        return None


def _newest_in(rows: QuerySet[Any], column: Any) -> Any:
    # Counted as well: a row without a date could be the newest.
    dated = rows if isinstance(column, str) else rows.annotate(**{_NEWEST: column})
    name = column if isinstance(column, str) else _NEWEST
    found = dated.aggregate(newest=Max(name), rows=Count("*"), dated=Count(name))
    return found["newest"] if found["rows"] == found["dated"] else None
