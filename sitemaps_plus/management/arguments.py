"""The arguments of build_sitemaps, and its help."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, DjangoHelpFormatter

from sitemaps_plus.build.options import Workers, checked_workers

HELP = """\
Build sitemaps as static files. A build renders only the pages that may have changed, publishes them and then
the indexes, and removes files that have long been unlisted. Without labels it builds all sections of all sites. A
section that fails keeps its last files.

examples:
  manage.py build_sitemaps                         build what changed, in all sections of all sites
  manage.py build_sitemaps products --full         build every page of one section
  manage.py build_sitemaps --workers auto          use several processes, for large sites
  manage.py build_sitemaps --dry-run               show what a build would render, and why
  manage.py build_sitemaps --check                 for monitoring: exit with status 1 if anything is stale
  manage.py build_sitemaps --status                show the state of each section, and all problems
  manage.py build_sitemaps --if-locked skip        for cron: another build that is still running is no error

exit status: 0 everything was built; 1 something failed or, with --check, is stale; 75 another build of a site is
running; 130 or 143 Ctrl-C or SIGTERM stopped the build, and the files that it has published are complete.
"""

READ_ONLY = ("dry_run", "check", "status")
"""The options with which the command only reads."""

_WRITING = ("repack", "prune", "warm_cache")

_OF_BUILDS = {
    "strict": None,
    "allow_shrink": False,
    "if_locked": "fail",
    "workers": 1,
    "started_by": "",
    "progress": None,
}
"""The default of each other option that only has an effect in builds."""


class HelpFormatter(RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Django's formatter, except that it does not wrap the description."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the labels and all options to a parser."""
    parser.add_argument("labels", nargs="*", metavar="label", help="Sections to build. Default: all.")
    parser.add_argument(
        "--site",
        action="append",
        default=[],
        dest="sites",
        metavar="ID_OR_DOMAIN",
        help="A site to build, by its id or its domain; may be given several times. Default: all sites.",
    )
    _add_read_only(parser)
    _add_scope(parser)
    _add_running(parser)
    _add_output(parser)


def read_only_option(options: Mapping[str, Any]) -> str | None:
    """Return the option with which the command only reads, if one was given.

    Raises CommandError if an option was given with it that would change something, or that has no effect with it.
    """
    name = next((name for name in READ_ONLY if options[name]), None)
    conflict = next((other for other in _WRITING if options[other]), None)
    if name and conflict:
        raise CommandError(
            f"{_flag(name)} changes nothing, so it cannot be combined with {_flag(conflict)}.", returncode=2
        )
    if name and (useless := _useless(name, options)):
        raise CommandError(
            f"{_flag(useless)} has no effect with {_flag(name)}, which only reads. Leave it out.", returncode=2
        )
    return name


def _useless(name: str, options: Mapping[str, Any]) -> str | None:
    # A dry run shows what a full build would render; a page that is not stale becomes none by that.
    defaults = _OF_BUILDS if name == "dry_run" else {**_OF_BUILDS, "full": False}
    # False is what they do anyway, as --no-progress.
    given = [other for other, default in defaults.items() if options[other] not in (default, False)]
    return next(iter(given), None)


def workers_option(options: Mapping[str, Any]) -> Workers:
    """Return the number of processes; raise CommandError for a wrong one.

    ``call_command()`` does not let argparse check it.
    """
    try:
        return checked_workers(options["workers"])
    except ValueError as error:
        raise CommandError(f"--workers: {error}", returncode=2) from error


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _add_read_only(parser: ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--dry-run", action="store_true", help="Show which pages a build would render, and why. Changes nothing."
    )
    group.add_argument(
        "--check",
        action="store_true",
        help="Show which pages are stale, and exit with status 1 if there are any. Changes nothing.",
    )
    group.add_argument(
        "--status",
        action="store_true",
        help="Show the state of each section and all problems, and exit with status 1 if there is an error. Changes "
        "nothing.",
    )


def _add_scope(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--full", action="store_true", help="Render every page, not only those that are due. Also with --dry-run."
    )
    parser.add_argument(
        "--repack", action="store_true", help="Cut the pages again, under new numbers; the old pages answer 410."
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        default=None,
        help="Fail a section if any of its rows, or a part of a row, is left out.",
    )
    parser.add_argument(
        "--allow-shrink",
        action="store_true",
        help="Publish a section even if it lost most of its URLs, or if its URLs suddenly all look alike.",
    )
    parser.add_argument(
        "--prune",
        action="store_true",
        help="Immediately remove files that no index lists, without waiting for GRACE_PERIOD.",
    )


def _add_running(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--if-locked",
        choices=("fail", "wait", "skip"),
        default="fail",
        help="If another build of the site is running: fail with status 75, wait for it, or skip the site with status "
        "0. Default: fail.",
    )
    parser.add_argument(
        "--warm-cache",
        action="store_true",
        help="Put the published pages into the cache of the views, so that no request has to render them.",
    )
    parser.add_argument(
        "--workers",
        type=_workers,
        default=1,
        metavar="N",
        help='Render pages in N processes; "auto" means one for each core. Default: 1.',
    )
    parser.add_argument(
        "--started-by",
        default="",
        metavar="TEXT",
        help="Who started the build, for the list of builds. Default: the user of the operating system.",
    )


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="Print the report as one JSON object.")
    parser.add_argument(
        "--progress",
        action=BooleanOptionalAction,
        default=None,
        help="Show a progress bar. Default: only if standard error is a terminal.",
    )


def _workers(text: str) -> Workers:
    try:
        return checked_workers(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
