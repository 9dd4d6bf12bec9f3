"""Build the sitemaps of every site as static files."""

from __future__ import annotations

import getpass
import json
import logging
import signal
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sitemaps_plus.build.console import without_repeats
from sitemaps_plus.build.due import examine
from sitemaps_plus.build.results import LOCKED, BuildResult
from sitemaps_plus.build.run import build
from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.management import arguments, reports
from sitemaps_plus.models import Build as BuildModel
from sitemaps_plus.models import SitemapPage, missing_tables
from sitemaps_plus.plan.sites import chosen_sites
from sitemaps_plus.serve.cached import warm
from sitemaps_plus.stores.cache import is_for_one_process
from sitemaps_plus.stores.files import get_store, has_own_storage
from sitemaps_plus.watch.alarms import overview

_PASSED_ON = ("sites", "full", "repack", "strict", "workers", "allow_shrink", "prune", "if_locked")
"""The options of the command that are options of `build`."""


class Command(BaseCommand):
    """Run a build, or report what one would do, and turn the result into output and an exit status."""

    help = arguments.HELP

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """Return the parser; its formatter keeps the line breaks of the examples, and options are written out."""
        kwargs = {"formatter_class": arguments.HelpFormatter, "allow_abbrev": False, **kwargs}
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare labels and options."""
        arguments.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Build and report; raise CommandError if anything failed."""
        name = arguments.read_only_option(options)
        options["workers"] = arguments.workers_option(options)
        try:
            if name == "status":
                self._show_status(options)
            elif name:
                self._show_due(options)
            else:
                self._build(options)
        except SitemapError as error:
            if options["json"]:
                self._write_json(reports.build_json(BuildResult(errors=[str(error)])))
            raise CommandError(str(error)) from error

    # Build

    def _build(self, options: dict[str, Any]) -> None:
        if options["warm_cache"]:
            _check_cache()
        bar = reports.ProgressBar(self.stderr) if self._shows_bar(options) else None
        # At verbosity 0 the errors are printed, and the rows are not.
        is_silent = not options["json"] and options["verbosity"] == 0
        with _catch_signals() as caught, without_repeats(logging.ERROR if is_silent else logging.WARNING):
            _check_tables()
            is_first = not has_own_storage() and get_store().is_empty()
            result = self._run(options, bar, caught)
            if options["warm_cache"] and not result.is_stopped:
                result.errors += _warm(result, options["sites"])
        if bar:
            bar.clear()
        if options["json"]:
            self._write_json(reports.build_json(result))
        elif options["verbosity"] > 0:
            self._write_lines(reports.build_lines(result, self.style))
            if is_first and result.indexes:
                self._write_lines(reports.default_storage_lines(get_store()))
        self._end(result, options["if_locked"], caught)

    def _run(self, options: dict[str, Any], bar: reports.ProgressBar | None, caught: list[int]) -> BuildResult:
        progress: Callable[[str, int, int], None] | None = bar
        if bar is None and options["verbosity"] > 0:
            progress = reports.WaitNotice(self.stderr)
        return build(
            options["labels"],
            **{name: options[name] for name in _PASSED_ON},
            progress=progress,
            started_by=options["started_by"] or _user(),
            is_stopped=lambda: bool(caught),
        )

    def _shows_bar(self, options: dict[str, Any]) -> bool:
        if options["progress"] is not None:
            return bool(options["progress"])
        return self.stderr.isatty() and not options["json"] and options["verbosity"] > 0

    def _end(self, result: BuildResult, if_locked: str, caught: list[int]) -> None:
        """Exit with the status of a build that was stopped, failed or found a site locked."""
        failed = reports.failure_lines(result)
        if result.is_stopped:
            self.stderr.write("The build was stopped. Its published files are complete; the next build does the rest.")
            sys.exit(128 + (caught[0] if caught else signal.SIGTERM))
        if failed:
            raise CommandError("Not everything was built; what failed keeps its last good files.\n" + "\n".join(failed))
        if result.locked and if_locked == "skip":
            self.stderr.write("\n".join(result.locked))
        elif result.locked:
            raise CommandError("\n".join(result.locked), returncode=LOCKED)

    # Only read

    def _show_due(self, options: dict[str, Any]) -> None:
        _check_tables()
        is_check = options["check"]
        found = list(examine(options["labels"], sites=options["sites"], full=options["full"]))
        stale = [due for due in found if due.is_stale]
        if options["json"]:
            self.stdout.write(json.dumps(reports.due_json(found, is_check=is_check)))
        elif options["verbosity"] > 0:
            self._write_lines(reports.due_lines(found, is_check=is_check))
        if is_check and stale:
            raise CommandError(f"{reports.count_stale(stale)}: run build_sitemaps.")

    def _show_status(self, options: dict[str, Any]) -> None:
        if options["labels"]:
            raise CommandError(
                "--status always shows all sections, so it cannot be combined with labels.", returncode=2
            )
        found = overview(options["sites"])
        if options["json"]:
            self._write_json(found.as_json())
        elif options["verbosity"] > 0:
            self._write_lines(reports.status_lines(found, self.style))
        if not found.is_healthy:
            errors = reports.count(reports.count_errors(found), "error")
            raise CommandError(f"{errors}: see above, or the status page in the admin.")

    def _write_lines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.stdout.write(line)

    def _write_json(self, value: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(value, indent=2))


@contextmanager
def _catch_signals() -> Iterator[list[int]]:
    """Give a list that receives the first Ctrl-C or SIGTERM, so that a build ends between two pages.

    A second one ends the process immediately. Only the main thread of a process can catch signals.
    """
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before: dict[signal.Signals, Any] = {}

    def restore() -> None:
        for one, handler in before.items():
            signal.signal(one, handler)

    def catch(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        restore()

    for one in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(one) is not signal.SIG_IGN:
            before[one] = signal.signal(one, catch)
    try:
        yield caught
    finally:
        restore()


def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        # The user of a container may have no name.
        return ""


def _check_tables() -> None:
    if missing := missing_tables(SitemapPage, BuildModel):
        raise missing


def _check_cache() -> None:
    if is_for_one_process():
        raise CommandError(
            f"--warm-cache would fill a cache that only this process reads: {get_settings().CACHE!r}. "
            'Set SITEMAPS_PLUS["CACHE"] to one that the processes of the web server share, for example Redis.'
        )


def _warm(result: BuildResult, names: Sequence[str]) -> list[str]:
    """Put what was built into the cache of the views, and return the errors."""
    errors = []
    for site in chosen_sites(names, lambda _: None):
        built = [section for section in result.sections if section.site == site.domain]
        if built:
            pages = {section.label: section.numbers for section in built if section.urls and not section.error}
            errors += warm(site, pages)
    return errors
