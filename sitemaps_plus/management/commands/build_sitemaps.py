"""Build the sitemaps of every site as static files."""

from __future__ import annotations

import getpass
import json
import signal
import sys
import threading
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, DjangoHelpFormatter

from sitemaps_plus.build.due import Due, examine
from sitemaps_plus.build.results import LOCKED, BuildResult, SectionResult
from sitemaps_plus.build.run import build
from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.models import Build as BuildModel
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.sites import chosen_sites
from sitemaps_plus.protocol.reports import PROBLEMS_PER_SECTION
from sitemaps_plus.serve.cached import warm
from sitemaps_plus.stores.cache import is_for_one_process
from sitemaps_plus.watch.alarms import Alarm, Overview, missing_tables, overview
from sitemaps_plus.watch.status import SectionStatus

_BAR = 24

_HELP = """\
Build sitemaps as static files. Pages whose rows changed are rendered and published, then the index; all others stay as
they are. Without labels all sections of all sites are built. A section that fails keeps its last files.

examples:
  manage.py build_sitemaps                         what changed, of all sections of all sites
  manage.py build_sitemaps products --full         every page of one section
  manage.py build_sitemaps --workers auto          several processes, for large sites
  manage.py build_sitemaps --dry-run               what would be rendered, and why
  manage.py build_sitemaps --check                 for monitoring: exit status 1 if anything is stale
  manage.py build_sitemaps --status                how each section is, and what is wrong
  manage.py build_sitemaps --if-locked skip        for cron: a build that is still running is no error

exit status: 0 all was built; 1 something failed or, with --check, is stale; 75 another build of a site is running;
130 or 143 it was stopped by Ctrl-C or SIGTERM, and what it has published is whole.
"""


class Command(BaseCommand):
    """Render the pages that are due of every section to the storage: pages first, the index last."""

    help = _HELP

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """Return the parser, which leaves the examples of the help as they are."""
        return super().create_parser(prog_name, subcommand, formatter_class=_Formatter, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare labels and options."""
        parser.add_argument("labels", nargs="*", metavar="label", help="Sections to build; all of them without any.")
        parser.add_argument(
            "--site",
            action="append",
            default=[],
            dest="sites",
            metavar="ID_OR_DOMAIN",
            help="A site to build, by its id or its domain; all of them without. Can be given several times.",
        )
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--dry-run", action="store_true", help="Say what would be rendered and why; change nothing.")
        what.add_argument(
            "--check", action="store_true", help="Say what is stale, change nothing, and exit with 1 if anything is."
        )
        what.add_argument(
            "--status",
            action="store_true",
            help="Say how each section is and what is wrong; change nothing, and exit with 1 if anything is.",
        )
        parser.add_argument("--full", action="store_true", help="Render every page, not only those that are due.")
        parser.add_argument(
            "--repack", action="store_true", help="Cut the pages anew, under new numbers; the old ones answer 410."
        )
        parser.add_argument(
            "--strict", action="store_true", default=None, help="Fail a section in which a row or a part is left out."
        )
        parser.add_argument(
            "--allow-shrink",
            action="store_true",
            help="Publish also a section that lost most of its URLs, or whose URLs look alike all of a sudden.",
        )
        parser.add_argument(
            "--prune", action="store_true", help="Remove files that no index lists at once, without GRACE_PERIOD."
        )
        parser.add_argument(
            "--if-locked",
            choices=("fail", "wait", "skip"),
            default="fail",
            help="Where another build of the site is running: fail with status 75, wait for it, or skip with status 0.",
        )
        parser.add_argument(
            "--warm-cache",
            action="store_true",
            help="Put what was built into the cache of live pages, so that no request has to render.",
        )
        parser.add_argument(
            "--workers",
            type=_workers,
            default=1,
            metavar="N",
            help='Render pages in N processes, "auto" for one on each core; without it, one process does it all.',
        )
        parser.add_argument(
            "--started-by",
            default="",
            metavar="TEXT",
            help="What the history says of who started the build; the user of the system without it.",
        )
        parser.add_argument("--json", action="store_true", help="Print the report as one JSON object.")
        parser.add_argument(
            "--progress",
            action=BooleanOptionalAction,
            default=None,
            help="Show how far it is; without either, where standard error is a terminal.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Build and report; raise CommandError where anything failed."""
        try:
            looks = next((name for name in ("dry_run", "check", "status") if options[name]), None)
            if looks:
                self._refuse(options, looks, ("repack", "prune", "warm_cache"))
            if looks == "status":
                self._status(options)
            elif looks:
                self._examine(options)
            else:
                self._build(options)
        except SitemapError as error:
            if options["json"]:
                self.stdout.write(json.dumps(_as_json(BuildResult(errors=[str(error)])), indent=2))
            raise CommandError(str(error)) from error

    def _refuse(self, options: dict[str, Any], one: str, others: Sequence[str]) -> None:
        given = [name for name in others if options[name]]
        if given:
            flags = ["--" + name.replace("_", "-") for name in (one, given[0])]
            raise CommandError(f"{flags[0]} changes nothing and does not go with {flags[1]}.", returncode=2)

    def _build(self, options: dict[str, Any]) -> None:
        if options["warm_cache"] and is_for_one_process():
            raise CommandError(
                f"--warm-cache fills a cache that nobody reads: {get_settings().CACHE!r} is of this process alone. "
                'Let SITEMAPS_PLUS["CACHE"] name one that the web server\'s processes share, for example Redis.'
            )
        shows = options["progress"]
        if shows is None:
            shows = self.stderr.isatty() and not options["json"] and options["verbosity"] > 0
        with _signals() as caught:
            _check_tables()
            result = build(
                options["labels"],
                sites=options["sites"],
                full=options["full"],
                repack=options["repack"],
                strict=options["strict"],
                progress=self._progress if shows else self._waiting(options["verbosity"]),
                workers=options["workers"],
                allow_shrink=options["allow_shrink"],
                prune=options["prune"],
                if_locked=options["if_locked"],
                started_by=options["started_by"] or _who(),
                is_stopped=lambda: bool(caught),
            )
            if options["warm_cache"] and not result.is_stopped:
                result.errors += _warm(result, options["sites"])
        if shows:
            self._draw("\r\033[K")
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(result), indent=2))
        elif options["verbosity"] > 0:
            self._report(result)
        self._end(result, options["if_locked"], caught)

    def _end(self, result: BuildResult, if_locked: str, caught: list[int]) -> None:
        failed = [f"{s.site} {s.label}: {s.error}" for s in result.sections if s.error] + result.errors
        if result.is_stopped:
            self.stderr.write("The build was stopped; what it has published is whole, and the next one completes it.")
            sys.exit(128 + (caught[0] if caught else signal.SIGTERM))
        if failed:
            raise CommandError("Not everything was built; the last good files stay.\n" + "\n".join(failed))
        if result.locked and if_locked == "skip":
            self.stderr.write("\n".join(result.locked))
        elif result.locked:
            raise CommandError("\n".join(result.locked), returncode=LOCKED)

    def _examine(self, options: dict[str, Any]) -> None:
        _check_tables()
        found = list(examine(options["labels"], sites=options["sites"], full=options["full"]))
        if options["check"]:
            found = [one for one in found if one.is_stale]
        if options["json"]:
            self.stdout.write(json.dumps({"stale": any(one.is_stale for one in found), "pages": _due_as_json(found)}))
        elif options["verbosity"] > 0:
            for one in found:
                what = f"{one.label} page {one.number}" if one.number else f"{one.label} index".strip()
                self.stdout.write(f"{one.site} {what}: {one.reason}")
            would = "stale" if options["check"] else "would be rendered or removed"
            self.stdout.write(f"{_count(len(found), 'page')} {would}")
        if options["check"] and found:
            raise CommandError(f"{_count(len(found), 'page')} stale: run build_sitemaps.")

    def _status(self, options: dict[str, Any]) -> None:
        if options["labels"]:
            raise CommandError("--status tells of all sections, and does not go with labels.", returncode=2)
        found = overview(options["sites"])
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), indent=2))
        elif options["verbosity"] > 0:
            for site in found.sites:
                for section in site.status.sections:
                    self.stdout.write(_status_line(site.status.site.domain, section))
            for name, alarm in _all_alarms(found):
                style = self.style.ERROR if alarm.level == "error" else self.style.WARNING
                place = " ".join(filter(None, (name, alarm.label)))
                self.stdout.write(style(": ".join(filter(None, (place, alarm.text)))) + f"\n    {alarm.remedy}")
        if not found.is_healthy:
            errors = sum(alarm.level == "error" for _, alarm in _all_alarms(found))
            raise CommandError(f"{_count(errors, 'error')}: see above, or the status page in the admin.")

    def _progress(self, what: str, done: int, known: int) -> None:
        if not known:
            self._draw(f"\r\033[K{what}")
            return
        bar = "#" * (_BAR * done // known)
        self._draw(f"\r\033[K[{bar:<{_BAR}}] {what} page {done} of {known}")

    def _waiting(self, verbosity: int) -> Callable[[str, int, int], None]:
        """Return what says once whom a build waits for."""
        said: set[str] = set()

        def say(what: str, _done: int, known: int) -> None:
            if not known and what not in said and verbosity > 0:
                said.add(what)
                self.stderr.write(what, style_func=str)

        return say

    def _draw(self, text: str) -> None:
        # Not in the colour of errors, which standard error has of its own.
        self.stderr.write(text, style_func=str, ending="")
        self.stderr.flush()

    def _report(self, result: BuildResult) -> None:
        for section in result.sections:
            self.stdout.write(self._line(section))
            for problem in section.report.problems[:PROBLEMS_PER_SECTION]:
                self.stdout.write(f"    {problem.hook} of {problem.key}: {problem.reason}")
        for index in result.indexes:
            self.stdout.write(f"Index: {index}")
        sections = [section for section in result.sections if not section.error]
        rendered, pages = sum(s.rendered for s in sections), sum(s.pages for s in sections)
        self.stdout.write(
            f"{_count(sum(s.urls for s in sections), 'URL')} on {_count(pages, 'page')}: "
            f"{rendered:,} rendered, {sum(s.skipped for s in sections):,} as they were, "
            f"{sum(s.written for s in sections):,} written, "
            f"{_count(sum(s.bytes for s in sections), 'byte')} before gzip, {result.seconds:.1f} s, "
            f"{_count(sum(s.left_out for s in sections), 'row')} left out"
        )

    def _line(self, section: SectionResult) -> str:
        if section.error:
            why = "held back" if section.is_held_back else "stopped" if section.is_stopped else "failed"
            return self.style.ERROR(f"{section.site} {section.label}: {why}")
        counts = f"{_count(section.urls, 'URL')} on {_count(section.pages, 'page')}, {section.rendered:,} rendered"
        left = ", ".join(
            f"{_count(count, what)} {how}"
            for count, what, how in ((section.left_out, "row", "left out"), (section.report.dropped, "part", "dropped"))
            if count
        )
        return f"{section.site} {section.label}: {counts}" + (f", {self.style.WARNING(left)}" if left else "")


class _Formatter(RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Django's help, whose text stays as it is."""


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Give a list that the first Ctrl-C or SIGTERM is put in, so that a build ends between two pages.

    A second one ends it at once. Only the main thread of a process may listen.
    """
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before: dict[signal.Signals, Any] = {}

    def note(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        for one, handler in before.items():
            signal.signal(one, handler)

    for one in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(one) is not signal.SIG_IGN:
            before[one] = signal.signal(one, note)
    try:
        yield caught
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _who() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        # A container may have no name for its user.
        return ""


def _check_tables() -> None:
    if missing := missing_tables(SitemapPage, BuildModel):
        raise CommandError(f"The database lacks tables of sitemaps_plus: {', '.join(missing)}. Run migrate.")


def _workers(text: str) -> int:
    """Return the number of processes; 0 stands for one on each core."""
    if text == "auto":
        return 0
    if not (text.isascii() and text.isdecimal()):
        raise ArgumentTypeError(f'{text!r} is no number of processes: give 1 or more, or "auto" for one on each core.')
    return int(text)


def _warm(result: BuildResult, names: Sequence[str]) -> list[str]:
    """Put what was built into the cache of live pages, and return what failed."""
    errors = []
    for site in chosen_sites(names, lambda _: None):
        built = [section for section in result.sections if section.site == site.domain]
        if built:
            pages = {section.label: section.numbers for section in built if section.urls and not section.error}
            errors += warm(site, pages)
    return errors


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _status_line(site: str, section: SectionStatus) -> str:
    about = "about " if section.is_estimated else ""
    state: str = section.currency
    if section.stale_since:
        state += f" since {section.stale_since:%Y-%m-%d %H:%M %Z}"
    built = f", built {section.built_at:%Y-%m-%d %H:%M %Z}" if section.built_at else ""
    counts = f"{about}{_count(section.urls, 'URL')} on {_count(section.pages, 'page')}"
    return f"{site} {section.label}: {state}, {counts}{built}"


def _all_alarms(found: Overview) -> list[tuple[str, Alarm]]:
    of_sites = [(site.status.site.domain, alarm) for site in found.sites for alarm in site.alarms]
    return [("", alarm) for alarm in found.alarms] + of_sites


def _due_as_json(found: list[Due]) -> list[dict[str, Any]]:
    return [one._asdict() for one in found]


def _as_json(result: BuildResult) -> dict[str, Any]:
    return {
        "complete": result.is_complete,
        "stopped": result.is_stopped,
        "seconds": round(result.seconds, 3),
        "indexes": result.indexes,
        "errors": result.errors,
        "locked": result.locked,
        "sections": [
            {**section.as_json(), "problems": [problem._asdict() for problem in section.report.problems]}
            for section in result.sections
        ],
    }
