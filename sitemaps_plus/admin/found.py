"""Turn what is known of a URL, and the entries of a page, into what the status page shows of them."""

from __future__ import annotations

from typing import NamedTuple

from sitemaps_plus.admin.panels import Link, ObjectLink
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.watch.entries import EntryList, Item, Media
from sitemaps_plus.watch.find import Finding
from sitemaps_plus.watch.section_search import Match


class ShownMatch(NamedTuple):
    """What one section knows of a URL."""

    match: Match
    section_link: str
    page_link: str
    row_link: str


class ShownFinding(NamedTuple):
    """What is known of a URL."""

    finding: Finding
    matches: list[ShownMatch]


class ShownItem(NamedTuple):
    """One entry of a page, or a row that is left out."""

    item: Item
    link: str
    """Of the row in the admin."""
    media: list[Media]
    """With thumbnails, or titles."""


class ShownEntries(NamedTuple):
    """Some of the entries of a page."""

    items: list[ShownItem]
    next: str | None
    is_later: bool
    """Whether there are others before."""
    error: str = ""
    """Why they cannot be read."""


def shown_finding(finding: Finding, link: Link, object_link: ObjectLink) -> ShownFinding:
    """Return what the page shows of the answer to a search."""
    matches = []
    for match in finding.matches:
        place = link("page", match.site.id, match.label, match.number) if match.number else ""
        row = "" if match.key is None else object_link(get_section(match.label, match.site), str(match.key))
        matches.append(ShownMatch(match, link("section", match.site.id, match.label), place, row))
    return ShownFinding(finding, matches)


def shown_entries(found: EntryList, section: Section, object_link: ObjectLink, *, is_later: bool) -> ShownEntries:
    """Return what the page shows of some entries."""
    items = [
        ShownItem(
            item,
            object_link(section, str(item.key)) if item.pk is not None else "",
            [*item.images, *item.videos, *item.news],
        )
        for item in found.items
    ]
    return ShownEntries(items, found.next, is_later)
