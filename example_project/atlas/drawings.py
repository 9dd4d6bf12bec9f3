"""Draw flags and maps as SVG files, the same ones each time."""

from collections.abc import Sequence
from math import ceil, cos, floor, radians

from django.core.files.base import ContentFile
from django.template.loader import render_to_string

Point = tuple[float, float]
"""Latitude and longitude, in degrees."""

WIDTH, HEIGHT = 640, 360
MARGIN = 48
"""Margin on all sides; also the height of the caption at the bottom."""

_CORNERS: Sequence[Point] = ((-55.0, -180.0), (80.0, 180.0))
"""The part of the world that people live in."""
_LETTER_A = 0x1F1E6
"""The first regional indicator; two of these letters are shown as a flag if the font has one."""
_LINES = 12
_STEPS = (1, 2, 5, 10, 30)


class Map:
    """A map of a part of the world, north at the top."""

    def __init__(self, corners: Sequence[Point], dots: Sequence[Point], *, is_over_date_line: bool = False) -> None:
        """Fit all `corners` on the map, and draw a dot at each of `dots`."""
        self._is_over_date_line = is_over_date_line
        latitudes, longitudes = zip(*map(self._moved, corners), strict=True)
        self._middle = (_middle(latitudes), _middle(longitudes))
        # Degrees of longitude get shorter away from the equator.
        self._squeeze = cos(radians(self._middle[0]))
        wide, high = max(_span(longitudes) * self._squeeze, 0.1), max(_span(latitudes), 0.1)
        self._scale = min((WIDTH - 2 * MARGIN) / wide, (HEIGHT - 2 * MARGIN) / high)
        self.dots = "".join(f"M{x} {y}h0" for x, y in sorted(set(map(self.at, dots))))

    @classmethod
    def of_world(cls, dots: Sequence[Point]) -> "Map":
        """Return the whole world."""
        return cls(_CORNERS, dots)

    @classmethod
    def of_country(cls, dots: Sequence[Point]) -> "Map":
        """Return the map between `dots`, also for a country on both sides of the date line."""
        return cls(dots, dots, is_over_date_line=_span([longitude for _, longitude in dots]) > 180)

    def at(self, point: Point) -> tuple[int, int]:
        """Return the position of a point on the map, from the left and from the top."""
        latitude, longitude = self._moved(point)
        return self._column(longitude), self._row(latitude)

    @property
    def lines(self) -> str:
        """The meridians and parallels."""
        wide, high = WIDTH / 2 / self._scale / self._squeeze, HEIGHT / 2 / self._scale
        step = next((step for step in _STEPS if 2 * wide / step <= _LINES), _STEPS[-1])
        columns = [self._column(degree) for degree in _degrees(self._middle[1], wide, step)]
        rows = [self._row(degree) for degree in _degrees(self._middle[0], high, step)]
        return "".join([*(f"M{x} 0V{HEIGHT}" for x in columns), *(f"M0 {y}H{WIDTH}" for y in rows)])

    def _column(self, longitude: float) -> int:
        return round(WIDTH / 2 + (longitude - self._middle[1]) * self._squeeze * self._scale)

    def _row(self, latitude: float) -> int:
        return round(HEIGHT / 2 - (latitude - self._middle[0]) * self._scale)

    def _moved(self, point: Point) -> Point:
        latitude, longitude = point
        return latitude, longitude % 360 if self._is_over_date_line else longitude


def flag(code: str, name: str) -> ContentFile:
    """Return the flag of a country, its name below."""
    symbol = "".join(chr(_LETTER_A + ord(letter) - ord("A")) for letter in code)
    return svg_file(f"{code}.svg", "atlas/drawings/flag.svg", code=code, name=name, symbol=symbol)


def map_of_place(name: str, place: Point, caption: str, around: Map) -> ContentFile:
    """Return a map on which a place is marked; `name` is that of the file."""
    x, y = around.at(place)
    return svg_file(f"{name}.svg", "atlas/drawings/map.svg", map=around, x=x, y=y, caption=caption)


def svg_file(file: str, template: str, **context: object) -> ContentFile:
    """Return a drawing as a file for a model field."""
    return ContentFile(render_to_string(template, context).encode(), name=file)


def _middle(values: Sequence[float]) -> float:
    return (min(values) + max(values)) / 2


def _span(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _degrees(middle: float, reach: float, step: int) -> range:
    return range(ceil((middle - reach) / step) * step, floor(middle + reach) + 1, step)
