"""Read the entries that a page would list now, some rows at a time, as values for people to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from sitemaps_plus.errors import InvalidPlace, shown
from sitemaps_plus.plan.keys import KeyValue, as_shown
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section, neutral
from sitemaps_plus.protocol.entries import Entry, Group, Link
from sitemaps_plus.protocol.limits import MAX_URLS
from sitemaps_plus.protocol.reports import Problem, RowReport
from sitemaps_plus.protocol.writer import Repeats, namespaces, url_element
from sitemaps_plus.render import object_path, row_path
from sitemaps_plus.values.extensions import EXTENSIONS, namespaces_of

MOST = 500
"""Most rows that are read at a time."""

_MAX_CURSOR = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """One image, video or news of a URL, as the sitemap has it."""

    name: str
    """``image``, ``video`` or ``news``."""
    loc: str
    """URL of the image or of the video's thumbnail; empty for news."""
    title: str
    fields: Sequence[tuple[str, str]]
    """Each tag that holds a text, without its prefix, and the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One URL of a page, or one row that the page leaves out."""

    key: object
    """Key of the row as messages show it."""
    pk: Any
    """Primary key of the row; None for an item that is not a row of the section's model."""
    loc: str | None
    """None for a row that is left out; `problems` has the reason."""
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    media: Sequence[Media] = ()
    """Images, videos and news, in the order of the ``<url>`` element."""
    alternates: Sequence[Link] = ()
    xml: str = ""
    """The ``<url>`` element as the writer writes it."""
    problems: Sequence[Problem] = ()
    """All that was left out, dropped or looks wrong in the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryList:
    """Some of the rows of a page, in the order of the page."""

    items: Sequence[Item]
    """One for each URL; a row in several languages has several."""
    next: str | None
    """The cursor of the following rows, for `after`; None at the end."""


def read_entries(section: Section, page: Page, *, after: str | None = None, count: int = 50) -> EntryList:
    """Return the entries of `count` rows of a page (at most `MOST`) as they are now, from a cursor on.

    A page by key costs the same at any cursor: one query for the keys, plus those of rendering the rows. For a page by
    position `count` counts URLs, rows that are left out come last, and a class that makes its own URLs makes all those
    of the page. Raises InvalidPlace if `after` is not the `next` of such a list.
    """
    count = max(1, min(count, MOST))
    with neutral():
        if section.paged_by == "position":
            return _by_position(section, page, _offset(after), count)
        return _by_key(section, page, None if after is None else _key(section, after), count)


def read_row(section: Section, page: Page, key: KeyValue) -> list[Item]:
    """Return the entries of one row of a page by key as they are now; none if there is no such row."""
    with neutral():
        found = _by_key(section, replace(page, start=key), None, 1).items
    return [item for item in found if item.key == as_shown(key)]


def _by_key(section: Section, page: Page, after: KeyValue | None, count: int) -> EntryList:
    names = section.key.names
    wanted = page.rows(section, after)
    if after is not None and page.start is not None:
        # A key of an earlier page must not show that page. Negated, so that SQLite does not begin its scan there.
        wanted = wanted.filter(~section.key.before(page.start))
    plain = wanted.select_related(None).prefetch_related(None).order_by(*names)
    found = [(tuple(row[: len(names)]), row[-1]) for row in plain.values_list(*names, "pk")[: count + 1]]
    if not found:
        return EntryList(items=[], next=None)
    end, last = (found[count][0], found[count - 1][0]) if len(found) > count else (page.end, None)
    pks = {as_shown(key): pk for key, pk in found[:count]}
    groups, problems = _groups(section, replace(page, start=found[0][0], end=end))
    entries = {key: group for key, group in groups if key in pks}
    return EntryList(
        items=[item for key, pk in pks.items() for item in _items(key, pk, entries.get(key, ()), problems)],
        next=None if last is None else json.dumps(section.key.dump(last)),
    )


def _by_position(section: Section, page: Page, offset: int, count: int) -> EntryList:
    groups, problems = _groups(section, replace(page, part=(offset, offset + count)))
    are_rows = not section.makes_its_urls and isinstance(section.sitemap.items(), QuerySet)
    items = [item for key, entries in groups for item in _items(key, key if are_rows else None, entries, problems)]
    known = {key for key, _ in groups}
    items += [
        item for key in problems if key not in known for item in _items(key, key if are_rows else None, (), problems)
    ]
    end = offset + count
    is_more = end < section.urls_limit and (len(items) >= count or end < (page.record.rows or 0))
    return EntryList(items=items, next=json.dumps(end) if is_more else None)


def _groups(section: Section, page: Page) -> tuple[list[tuple[object, list[Entry]]], dict[object, list[Problem]]]:
    """Return the entries of each row that has any, and the problems of rows by key."""
    report = RowReport(section.label)
    repeats = Repeats(report)
    read = row_path.read_groups if section.reads_values else object_path.read_groups
    groups: Iterable[Group] = read(section, page, section.cleaner(report))
    return [(group.key, repeats.without(group)) for group in groups], report.rows


def _items(key: object, pk: Any, entries: Sequence[Entry], problems: dict[object, list[Problem]]) -> Iterator[Item]:
    found = tuple(problems.get(key, ()))
    if not entries:
        yield Item(key=key, pk=pk, loc=None, problems=found)
    for entry in entries:
        yield Item(
            key=key,
            pk=pk,
            loc=entry.loc,
            lastmod=entry.lastmod,
            changefreq=entry.changefreq,
            priority=entry.priority,
            media=_parsed(entry.media),
            alternates=[*entry.links, *entry.more_links],
            xml=url_element(entry).strip(),
            problems=found,
        )


def _parsed(elements: str) -> list[Media]:
    """Return the media in their XML, which shows them exactly as they are written."""
    if not elements:
        return []
    declared = namespaces(namespaces_of(EXTENSIONS))
    return [_media(one) for one in ElementTree.fromstring(f"<url{declared}>{elements}</url>")]  # noqa: S314 - ours


def _media(element: ElementTree.Element) -> Media:
    fields = [(_name(one), one.text) for one in element.iter() if one.text and not len(one)]
    by_name = dict(reversed(fields))
    loc = by_name.get("thumbnail_loc" if _name(element) == "video" else "loc", "")
    return Media(name=_name(element), loc=loc, title=by_name.get("title", ""), fields=fields)


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _offset(after: str | None) -> int:
    offset = 0 if after is None else _loaded(after)
    if type(offset) is not int or not 0 <= offset <= MAX_URLS:
        raise _invalid(after)
    return offset


def _key(section: Section, after: str) -> KeyValue:
    given = _loaded(after)
    try:
        key = section.key.load(given)
        for field, part in zip(section.key.fields, key, strict=True):
            # A database may raise an error for a value that no row can have, such as a number that is too large.
            field.run_validators(part)
        # Compared as text, because 1, 1.0 and true are equal.
        is_same = json.dumps(section.key.dump(key)) == json.dumps(given) and None not in key
    except (ValidationError, ValueError, TypeError, ArithmeticError) as error:
        raise _invalid(after) from error
    if not is_same or any("\0" in part for part in given if isinstance(part, str)):
        raise _invalid(after)
    return key


def _loaded(after: str) -> Any:
    try:
        if len(after) > _MAX_CURSOR:
            raise _invalid(after)
        # Only Python accepts a lone surrogate as text.
        after.encode()
        given = json.loads(after)
        json.dumps(given, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _invalid(after) from error
    return given


def _invalid(after: object) -> InvalidPlace:
    return InvalidPlace(f"{shown(after)} is not a cursor of this list; begin with the first rows of the page.")
