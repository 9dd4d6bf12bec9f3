"""Create the data of one size in one database if it is missing, and plan all sections again."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

BATCH = 20_000
START = datetime(2020, 1, 1, tzinfo=UTC)
SIX_YEARS = 6 * 365 * 86_400
TAILS = {7: "-größe-œuvre-東京", 31: "-" + "very-long-name-" * 9 + "end", 63: "-salt&pepper's"}


def main() -> None:
    """Create missing tables and rows."""
    import django

    from settings import SIDE

    django.setup()
    if SIDE == "plus":
        make_database()
    make_tables()
    if SIDE == "plus":
        make_rows()
        make_plans()


def make_database() -> None:
    """Create the folder for files, and the database on a server."""
    from django.conf import settings
    from django.db import connection

    for folder in settings.FOLDERS.values():
        folder.mkdir(parents=True, exist_ok=True)
    if connection.vendor != "postgresql":
        return
    name = settings.DATABASES["default"]["NAME"]
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if cursor.fetchone() is None:
            cursor.execute(f"CREATE DATABASE {connection.ops.quote_name(name)} ENCODING 'UTF8' TEMPLATE template0")


def make_tables() -> None:
    """Run the migrations of this project."""
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)


def make_rows() -> None:
    """Create the products, all or none."""
    from django.conf import settings
    from django.db import connection, transaction

    from shop.models import Product

    last = Product.objects.order_by("pk").last()
    if last and Product.objects.count() == settings.ROWS and last.updated_at == product(settings.ROWS).updated_at:
        return
    with transaction.atomic():
        Product.objects.all().delete()
        for first in range(1, settings.ROWS + 1, BATCH):
            last = min(first + BATCH, settings.ROWS + 1)
            Product.objects.bulk_create(map(product, range(first, last)))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # The server would do this by itself after a while, perhaps in the middle of a measurement.
            cursor.execute("VACUUM ANALYZE")


def product(number: int):
    """Return a product: 1 % have a slug that is not ASCII, 1 % a long one, 1 % one with characters that XML escapes.

    Products change in any order, so that a page has dates of all years.
    """
    from shop.models import Product

    tail = TAILS.get(number % 100, "-plain-product")
    changed = START + timedelta(seconds=number * 2_654_435_761 % SIX_YEARS)
    return Product(pk=number, slug=f"{number}{tail}", updated_at=changed)


def make_plans() -> None:
    """Divide every section into pages, as the first request would."""
    from sitemaps_plus.plan.planner import refresh
    from sitemaps_plus.plan.sections import get_sections
    from sitemaps_plus.plan.sites import get_sites

    for site in get_sites(print):
        for section in get_sections(site):
            refresh(section, force=True)


if __name__ == "__main__":
    main()
