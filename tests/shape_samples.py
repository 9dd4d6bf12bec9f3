"""Pages with given paths, and their shapes."""

from __future__ import annotations

from collections.abc import Iterable

from sitemaps_plus.protocol.shapes import Sampler, Shape


def pieces_of(paths: Iterable[str]) -> list[bytes]:
    return [f"<url><loc>https://example.com{path}</loc></url>\n".encode() for path in paths]


def seen(pieces: Iterable[bytes]) -> Shape:
    sampler = Sampler()
    for _ in sampler.watch(pieces):
        pass
    return sampler.shape()


def shape_of(paths: Iterable[str]) -> Shape:
    """Return the shape of a page in one piece."""
    return seen([b"".join(pieces_of(paths))])


def numbered(pattern: str, count: int = 20) -> list[str]:
    return [pattern.format(number) for number in range(count)]
