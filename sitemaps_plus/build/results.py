"""The results and the progress of a build, also as the history keeps them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sitemaps_plus.protocol.reports import PROBLEMS_PER_SECTION, Report
from sitemaps_plus.stores.manifest import SectionEntry

LOCKED = 75
"""Exit status where another build holds the lease: EX_TEMPFAIL of sysexits.h, try again later."""


_PROGRESS = re.compile(r"(?P<label>.*): (?P<done>[0-9,]+) / (?P<known>[0-9,]+)")


class BuildProgress(NamedTuple):
    """How many pages of a section are rendered, and how many are known to be due."""

    label: str
    done: int
    known: int

    def as_text(self) -> str:
        """Return the text that the history keeps while a build runs."""
        return f"{self.label}: {self.done:,} / {self.known:,}"

    @classmethod
    def from_text(cls, text: str) -> BuildProgress | None:
        """Return the progress that `as_text` wrote; None for any other text."""
        if found := _PROGRESS.fullmatch(text):
            return cls(found["label"], *(int(found[name].replace(",", "")) for name in ("done", "known")))
        return None


@dataclass(slots=True, kw_only=True)
class SectionResult:
    """What became of one section of one site."""

    site: str
    label: str
    pages: int = 0
    """Pages that are listed."""
    rendered: int = 0
    """Pages that were made, and perhaps found unchanged."""
    skipped: int = 0
    """Pages that are as they were."""
    written: int = 0
    """Pages whose files were replaced."""
    numbers: list[int] = field(default_factory=list)
    """The pages that are listed."""
    urls: int = 0
    bytes: int = 0
    """Uncompressed."""
    left_out: int = 0
    """Rows that are on no page, also of pages that were not made now."""
    report: Report
    """What was left out of the pages that were made now."""
    error: str | None = None
    """Why the section was not published; its files stay as they were."""
    is_stopped: bool = False
    """Whether it was not built because the build was asked to stop."""
    is_held_back: bool = False
    """Whether only ``allow_shrink`` is missing."""

    def count_page(self, urls: int, size: int) -> None:
        """Add a listed page."""
        self.pages += 1
        self.urls += urls
        self.bytes += size

    def keep_published(self, error: str, known: SectionEntry) -> None:
        """Note why the section was not published, and the pages that stay listed."""
        self.error = error
        self.pages, self.numbers, self.urls = len(known.pages), list(known.pages), known.urls
        self.bytes = sum(page.bytes for page in known.pages.values())

    def as_json(self) -> dict[str, Any]:
        """Return what JSON can hold, without the problems of single rows."""
        return {
            "site": self.site,
            "label": self.label,
            "pages": self.pages,
            "rendered": self.rendered,
            "skipped": self.skipped,
            "written": self.written,
            "urls": self.urls,
            "bytes": self.bytes,
            "left_out": self.left_out,
            "dropped": self.report.dropped,
            "warnings": self.report.warned,
            "error": self.error,
            "held_back": self.is_held_back,
        }


@dataclass(slots=True, kw_only=True)
class BuildResult:
    """What a build did."""

    sections: list[SectionResult] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """What failed beside the sections: an index, a site."""
    indexes: list[str] = field(default_factory=list)
    """Where the index of each site is."""
    locked: list[str] = field(default_factory=list)
    """The sites that another build was building."""
    is_stopped: bool = False
    """Whether the build was asked to stop before it was through."""
    seconds: float = 0.0

    def of_site(self, domain: str) -> dict[str, Any]:
        """Return what is kept of the build of one site, by the names of the fields of ``Build``."""
        sections = [section for section in self.sections if section.site == domain]
        counts = {
            name: sum(getattr(section, name) for section in sections)
            for name in ("pages", "rendered", "skipped", "written", "urls", "bytes", "left_out")
        }
        kept = [
            {
                **section.as_json(),
                "problems": [problem.as_list() for problem in section.report.problems[:PROBLEMS_PER_SECTION]],
            }
            for section in sections
        ]
        return {**counts, "sections": kept}

    @property
    def is_complete(self) -> bool:
        """Whether everything was published."""
        is_through = not (self.errors or self.locked or self.is_stopped)
        return is_through and all(section.error is None for section in self.sections)
