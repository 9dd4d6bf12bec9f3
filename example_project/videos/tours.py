"""Turn the largest places of a country into a film: the stops, and when each is reached."""

from dataclasses import dataclass
from datetime import timedelta

from atlas.drawings import Map
from atlas.models import Country
from atlas.pictures import country_map

STOPS = 10
SECONDS_A_STOP = 3


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A place of the tour."""

    name: str
    x: int
    y: int
    begin: int
    """Seconds from the start of the film."""


@dataclass(frozen=True, kw_only=True)
class Tour:
    """The stops on the map of their country."""

    map: Map
    stops: tuple[Stop, ...]

    @property
    def seconds(self) -> int:
        """Length of the film in seconds."""
        return len(self.stops) * SECONDS_A_STOP

    @property
    def duration(self) -> timedelta:
        """Length of the film, for a model field."""
        return timedelta(seconds=self.seconds)

    @property
    def route(self) -> str:
        """The line from stop to stop."""
        return "M" + "L".join(f"{stop.x} {stop.y}" for stop in self.stops)

    @property
    def xs(self) -> str:
        """Distance of the marker from the left at each of `times`."""
        return ";".join(f"{stop.x};{stop.x}" for stop in self.stops)

    @property
    def ys(self) -> str:
        """Distance of the marker from the top at each of `times`."""
        return ";".join(f"{stop.y};{stop.y}" for stop in self.stops)

    @property
    def times(self) -> str:
        """When the marker reaches each stop and leaves it, as fractions of the film."""
        count = len(self.stops)
        times = [f"{number / count:.3f};{(number + 0.5) / count:.3f}" for number in range(count)]
        return ";".join(times).rpartition(";")[0] + ";1"


def tour_of(country: Country) -> Tour | None:
    """Return a tour of the largest places, or None if there are fewer than two."""
    around = country_map(country.pk)
    if around is None:
        return None
    places = country.places.order_by("-population", "pk")[:STOPS]
    stops = []
    for number, place in enumerate(places):
        x, y = around.at((place.latitude, place.longitude))
        stops.append(Stop(name=place.name, x=x, y=y, begin=number * SECONDS_A_STOP))
    return Tour(map=around, stops=tuple(stops))
