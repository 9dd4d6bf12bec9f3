"""Tell from a few URLs of each page whether a section lost so much, or looks so odd, that it is not to be published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

SAMPLED = 100
"""The most URLs that are looked at on either end of a page."""

DIRECTORIES = 16
"""The most directories that a shape names; where there are more, deeper ones are taken together."""

_DEEPEST = 4
_FEWEST = 10

# The path of a <loc>; <image:loc> and the like begin otherwise.
_LOC = re.compile(rb"<loc>\s*[A-Za-z][A-Za-z0-9+.\-]*://[^/?#<\s]*+([^?#<\s]*+)[^<\s]*+\s*+</loc>")
_BLANK = re.compile(r"//|/(?:none|null|nan|undefined)(?:/|$)", re.IGNORECASE)
_NUMBER = re.compile(r"(%[0-9A-Fa-f]{2})|[0-9]+")
_WORDS = re.compile(r"/(?:(?:%[0-9A-Fa-f]{2}|[^/%0-9])*/)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the URLs of a page, or of a section, look like."""

    sampled: int = 0
    """How many were looked at."""

    blank: int = 0
    """How many of those have a path segment that is None, null, nan, undefined, or empty."""

    directories: tuple[str, ...] = ()
    """Paths that all of those lie in: ``/shop/``, with 0 for any number; ``/shop/*`` stands for all below it."""

    @property
    def prefix(self) -> str:
        """The path that all of those begin with, ending in a slash and without numbers, which dates and keys are."""
        if not self.directories:
            return "/"
        # Of sorted texts, the first and the last one differ most.
        ends = [_stem(directory).split("/") for directory in (min(self.directories), max(self.directories))]
        common = 0
        for one, other in zip(*(names[:-1] for names in ends), strict=False):
            if one != other:
                break
            common += 1
        found = _WORDS.match("/".join(ends[0][:common]) + "/")
        return found[0] if found else "/"

    def has_left(self, prefix: str) -> bool:
        """Return whether certainly none of the URLs that were looked at lies below `prefix`."""
        return not any(
            _stem(directory).startswith(prefix) or (directory.endswith("*") and prefix.startswith(_stem(directory)))
            for directory in self.directories
        )

    def as_json(self) -> dict[str, Any]:
        """Return what JSON can hold; `from_json` makes an equal shape of it."""
        return {"sampled": self.sampled, "blank": self.blank, "directories": list(self.directories)}

    @classmethod
    def from_json(cls, given: Any) -> Shape:
        """Return the shape that `as_json` gave; raise ValueError where it is something else."""
        try:
            sampled, blank, directories = given["sampled"], given["blank"], tuple(given["directories"])
        except (TypeError, KeyError) as error:
            raise ValueError(f"{given!r} is not the shape of URLs.") from error
        are_counts = all(type(count) is int for count in (sampled, blank)) and 0 <= blank <= sampled
        if not are_counts or not all(isinstance(one, str) and one.startswith("/") for one in directories):
            raise ValueError(f"{given!r} is not the shape of URLs.")
        return cls(sampled=sampled, blank=blank, directories=directories)


class Sampler:
    """Watches a page on its way, and keeps the first and the last piece that have a ``<loc>``."""

    def __init__(self) -> None:
        self._first = b""
        self._last = b""

    def watch(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield `pieces` as they are."""
        for piece in pieces:
            if b"<loc>" in piece:
                self._first = self._first or piece
                self._last = piece
            yield piece

    def shape(self) -> Shape:
        """Return what the first and the last URLs look like; an address that is cut in two is not seen."""
        found = list(islice(_LOC.finditer(self._first), SAMPLED))
        paths = [match[1] for match in found]
        start = found[-1].end() if found and self._first is self._last else 0
        paths += _last_paths(self._last, start)
        return _shape_of([path.decode("utf-8", "replace") for path in paths])


def merge(shapes: Iterable[Shape]) -> Shape:
    """Return what the URLs of several pages look like together."""
    given = list(shapes)
    return Shape(
        sampled=sum(shape.sampled for shape in given),
        blank=sum(shape.blank for shape in given),
        directories=_few({directory for shape in given for directory in shape.directories}),
    )


def why_not(
    *, urls_before: int, urls_now: int, shape_before: Shape | None, shape_now: Shape | None, most: float
) -> str | None:
    """Return why a section is not to be published, in sentences that say what to do; None where nothing is odd.

    `most` is the share of its URLs that it may lose, 0 to 1. Without one of the shapes only the numbers are compared.
    """
    reason = _lost(urls_before, urls_now, most)
    if reason is None and shape_before and shape_now:
        reason = _turned_blank(shape_before, shape_now) or _left_its_place(shape_before, shape_now)
    return reason


def _lost(before: int, now: int, most: float) -> str | None:
    lost = before - now
    # Without the tiny addition 29 of 100 would be more than 0.29 of them.
    if lost <= before * most + 1e-9:
        return None
    if not now:
        seen = f"The section lost all of its {before:,} URLs" if before > 1 else "The section lost its only URL"
    else:
        share = "half" if most == 0.5 else f"{most * 100:.4g} %"
        seen = f"The section lost {lost:,} of its {before:,} URLs, more than {share}"
    return _told(seen, "look at which rows it has now")


def _turned_blank(before: Shape, now: Shape) -> str | None:
    was_fine = before.sampled > 0 and before.blank * 10 < before.sampled
    # Of a few URLs, one that is rightly called /null/ may be the half.
    is_blank = now.blank > 0 and (now.blank == now.sampled or (now.blank * 2 >= now.sampled >= _FEWEST))
    if not was_fine or not is_blank:
        return None
    seen = f"Of {now.sampled:,} URLs that were looked at, {now.blank:,} have a part like /None/ or //"
    return _told(f"{seen}; before, {before.blank:,} of {before.sampled:,} had", "look at what its location is made of")


def _left_its_place(before: Shape, now: Shape) -> str | None:
    prefix = before.prefix
    if min(before.sampled, now.sampled) < _FEWEST or prefix == "/" or not now.has_left(prefix):
        return None
    seen = f"None of {now.sampled:,} URLs that were looked at begins with {prefix}, as all of them did before"
    return _told(seen, "look at what its location is made of, and at the URL patterns")


def _told(seen: str, else_do: str) -> str:
    return (
        f"{seen}. If that is meant, publish it with --allow-shrink. If not, {else_do}; its last files stay as they are."
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
    # Most URLs share their directory with others.
    parents = {path.rstrip("/").rpartition("/")[0] + "/" for path in paths}
    return Shape(
        sampled=len(paths),
        blank=sum(1 for path in paths if _BLANK.search(path)),
        directories=_few({_NUMBER.sub(_without_digits, parent) for parent in parents}),
    )


def _without_digits(match: re.Match[str]) -> str:
    # Digits of an escape are part of a letter.
    return match[1] or "0"


def _few(directories: set[str]) -> tuple[str, ...]:
    """Return directories that hold all of the given ones, as deep as few of them can be."""
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
