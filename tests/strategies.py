"""Hypothesis strategies for values: every field, with any Unicode text."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from sitemaps_plus.protocol.codes import COUNTRIES, LANGUAGES
from sitemaps_plus.protocol.text import clean
from sitemaps_plus.values import (
    Alternate,
    Gallery,
    Image,
    News,
    Platform,
    Player,
    Price,
    Restriction,
    Segment,
    TVShow,
    Uploader,
    Video,
    VideoId,
)

# Including lone surrogates and all other characters that XML does not allow.
_characters = st.characters(exclude_categories=()) | st.sampled_from("&<>\"'%]\r\n\t\0\x85\ud800\ufffe")


def filled(most: int = 60) -> st.SearchStrategy[str]:
    """Return texts of at most `most` characters that are not empty without illegal characters."""
    return st.text(_characters, min_size=1, max_size=most).filter(lambda text: clean(text).strip())


_paths = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("&%'\"<[# \0"), max_size=40)
urls = st.builds(
    "{}/{}".format,
    st.sampled_from(["https://cdn.example.net", "http://Example.COM:8080", "https://example.com", "HTTPS://[::1]"]),
    _paths,
)
"""Absolute URLs with any path."""
addresses = urls | _paths.filter(lambda path: not path.startswith("/")).map("/{}".format)
"""Absolute URLs and paths."""

# The edges of the calendar cannot be moved to UTC.
_EARLY, _LATE = datetime(2, 1, 1), datetime(9998, 12, 31)
dates = (
    st.dates()
    | st.datetimes(_EARLY, _LATE)
    | st.datetimes(_EARLY, _LATE, timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30))]))
    | st.sampled_from(["2026-10-01", "2026-10-01T12:00:00Z", "2026-10-01T12:00+02:00"])
)
bools = st.sampled_from([True, False, 1, 0, "yes", "no", "YES"])


def numbers(low: int, high: int) -> st.SearchStrategy[Any]:
    """Return whole numbers in every form that fields accept."""
    whole = st.integers(low, high)
    return whole | whole.map(str) | whole.map(float) | whole.map(Decimal)


def _optional(**fields: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    return {name: st.none() | strategy for name, strategy in fields.items()}


def images() -> st.SearchStrategy[Image]:
    """Return valid images."""
    texts = _optional(caption=filled(), geo_location=filled(), title=filled(), license=addresses)
    return st.builds(Image, loc=addresses, **texts)


def news() -> st.SearchStrategy[News]:
    """Return valid articles of any age."""
    names = filled().filter(lambda text: "(" not in text)
    languages = st.sampled_from(sorted(LANGUAGES)) | st.sampled_from(["en-GB", "pt-br", "zh-Hans", "zh-TW", "fil"])
    genres = st.lists(st.sampled_from(["Blog", "oped", "Satire"]), max_size=4)
    tickers = st.lists(st.from_regex(r"\A[A-Z]{1,6}:[A-Z0-9]{1,5}\Z"), max_size=5)
    return st.builds(
        News,
        name=names,
        language=languages,
        publication_date=dates,
        title=filled(),
        **_optional(
            access=st.sampled_from(["Subscription", "registration"]),
            genres=genres | genres.map(",".join),
            keywords=st.lists(filled(20), max_size=4) | filled(),
            stock_tickers=tickers | tickers.map(", ".join),
        ),
    )


def alternates() -> st.SearchStrategy[Alternate]:
    """Return valid links to other languages."""
    codes = st.builds(
        "{}{}{}".format,
        st.sampled_from(sorted(LANGUAGES)),
        st.sampled_from(["", "-hans", "-LATN"]),
        st.just("") | st.sampled_from(sorted(COUNTRIES)).map("-{}".format),
    )
    return st.builds(Alternate, hreflang=codes | st.sampled_from(["x-default", "X-Default"]), href=urls)


_relationships = st.sampled_from(["allow", "deny"])
_countries = st.lists(st.sampled_from([*sorted(COUNTRIES), "ie", "gb"]), min_size=1, max_size=5)
_platforms = st.lists(st.sampled_from(["web", "mobile", "tv"]), min_size=1, max_size=5)
_restrictions = st.builds(Restriction, relationship=_relationships, countries=_countries | _countries.map(" ".join))
_devices = st.builds(Platform, relationship=_relationships, platforms=_platforms | _platforms.map(" ".join))
_players = st.builds(Player, loc=addresses, **_optional(allow_embed=bools, autoplay=filled()))
_uploaders = filled(255) | st.builds(Uploader, name=filled(255), info=st.none() | st.just("/about?me=1&you=2"))
_galleries = addresses | st.builds(Gallery, loc=addresses, title=st.none() | filled())
_price_parts = _optional(type=st.sampled_from(["purchase", "RENT"]), resolution=st.sampled_from(["hd", "SD"]))
_prices = st.builds(
    Price,
    value=st.decimals(0, 10**6, places=2) | st.floats(0, 10**6) | st.integers(0, 99),
    currency=st.sampled_from(["EUR", "usd"]),
    **_price_parts,
) | st.builds(Price, type=st.sampled_from(["purchase", "rent"]), resolution=_price_parts["resolution"])
_shows = st.builds(
    TVShow,
    show_title=filled(),
    video_type=st.sampled_from(["full", "clip", "news"]),
    **_optional(
        episode_title=filled(), season_number=numbers(1, 99), episode_number=numbers(1, 9999), premier_date=dates
    ),
)
_ids = st.builds(VideoId, value=filled(), type=st.sampled_from(["tms:series", "freebase", "url"]))
_segments = addresses | st.builds(Segment, loc=addresses, duration=st.none() | numbers(0, 28_800))


@st.composite
def videos(draw: st.DrawFn) -> Video:
    """Return valid videos."""
    player = draw(st.none() | addresses | _players)
    fields = _optional(
        duration=numbers(1, 28_800) | st.integers(1, 28_800).map(lambda seconds: timedelta(seconds=seconds)),
        expiration_date=dates,
        rating=st.floats(0, 5) | st.decimals(0, 5, places=2) | st.sampled_from(["4.25", "5", 0]),
        view_count=numbers(0, 10**9),
        publication_date=dates,
        tags=st.lists(filled(20) | st.just(""), max_size=32),
        category=filled(),
        family_friendly=bools,
        restriction=_restrictions,
        gallery_loc=_galleries,
        prices=_prices | st.lists(_prices, max_size=3),
        requires_subscription=bools,
        uploader=_uploaders,
        platform=_devices,
        live=bools,
        tvshow=_shows,
        id=_ids | st.lists(_ids, max_size=2),
    )
    if player is not None:
        fields |= _optional(content_segment_loc=st.lists(_segments, max_size=3))
    return Video(
        thumbnail_loc=draw(addresses),
        title=draw(filled(100)),
        description=draw(filled(200)),
        content_loc=draw(addresses if player is None else st.none() | addresses),
        player_loc=player,
        **draw(st.fixed_dictionaries(fields)),
    )
