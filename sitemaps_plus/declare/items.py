"""Turn what a Sitemap's ``items()`` returns into counts, slices and the dicts that Django's ``get_urls()`` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.db.models.query import RawQuerySet
from django.utils import timezone, translation

from sitemaps_plus.declare.date_probe import plain_column
from sitemaps_plus.declare.hooks import has_languages_per_item, languages_of, name_of, read_hooks
from sitemaps_plus.declare.languages import hreflang_of, languages_in, own_language
from sitemaps_plus.declare.loading import Addresses, absolute, load_objects
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, NotTranslated, shown
from sitemaps_plus.protocol.dates import as_datetime
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.values.extensions import EXTENSIONS
from sitemaps_plus.values.fields import Expression

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
            f"{name_of(sitemap)}: the expression {columns[first]!r} needs rows of the database, but items() "
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


def key_of(item: Any) -> object:
    """Return what names an item in messages: its primary key, or what it looks like."""
    key = getattr(item, "pk", None)
    return shown(item) if key is None else key


def url_infos(sitemap: Any, page: Any, base: str, *, report: Report, paginator: Any = None) -> Iterator[dict[str, Any]]:
    """Yield what Django's ``get_urls()`` gives: one dict for each URL of a page.

    An item whose location raises is left out, another part that raises is dropped; `report` hears of both.
    """
    siblings, known, addresses = read_hooks(sitemap).siblings, None, Addresses()
    items = list((paginator or sitemap.paginator).page(page).object_list)
    load_objects(sitemap, list({id(row): row for row in (row_of(sitemap, item) for item in items)}.values()), base)
    for item in items:
        row = row_of(sitemap, item)
        # The languages of an item follow each other: each address is made once.
        if not sitemap.i18n or row is not known:
            known, addresses = row, Addresses()
        locate = partial(_locate, sitemap, base, item)
        language = item[1] if sitemap.i18n else ""
        try:
            with _spoken(own_language(getattr(row, siblings[2])) if siblings else ""):
                location = addresses.find(language, locate)
        except Exception as error:  # user code of any kind: one bad item must not hurt the others
            report.leave_out(key_of(row), "location", error)
            continue
        lastmod, changefreq, priority = (
            _part(sitemap, item, name, report) for name in ("lastmod", "changefreq", "priority")
        )
        alternates = _alternates(sitemap, item, addresses, locate, report)
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


def _locate(sitemap: Any, base: str, item: Any, language: str) -> str:
    """Return the address of `item` in `language`, or in no language in particular."""
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
    if not (sitemap.i18n and sitemap.alternates and _is_linked(item[1])):
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
        Report(name_of(sitemap)).drop("the index", "lastmod", error)
        return None


def _newest_in(rows: QuerySet[Any], column: Any) -> Any:
    # Counted beside it: one row without a date could be the newest.
    dated = rows if isinstance(column, str) else rows.annotate(**{_NEWEST: column})
    name = column if isinstance(column, str) else _NEWEST
    found = dated.aggregate(newest=Max(name), rows=Count("*"), dated=Count(name))
    return found["newest"] if found["rows"] == found["dated"] else None
