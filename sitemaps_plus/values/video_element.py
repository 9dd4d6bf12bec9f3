"""Turn a video into its ``<video:video>``, children in the order of the schema."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.dates import parse_w3c
from sitemaps_plus.protocol.text import clean, escape
from sitemaps_plus.values.video import MAX_TITLE, Player, TVShow, Uploader, Video
from sitemaps_plus.values.xml import (
    Context,
    absolute_url,
    attribute_of,
    date_of,
    dates,
    media_url_of,
    plain,
    tag,
    text_of,
    texts,
    url_of,
    writes_deprecated,
    yes_or_no,
)

_DEPRECATED = ("content_segment_loc", "category", "gallery_loc", "prices", "tvshow", "id")


def video_element(video: Video, context: Context) -> str:
    """Return one ``<video:video>``; raise `InvalidEntry` for an address that is broken or not allowed here."""
    return tag("video:video", "".join(_children(video.settled(), context)))


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
        said = f"The title {shown(title)} has {len(text)} characters, more than the {MAX_TITLE} of the schema"
        if context.strict:
            raise InvalidEntry("E-VIDEO-TITLE", f"{said}; shorten it.")
        context.warn("W-VIDEO-TITLE", f"{said}; it was cut.")
        text = f"{text[: MAX_TITLE - 1].rstrip()}…"
    return escape(text)


def _not_the_page(field: str, url: str, context: Context) -> str:
    """Return `url` unless it is the page itself, which is no video (G-VID)."""
    if url == escape(context.loc):
        said = f"Video.{field} is the page itself, {shown(context.loc)}; give the address of the file or of a player."
        raise InvalidEntry("E-VIDEO-LOCATION", said)
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
    # A date is the video's last day.
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
            said = f"Uploader.info is {shown(url)}, on another domain than {shown(context.loc)}; leave it out."
            raise InvalidEntry("E-VIDEO-UPLOADER-INFO", said)
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
