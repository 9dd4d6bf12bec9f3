"""Add links to the rows and pages that the status page found: the matches of a URL, and the entries of a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sitemaps_plus.admin.links import MakeUrl, ObjectUrl
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.watch.entries import Item
from sitemaps_plus.watch.section_search import Match


class ShownMatch(NamedTuple):
    """The match of a URL in one section, with its links."""

    match: Match
    section_url: str
    page_url: str
    row_url: str


class ShownItem(NamedTuple):
    """One entry of a page, or one row that is left out, with its link."""

    item: Item
    url: str
    """URL of the row in the admin."""


def shown_matches(matches: Iterable[Match], make_url: MakeUrl, object_url: ObjectUrl) -> list[ShownMatch]:
    """Return the matches of a search with their links."""
    return [
        ShownMatch(
            match,
            make_url("section", match.site.id, match.label) if match.label in registry else "",
            make_url("page", match.site.id, match.label, match.number) if match.number else "",
            "" if match.key is None else object_url(get_section(match.label, match.site), str(match.key)),
        )
        for match in matches
    ]


def shown_items(items: Iterable[Item], section: Section, object_url: ObjectUrl) -> list[ShownItem]:
    """Return the entries of a page with their links."""
    return [ShownItem(item, object_url(section, str(item.key)) if item.pk is not None else "") for item in items]
