"""Fill the database with the countries and places of GeoNames, pictures and films of them, and invented articles."""

import gc
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

from articles.factories import make_articles
from atlas.geonames import CREDIT, Geonames
from atlas.models import Continent, Country, Place, PlacePicture
from atlas.pictures import place_pictures
from atlas.progress import ProgressBar
from videos.filming import films
from videos.models import Film

BATCH = 5000
ARTICLES = 60


class Command(BaseCommand):
    """Replace all rows with those of GeoNames; the result is the same each time."""

    help = "Fill the database with the countries and places of GeoNames, pictures, films and invented articles."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options that load less."""
        parser.add_argument("--limit", type=int, metavar="N", help="load the first N places only, by id")
        parser.add_argument("--countries", default="", metavar="XX,YY", help="load these countries only, by ISO code")

    def handle(self, *args: Any, limit: int | None, countries: str, **options: Any) -> None:
        """Read the data, then replace the rows in one transaction."""
        start = time.monotonic()
        with _without_garbage_collection():
            try:
                geonames = Geonames([code.strip().upper() for code in countries.split(",") if code.strip()])
            except ValueError as error:
                raise CommandError(str(error)) from error
            with transaction.atomic():
                self._replace(geonames, limit)
        self._report(time.monotonic() - start)

    def _replace(self, geonames: Geonames, limit: int | None) -> None:
        for model in (Film, PlacePicture, Place, Country, Continent):
            old = model._default_manager.all()
            # Related rows are already gone, so Django need not read each row to find them.
            old._raw_delete(old.db)
        total = geonames.places_count if limit is None else min(limit, geonames.places_count)
        self._create(Continent, geonames.continents(), geonames.continents_count)
        self._create(Country, geonames.countries(), geonames.countries_count)
        self._create(Place, islice(geonames.places(), total), total)
        for drawn, rows in ((PlacePicture, list(place_pictures())), (Film, list(films()))):
            self._create(drawn, rows, len(rows))
        make_articles(ARTICLES)

    def _create(self, model: type[models.Model], rows: Iterable[models.Model], total: int) -> None:
        with ProgressBar(str(model._meta.verbose_name_plural), total, sys.stderr) as bar:
            rows = iter(rows)
            while batch := list(islice(rows, BATCH)):
                model._default_manager.bulk_create(batch)
                bar.advance(len(batch))

    def _report(self, seconds: float) -> None:
        self.stdout.write(
            f"Loaded {Place.objects.count():,} places in {Country.objects.count():,} countries, "
            f"{PlacePicture.objects.count():,} pictures of them, {Film.objects.count()} films "
            f"and {ARTICLES} articles in {seconds:.1f} s."
        )
        self.stdout.write(CREDIT)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    # Collecting the 3 million objects of the data repeatedly would take a third of the time.
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
