"""Read the items of a page as objects, for hooks that are methods and for classes that page by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Any

from django.core.paginator import EmptyPage
from django.db.models import QuerySet

from sitemaps_plus.declare.items import Pairs, info_key, key_of
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.plan.keys import as_shown
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.seen import SeenRows
from sitemaps_plus.protocol.entries import Block, Cleaner, Group
from sitemaps_plus.render.bulk.blocks import Blocks, compile_blocks
from sitemaps_plus.render.renderer import CHUNK, Renderer, Row, url_info_group


def read_groups(
    section: Section, page: Page, cleaner: Cleaner, seen: SeenRows | None = None, *, keeps_given: bool = False
) -> Iterator[Group]:
    """Yield the entries of each item of `page`, in the order of its rows; the rows are added to `seen`.

    See `Renderer` for `keeps_given`.
    """
    seen = seen or SeenRows(section)
    if section.makes_its_urls:
        return _own_urls(section, page, cleaner, keeps_given=keeps_given)
    renderer = Renderer(section, cleaner, partial(read_rows, section), keeps_given=keeps_given)
    if section.paged_by == "position":
        return _by_position(section, page, renderer, seen)
    return (group for rows in _chunks(section, page, seen) for group in renderer.groups(rows))


def read_blocks(
    section: Section, page: Page, cleaner: Cleaner, seen: SeenRows | None = None
) -> Iterable[Block | Group]:
    """Return the text of the items of `page`, many at a time, or groups if the renderer must handle each by itself.

    The rows are added to `seen`.
    """
    seen = seen or SeenRows(section)
    renderer = Renderer(section, cleaner, partial(read_rows, section))
    blocks = None if section.makes_its_urls else compile_blocks(cleaner, renderer)
    if blocks is None:
        return read_groups(section, page, cleaner, seen)
    if section.paged_by == "key":
        return map(blocks.of_rows, _chunks(section, page, seen))
    if section.sitemap.i18n:
        return _blocks_of_pairs(section, page, renderer, blocks, seen)
    return map(blocks.of_rows, _chunks_by_position(section, page, cleaner))


def read_rows(section: Section, wanted: QuerySet[Any]) -> list[Row]:
    """Return the rows of `wanted`, which is sorted by the key, with the values of the hooks' columns."""
    return _rows(section, list(wanted.annotate(**section.hooks.columns)))


def _chunks(section: Section, page: Page, seen: SeenRows) -> Iterator[list[Row]]:
    size, after, items = section.rows_for(CHUNK), None, None
    columns = {**section.hooks.columns, **seen.columns}
    while items is None or len(items) == size:
        wanted = page.rows(section, after).annotate(**columns).order_by(*section.key.names)
        items = list(wanted[:size])
        if items:
            seen.add_items(items)
            yield _rows(section, items)
            after = _key_of(section, items[-1])


def _rows(section: Section, items: Sequence[Any]) -> list[Row]:
    columns, names = list(section.hooks.columns), section.key.names
    keys = [tuple([getattr(item, name) for name in names]) for item in items]
    # A join to many rows repeats a key: the first row counts.
    return [
        Row(as_shown(key), [getattr(item, alias) for alias in columns], item)
        for key, before, item in zip(keys, [None, *keys], items, strict=False)
        if key != before
    ]


def _key_of(section: Section, item: Any) -> tuple[Any, ...]:
    return tuple(getattr(item, name) for name in section.key.names)


def _by_position(section: Section, page: Page, renderer: Renderer, seen: SeenRows) -> Iterator[Group]:
    cleaner = renderer.cleaner
    if not section.sitemap.i18n:
        return (group for rows in _chunks_by_position(section, page, cleaner) for group in renderer.groups(rows))
    return (group for found in _slices(section, page, cleaner, seen) for group in _groups_of_pairs(renderer, found))


def _groups_of_pairs(renderer: Renderer, pairs: Sequence[tuple[Any, str]]) -> Iterator[Group]:
    rows = [_row(renderer.section, item) for item, _ in pairs]
    return renderer.pair_groups(rows, [code for _, code in pairs]) if pairs else iter(())


def _blocks_of_pairs(
    section: Section, page: Page, renderer: Renderer, blocks: Blocks, seen: SeenRows
) -> Iterator[Block | Group]:
    """Yield blocks of the items that are on the page in all languages, and pairs of those that are partly on others."""
    count, size = len(section.languages), section.rows_for(CHUNK)
    start = (page.number - 1) * section.urls_limit
    stop = start + section.urls_limit
    first, last = -(-start // count), max(stop // count, -(-start // count))
    pairs = section.slice(renderer.cleaner.report, seen.columns)
    yield from _groups_of_pairs(renderer, pairs[start : min(first * count, stop)])
    for at in range(first, last, size):
        wanted = min(size, last - at)
        items = pairs.items(at, at + wanted)
        if items:
            seen.add_items(items)
            yield blocks.of_rows([_row(section, item) for item in items])
        if len(items) < wanted:
            return
    rest = pairs[last * count : stop]
    seen.add_items([item for item, _ in rest[:1]])
    yield from _groups_of_pairs(renderer, rest)


def _chunks_by_position(section: Section, page: Page, cleaner: Cleaner) -> Iterator[list[Row]]:
    return ([_row(section, item) for item in found] for found in _slices(section, page, cleaner))


def _slices(section: Section, page: Page, cleaner: Cleaner, seen: SeenRows | None = None) -> Iterator[list[Any]]:
    limit = section.urls_limit
    first = (page.number - 1) * limit
    positions = range(first, first + limit)[slice(*page.part)]
    items = section.slice(cleaner.report, seen.columns if seen else None)
    # A row has so many pairs, and a slice begins with the first of them.
    count = max(1, len(section.languages)) if isinstance(items, Pairs) else 1
    # One slice for the whole page: each slice counts the items from the first one on.
    is_whole = isinstance(items, Pairs) and items.is_counted_out
    size = limit if is_whole else max(1, CHUNK // count) * count
    start = positions.start
    while start < positions.stop:
        stop = min(start + size - (0 if is_whole else start % count), positions.stop)
        found = list(items[start:stop])
        if found:
            if seen and seen.is_exact:
                # An item counts for the page with its first language.
                seen.add_items([item for item, _ in found[-start % count :: count]])
            yield found
        if len(found) < stop - start:
            return
        start = stop


def _row(section: Section, item: Any) -> Row:
    return Row(key_of(item), [getattr(item, alias) for alias in section.hooks.columns], item)


def _own_urls(section: Section, page: Page, cleaner: Cleaner, *, keeps_given: bool) -> Iterator[Group]:
    sitemap = section.sitemap
    try:
        infos = sitemap.get_urls(page=page.number, site=section.site, protocol=section.origin.scheme)
    except EmptyPage as error:
        raise PageNotFound(f"The sitemap {section.label!r} has no page {page.number}.") from error
    is_pair = bool(sitemap.i18n)
    for _, of_row in groupby(islice(infos, *page.part), lambda info: _item_of(info) if is_pair else object()):
        made = (url_info_group(info, info_key(info), cleaner, keeps_given=keeps_given) for info in of_row)
        groups = [group for group in made if group is not None]
        if groups:
            yield Group(groups[0].key, [entry for group in groups for entry in group.entries])


def _item_of(info: Mapping[str, Any]) -> object:
    """Return the item of a dict of ``get_urls()``, without the language; an own object for a dict without an item."""
    item = info.get("item")
    return item[0] if isinstance(item, tuple) and item else object()
