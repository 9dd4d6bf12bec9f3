"""The results and the progress of a build, also as the history keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sitemaps_plus.build.shrink_guard import Objection
from sitemaps_plus.protocol.reports import PROBLEMS_PER_SECTION, Report
from sitemaps_plus.stores.manifest import SectionEntry

LOCKED = 75
"""Exit status where another build holds the lease: EX_TEMPFAIL of sysexits.h, try again later."""

_COUNTS = ("pages", "rendered", "skipped", "written", "urls", "bytes", "left_out")
"""The fields of `SectionResult` that the history keeps, and of which it keeps the sums."""

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
    """The result of one section of one site."""

    site: str
    label: str
    pages: int = 0
    """How many pages the index lists."""
    rendered: int = 0
    """How many pages were rendered, changed or not."""
    verified: int = 0
    """How many of these only to find changes of which the database does not tell."""
    skipped: int = 0
    """How many pages were not rendered."""
    written: int = 0
    """How many pages got new files."""
    numbers: list[int] = field(default_factory=list)
    """The numbers of the listed pages."""
    urls: int = 0
    bytes: int = 0
    """Uncompressed."""
    left_out: int = 0
    """How many rows are on no page, counting also pages that were not rendered now."""
    report: Report
    """The problems of the pages that were rendered now."""
    error: str | None = None
    """Why the section was not published; its files were not changed."""
    unseen: dict[int, int] = field(default_factory=dict)
    """How many URLs of a page had changed although the database told of no change, by number; 0 if unknown."""
    told_by: str = ""
    """The column or hook that tells of changes."""
    is_stopped: bool = False
    """Whether it was not published because the build was stopped."""
    objection: Objection | None = None
    """Why the shrink guard held the section back; ``allow_shrink`` would publish it."""

    @property
    def is_held_back(self) -> bool:
        """Whether the shrink guard held the section back."""
        return self.objection is not None

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
        self.left_out = sum(page.left_out for page in known.pages.values())

    def as_json(self) -> dict[str, Any]:
        """Return the result for JSON, without the problems of single rows."""
        return {
            "site": self.site,
            "label": self.label,
            **{name: getattr(self, name) for name in _COUNTS},
            "verified": self.verified,
            "dropped": self.report.dropped,
            "warnings": self.report.warned,
            "unseen": {str(number): count for number, count in self.unseen.items()},
            "error": self.error,
            "held_back": self.is_held_back,
            "stopped": self.is_stopped,
        }


@dataclass(slots=True, kw_only=True)
class BuildResult:
    """The result of a build."""

    sections: list[SectionResult] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """Errors that are not of one section: of an index, of a site."""
    indexes: list[str] = field(default_factory=list)
    """The path of the index of each site."""
    locked: list[str] = field(default_factory=list)
    """Why a site was not built: the texts that name the build that holds its lease."""
    tracebacks: dict[str, str] = field(default_factory=dict)
    """The traceback of each unexpected error, by the text of the error in `errors` or in a section."""
    is_stopped: bool = False
    """Whether the build was stopped before its end."""
    seconds: float = 0.0

    def of_site(self, domain: str) -> dict[str, Any]:
        """Return the fields of ``Build`` that the history keeps of one site."""
        sections = [section for section in self.sections if section.site == domain]
        kept = [
            {
                **section.as_json(),
                "objection": section.objection and section.objection._asdict(),
                "problems": [problem.as_list() for problem in section.report.problems[:PROBLEMS_PER_SECTION]],
            }
            for section in sections
        ]
        return {**totals(sections), "sections": kept}

    @property
    def is_complete(self) -> bool:
        """Whether everything was published."""
        is_through = not (self.errors or self.locked or self.is_stopped)
        return is_through and all(section.error is None for section in self.sections)


def totals(sections: Iterable[SectionResult]) -> dict[str, int]:
    """Return the sums of the counts of sections; those that were not published count with what is published."""
    found = list(sections)
    return {name: sum(getattr(section, name) for section in found) for name in _COUNTS}
