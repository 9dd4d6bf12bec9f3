"""Values of every kind, a context to write them in, and helpers that parse their XML."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.addresses import Origin, normalize
from sitemaps_plus.protocol.text import escape
from sitemaps_plus.protocol.writer import NAMESPACE, namespaces
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
from sitemaps_plus.values.extensions import EXTENSIONS, namespaces_of
from sitemaps_plus.values.xml import Context
from xml_checks import validate

VALUES = [
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
]

NAMESPACES = namespaces_of(EXTENSIONS)
NOW = datetime(2026, 10, 3, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
LOC = "https://example.com/films/?a=1&b=2"
SHOP = Origin.parse("https://example.com")


class Codes(list[str]):
    """A list that collects the codes of warnings and errors."""

    def warn(self, code: str, text: str) -> None:
        self.append(code)

    def drop(self, error: Exception) -> None:
        self.append(error.code if isinstance(error, InvalidEntry) else type(error).__name__)


def context(**options: Any) -> Context:
    return Context(**{"origin": SHOP, "tz": BERLIN, "now": NOW, "loc": LOC, **options})


def video(**fields: Any) -> Video:
    return Video(**{"thumbnail_loc": "/t.jpg", "title": "T", "description": "D", "content_loc": "/v.mp4", **fields})


def everything() -> Video:
    return video(
        title="""Tom & Jerry <3 "x" 'y'""",
        player_loc=Player(loc="https://player.example.net/?v=1&w=2", allow_embed=False, autoplay="a=1&b=2"),
        duration=timedelta(hours=8),
        expiration_date=date(2027, 1, 1),
        rating=4.25,
        content_segment_loc=["/1.mp4", Segment(loc="/2.mp4", duration=0)],
        view_count=12_345,
        publication_date=datetime(2026, 7, 1, 12),
        tags=["one", "two & three"],
        category="cooking",
        family_friendly=False,
        restriction=Restriction(relationship="allow", countries=["ie", "GB"]),
        gallery_loc=Gallery(loc="/gallery/", title='"All"'),
        prices=[Price(value="1.99", currency="EUR", type="rent", resolution="hd"), Price(type="purchase")],
        requires_subscription=True,
        uploader=Uploader(name="Ann & Bob", info="https://www.example.com/ann/"),
        tvshow=TVShow(
            show_title="Show",
            video_type="full",
            episode_title="Pilot",
            season_number=1,
            episode_number=2,
            premier_date=date(2026, 1, 1),
        ),
        platform=Platform(relationship="deny", platforms=["web", "tv"]),
        live=True,
        id=[VideoId(value="tt1", type="tms:series"), VideoId(value="https://example.com/1", type="url")],
    )


def news(**fields: Any) -> News:
    return News(
        **{"name": "The Times", "language": "en", "publication_date": date(2026, 10, 1), "title": "T", **fields}
    )


def document(*elements: str) -> bytes:
    """Return a sitemap with one URL that has these elements."""
    prefixes = namespaces(NAMESPACES)
    url = f"<url><loc>{escape(LOC)}</loc>{''.join(elements)}</url>"
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{NAMESPACE}"{prefixes}>{url}</urlset>'
    return text.encode()


def parsed(element: str) -> ElementTree.Element:
    """Return an element of a URL, parsed and validated."""
    return validate(document(element))[0][1]


def text(element: ElementTree.Element, path: str) -> str | None:
    return element.findtext(path, namespaces=NAMESPACES)


def names(element: ElementTree.Element) -> list[str]:
    return [child.tag.partition("}")[2] for child in element]


def address(value: str) -> str:
    return normalize(value, origin=SHOP)


def kept(value: Any, write: Callable[[Any], str], is_written: bool = True) -> str | None:
    return None if value is None or not is_written else write(value)


def refused(make: Any, **fields: Any) -> str:
    """Return the code of the error that `make` raises for the fields."""
    with pytest.raises(InvalidEntry) as raised:
        make(**fields)
    return raised.value.code
