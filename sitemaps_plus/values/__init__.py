"""Images, videos, news and links to languages: the fields, rules and XML of each."""

from sitemaps_plus.values.alternate import Alternate
from sitemaps_plus.values.base import Value
from sitemaps_plus.values.image import Image
from sitemaps_plus.values.news import News
from sitemaps_plus.values.video import (
    Gallery,
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

__all__ = [
    "Alternate",
    "Gallery",
    "Image",
    "News",
    "Platform",
    "Player",
    "Price",
    "Restriction",
    "Segment",
    "TVShow",
    "Uploader",
    "Value",
    "Video",
    "VideoId",
]
