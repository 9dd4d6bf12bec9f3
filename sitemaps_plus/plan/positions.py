"""Count the rows of the pages of a section that is paged by position."""

from __future__ import annotations

from django.db.models import QuerySet

from sitemaps_plus.plan.sections import Section


def sizes_of(section: Section) -> list[int | None]:
    """Return how many rows each page has; None for each page of a class that makes its URLs itself."""
    if section.makes_its_urls:
        return [None] * section.sitemap.paginator.num_pages
    items = section.slice()
    count = items.count() if isinstance(items, QuerySet) else len(items)
    full, rest = divmod(count, section.urls_limit)
    return [*[section.urls_limit] * full, *([rest] if rest or not full else [])]
