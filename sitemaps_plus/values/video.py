"""What can be said of one video: the fields of ``<video:video>``, with Google's rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.codes import check_country
from sitemaps_plus.values.base import Value, nested, nested_list
from sitemaps_plus.values.fields import (
    Date,
    Expression,
    Number,
    Text,
    Url,
    YesNo,
    decimal,
    is_late,
    moment,
    one_of,
    several,
    short_text,
    text,
    url,
    whole,
    yes_no,
)

MAX_TITLE = 100
"""Characters of a title in the XML schema; Google's page has no limit."""

MAX_DURATION = 28_800
"""Seconds: eight hours (G-VID)."""

_relationship = one_of(("allow", "deny"), "E-RELATIONSHIP")
_WORDS = r"[\s,]+"


def _country(where: str, value: Any) -> Any:
    kept = text(where, value)
    return kept if kept is None or is_late(kept) else check_country(kept)


def _currency(where: str, value: Any) -> Any:
    kept = text(where, value)
    if kept is None or is_late(kept):
        return kept
    code = kept.strip().upper()
    if len(code) != 3 or not (code.isascii() and code.isalpha()):
        raise InvalidEntry("E-VIDEO-PRICE", f"{where} is {kept!r}; give a code of ISO 4217, such as 'EUR'.")
    return code


class _Limit(Value):
    """Base of what a video may not be shown without: a half of it must not silently become no limit at all."""

    __slots__ = ()

    @classmethod
    def _incomplete(cls, missing: Sequence[str]) -> None:
        """Mean "no limit for this row" where every field is an expression and empty; else raise `InvalidEntry`."""
        if len(missing) < len(cls._required):
            said = f"{cls.__name__}.{missing[0]} is empty for this row, which would show the video without the limit"
            raise InvalidEntry("E-REQUIRED", f"{said}. Fill it, or leave the video out.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction(_Limit):
    """The countries in which a video may, or may not, be played."""

    relationship: Text = None
    """``allow`` or ``deny``; required (G-VID)."""
    countries: str | Iterable[Text] | Expression | None = None
    """ISO 3166-1 codes of two letters, as a list or one text; required (G-VID, XSD)."""

    _rules: ClassVar = {"relationship": _relationship, "countries": several(_country, split=_WORDS)}
    _required: ClassVar = ("relationship", "countries")
    _lists: ClassVar = ("countries",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform(_Limit):
    """The kinds of devices on which a video may, or may not, be played."""

    relationship: Text = None
    """``allow`` or ``deny``; required (G-VID)."""
    platforms: str | Iterable[Text] | Expression | None = None
    """Any of ``web``, ``mobile`` and ``tv``, as a list or one text; required (G-VID)."""

    _rules: ClassVar = {
        "relationship": _relationship,
        "platforms": several(one_of(("web", "mobile", "tv"), "E-VIDEO-PLATFORM"), split=_WORDS),
    }
    _required: ClassVar = ("relationship", "platforms")
    _lists: ClassVar = ("platforms",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploader(Value):
    """Who uploaded a video."""

    name: Text = None
    """At most 255 characters; required (G-VID)."""
    info: Url = None
    """A page about the uploader, on the domain of the page of the video (G-VID)."""

    _rules: ClassVar = {"name": short_text(255, "E-VIDEO-UPLOADER"), "info": url}
    _required: ClassVar = ("name",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Player(Value):
    """A page that plays a video: the ``src`` of an ``<iframe>``."""

    loc: Url = None
    """Its address, which is not that of the page; required (G-VID)."""
    allow_embed: YesNo = None
    """Deprecated in 2022: whether Google may embed the video (G-SPR)."""
    autoplay: Text = None
    """Deprecated in 2022: a parameter that starts the video (G-SPR)."""

    _rules: ClassVar = {"loc": url, "allow_embed": yes_no, "autoplay": text}
    _required: ClassVar = ("loc",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment(Value):
    """One of the files that a video is cut into (legacy)."""

    loc: Url = None
    """Address of the file; required (XSD)."""
    duration: Number | timedelta = None
    """Seconds, 0 to 28,800 (XSD)."""

    _rules: ClassVar = {"loc": url, "duration": whole(0, MAX_DURATION, "E-VIDEO-DURATION")}
    _required: ClassVar = ("loc",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery(Value):
    """The collection that a video is in (deprecated)."""

    loc: Url = None
    """Address of the gallery; required (XSD)."""
    title: Text = None
    """Its title (XSD)."""

    _rules: ClassVar = {"loc": url, "title": text}
    _required: ClassVar = ("loc",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price(Value):
    """What it costs to see a video (deprecated): a value with its currency, or a type."""

    value: Number = None
    """A number of at least 0 (XSD)."""
    currency: Text = None
    """A code of ISO 4217; required beside a value (XSD)."""
    type: Text = None
    """``purchase`` or ``rent``; required without a value (XSD)."""
    resolution: Text = None
    """``hd`` or ``sd`` (XSD)."""

    _rules: ClassVar = {
        "value": decimal(0, None, "E-VIDEO-PRICE"),
        "currency": _currency,
        "type": one_of(("purchase", "rent"), "E-VIDEO-PRICE"),
        "resolution": one_of(("hd", "sd"), "E-VIDEO-PRICE"),
    }
    _one_of: ClassVar = ("value", "type")

    def _check(self) -> None:
        if self.value is not None and self.currency is None:
            raise InvalidEntry("E-VIDEO-PRICE", f"The price {self.value} has no currency; add one, such as 'EUR'.")
        if self.value is None and self.type is None:
            raise InvalidEntry("E-VIDEO-PRICE", "A price without a value needs a type: 'purchase' or 'rent'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TVShow(Value):
    """The series that a video belongs to (deprecated)."""

    show_title: Text = None
    """Title of the series; required (XSD)."""
    video_type: Text = None
    """``full``, ``preview``, ``clip``, ``interview``, ``news`` or ``other``; required (XSD)."""
    episode_title: Text = None
    """Title of the episode (XSD)."""
    season_number: Number = None
    """A whole number from 1 (XSD)."""
    episode_number: Number = None
    """A whole number from 1 (XSD)."""
    premier_date: Date = None
    """When it was first broadcast (XSD)."""

    _rules: ClassVar = {
        "show_title": text,
        "video_type": one_of(("full", "preview", "clip", "interview", "news", "other"), "E-VIDEO-TVSHOW"),
        "episode_title": text,
        "season_number": whole(1, None, "E-VIDEO-TVSHOW"),
        "episode_number": whole(1, None, "E-VIDEO-TVSHOW"),
        "premier_date": moment,
    }
    _required: ClassVar = ("show_title", "video_type")


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoId(Value):
    """The name of a video in someone's catalogue (legacy)."""

    value: Text = None
    """The name itself; required (XSD)."""
    type: Text = None
    """Whose it is: ``tms:series``, ``tms:program``, ``rovi:series``, ``rovi:program``, ``freebase``, ``url`` (XSD)."""

    _rules: ClassVar = {
        "value": text,
        "type": one_of(("tms:series", "tms:program", "rovi:series", "rovi:program", "freebase", "url"), "E-VIDEO-ID"),
    }
    _required: ClassVar = ("value", "type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Video(Value):
    """One ``<video:video>`` of a page: required are a thumbnail, a title, a description and one of the two addresses.

    What is named deprecated or legacy is written only when asked for.
    """

    thumbnail_loc: Url = None
    """Address of a still of at least 60 x 30 pixels; required (G-VID)."""
    title: Text = None
    """Title as on the page; required. The schema has 100 characters, a longer one is cut (G-VID, XSD)."""
    description: Text = None
    """At most 2,048 characters; required (G-VID)."""
    content_loc: Url = None
    """Address of the media file, not of a page; this one or `player_loc` is required (G-VID)."""
    player_loc: Url | Player = None
    """Address of a player, or a `Player`; for videos kept elsewhere (G-VID)."""
    duration: Number | timedelta = None
    """1 to 28,800 seconds; a timedelta is rounded to seconds (G-VID)."""
    expiration_date: Date = None
    """When the video goes; it is hidden after that (G-VID)."""
    rating: Number = None
    """0.0 to 5.0 (G-VID)."""
    content_segment_loc: str | Segment | Iterable[Segment | Url] | Expression | None = None
    """Legacy: the files that the video is cut into; only beside `player_loc` (XSD)."""
    view_count: Number = None
    """How often it was seen, from 0 (G-VID)."""
    publication_date: Date = None
    """When it was first published (G-VID)."""
    tags: Iterable[Any] | Expression | None = None
    """At most 32 short texts (G-VID)."""
    category: Text = None
    """Deprecated: at most 256 characters (G-SPR, XSD)."""
    family_friendly: YesNo = None
    """False: only without SafeSearch (G-VID)."""
    restriction: Restriction | None = None
    """Countries; without it, all (G-VID)."""
    gallery_loc: Url | Gallery = None
    """Deprecated: the collection that it is in (G-SPR)."""
    prices: Price | Iterable[Price] | None = None
    """Deprecated: what it costs (G-SPR)."""
    requires_subscription: YesNo = None
    """Whether it can be seen by subscribers only, paid or free (G-VID)."""
    uploader: Text | Uploader = None
    """Who uploaded it: a name, or an `Uploader` (G-VID)."""
    tvshow: TVShow | None = None
    """Deprecated: the series (G-SPR)."""
    platform: Platform | None = None
    """Kinds of devices; without it, all (G-VID)."""
    live: YesNo = None
    """Whether it is a live stream (G-VID)."""
    id: VideoId | Iterable[VideoId] | None = None
    """Legacy: its names in catalogues (XSD)."""

    _rules: ClassVar = {
        "thumbnail_loc": url,
        "title": text,
        "description": short_text(2048, "E-VIDEO-DESCRIPTION"),
        "content_loc": url,
        "player_loc": nested(Player, "loc"),
        "duration": whole(1, MAX_DURATION, "E-VIDEO-DURATION"),
        "expiration_date": moment,
        "rating": decimal(0, 5, "E-VIDEO-RATING"),
        "content_segment_loc": nested_list(Segment, "loc"),
        "view_count": whole(0, None, "E-VIDEO-VIEWS"),
        "publication_date": moment,
        "tags": several(text, most=32, code="E-VIDEO-TAGS"),
        "category": short_text(256, "E-VIDEO-CATEGORY"),
        "family_friendly": yes_no,
        "restriction": nested(Restriction),
        "gallery_loc": nested(Gallery, "loc"),
        "prices": nested_list(Price),
        "requires_subscription": yes_no,
        "uploader": nested(Uploader, "name"),
        "tvshow": nested(TVShow),
        "platform": nested(Platform),
        "live": yes_no,
        "id": nested_list(VideoId),
    }
    _required: ClassVar = ("thumbnail_loc", "title", "description")
    _one_of: ClassVar = ("content_loc", "player_loc")
    _lists: ClassVar = ("content_segment_loc", "tags", "prices", "id")

    def _check(self) -> None:
        if self.content_loc is None and self.player_loc is None:
            said = "Video has neither content_loc nor player_loc; give the address of the file or of a player."
            raise InvalidEntry("E-VIDEO-LOCATION", said)
        if self.content_segment_loc is not None and self.player_loc is None:
            said = "Video.content_segment_loc stands without player_loc; give the address of the player too."
            raise InvalidEntry("E-VIDEO-LOCATION", said)
