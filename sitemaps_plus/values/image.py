"""Images of a page: the fields and rules of ``<image:image>``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sitemaps_plus.values.base import Value
from sitemaps_plus.values.fields import Text, Url, text, url


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
