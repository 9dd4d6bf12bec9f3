"""Read the rows of a page as plain values, in chunks along the key: no objects, no OFFSET, a few thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.db.models import QuerySet

from sitemaps_plus.blocks import compile_blocks
from sitemaps_plus.entries import Block, Cleaner, Group
from sitemaps_plus.keys import as_shown
from sitemaps_plus.plans import Page
from sitemaps_plus.rendering import CHUNK, Renderer, Row
from sitemaps_plus.sections import Section, has_multivalued_join


def read_groups(section: Section, page: Page, cleaner: Cleaner) -> Iterator[Group]:
    """Yield the entries of each row of `page`, in key order."""
    renderer = Renderer(section, cleaner, partial(read_rows, section))
    for records in _chunks(section, page, section.hooks.columns):
        yield from renderer.groups(_rows(section, records))


def read_blocks(section: Section, page: Page, cleaner: Cleaner) -> Iterator[Block] | Iterator[Group]:
    """Return the finished text of the rows of `page`, many at a time; their groups where rows have to be looked at."""
    renderer = Renderer(section, cleaner, partial(read_rows, section))
    blocks = compile_blocks(cleaner, renderer)
    if blocks is None or has_multivalued_join(page.rows(section).annotate(**section.hooks.columns)):
        return read_groups(section, page, cleaner)
    return map(blocks.of_records, _chunks(section, page, blocks.select))


def read_rows(section: Section, wanted: QuerySet[Any]) -> list[Row]:
    """Return all of `wanted`, which are sorted by the key, with the values of the hooks' columns."""
    return _rows(section, list(_records(section, wanted, section.hooks.columns)))


def _chunks(section: Section, page: Page, columns: Mapping[str, Any]) -> Iterator[list[Sequence[Any]]]:
    """Yield the key and the columns of rows, a chunk at a time."""
    names, size = section.key.names, section.rows_of(CHUNK)
    wanted = _records(section, page.rows(section).order_by(*names), columns)
    found = list(wanted[:size])
    while found:
        yield found
        last = section.key.after(found[-1][: len(names)])
        found = list(wanted.filter(last)[:size]) if len(found) == size else []


def _records(section: Section, wanted: QuerySet[Any], columns: Mapping[str, Any]) -> Any:
    plain = wanted.select_related(None).prefetch_related(None)
    return plain.annotate(**columns).values_list(*section.key.names, *columns)


def _rows(section: Section, records: Sequence[Sequence[Any]]) -> list[Row]:
    size = len(section.key.names)
    keys = [record[:size] for record in records]
    # A join to several rows gives the same key more than once: the first one counts.
    return [
        Row(as_shown(tuple(key)), record[size:])
        for key, before, record in zip(keys, [None, *keys], records, strict=False)
        if key != before
    ]
