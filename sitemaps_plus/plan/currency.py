"""Compare the built file of a page with what rendering would give, as far as that is known without rendering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sitemaps_plus.declare.registry import registry
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.pages import Plan
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.validators import Fingerprint, is_ahead, moment
from sitemaps_plus.stores.manifest import Manifest, SectionEntry


class Reason(NamedTuple):
    """Why the built file of a page is not, or may not be, what rendering would give."""

    text: str
    is_stale: bool = True
    """False where the file may still be what rendering would give."""


NEVER_BUILT = Reason("it was never built")
FILE_MISSING = Reason("its file or its manifest entry is missing")
FILE_UNFINISHED = Reason("one of its files is missing, or was not finished")
ORIGIN_CHANGED = Reason("its origin or URL prefix changed")
CONTENT_CHANGED = Reason("its content changed since the build")
SECTION_CHANGED = Reason("rows of the section changed")
RECIPE_CHANGED = Reason("its Sitemap class, a URL pattern, a template or a setting changed")
NO_URLS = Reason("it has no URLs any more")
UNDECIDED = Reason("only rendering tells whether it changed", is_stale=False)


class CurrencyCheck:
    """The one answer to whether built files of a section are current.

    `fingerprint` is what `fingerprint_of` says of the section now; only pages by position need it.
    """

    def __init__(self, section: Section, fingerprint: Fingerprint | None = None) -> None:
        self.section = section
        self.fingerprint = fingerprint or Fingerprint()
        # Once for all pages: computing them takes longer than all comparisons.
        self._recipe, self._base = section.recipe, section.base

    def why_not_current(self, record: SitemapPage, known: SectionEntry | None) -> Reason | None:
        """Return why the built file of a page is not current, or None where it is.

        `known` is the manifest entry of the section; None where nobody has read the manifest, so that only the database
        is asked.
        """
        is_by_position = self.section.paged_by == "position"
        page = known.pages.get(record.number) if known else None
        if not record.built_digest:
            return NEVER_BUILT
        if known and page is None:
            return FILE_MISSING
        if page and not page.formats:
            return FILE_UNFINISHED
        if record.origin != self._base:
            return ORIGIN_CHANGED
        if not record.digest or record.digest != record.built_digest or (page and page.digest != record.digest):
            return CONTENT_CHANGED
        # A manifest that was made again from the files knows no fingerprint.
        is_known = known and not (page and page.is_recovered)
        if is_by_position and known and is_known and self.fingerprint.text not in ("", known.fingerprint):
            return SECTION_CHANGED
        if record.recipe != self._recipe or record.urls is None:
            return RECIPE_CHANGED
        # Pages by position keep their digest when a row changes: only the manifest has the fingerprint of that time.
        if not self.is_decided(record) or (is_by_position and not known):
            return UNDECIDED
        return None

    def is_decided(self, record: SitemapPage, rendered_at: float | None = None) -> bool:
        """Return whether the database tells of every change since a rendering, if that moves ``changed``.

        `rendered_at` is in seconds since 1970; without it the last recorded rendering is meant.
        """
        is_by_position = self.section.paged_by == "position"
        settles_at = self.fingerprint.settles_at if is_by_position else record.settles_at
        # A window moves with the clock.
        if self.section.is_windowed or settles_at is None:
            return False
        if rendered_at is None:
            recorded = record.verified_at or record.built_at
            # By a clock that was wrong, nobody knows when.
            rendered_at = moment(recorded).timestamp() if recorded and not is_ahead(recorded) else 0.0
        return rendered_at >= moment(settles_at).timestamp()


def unlisted(plan: Plan, known: SectionEntry) -> Iterator[int]:
    """Yield the published pages that the plan no longer lists: they are stale because they have `NO_URLS`."""
    listed = {page.number for page in plan.listed}
    return (number for number in known.pages if number not in listed)


def unregistered(manifest: Manifest) -> dict[str, int]:
    """Return the published sections that are no longer registered, and how many URLs each has."""
    return {label: section.urls for label, section in manifest.sections.items() if label not in registry}
