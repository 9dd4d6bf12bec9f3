"""Make the same films each time: one for each country with two or more places."""

from collections.abc import Iterator

from django.utils.text import slugify

from atlas.drawings import svg_file
from atlas.models import Country
from videos.models import Film
from videos.tours import Tour, tour_of


def films() -> Iterator[Film]:
    """Yield the films, not yet saved."""
    for country in Country.objects.order_by("pk"):
        if tour := tour_of(country):
            yield _film(country, tour)


def _film(country: Country, tour: Tour) -> Film:
    first, *_, last = tour.stops
    title = f"A tour of {country.name}"
    return Film(
        slug=slugify(country.name),
        country=country,
        title=title,
        summary=f"From {first.name} to {last.name}: {len(tour.stops)} places in {tour.seconds} seconds, by population.",
        thumbnail=svg_file(f"{country.pk}.svg", "videos/tour.svg", tour=tour, title=title),
        duration=tour.duration,
        # There are no real dates; that of the country is computed from its id.
        published_at=country.updated_at,
    )
