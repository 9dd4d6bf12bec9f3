"""Images of a page: the fields, rules and XML of ``<image:image>``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.values.base import Value
from sitemaps_plus.values.fields import Text, Url, text, url
from sitemaps_plus.values.xml import Context, Drop, each_element, media_url_of, tag, texts, url_of, writes_deprecated

MAX_IMAGES = 1000
"""Images of one page (G-IMG)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(Value):
    """One ``<image:image>`` of a page. All but `loc` is deprecated and written only when asked for."""

    loc: Url = None
    """Address of the picture, on any host; required (G-IMG)."""
    caption: Text = None
    """Deprecated in 2022 (G-SPR)."""
    geo_location: Text = None
    """Deprecated in 2022: where it was taken, as in ``Limerick, Ireland`` (G-SPR)."""
    title: Text = None
    """Deprecated in 2022 (G-SPR)."""
    license: Url = None
    """Deprecated in 2022: address of the licence (G-SPR)."""

    _rules: ClassVar = {"loc": url, "caption": text, "geo_location": text, "title": text, "license": url}
    _required: ClassVar = ("loc",)

    def __post_init__(self) -> None:
        """Keep what the rules make of the fields; raise `InvalidEntry` where one is broken."""
        # A row may have a thousand of these: an address alone needs no more looking at.
        loc = self.loc
        if type(loc) is not str or not loc or loc.isspace() or not self.is_plain:
            Value.__post_init__(self)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but an address that is text already."""
        others = self.caption is self.geo_location is self.title is self.license is None
        return others and type(self.loc) is str


def image_element(image: Image, context: Context) -> str:
    """Return one ``<image:image>``; raise `InvalidEntry` for an address that cannot be used."""
    if image.is_plain:
        loc = media_url_of("Image.loc", image.loc, context)
        return f"<image:image><image:loc>{loc}</image:loc></image:image>"
    image = image.settled()
    parts = [tag("image:loc", media_url_of("Image.loc", image.loc, context))]
    if writes_deprecated(image, ("caption", "geo_location", "title", "license"), context):
        parts += texts("image", image, ("caption", "geo_location", "title"), context)
        if image.license is not None:
            parts.append(tag("image:license", url_of("Image.license", image.license, context)))
    return tag("image:image", "".join(parts))


def image_elements(images: Iterable[Image | None], context: Context, drop: Drop) -> str:
    """Return the ``<image:image>`` of a page, at most 1,000; `drop` hears of each that is broken.

    More are left out with ``W-IMAGE-COUNT``; in a strict context `drop` hears ``E-IMAGE-COUNT`` (G-IMG).
    """
    written: list[str] = []
    for element in each_element(images, image_element, context, drop):
        if len(written) == MAX_IMAGES:
            said = f"{context.loc} has more than {MAX_IMAGES:,} images"
            if context.strict:
                drop(InvalidEntry("E-IMAGE-COUNT", f"{said}; leave some out."))
            else:
                context.warn("W-IMAGE-COUNT", f"{said}; only the first ones are listed.")
            break
        written.append(element)
    return "".join(written)
