"""Measure sitemaps_plus beside django.contrib.sitemaps and beside the floor: ``python benchmarks/run.py``.

Every measurement is a process of its own, three runs each, interleaved; shown are medians. CPU is user and system time,
memory the peak above what the process holds before the work starts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")


def fetch(path: str) -> int:
    """Get a URL through the whole of Django and return the bytes received."""
    from django.test import Client

    response = Client().get(path)
    assert response.status_code == 200, (path, response.status_code)  # noqa: S101
    return len(response.getvalue())


def plan() -> int:
    """Forget the plan, then get the index: cuts all pages."""
    from sitemaps_plus.models import SitemapPage

    SitemapPage.objects.all().delete()
    return fetch("/sitemap-products.xml")


def build() -> int:
    """Build all pages of the declared section as files."""
    from sitemaps_plus.build import build as build_files

    result = build_files(["products"])
    assert result.is_complete, result  # noqa: S101
    return sum(section.bytes for section in result.sections)


def build_objects() -> int:
    """Build all pages of Django's own class, registered as it is."""
    from sitemaps_plus.build import build as build_files

    return sum(section.bytes for section in build_files(["objects"]).sections)


def contrib_all() -> int:
    """Get every page from Django's own view."""
    from shop.models import Product

    pages = -(-Product.objects.count() // 50_000)
    return sum(fetch(f"/contrib/sitemap-products.xml?p={page}") for page in range(1, pages + 1))


def floor() -> int:
    """Read slug and date of every row with a raw cursor, and gzip as many bytes as the sitemap has."""
    from django.db import connection

    size = 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT slug, updated_at FROM shop_product ORDER BY id")
        while rows := cursor.fetchmany(2000):
            packer = zlib.compressobj(6, wbits=31)
            text = "".join(
                f"<url><loc>https://shop.example/p/{slug}/</loc><lastmod>{str(when)[:19]}+00:00</lastmod></url>\n"
                for slug, when in rows
            ).encode()
            size += len(text)
            packer.compress(text)
            packer.flush()
    return size


TASKS: dict[str, Callable[[], int]] = {
    "index, contrib": lambda: fetch("/contrib/sitemap.xml"),
    "index, first plan": plan,
    "index": lambda: fetch("/sitemap-products.xml"),
    "page 1, contrib": lambda: fetch("/contrib/sitemap-products.xml?p=1"),
    "page 20, contrib": lambda: fetch("/contrib/sitemap-products.xml?p=20"),
    "page 1": lambda: fetch("/sitemap-products-1.xml"),
    "page 20": lambda: fetch("/sitemap-products-20.xml"),
    "page 1, contrib class": lambda: fetch("/sitemap-objects-1.xml"),
    "all pages, contrib, no gzip": contrib_all,
    "build, contrib class, gzip": build_objects,
    "build, gzip": build,
    "floor: raw cursor, gzip": floor,
}
RATIOS = [
    ("index", "index, contrib"),
    ("index, first plan", "index, contrib"),
    ("page 1", "page 1, contrib"),
    ("page 20", "page 20, contrib"),
    ("page 20", "page 1"),
    ("page 1, contrib class", "page 1, contrib"),
    ("build, gzip", "all pages, contrib, no gzip"),
    ("build, contrib class, gzip", "all pages, contrib, no gzip"),
    ("build, gzip", "floor: raw cursor, gzip"),
]


def measure(name: str) -> dict[str, float]:
    """Run one task in this process and return what it cost."""
    import django

    django.setup()
    from django.db import connection, reset_queries
    from django.test.utils import CaptureQueriesContext

    connection.ensure_connection()
    from django.urls import get_resolver

    assert get_resolver().url_patterns  # noqa: S101 - read before the clock starts
    from django.test import Client  # noqa: F401 - imported before the memory is read

    reset_queries()
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    with CaptureQueriesContext(connection) as queries:
        size = TASKS[name]()
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu": cpu,
        "wall": wall,
        "memory": (after.ru_maxrss - before.ru_maxrss) / 1024,
        "queries": len(queries),
        "bytes": size,
    }


def load() -> None:
    """Make the rows, once."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from shop.models import Product

    settings.VAR.mkdir(parents=True, exist_ok=True)
    call_command("migrate", run_syncdb=True, verbosity=0)
    if Product.objects.count() == settings.ROWS:
        return
    Product.objects.all().delete()
    start = datetime(2020, 1, 1, tzinfo=UTC)
    for first in range(0, settings.ROWS, 20_000):
        Product.objects.bulk_create(
            Product(slug=slug(number), updated_at=start + timedelta(seconds=number * 97))
            for number in range(first, min(first + 20_000, settings.ROWS))
        )


def slug(number: int) -> str:
    """Return a slug: 1 % not ASCII, 1 % long, 1 % with a character that XML escapes."""
    kind = number % 100
    tails = {7: "-größe-œuvre-東京", 31: "-" + "very-long-name-" * 9 + "end", 63: "-salt&pepper's"}
    return f"{number}{tails.get(kind, '-plain-product')}"


def main() -> None:
    """Run everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--task", choices=TASKS, help="Measure one task in this process and print JSON.")
    parser.add_argument("--only", nargs="*", help="Names of tasks; all of them without.")
    options = parser.parse_args()
    os.environ["BENCH_ROWS"] = str(options.rows)
    if options.task:
        print(json.dumps(measure(options.task)))
        return
    load()
    names = options.only or [name for name in TASKS if options.rows >= 1_000_000 or "page 20" not in name]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(options.runs):
        for name in names:
            command = [sys.executable, __file__, "--rows", str(options.rows), "--task", name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ourselves
            found[name].append(json.loads(done.stdout))
    report(found, options.rows)


def report(found: dict[str, list[dict[str, float]]], rows: int) -> None:
    """Print figures and ratios as Markdown."""
    middle = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for name, runs in found.items()
    }
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {datetime.now(UTC).date().isoformat()}"
    print(f"{rows:,} rows; {machine}\n\n| work | CPU s | wall s | memory above start, MB | queries | MB out |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, one in middle.items():
        print(
            f"| {name} | {one['cpu']:.3f} | {one['wall']:.3f} | {one['memory']:.0f} | "
            f"{one['queries']:.0f} | {one['bytes'] / 1e6:.2f} |"
        )
    print("\n| CPU of | against | ratio |\n|---|---|---:|")
    for name, other in RATIOS:
        if name in middle and other in middle:
            print(f"| {name} | {other} | {middle[name]['cpu'] / middle[other]['cpu']:.4f} |")


if __name__ == "__main__":
    main()
