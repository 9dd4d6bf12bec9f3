"""Images of a page: the fields, rules and XML of ``<image:image>``."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.values.base import Value
from sitemaps_plus.values.fields import Text, Url, text, url
from sitemaps_plus.values.xml import Context, Drop, each, media_url_of, tag, texts, url_of, writes_deprecated

MAX_IMAGES = 1000
"""Images of one page (G-IMG)."""

_START, _END = "<image:image><image:loc>", "</image:loc>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(Value):
    """One ``<image:image>`` of a page. All fields but `loc` are deprecated and written only with `emit_deprecated`."""

    loc: Url = None
    """URL of the image, on any host; required (G-IMG)."""
    caption: Text = None
    """Deprecated in 2022 (G-SPR)."""
    geo_location: Text = None
    """Deprecated in 2022: the place, such as ``Limerick, Ireland`` (G-SPR)."""
    title: Text = None
    """Deprecated in 2022 (G-SPR)."""
    license: Url = None
    """Deprecated in 2022: URL of the licence (G-SPR)."""

    _rules: ClassVar = {"loc": url, "caption": text, "geo_location": text, "title": text, "license": url}
    _required: ClassVar = ("loc",)

    def __post_init__(self) -> None:
        """Apply the rules to the fields; raise `InvalidEntry` for a broken one."""
        # A row may have a thousand images; a URL as plain text needs no further check.
        loc = self.loc
        if type(loc) is not str or not loc or loc.isspace() or not self.is_plain:
            Value.__post_init__(self)

    @property
    def is_plain(self) -> bool:
        """Whether it has only a URL, as plain text."""
        others = self.caption is self.geo_location is self.title is self.license is None
        return others and type(self.loc) is str


def image_element(image: Image, context: Context) -> str:
    """Return one ``<image:image>``; raise `InvalidEntry` for an invalid URL."""
    if image.is_plain:
        loc = media_url_of("Image.loc", image.loc, context)
        return f"{_START}{loc}{_END}</image:image>"
    image = image.settled()
    parts = [tag("image:loc", media_url_of("Image.loc", image.loc, context))]
    if writes_deprecated(image, ("caption", "geo_location", "title", "license"), context):
        parts += texts("image", image, ("caption", "geo_location", "title"), context)
        if image.license is not None:
            parts.append(tag("image:license", url_of("Image.license", image.license, context)))
    return tag("image:image", "".join(parts))


def image_elements(images: Iterable[Image | None], context: Context, drop: Drop) -> str:
    """Return the ``<image:image>`` elements of a page; call `drop` with the error of a broken image.

    An image is written once; warn ``W-IMAGE-REPEATED`` if it is given again.
    After 1,000 images, leave out the others with ``W-IMAGE-COUNT``, or in a strict context with ``E-IMAGE-COUNT``
    (G-IMG).
    """
    written: dict[str, str] = {}
    repeated: list[str] = []
    for element in each(images, image_element, context, drop):
        # The URL comes first, and no tag can be in it; without deprecated fields it is all there is.
        image = element.partition(_END)[0] if context.emit_deprecated else element
        if image in written:
            repeated.append(image)
            continue
        if len(written) == MAX_IMAGES:
            message = f"{context.loc} has more than {MAX_IMAGES:,} images"
            if context.strict:
                drop(InvalidEntry("E-IMAGE-COUNT", f"{message}; remove some."))
            else:
                context.warn("W-IMAGE-COUNT", f"{message}; only the first ones were listed.")
            break
        written[image] = element
    if repeated:
        loc = html.unescape(repeated[0].removeprefix(_START).partition(_END)[0])
        message = f"{context.loc} has images more than once, such as {loc}; each was listed once."
        context.warn("W-IMAGE-REPEATED", message)
    return "".join(written.values())
