"""Videos of a page: the fields, rules and XML of ``<video:video>``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.codes import check_country
from sitemaps_plus.protocol.dates import parse_w3c
from sitemaps_plus.protocol.text import clean, escape
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
from sitemaps_plus.values.xml import (
    Context,
    Drop,
    absolute_url,
    attribute_of,
    date_of,
    dates,
    each,
    media_url_of,
    plain,
    tag,
    text_of,
    texts,
    url_of,
    writes_deprecated,
    yes_or_no,
)

MAX_TITLE = 100
"""Most characters of a title in the XML schema; Google names no limit."""

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
    """Base of the limits of a video: a limit that is half empty must not silently become no limit."""

    __slots__ = ()

    @classmethod
    def _incomplete(cls, missing: Sequence[str]) -> None:
        """Accept a row whose fields are all empty, as one without a limit; else raise `InvalidEntry`."""
        if len(missing) < len(cls._required):
            message = (
                f"{cls.__name__}.{missing[0]} is empty for this row, so the video would be shown without this limit"
            )
            raise InvalidEntry("E-REQUIRED", f"{message}. Fill it in, or leave the video out.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction(_Limit):
    """The countries where a video may, or may not, be played."""

    relationship: Text = None
    """``allow`` or ``deny``; required (G-VID)."""
    countries: str | Iterable[Text] | Expression | None = None
    """ISO 3166-1 codes of two letters, as a list or one text; required (G-VID, XSD)."""

    _rules: ClassVar = {"relationship": _relationship, "countries": several(_country, split=_WORDS)}
    _required: ClassVar = ("relationship", "countries")
    _lists: ClassVar = ("countries",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform(_Limit):
    """The types of devices where a video may, or may not, be played."""

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
    """The uploader of a video."""

    name: Text = None
    """At most 255 characters; required (G-VID)."""
    info: Url = None
    """A page about the uploader, on the same domain as the page of the video (G-VID)."""

    _rules: ClassVar = {"name": short_text(255, "E-VIDEO-UPLOADER"), "info": url}
    _required: ClassVar = ("name",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Player(Value):
    """A page that plays a video: the ``src`` of an ``<iframe>``."""

    loc: Url = None
    """Its URL, which differs from that of the page; required (G-VID)."""
    allow_embed: YesNo = None
    """Deprecated in 2022: whether Google may embed the video (G-SPR)."""
    autoplay: Text = None
    """Deprecated in 2022: a parameter that starts the video (G-SPR)."""

    _rules: ClassVar = {"loc": url, "allow_embed": yes_no, "autoplay": text}
    _required: ClassVar = ("loc",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment(Value):
    """One of the files of a video that is split into several (legacy)."""

    loc: Url = None
    """URL of the file; required (XSD)."""
    duration: Number | timedelta = None
    """Seconds, 0 to 28,800 (XSD)."""

    _rules: ClassVar = {"loc": url, "duration": whole(0, MAX_DURATION, "E-VIDEO-DURATION")}
    _required: ClassVar = ("loc",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery(Value):
    """The collection that a video belongs to (deprecated)."""

    loc: Url = None
    """URL of the gallery; required (XSD)."""
    title: Text = None
    """Title of the gallery (XSD)."""

    _rules: ClassVar = {"loc": url, "title": text}
    _required: ClassVar = ("loc",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price(Value):
    """The price of a video (deprecated): a value with its currency, or a type."""

    value: Number = None
    """A number of at least 0 (XSD)."""
    currency: Text = None
    """A code of ISO 4217; required with a value (XSD)."""
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
    """Date of first broadcast (XSD)."""

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
    """The identifier of a video in a catalogue (legacy)."""

    value: Text = None
    """The identifier; required (XSD)."""
    type: Text = None
    """Its type: ``tms:series``, ``tms:program``, ``rovi:series``, ``rovi:program``, ``freebase``, ``url`` (XSD)."""

    _rules: ClassVar = {
        "value": text,
        "type": one_of(("tms:series", "tms:program", "rovi:series", "rovi:program", "freebase", "url"), "E-VIDEO-ID"),
    }
    _required: ClassVar = ("value", "type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Video(Value):
    """One ``<video:video>`` of a page, with at least a thumbnail, title, description, and a file or a player.

    Deprecated and legacy fields are written only with `emit_deprecated`.
    """

    thumbnail_loc: Url = None
    """URL of an image of at least 60 x 30 pixels; required (G-VID)."""
    title: Text = None
    """Title as on the page; required. It is cut to the 100 characters of the schema (G-VID, XSD)."""
    description: Text = None
    """At most 2,048 characters; required (G-VID)."""
    content_loc: Url = None
    """URL of the media file, not of a page; this or `player_loc` is required (G-VID)."""
    player_loc: Url | Player = None
    """URL of a player, or a `Player`; for videos on another site (G-VID)."""
    duration: Number | timedelta = None
    """1 to 28,800 seconds; a timedelta is rounded to seconds (G-VID)."""
    expiration_date: Date = None
    """Date after which search engines hide the video (G-VID)."""
    rating: Number = None
    """0.0 to 5.0 (G-VID)."""
    content_segment_loc: str | Segment | Iterable[Segment | Url] | Expression | None = None
    """Legacy: the files that the video is split into; only with `player_loc` (XSD)."""
    view_count: Number = None
    """Number of views (G-VID)."""
    publication_date: Date = None
    """Date of first publication (G-VID)."""
    tags: Iterable[Any] | Expression | None = None
    """At most 32 short texts (G-VID)."""
    category: Text = None
    """Deprecated: at most 256 characters (G-SPR, XSD)."""
    family_friendly: YesNo = None
    """False if it must not be shown with SafeSearch (G-VID)."""
    restriction: Restriction | None = None
    """Countries; all if empty (G-VID)."""
    gallery_loc: Url | Gallery = None
    """Deprecated: the collection that it belongs to (G-SPR)."""
    prices: Price | Iterable[Price] | None = None
    """Deprecated: its prices (G-SPR)."""
    requires_subscription: YesNo = None
    """Whether only subscribers, paying or not, can watch it (G-VID)."""
    uploader: Text | Uploader = None
    """The uploader: a name, or an `Uploader` (G-VID)."""
    tvshow: TVShow | None = None
    """Deprecated: the series (G-SPR)."""
    platform: Platform | None = None
    """Types of devices; all if empty (G-VID)."""
    live: YesNo = None
    """Whether it is a live stream (G-VID)."""
    id: VideoId | Iterable[VideoId] | None = None
    """Legacy: its identifiers in catalogues (XSD)."""

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
            message = "Video has neither content_loc nor player_loc; give the URL of the file or of a player."
            raise InvalidEntry("E-VIDEO-LOCATION", message)
        if self.content_segment_loc is not None and self.player_loc is None:
            message = "Video.content_segment_loc needs player_loc; give the URL of the player, too."
            raise InvalidEntry("E-VIDEO-LOCATION", message)


_DEPRECATED = ("content_segment_loc", "category", "gallery_loc", "prices", "tvshow", "id")


def video_element(video: Video, context: Context) -> str:
    """Return one ``<video:video>``; raise `InvalidEntry` for a URL that is invalid or not allowed here."""
    return tag("video:video", "".join(_children(video.settled(), context)))


def video_elements(videos: Iterable[Video | None], context: Context, drop: Drop) -> str:
    """Return the ``<video:video>`` elements of a page; call `drop` with the error of a broken video."""
    return "".join(each(videos, video_element, context, drop))


def _children(video: Any, context: Context) -> Iterator[str]:
    old = video if writes_deprecated(video, _DEPRECATED, context) else None
    yield tag("video:thumbnail_loc", media_url_of("Video.thumbnail_loc", video.thumbnail_loc, context, may_be_ftp=True))
    yield tag("video:title", _title(video.title, context))
    yield from texts("video", video, ("description",), context)
    if video.content_loc is not None:
        file = media_url_of("Video.content_loc", video.content_loc, context, may_be_ftp=True)
        yield tag("video:content_loc", _not_the_page("content_loc", file, context))
    if video.player_loc is not None:
        yield _player(video.player_loc, context)
    yield from plain("video", video, ("duration",))
    yield from _expiration(video, context)
    yield from plain("video", video, ("rating",))
    if old:
        yield from _segments(old, context)
    yield from plain("video", video, ("view_count",))
    yield from dates("video", video, ("publication_date",), context)
    yield from (tag("video:tag", text_of(word, context)) for word in video.tags or ())
    if old:
        yield from texts("video", old, ("category",), context)
    yield from plain("video", video, ("family_friendly",))
    if video.restriction is not None:
        countries = " ".join(video.restriction.countries)
        yield tag("video:restriction", countries, relationship=video.restriction.relationship)
    if old and old.gallery_loc is not None:
        title = attribute_of(old.gallery_loc.title, context)
        yield tag("video:gallery_loc", url_of("Video.gallery_loc", old.gallery_loc.loc, context), title=title)
    if old:
        yield from map(_price, old.prices or ())
    yield from plain("video", video, ("requires_subscription",))
    if video.uploader is not None:
        yield _uploader(video.uploader, context)
    if old and old.tvshow is not None:
        yield tag("video:tvshow", "".join(_tvshow(old.tvshow, context)))
    if video.platform is not None:
        yield tag("video:platform", " ".join(video.platform.platforms), relationship=video.platform.relationship)
    yield from plain("video", video, ("live",))
    if old:
        yield from (tag("video:id", text_of(name.value, context), type=name.type) for name in old.id or ())


def _title(title: Any, context: Context) -> str:
    text = clean(title, warn=context.warn, strict=context.strict)
    if len(text) > MAX_TITLE:
        message = f"The title {shown(title)} has {len(text)} characters, more than the {MAX_TITLE} of the schema"
        if context.strict:
            raise InvalidEntry("E-VIDEO-TITLE", f"{message}; shorten it.")
        context.warn("W-VIDEO-TITLE", f"{message}; it was shortened.")
        text = f"{text[: MAX_TITLE - 1].rstrip()}…"
    return escape(text)


def _not_the_page(field: str, url: str, context: Context) -> str:
    """Return `url`; raise `InvalidEntry` if it is the page itself, which is not a video (G-VID)."""
    if url == escape(context.loc):
        message = f"Video.{field} is the page itself, {shown(context.loc)}; give the URL of the file or of a player."
        raise InvalidEntry("E-VIDEO-LOCATION", message)
    return url


def _player(player: Player, context: Context) -> str:
    loc = _not_the_page("player_loc", media_url_of("Video.player_loc", player.loc, context), context)
    if not writes_deprecated(player, ("allow_embed", "autoplay"), context):
        return tag("video:player_loc", loc)
    embed = None if player.allow_embed is None else yes_or_no(bool(player.allow_embed))
    return tag("video:player_loc", loc, allow_embed=embed, autoplay=attribute_of(player.autoplay, context))


def _expiration(video: Video, context: Context) -> Iterator[str]:
    if (text := date_of("Video.expiration_date", video.expiration_date, context)) is None:
        return
    # A date is the last day of the video.
    end, now = parse_w3c(text), context.now
    if end < now if isinstance(end, datetime) else end < now.astimezone(UTC).date():
        context.warn("W-VIDEO-EXPIRED", f"The video {shown(video.title)} expired on {text}; search engines hide it.")
    yield tag("video:expiration_date", text)


def _segments(video: Any, context: Context) -> Iterator[str]:
    for segment in video.content_segment_loc or ():
        duration = None if segment.duration is None else str(segment.duration)
        loc = media_url_of("Video.content_segment_loc", segment.loc, context, may_be_ftp=True)
        yield tag("video:content_segment_loc", loc, duration=duration)


def _price(price: Any) -> str:
    return tag(
        "video:price",
        "" if price.value is None else price.value,
        currency=price.currency,
        type=price.type,
        resolution=price.resolution,
    )


def _uploader(uploader: Uploader, context: Context) -> str:
    info = None
    if uploader.info is not None:
        url = absolute_url("Uploader.info", uploader.info, context)
        if not _is_same_domain(_host(url), _host(context.loc)):
            message = f"Uploader.info is {shown(url)}, on another domain than {shown(context.loc)}; leave it out."
            raise InvalidEntry("E-VIDEO-UPLOADER-INFO", message)
        info = escape(url)
    return tag("video:uploader", text_of(uploader.name, context), info=info)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].removeprefix("www.")


def _is_same_domain(one: str, other: str) -> bool:
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _tvshow(show: TVShow, context: Context) -> Iterator[str]:
    yield from texts("video", show, ("show_title",), context)
    yield from plain("video", show, ("video_type",))
    yield from texts("video", show, ("episode_title",), context)
    yield from plain("video", show, ("season_number", "episode_number"))
    yield from dates("video", show, ("premier_date",), context)
