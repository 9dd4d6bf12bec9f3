"""Build the sitemaps of every site as static files."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sitemaps_plus.build import BuildResult, SectionResult, build
from sitemaps_plus.errors import NoOrigin, PageNotFound

_BAR = 24


class Command(BaseCommand):
    """Render every page of every section to the storage: pages first, the index last."""

    help = (
        "Build sitemaps as static gzip files. Without labels all sections of all sites are built. A section that "
        "fails keeps its last files, and the exit status is 1. Example: manage.py build_sitemaps products news"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare labels and options."""
        parser.add_argument("labels", nargs="*", metavar="label", help="Sections to build; all of them without any.")
        parser.add_argument("--json", action="store_true", help="Print the report as one JSON object.")
        parser.add_argument(
            "--repack", action="store_true", help="Cut the pages anew, under new numbers; the old ones answer 410."
        )
        parser.add_argument(
            "--strict", action="store_true", default=None, help="Fail a section in which a row or a part is left out."
        )
        parser.add_argument(
            "--workers",
            type=_workers,
            default=1,
            metavar="N",
            help='Render pages in N processes, "auto" for one on each core; without it, one process does it all.',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Build and report; raise CommandError (exit status 1) where anything failed."""
        shows = self.stderr.isatty() and not options["json"] and options["verbosity"] > 0
        try:
            result = build(
                options["labels"],
                repack=options["repack"],
                strict=options["strict"],
                progress=self._progress if shows else None,
                workers=options["workers"],
            )
        except (PageNotFound, NoOrigin) as error:
            if options["json"]:
                self.stdout.write(json.dumps(_as_json(BuildResult(errors=[str(error)])), indent=2))
            raise CommandError(str(error)) from error
        if shows:
            self._draw("\r\033[K")
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(result), indent=2))
        elif options["verbosity"] > 0:
            self._report(result)
        if not result.is_complete:
            failed = [f"{s.site} {s.label}: {s.error}" for s in result.sections if s.error] + result.errors
            raise CommandError("Not everything was built; the last good files stay.\n" + "\n".join(failed))

    def _progress(self, what: str, done: int, known: int) -> None:
        bar = "#" * (_BAR * done // max(known, 1))
        self._draw(f"\r\033[K[{bar:<{_BAR}}] {what} page {done} of {known}")

    def _draw(self, text: str) -> None:
        # Not in the colour of errors, which standard error has of its own.
        self.stderr.write(text, style_func=str, ending="")
        self.stderr.flush()

    def _report(self, result: BuildResult) -> None:
        for section in result.sections:
            self.stdout.write(self._line(section))
            for problem in section.report.problems[:5]:
                self.stdout.write(f"    {problem.hook} of {problem.key}: {problem.reason}")
        for index in result.indexes:
            self.stdout.write(f"Index: {index}")
        sections = [section for section in result.sections if not section.error]
        self.stdout.write(
            f"{_count(sum(s.urls for s in sections), 'URL')} on {_count(sum(s.pages for s in sections), 'page')}, "
            f"{_count(sum(s.bytes for s in sections), 'byte')} before gzip, {result.seconds:.1f} s, "
            f"{_count(sum(s.report.left_out for s in sections), 'row')} left out"
        )

    def _line(self, section: SectionResult) -> str:
        if section.error:
            return self.style.ERROR(f"{section.site} {section.label}: failed")
        counts = f"{_count(section.urls, 'URL')} on {_count(section.pages, 'page')}"
        report = section.report
        left = ", ".join(
            f"{_count(count, what)} {how}"
            for count, what, how in ((report.left_out, "row", "left out"), (report.dropped, "part", "dropped"))
            if count
        )
        return f"{section.site} {section.label}: {counts}" + (f", {self.style.WARNING(left)}" if left else "")


def _workers(text: str) -> int:
    """Return the number of processes; 0 stands for one on each core."""
    if text == "auto":
        return 0
    if not (text.isascii() and text.isdecimal()):
        raise ArgumentTypeError(f'{text!r} is no number of processes: give 1 or more, or "auto" for one on each core.')
    return int(text)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _as_json(result: BuildResult) -> dict[str, Any]:
    return {
        "complete": result.is_complete,
        "seconds": round(result.seconds, 3),
        "indexes": result.indexes,
        "errors": result.errors,
        "sections": [
            {
                "site": section.site,
                "label": section.label,
                "pages": section.pages,
                "urls": section.urls,
                "bytes": section.bytes,
                "left_out": section.report.left_out,
                "dropped": section.report.dropped,
                "warnings": section.report.warned,
                "problems": [problem._asdict() for problem in section.report.problems],
                "error": section.error,
            }
            for section in result.sections
        ],
    }
