"""Describe a page by a sample of its URLs: how many are blank, and in which directories they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

SAMPLED = 100
"""Most URLs that are sampled at each end of a page."""

DIRECTORIES = 16
"""Most directories in a shape; if there are more, deep ones are combined."""

_DEEPEST = 4

# The path of a <loc>; <image:loc> and the like begin otherwise.
_LOC = re.compile(rb"<loc>\s*[A-Za-z][A-Za-z0-9+.\-]*://[^/?#<\s]*+([^?#<\s]*+)[^<\s]*+\s*+</loc>")
_BLANK = re.compile(r"//|/(?:none|null|nan|undefined)(?:/|$)", re.IGNORECASE)
_NUMBER = re.compile(r"(%[0-9A-Fa-f]{2})|[0-9]+")
_WORDS = re.compile(r"/(?:(?:%[0-9A-Fa-f]{2}|[^/%0-9])*/)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A summary of sampled URLs of a page or a section."""

    sampled: int = 0
    """Number of sampled URLs."""

    blank: int = 0
    """Number of sampled URLs with a path segment that is empty or None, null, nan or undefined."""

    directories: tuple[str, ...] = ()
    """Directories of the sampled URLs: ``/shop/``, with 0 for any number; ``/shop/*`` includes everything below it."""

    @property
    def prefix(self) -> str:
        """The path that all sampled URLs begin with; ends in a slash and has no numbers, which may be dates or keys."""
        if not self.directories:
            return "/"
        # The first and the last of sorted texts differ most.
        ends = [_stem(directory).split("/") for directory in (min(self.directories), max(self.directories))]
        common = 0
        for one, other in zip(*(names[:-1] for names in ends), strict=False):
            if one != other:
                break
            common += 1
        found = _WORDS.match("/".join(ends[0][:common]) + "/")
        return found[0] if found else "/"

    def has_left(self, prefix: str) -> bool:
        """Return whether certainly no sampled URL is below `prefix`."""
        return not any(
            _stem(directory).startswith(prefix) or (directory.endswith("*") and prefix.startswith(_stem(directory)))
            for directory in self.directories
        )

    def as_json(self) -> dict[str, Any]:
        """Return a dict for JSON; `from_json` turns it into an equal shape."""
        return {"sampled": self.sampled, "blank": self.blank, "directories": list(self.directories)}

    @classmethod
    def from_json(cls, given: Any) -> Shape:
        """Return the shape of a dict from `as_json`; raise ValueError for anything else."""
        try:
            sampled, blank, directories = given["sampled"], given["blank"], tuple(given["directories"])
        except (TypeError, KeyError) as error:
            raise ValueError(f"{given!r} is not the shape of URLs.") from error
        are_counts = all(type(count) is int for count in (sampled, blank)) and 0 <= blank <= sampled
        if not are_counts or not all(isinstance(one, str) and one.startswith("/") for one in directories):
            raise ValueError(f"{given!r} is not the shape of URLs.")
        return cls(sampled=sampled, blank=blank, directories=directories)


NO_SHAPE = Shape()
"""The shape of a page of which no URL was sampled."""


class Sampler:
    """A reader of the pieces of a page that keeps the first and the last piece with a ``<loc>``."""

    def __init__(self) -> None:
        self._first = b""
        self._last = b""

    def watch(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield `pieces` unchanged."""
        for piece in pieces:
            if b"<loc>" in piece:
                self._first = self._first or piece
                self._last = piece
            yield piece

    def shape(self) -> Shape:
        """Return the shape of the first and the last URLs; a URL that is split between two pieces is skipped."""
        found = list(islice(_LOC.finditer(self._first), SAMPLED))
        paths = [match[1] for match in found]
        start = found[-1].end() if found and self._first is self._last else 0
        paths += _last_paths(self._last, start)
        return _shape_of([path.decode("utf-8", "replace") for path in paths])


def merge(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of several pages together."""
    given = list(shapes)
    return Shape(
        sampled=sum(shape.sampled for shape in given),
        blank=sum(shape.blank for shape in given),
        directories=_few({directory for shape in given for directory in shape.directories}),
    )


def _last_paths(piece: bytes, start: int) -> list[bytes]:
    at = len(piece)
    for _ in range(SAMPLED):
        found = piece.rfind(b"<loc>", start, at)
        if found < 0:
            break
        at = found
    return _LOC.findall(piece, at)


def _shape_of(paths: list[str]) -> Shape:
    # A set first: most URLs share their directory with others.
    parents = {path.rstrip("/").rpartition("/")[0] + "/" for path in paths}
    return Shape(
        sampled=len(paths),
        blank=sum(1 for path in paths if _BLANK.search(path)),
        directories=_few({_NUMBER.sub(_without_digits, parent) for parent in parents}),
    )


def _without_digits(match: re.Match[str]) -> str:
    # The digits of a percent escape belong to a letter.
    return match[1] or "0"


def _few(directories: set[str]) -> tuple[str, ...]:
    """Return at most `DIRECTORIES` directories that contain all given ones, as deep as possible."""
    for depth in range(_DEEPEST, 0, -1):
        found = {_cut(directory, depth) for directory in directories}
        if len(found) <= DIRECTORIES:
            return tuple(sorted(found))
    return ("/*",)


def _cut(directory: str, depth: int) -> str:
    names = _stem(directory).split("/")
    return directory if len(names) - 2 <= depth else "/".join(names[: depth + 1]) + "/*"


def _stem(directory: str) -> str:
    return directory.removesuffix("*")
