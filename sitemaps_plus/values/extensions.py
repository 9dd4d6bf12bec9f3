"""Turn images, videos, news and links to other languages into the XML that stands inside a ``<url>``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeAlias

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.codes import check_hreflang
from sitemaps_plus.protocol.dates import as_datetime, format_date, parse_w3c
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.protocol.text import clean, escape
from sitemaps_plus.values.alternate import Alternate
from sitemaps_plus.values.image import Image
from sitemaps_plus.values.news import News
from sitemaps_plus.values.video import Video
from sitemaps_plus.values.video_element import video_element
from sitemaps_plus.values.xml import (
    Context,
    date_of,
    media_url_of,
    plain,
    tag,
    text_of,
    texts,
    url_of,
    writes_deprecated,
)

MEDIA = ("hreflang", "images", "videos", "news")
"""The hooks that give values with tags of their own: one, or a list."""

__all__ = [
    "MAX_IMAGES",
    "MAX_NEWS",
    "NAMESPACES",
    "NEWS_WINDOW",
    "Context",
    "Drop",
    "image_element",
    "image_elements",
    "is_recent",
    "link_element",
    "link_elements",
    "news_element",
    "video_element",
    "video_elements",
]

NAMESPACES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
"""The namespace of each extension by its prefix; ``http`` is part of the name."""

MAX_IMAGES = 1000
"""Images of one page (G-IMG)."""

MAX_NEWS = 1000
"""Articles of one sitemap (G-NWS)."""

NEWS_WINDOW = timedelta(days=2)
"""How long an article is news (G-NWS)."""

Drop = Callable[[Exception], None]
"""What hears of a value that was left out."""

_PARENTHESES = re.compile(r"\s?\([^()]*\)")
_LINK_PARTS = re.compile(r'(?:hreflang|href)="([^"]*)"')
_DEPRECATED_NEWS = ("access", "genres", "keywords", "stock_tickers")
_Link: TypeAlias = Alternate | Link


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


def news_element(news: News, context: Context) -> str:
    """Return the ``<news:news>``; ``""`` with ``W-NEWS-FUTURE`` for an article that is not published yet (G-NWS).

    What stands in parentheses is taken out of the publication's name, with ``W-NEWS-NAME``.
    """
    news = news.settled()
    future = ("W-NEWS-FUTURE", "the news tags of the article were left out until then, its URL was not.")
    published = date_of("News.publication_date", news.publication_date, context, future=future)
    return "" if published is None else tag("news:news", "".join(_news_children(news, published, context)))


def link_element(link: _Link, context: Context) -> str:
    """Return one ``<xhtml:link>``; raise `InvalidEntry` for a broken code or address."""
    if isinstance(link, Alternate):
        link = link.settled()
    code = check_hreflang(str(link.hreflang))
    href = url_of("Alternate.href", link.href, context)
    return f'<xhtml:link rel="alternate" hreflang="{code}" href="{href}"/>'


def image_elements(images: Iterable[Image | None], context: Context, drop: Drop) -> str:
    """Return the ``<image:image>`` of a page, at most 1,000; `drop` hears of each that is broken.

    More are left out with ``W-IMAGE-COUNT``; in a strict context `drop` hears ``E-IMAGE-COUNT`` (G-IMG).
    """
    written: list[str] = []
    for element in _elements(images, image_element, context, drop):
        if len(written) == MAX_IMAGES:
            said = f"{context.loc} has more than {MAX_IMAGES:,} images"
            if context.strict:
                drop(InvalidEntry("E-IMAGE-COUNT", f"{said}; leave some out."))
            else:
                context.warn("W-IMAGE-COUNT", f"{said}; only the first ones are listed.")
            break
        written.append(element)
    return "".join(written)


def video_elements(videos: Iterable[Video | None], context: Context, drop: Drop) -> str:
    """Return the ``<video:video>`` of a page; `drop` hears of each that is broken."""
    return "".join(_elements(videos, video_element, context, drop))


def link_elements(links: Iterable[_Link | None], context: Context, drop: Drop) -> str:
    """Return the ``<xhtml:link>`` of a page; `drop` hears of each that is broken, or the second one of its code.

    Those that the context says the page has are not written again. ``W-HREFLANG-SELF``: none leads to the page (G-HRF).
    """
    found = {link.hreflang: escape(link.href) for link in context.links}
    written = []
    for element in _elements(links, link_element, context, drop):
        code, href = _LINK_PARTS.findall(element)
        if code not in found:
            found[code] = href
            written.append(element)
        elif found[code] != href:
            said = f"{context.loc} has two addresses for one language: {element}; the first one is listed."
            drop(InvalidEntry("E-HREFLANG-REPEATED", said))
    if written and escape(context.loc) not in found.values():
        said = f"{context.loc} links to other languages and not to itself; search engines want that, too."
        context.warn("W-HREFLANG-SELF", said)
    return "".join(written)


def is_recent(publication_date: Any, now: datetime, window: timedelta = NEWS_WINDOW, *, tz: tzinfo) -> bool:
    """Return whether an article is news at `now` (aware): published within `window`, its very start included (G-NWS).

    A date is its midnight in UTC, a naive datetime is in `tz`. What is published later than now counts: it is
    `news_element` that leaves it out, and says so.
    """
    # Text without a day stays text, which is no date.
    if isinstance(publication_date, str) and (text := format_date(publication_date, tz=tz)):
        publication_date = parse_w3c(text)
    return now - as_datetime(publication_date, tz=tz) <= window


def _elements(
    values: Iterable[Any], write: Callable[[Any, Context], str], context: Context, drop: Drop
) -> Iterator[str]:
    for value in values:
        if value is None:
            continue
        try:
            element = write(value, context)
        except Exception as error:  # a lazy text may raise anything
            drop(error)
        else:
            yield element


def _publication(name: Any, context: Context) -> str:
    text = given = clean(name, warn=context.warn, strict=context.strict)
    while (shorter := _PARENTHESES.sub("", text)) != text:
        text = shorter
    text = text.strip()
    if not text:
        raise InvalidEntry("E-REQUIRED", f"News.name is {shown(name)}, empty without its parentheses, but required.")
    if text != given.strip():
        said = f"What stands in parentheses in the publication's name {shown(name)} was left out; Google wants it so."
        context.warn("W-NEWS-NAME", said)
    return escape(text)


def _list(name: str, parts: Any, context: Context) -> str:
    return tag(f"news:{name}", text_of(", ".join(parts), context)) if parts else ""


def _news_children(news: News, published: str, context: Context) -> Iterator[str]:
    """Yield them in the order of the schema."""
    old = news if writes_deprecated(news, _DEPRECATED_NEWS, context) else None
    publication = tag("news:name", _publication(news.name, context)) + tag("news:language", str(news.language))
    yield tag("news:publication", publication)
    if old:
        yield from plain("news", old, ("access",))
        yield _list("genres", old.genres, context)
    yield tag("news:publication_date", published)
    yield from texts("news", news, ("title",), context)
    if old:
        yield _list("keywords", old.keywords, context)
        yield _list("stock_tickers", old.stock_tickers, context)
