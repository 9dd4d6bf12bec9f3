"""Measure what a build costs apart from rendering, a page: ``python benchmarks/bookkeeping.py``.

Pages of ten rows, so that there are many. The CPU of rendering them is measured as well and taken off; what is left is
planning, checking, recording and publishing. Prints a Markdown table, for SQLite.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

LABEL = "small"
ROWS_PER_PAGE = 10
SIZES = (100, 2_000, 20_000)
MODES = ("first", "full", "unchanged")


class Cost(NamedTuple):
    """What one build costs."""

    own: float
    """CPU seconds without rendering."""
    memory: float
    """Peak above start, in MB."""


def main(sizes: list[int]) -> None:
    """Measure each size, every build in a process of its own, and print the table."""
    print(
        "| pages | first build, CPU ms a page | full | unchanged | memory above start, MB: first | full | unchanged |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for pages, costs in measured(sizes):
        own = " | ".join(f"{1000 * cost.own / pages:.2f}" for cost in costs)
        memory = " | ".join(f"{cost.memory:.1f}" for cost in costs)
        print(f"| {pages:,} | {own} | {memory} |", flush=True)


def measured(sizes: list[int]) -> Iterator[tuple[int, list[Cost]]]:
    """Yield the cost of each build of so many pages."""
    for pages in sizes:
        environment = {**os.environ, "BENCH_ROWS": str(pages * ROWS_PER_PAGE), "BENCH_DATABASE": "sqlite"}
        subprocess.run([sys.executable, HERE / "load.py"], env=environment, check=True)  # noqa: S603 - ourselves
        costs = []
        for mode in MODES:
            command = [sys.executable, __file__, "--build", mode]
            found = subprocess.run(  # noqa: S603 - ourselves
                command, env=environment, check=True, stdout=subprocess.PIPE
            )
            costs.append(Cost(*json.loads(found.stdout)))
        yield pages, costs


def measure(mode: str) -> Cost:
    """Build in this process: for the first time, all pages again, or with nothing changed."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
    import django

    django.setup()

    from measure import _cpu, _forget_peak, _memory
    from shop.sitemaps import ProductSitemap
    from sitemaps_plus import register
    from sitemaps_plus.build import build
    from sitemaps_plus.models import SitemapPage
    from tasks import remove_all

    # Of this age, no page is verified.
    register(LABEL, type("SmallPages", (ProductSitemap,), {"limit": ROWS_PER_PAGE, "max_age": 86_400}))
    build(["few-products"])
    if mode == "first":
        SitemapPage.objects.filter(label=LABEL).delete()
        remove_all()
    rendering = _Clock()
    rendering.watch()
    _forget_peak()
    cpu, memory = _cpu(), _memory("VmRSS")
    result = build([LABEL], full=mode == "full")
    cpu = _cpu() - cpu
    made = result.sections[0].rendered
    if not result.is_complete or (made == 0) != (mode == "unchanged"):
        raise RuntimeError(f"{made} pages were made: {result}")
    return Cost(cpu - rendering.seconds, _memory("VmHWM") - memory)


class _Clock:
    """The CPU seconds that rendering takes."""

    seconds = 0.0

    def watch(self) -> None:
        """Measure every rendering from now on."""
        from sitemaps_plus.build.executors import base

        render = base.render_as_planned

        def timed(*args, **options):
            began = time.process_time()
            try:
                return render(*args, **options)
            finally:
                self.seconds += time.process_time() - began

        base.render_as_planned = timed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", nargs="+", type=int, default=list(SIZES), help="How many pages the section has.")
    parser.add_argument("--build", choices=MODES, help="Only measure this build, in this process.")
    options = parser.parse_args()
    if options.build:
        print(json.dumps(measure(options.build)))
    else:
        main(options.pages)
