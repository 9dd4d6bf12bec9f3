"""Turn what the media hooks gave for a row into the XML inside its ``<url>``, for pages and templates alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.entries import Cleaner, Link
from sitemaps_plus.values.alternate import Alternate
from sitemaps_plus.values.base import Value, is_pending
from sitemaps_plus.values.extensions import (
    MEDIA,
    NAMESPACES,
    Drop,
    image_elements,
    is_recent,
    link_elements,
    news_element,
    video_elements,
)
from sitemaps_plus.values.fields import is_file
from sitemaps_plus.values.image import Image
from sitemaps_plus.values.news import News
from sitemaps_plus.values.video import Video
from sitemaps_plus.values.xml import Context

_KINDS: dict[str, type[Value]] = {"images": Image, "videos": Video, "news": News, "hreflang": Alternate}
_FINISHED = {
    "images": "Image(loc=p.photo)",
    "videos": "Video(thumbnail_loc=p.still, title=p.title, description=p.summary, content_loc=p.file)",
    "news": 'News(name="The Times", language="en", publication_date=p.published_at, title=p.title)',
    "hreflang": 'Alternate(hreflang="de", href=p.german_url)',
}
_PREFIXES = {"images": "image", "videos": "video", "news": "news", "hreflang": "xhtml"}


def prefixes(names: Iterable[str]) -> dict[str, str]:
    """Return the namespaces of the hooks `names`, by prefix."""
    return {_PREFIXES[name]: NAMESPACES[_PREFIXES[name]] for name in names}


def url_prefixes(infos: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the namespaces that the dicts of Django's ``get_urls()`` need; links to languages are always declared."""
    return prefixes(["hreflang", *(name for name in MEDIA[1:] if any(info.get(name) for info in infos))])


def elements(name: str, given: Any, context: Context, drop: Drop) -> str:
    """Return the XML of what the hook `name` gave: one value, several, or None; `drop` hears of each broken one."""
    values = _values(name, given, drop)
    return _WRITERS[name](values, context, drop)


def extras(
    media: Mapping[str, Any],
    key: object,
    loc: str,
    cleaner: Cleaner,
    *,
    links: Sequence[Link] = (),
    emit_deprecated: bool = False,
) -> str:
    """Return the XML of all media of a row, reporting what is broken.

    `loc` is the address of its page, `links` are those that the page has already.
    """
    return "".join(
        elements(
            name,
            media[name],
            context_of(key, name, loc, cleaner, links=links, emit_deprecated=emit_deprecated),
            partial(cleaner.report.drop, key, name),
        )
        for name in MEDIA
        if not _is_nothing(media.get(name))
    )


def _is_nothing(given: Any) -> bool:
    # Most rows of a relation have nothing: that has to cost nothing.
    return given is None or (isinstance(given, list | tuple) and not given)


def usable(media: Mapping[str, Any], key: object, cleaner: Cleaner) -> dict[str, list[Any]]:
    """Return the values of all media of a row as lists, in the language now active, reporting what is no value."""
    found: dict[str, list[Any]] = {}
    for name in MEDIA:
        if name in media:
            drop = partial(cleaner.report.drop, key, name)
            found[name] = list(_settled(_values(name, media[name], drop), drop))
    return found


def context_of(
    key: object, name: str, loc: str, cleaner: Cleaner, *, links: Sequence[Link] = (), emit_deprecated: bool = False
) -> Context:
    """Return what the elements of the hook `name` need to know of their page."""
    return Context(
        origin=cleaner.scope.origin,
        tz=cleaner.tz,
        now=cleaner.now,
        loc=loc,
        max_loc=cleaner.profile.max_loc,
        links=links,
        emit_deprecated=emit_deprecated,
        strict=cleaner.report.strict,
        warn=lambda code, text: cleaner.report.warn(key, name, code, text),
    )


def _values(name: str, given: Any, drop: Drop) -> Iterator[Any]:
    kind = _KINDS[name]
    if isinstance(given, Value):
        given = (given,)
    # A file is iterable too: it would be opened.
    if given is None or isinstance(given, str | Mapping) or not isinstance(given, Iterable) or is_file(given):
        given = () if given is None else (given,)
    for value in _each(given, drop):
        if isinstance(value, Exception):
            drop(value)
        elif isinstance(value, Value) and value.broken is not None:
            drop(value.broken)
        elif isinstance(value, kind | Link) and not is_pending(value):
            yield value
        elif value is not None:
            drop(InvalidEntry("E-FIELD-TYPE", f"{name} gave {shown(value)}{_instead(name, value)}"))


def _instead(name: str, value: Any) -> str:
    """Return what to give in place of a value that cannot be one."""
    kind = _KINDS[name].__name__
    if is_pending(value):
        return (
            f", which the database would have to compute. A method gives finished values, as in {_FINISHED[name]}; "
            f"with expressions {name} is an attribute."
        )
    if is_file(value):
        return f"; give {kind}(...), as in {_FINISHED[name]} for an object p."
    return f" ({type(value).__name__}); give {kind}(...), as in {_FINISHED[name]}."


def _each(given: Iterable[Any], drop: Drop) -> Iterator[Any]:
    try:
        yield from given
    except Exception as error:  # a method may make its values one by one
        drop(error)


def _settled(values: Iterable[Any], drop: Drop) -> Iterator[Any]:
    for value in values:
        try:
            yield value.settled() if isinstance(value, Value) else value
        except Exception as error:  # a lazy text may raise anything
            drop(error)


def _news_elements(values: Iterable[News], context: Context, drop: Drop) -> str:
    # An article that is no news any more keeps its URL (G-NWS).
    recent = [value for value in values if is_recent(value.publication_date, context.now, tz=context.tz)]
    if len(recent) > 1:
        drop(InvalidEntry("E-NEWS-COUNT", f"{context.loc} has {len(recent)} news; the first one is listed."))
    try:
        return news_element(recent[0], context) if recent else ""
    except Exception as error:  # a lazy text may raise anything
        drop(error)
        return ""


_WRITERS: dict[str, Callable[[Iterable[Any], Context, Drop], str]] = {
    "images": image_elements,
    "videos": video_elements,
    "news": _news_elements,
    "hreflang": link_elements,
}
