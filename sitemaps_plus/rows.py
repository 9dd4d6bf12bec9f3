"""Read the rows of a page as plain values, in chunks along the key: no objects, no OFFSET, a few thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator

from sitemaps_plus.entries import Cleaner, Group
from sitemaps_plus.keys import as_shown
from sitemaps_plus.plans import Page
from sitemaps_plus.rendering import CHUNK, Renderer, Row
from sitemaps_plus.sections import Section


def read_groups(section: Section, page: Page, cleaner: Cleaner) -> Iterator[Group]:
    """Yield the entries of each row of `page`, in key order."""
    renderer = Renderer(section, cleaner)
    for rows in _chunks(section, page):
        yield from renderer.groups(rows)


def _chunks(section: Section, page: Page) -> Iterator[list[Row]]:
    names, columns = section.key.names, section.hooks.columns
    rows = page.rows(section).select_related(None).prefetch_related(None)
    wanted = rows.annotate(**columns).order_by(*names).values_list(*names, *columns)
    size = len(names)
    found = list(wanted[:CHUNK])
    while found:
        keys = [record[:size] for record in found]
        # A join to several rows gives the same key more than once: the first one counts.
        yield [
            Row(as_shown(key), record[size:])
            for key, before, record in zip(keys, [None, *keys], found, strict=False)
            if key != before
        ]
        found = list(wanted.filter(section.key.after(keys[-1]))[:CHUNK]) if len(found) == CHUNK else []
