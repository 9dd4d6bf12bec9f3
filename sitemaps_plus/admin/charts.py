"""Draw the numbers of builds as small SVG charts, without JavaScript and readable by screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

WIDTH = 300
HEIGHT = 60

_EDGE = 4
"""Margin around the line, so that its ends are not cut off."""

_CALM = 0.1
"""Share of the highest value that a line's height shows at least, so that 4 URLs of a million are no landslide."""


class _Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One number per build, oldest first."""

    name: str
    """Unique on the page; consists of letters, digits and hyphens."""
    title: str
    values: Sequence[float | None]
    """None leaves a gap: the build has no such number."""
    show: Callable[[float], str] = str
    """Turns a number into text."""
    kind: Literal["line", "bars"] = "line"

    @property
    def known(self) -> list[float]:
        """The values that are not None."""
        return [value for value in self.values if value is not None]

    @property
    def summary(self) -> str:
        """The last, lowest and highest value as a sentence in the active language."""
        known = self.known
        if not known:
            return _("No numbers yet.")
        if len(known) == 1:
            return _("%(last)s; one build so far.") % {"last": self.show(known[0])}
        return _("Last %(last)s, lowest %(lowest)s, highest %(highest)s.") % {
            "last": self.show(known[-1]),
            "lowest": self.show(min(known)),
            "highest": self.show(max(known)),
        }

    @property
    def svg(self) -> SafeString:
        """The drawing; empty if there are no numbers."""
        if not self.known:
            return SafeString("")
        return format_html(
            '<svg class="sitemaps-chart" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" '
            'aria-labelledby="{name}-title {name}-desc" focusable="false">'
            '<title id="{name}-title">{}</title><desc id="{name}-desc">{}</desc>{}</svg>',
            WIDTH,
            HEIGHT,
            self.title,
            self.summary,
            self._bars() if self.kind == "bars" else self._lines(),
            name=self.name,
        )

    def _lines(self) -> SafeString:
        drawn = []
        for run in self._runs():
            # A single point would be a line without length, so draw a short one.
            points = run if len(run) > 1 else [_Point(run[0].x - 2, run[0].y), _Point(run[0].x + 2, run[0].y)]
            drawn.append((" ".join(f"{point.x:.1f},{point.y:.1f}" for point in points),))
        return format_html_join("", '<polyline class="sitemaps-chart-line" points="{}"/>', drawn)

    def _runs(self) -> Iterator[list[_Point]]:
        """Yield the points between two gaps."""
        lowest, highest = min(self.known), max(self.known)
        middle, span = (lowest + highest) / 2, max(highest - lowest, _CALM * highest)
        run: list[_Point] = []
        for number, value in enumerate(self.values):
            if value is None:
                if run:
                    yield run
                run = []
                continue
            # Equal values are drawn in the middle.
            share = 0.5 + (value - middle) / span if span else 0.5
            run.append(_Point(self._x(number), HEIGHT - _EDGE - share * (HEIGHT - 2 * _EDGE)))
        if run:
            yield run

    def _x(self, number: int) -> float:
        if len(self.values) == 1:
            return WIDTH / 2
        return _EDGE + number * (WIDTH - 2 * _EDGE) / (len(self.values) - 1)

    def _bars(self) -> SafeString:
        step, highest = WIDTH / max(len(self.values), 8), max(self.known)
        drawn = []
        for number, value in enumerate(self.values):
            if value is not None:
                # At least one unit high: a build that took no time must differ from no build.
                height = max(1.0, value / highest * HEIGHT) if highest > 0 else 1.0
                drawn.append(
                    (f"{number * step:.1f}", f"{HEIGHT - height:.1f}", f"{max(1.0, step * 0.8):.1f}", f"{height:.1f}")
                )
        return format_html_join("", '<rect class="sitemaps-chart-bar" x="{}" y="{}" width="{}" height="{}"/>', drawn)
