"""Read the rows of a page as plain values, in chunks along the key: no model instances, no OFFSET."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.db.models import QuerySet

from sitemaps_plus.plan.keys import KeyValue, as_shown
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section, has_multivalued_join
from sitemaps_plus.plan.seen import SeenRows
from sitemaps_plus.protocol.entries import Block, Cleaner, Group
from sitemaps_plus.render.bulk.blocks import Blocks, compile_blocks
from sitemaps_plus.render.bulk.sql import JoinedRows
from sitemaps_plus.render.renderer import CHUNK, Renderer, Row


def read_groups(section: Section, page: Page, cleaner: Cleaner, seen: SeenRows | None = None) -> Iterator[Group]:
    """Yield the entries of each row of `page`, in key order; the rows are added to `seen`."""
    renderer = Renderer(section, cleaner, partial(read_rows, section))
    for records in _chunks(section, page, section.hooks.columns, seen or SeenRows(section)):
        yield from renderer.groups(_rows(section, records))


def read_blocks(
    section: Section, page: Page, cleaner: Cleaner, seen: SeenRows | None = None
) -> Iterable[Block | Group]:
    """Return the text of the rows of `page`, many at a time, or groups if the renderer must handle each by itself.

    The rows are added to `seen`.
    """
    renderer = Renderer(section, cleaner, partial(read_rows, section))
    blocks = compile_blocks(cleaner, renderer)
    if blocks is None or has_multivalued_join(page.rows(section).annotate(**section.hooks.columns)):
        return read_groups(section, page, cleaner, seen)
    return _made(section, page, blocks, seen or SeenRows(section))


def read_rows(section: Section, wanted: QuerySet[Any]) -> list[Row]:
    """Return the rows of `wanted`, which is sorted by the key, with the values of the hooks' columns."""
    return _rows(section, list(_records(section, wanted, section.hooks.columns)))


def _made(section: Section, page: Page, blocks: Blocks, seen: SeenRows) -> Iterator[Block]:
    """Yield the blocks of the rows of `page`, from joined texts as long as the database can join them."""
    size = section.rows_for(CHUNK)
    has_stamps = blocks.has_stamps
    joined = None
    if blocks.takes_texts:
        stamp = ({} if has_stamps else seen.columns) if seen.is_exact else None
        joined = JoinedRows.of(section, page, blocks.select, size, stamp)
    after: KeyValue | None = None
    while joined and (chunk := joined.read(after)):
        if not chunk.size:
            return
        made = blocks.of_texts(chunk.columns)
        if made is None:
            # A row is not plain, and others are likely to follow: read single rows from here on.
            break
        text, urls, names, found = made
        part = seen.add(chunk.sums.with_dates(found.dates, found.newest) if has_stamps else chunk.sums)
        yield Block(text, urls, names, partial(_read_again, section, page, blocks, after, chunk.last, seen, part))
        if chunk.size < size:
            return
        after = chunk.last
    yield from map(blocks.of_records, _chunks(section, page, blocks.select, seen, after))


def _read_again(
    section: Section,
    page: Page,
    blocks: Blocks,
    after: KeyValue | None,
    last: KeyValue,
    seen: SeenRows,
    part: int,
) -> Iterator[tuple[object, list[tuple[str, str]]]]:
    """Yield the rows of one block with their keys, read again; they take the place of that `part` of `seen`."""
    rows = page.rows(section, after).filter(section.key.up_to(last)).order_by(*section.key.names)
    records = list(_records(section, rows, {**blocks.select, **seen.columns}))
    seen.take_back(part)
    seen.add_records(records)
    return blocks.of_records(records).rows() if records else iter(())


def _chunks(
    section: Section, page: Page, columns: Mapping[str, Any], seen: SeenRows, after: KeyValue | None = None
) -> Iterator[list[Sequence[Any]]]:
    """Yield the key, the columns and the stamp of the rows `after` a key, or of all rows, a chunk at a time."""
    names, size = section.key.names, section.rows_for(CHUNK)
    found = None
    while found is None or len(found) == size:
        rows = page.rows(section, after).order_by(*names)
        found = list(_records(section, rows, {**columns, **seen.columns})[:size])
        if found:
            seen.add_records(found)
            yield found
            after = tuple(found[-1][: len(names)])


def _records(section: Section, wanted: QuerySet[Any], columns: Mapping[str, Any]) -> Any:
    plain = wanted.select_related(None).prefetch_related(None)
    return plain.annotate(**columns).values_list(*section.key.names, *columns)


def _rows(section: Section, records: Sequence[Sequence[Any]]) -> list[Row]:
    size = len(section.key.names)
    keys = [record[:size] for record in records]
    # A join to many rows repeats a key: the first row counts.
    return [
        Row(as_shown(tuple(key)), record[size:])
        for key, before, record in zip(keys, [None, *keys], records, strict=False)
        if key != before
    ]
