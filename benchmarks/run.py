"""Measure sitemaps_plus, django.contrib.sitemaps, other packages and the floor: ``python benchmarks/run.py``.

Every measurement is a process of its own; the tasks of one run follow each other, then comes the next run, so that
all of them meet the same weather. Shown are medians, as Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bars import SHORT, Figures, bar_lines, cpu, memory_lines, other_lines
from tasks import TASKS, Task

HERE = Path(__file__).parent
POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"
PACKAGES = ("Django", "isal", "psycopg", "django-icv-sitemaps", "django-sitemaps")

SHORT_TASKS = (
    "index, plan checked",
    "page 1, checked",
    "all pages, contrib, no gzip",
    "build, zlib",
    "build, fast",
    "build, fast, nothing changed",
    "build, fast, one row changed",
    "floor, zlib",
    "floor, fast",
)
"""What the short form measures."""

MANY = (100, 2_000, 20_000)
"""Numbers of small pages that are built; the short form leaves the last one out."""

COMPARED = 100_000
"""Largest number of rows for which the output of all projects is compared first."""

Run = dict[str, float]


class Failed(Exception):
    """A process ended with an error; the message is the last line of its output."""


class Differs(Exception):
    """Two projects do not list the same URLs, so their costs cannot be compared."""


def main() -> None:
    """Create the data, measure, and print tables."""
    options = parse()
    left_out: dict[str, str] = {}
    memory: dict[str, dict[int, Figures]] = defaultdict(dict)
    print(f"{machine()}\n")
    for rows in options.rows:
        for database in databases(options.database, left_out):
            say(f"{rows:,} rows, {database}: data")
            environment = {**os.environ, "BENCH_ROWS": str(rows), "BENCH_DATABASE": database}
            load(environment, left_out)
            if rows <= COMPARED and not options.only:
                compare(environment, left_out)
            names = [name for name in options.only or TASKS if is_for(TASKS[name], rows, left_out)]
            found = medians(measure(names, options.runs, environment, left_out))
            report(rows, database, found)
            memory[database][rows] = found
    for database, sizes in memory.items():
        report_memory(database, sizes)
    if "sqlite" in options.database and (options.short or not options.only):
        print("## Pages of ten rows, sqlite\n")
        print(call(["bookkeeping.py", "--pages", *map(str, MANY[: 2 if options.short else None])], {**os.environ}))
    for what, reason in left_out.items():
        print(f"Left out: {what}: {reason}")


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = [10_000, 100_000, 1_000_000]
    parser.add_argument("--rows", nargs="+", type=int, default=sizes, help="Sizes; 10000000 only on request.")
    parser.add_argument("--runs", type=int, default=3, help="How often each task is measured.")
    parser.add_argument(
        "--database",
        nargs="+",
        choices=["sqlite", "postgres"],
        default=["sqlite", "postgres"],
        help="PostgreSQL on this machine is found by POSTGRES_URL.",
    )
    parser.add_argument("--only", nargs="+", choices=TASKS, metavar="TASK", help=f"Some of: {'; '.join(TASKS)}.")
    parser.add_argument("--short", action="store_true", help=f"Builds of {SHORT:,} rows, once: two minutes.")
    options = parser.parse_args()
    if options.short:
        options.rows, options.runs, options.only = [SHORT], 1, options.only or SHORT_TASKS
    return options


def databases(wanted: Sequence[str], left_out: dict[str, str]) -> Iterator[str]:
    """Yield the databases that answer."""
    for name in dict.fromkeys(wanted):
        if name == "postgres" and not answers(os.environ.get("POSTGRES_URL", POSTGRES)):
            left_out["PostgreSQL"] = "nothing answers at POSTGRES_URL; it must run on this machine"
        else:
            yield name


def answers(url: str) -> bool:
    """Return whether a server listens at the address of a database URL."""
    host, _, port = url.rpartition("@")[2].partition("/")[0].partition(":")
    try:
        socket.create_connection((host, int(port or 5432)), timeout=5).close()
    except OSError:
        return False
    return True


def is_for(task: Task, rows: int, left_out: dict[str, str]) -> bool:
    """Return whether a task is run with so many rows and its package is installed."""
    return task.peer not in left_out and task.rows[0] <= rows <= task.rows[1]


def load(environment: dict[str, str], left_out: dict[str, str]) -> None:
    """Create tables and rows; leave out a package whose tables cannot be created."""
    call(["load.py"], {**environment, "BENCH_SIDE": "plus"})
    attempt("django-icv-sitemaps", left_out, partial(call, ["load.py"], {**environment, "BENCH_SIDE": "icv"}))


def compare(environment: dict[str, str], left_out: dict[str, str]) -> None:
    """Raise Differs unless the first pages of all projects list the same."""
    found: dict[str, dict[str, str]] = defaultdict(dict)

    def look(side: str) -> None:
        for name, where, digest in json.loads(call(["check.py", side], environment)):
            found[name][where] = digest

    look("plus")
    look("contrib")
    attempt("django-icv-sitemaps", left_out, partial(look, "icv"))
    attempt("django-sitemaps", left_out, partial(look, "lxml"))
    for name, digests in found.items():
        if len(set(digests.values())) > 1:
            raise Differs(f"The sides do not list the same {name}: {digests}")
        say(f"{len(digests)} sides list the same {name}: {next(iter(digests.values()))}")


def measure(
    names: Sequence[str], runs: int, environment: dict[str, str], left_out: dict[str, str]
) -> dict[str, list[Run]]:
    """Return the cost of each run of each task."""
    found: dict[str, list[Run]] = defaultdict(list)

    def once(name: str) -> None:
        found[name].append(json.loads(call(["measure.py", name], environment)))

    for number in range(1, runs + 1):
        for name in names:
            say(f"run {number} of {runs}: {name}")
            if peer := TASKS[name].peer:
                attempt(peer, left_out, partial(once, name))
            else:
                once(name)
    return {name: costs for name, costs in found.items() if TASKS[name].peer not in left_out}


def attempt(peer: str, left_out: dict[str, str], work: Callable[[], object]) -> None:
    """Run a task of another package; once it has failed, do not run it again."""
    if peer in left_out:
        return
    try:
        work()
    except Failed as error:
        left_out[peer] = str(error)


def call(arguments: Sequence[str], environment: dict[str, str]) -> str:
    """Run a script of this folder and return what it prints."""
    script, *rest = arguments
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, HERE / script, *rest], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        say(done.stderr)
        raise Failed((done.stderr.strip().splitlines() or ["no word"])[-1])
    return done.stdout


def medians(found: dict[str, list[Run]]) -> dict[str, Run]:
    """Return the median of each figure of each task."""
    return {name: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for name, runs in found.items()}


def report(rows: int, database: str, found: dict[str, Run]) -> None:
    """Print the tables of one size in one database."""
    print(f"## {rows:,} rows, {database}\n")
    head = ("work", "CPU s", "of it server", "wall s", "memory, MB", "queries", "MB out")
    table(head, (figures(name, one) for name, one in found.items()), numbers=6)
    table(("work", "bar", "measured", "met"), bar_lines(rows, database, found))
    table(("CPU of the first / of the second", "the first takes"), other_lines(rows, database, found))


def report_memory(database: str, sizes: Mapping[int, Figures]) -> None:
    """Print how memory grows with the table, if more than one size was measured."""
    if len(sizes) > 1:
        print(f"## Memory above start, MB, {database}\n")
        table(("work", *(f"{rows:,} rows" for rows in sizes)), memory_lines(sizes), numbers=len(sizes))


def figures(name: str, one: Run) -> tuple[str, ...]:
    """Return a line of the first table."""
    return (
        name,
        f"{cpu(one):.3f}",
        f"{one['server']:.3f}" if one["server"] else "",
        f"{one['wall']:.3f}",
        f"{one['memory']:.1f}",
        f"{one['queries']:.0f}",
        f"{one['bytes'] / 1e6:.2f}",
    )


def table(head: Sequence[str], lines: Iterator[Sequence[str]], *, numbers: int = 0) -> None:
    """Print a Markdown table, the last `numbers` columns to the right; nothing for no lines."""
    lines = list(lines)
    if not lines:
        return
    rules = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    print(f"| {' | '.join(head)} |\n|{'|'.join(rules)}|")
    print("".join(f"| {' | '.join(line)} |\n" for line in lines), flush=True)


def machine() -> str:
    """Return date, machine and versions."""
    parts = [datetime.now(UTC).date().isoformat(), processor(), f"{os.cpu_count()} cores"]
    return ", ".join([*parts, f"Python {platform.python_version()}", *versions()])


def processor() -> str:
    """Return the name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def versions() -> Iterator[str]:
    """Yield the versions of the packages."""
    for name in PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"no {name}"


def say(text: str) -> None:
    """Print progress to standard error, apart from the tables."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
