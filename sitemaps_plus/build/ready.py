"""The pages of one section, ready to be published: their manifest entries and their files."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sitemaps_plus.build.executors.base import Outcome
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.plan.overrides import PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.protocol.names import Format, page_file
from sitemaps_plus.render.indexes import is_lastmod_ahead, lastmod_of
from sitemaps_plus.stores.manifest import PageEntry, SectionEntry
from sitemaps_plus.stores.packing import formats, make_format
from sitemaps_plus.stores.staging import Staging


@dataclass(slots=True, kw_only=True)
class Ready:
    """The pages of a section, ready to be published."""

    plan: Plan
    pages: Sequence[Page]
    """The pages that the index will list, in their order."""
    outcomes: dict[int, Outcome]
    """The outcomes of the pages that were rendered; the files of all others stay."""
    staging: Staging
    fingerprint: str
    began: datetime
    formats: tuple[Format, ...] = field(init=False)
    is_written: bool = field(init=False)
    """Whether no template of the project has written the pages."""

    def __post_init__(self) -> None:
        """Look once at what is the same for all pages."""
        self.formats = tuple(formats())
        self.is_written = find_override(PAGE, self.plan.section.label) is None

    def entries(self, known: SectionEntry) -> dict[int, PageEntry]:
        """Return the manifest entries of the pages."""
        entries = {}
        shapes = {page.shape: page.shape for page in known.pages.values()}
        for page in self.pages:
            before, start = known.pages.get(page.number), page.record.start_digest or ""
            if before and is_lastmod_ahead(before.lastmod):
                before = before._replace(lastmod=lastmod_of(page))
            if page.number not in self.outcomes:
                entry = before or known.pages[page.number]
                entries[page.number] = entry if entry.start == start else entry._replace(start=start)
                continue
            outcome = self.outcomes[page.number]
            found = outcome.found
            # The date moves only with a change that the page shows.
            is_same = before is not None and before.digest == found["digest"]
            entry = PageEntry(
                digest=found["digest"],
                urls=found["urls"],
                bytes=found["size"],
                lastmod=before.lastmod if before and is_same else lastmod_of(page),
                formats=self.formats,
                left_out=outcome.report.left_out,
                dropped=outcome.report.dropped,
                raised=outcome.report.raised,
                shape=shapes.setdefault(outcome.shape, outcome.shape),
                start=start,
            )
            entries[page.number] = before if before and before == entry else entry
        return entries

    def staged(self, page: Page) -> bytes:
        """Return a rendered page; raise SitemapError where it is no longer as it was rendered."""
        label = self.plan.section.label
        try:
            data = self.staging.read(page_file(label, page.number))
        except FileNotFoundError:
            data = b""
        if zlib.crc32(data) != self.outcomes[page.number].crc:
            raise SitemapError(
                f"Page {page.number} of the sitemap {label!r} was damaged or lost in {self.staging.path}, where it "
                "waited to be published. Build again; if that does not help, set STAGING to another place."
            )
        return data

    def files(self, page: Page) -> dict[str, bytes]:
        """Return the files of a rendered page by name; raise SitemapError where it is no longer as it was rendered."""
        label, data = self.plan.section.label, self.staged(page)
        return {
            page_file(label, page.number, format): make_format(data, format, is_written=self.is_written)
            for format in self.formats
        }
