"""Draw maps of the largest places: in their country and in the world."""

from collections.abc import Iterator, Sequence
from functools import cache

from atlas.drawings import Map, Point, map_of_place
from atlas.models import Place, PlacePicture

PICTURED = 1000
"""Number of places with pictures: files for all 234,908 would take minutes to write."""

DOTS = 400
"""Number of places on the map of a country."""


def place_pictures() -> Iterator[PlacePicture]:
    """Yield the pictures of the largest places, not yet saved."""
    places = Place.objects.select_related("country").order_by("-population", "pk")[:PICTURED]
    world = Map.of_world([_point(place) for place in places])
    map_of = cache(country_map)
    for place in places:
        country = map_of(place.country_id)
        maps = [(country, f"{place.name}, {place.country.name}")] if country else []
        yield from _pictures(place, [*maps, (world, place.name)])


def country_map(code: str) -> Map | None:
    """Return the map of a country's largest places, or None if there is only one."""
    points = Place.objects.filter(country_id=code).order_by("-population", "pk").values_list("latitude", "longitude")
    dots = list(points[:DOTS])
    return Map.of_country(dots) if len(dots) > 1 else None


def _pictures(place: Place, maps: Sequence[tuple[Map, str]]) -> Iterator[PlacePicture]:
    for position, (around, caption) in enumerate(maps, 1):
        file = map_of_place(f"{place.pk}-{position}", _point(place), caption, around)
        yield PlacePicture(place=place, position=position, file=file)


def _point(place: Place) -> Point:
    return place.latitude, place.longitude
