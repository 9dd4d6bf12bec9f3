"""The table of the four extensions of the sitemap format, and the XML of all their values for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.entries import Cleaner, Link
from sitemaps_plus.values.alternate import Alternate, more_links
from sitemaps_plus.values.base import Value, is_pending
from sitemaps_plus.values.fields import is_file
from sitemaps_plus.values.image import Image, image_elements
from sitemaps_plus.values.news import News, news_elements
from sitemaps_plus.values.video import Video, video_elements
from sitemaps_plus.values.xml import Context, Drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """One extension of the sitemap format: a set of tags, for the values of one hook."""

    hook: str
    """The name of the hook, which gives one value or a list."""
    prefix: str
    """The prefix of the tags."""
    namespace: str
    """The XML namespace of the tags; ``http`` is part of its name."""
    kind: type[Value]
    """The class of the values."""
    declared: str
    """An example of the hook as an attribute, for error messages."""
    finished: str
    """An example of a value that a method returns for an object ``p``, for error messages."""
    write: Callable[[Iterable[Any], Context, Drop], str] | None = None
    """Called with the values of one page, the page, and a callback for broken values; returns their XML.

    None for links, which the page writes with those that it has already.
    """


EXTENSIONS = {
    extension.hook: extension
    # In the order of their elements in a <url>.
    for extension in (
        Extension(
            hook="hreflang",
            prefix="xhtml",
            namespace="http://www.w3.org/1999/xhtml",
            kind=Alternate,
            declared='Alternate(hreflang="de", href=UrlFor(...))',
            finished='Alternate(hreflang="de", href=p.german_url)',
        ),
        Extension(
            hook="images",
            prefix="image",
            namespace="http://www.google.com/schemas/sitemap-image/1.1",
            kind=Image,
            write=image_elements,
            declared='Image(loc=F("photo")), Related("photos", Image(loc=F("file")))',
            finished="Image(loc=p.photo)",
        ),
        Extension(
            hook="videos",
            prefix="video",
            namespace="http://www.google.com/schemas/sitemap-video/1.1",
            kind=Video,
            write=video_elements,
            declared='Video(thumbnail_loc=F("still"), title=F("title"), ...)',
            finished="Video(thumbnail_loc=p.still, title=p.title, description=p.summary, content_loc=p.file)",
        ),
        Extension(
            hook="news",
            prefix="news",
            namespace="http://www.google.com/schemas/sitemap-news/0.9",
            kind=News,
            write=news_elements,
            declared='News(name="The Example Times", language="en", ...)',
            finished='News(name="The Times", language="en", publication_date=p.published_at, title=p.title)',
        ),
    )
}
"""The extensions by the names of their hooks."""


def namespaces_of(hooks: Iterable[str]) -> dict[str, str]:
    """Return the namespaces of the extensions of some hooks, by prefix."""
    return {EXTENSIONS[hook].prefix: EXTENSIONS[hook].namespace for hook in hooks}


def namespaces_in(infos: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the namespaces that the dicts of Django's ``get_urls()`` need; that of hreflang links always."""
    return namespaces_of(hook for hook in EXTENSIONS if hook == "hreflang" or any(info.get(hook) for info in infos))


def links_of(
    media: Mapping[str, Any], key: object, loc: str, cleaner: Cleaner, *, links: Sequence[Link] = ()
) -> Sequence[Link]:
    """Return the links of the hook ``hreflang`` that are not among the `links` of the page; report broken values."""
    given = media.get("hreflang")
    if _is_empty(given):
        return ()
    drop = partial(cleaner.report.drop, key, "hreflang")
    return more_links(_values("hreflang", given, drop), context_of(key, "hreflang", loc, cleaner, links=links), drop)


def elements(
    media: Mapping[str, Any], key: object, loc: str, cleaner: Cleaner, *, emit_deprecated: bool = False
) -> str:
    """Return the XML of the images, videos and news of a row, and report broken values.

    `loc` is the URL of the page. Only writing a value shows whether all of it can be written: an entry has the XML.
    """
    written = []
    for name, extension in EXTENSIONS.items():
        if extension.write is not None and not _is_empty(given := media.get(name)):
            drop = partial(cleaner.report.drop, key, name)
            context = context_of(key, name, loc, cleaner, emit_deprecated=emit_deprecated)
            written.append(extension.write(_values(name, given, drop), context, drop))
    return "".join(written)


def _is_empty(given: Any) -> bool:
    # Many rows have no values: skip them cheaply.
    return given is None or (isinstance(given, list | tuple) and not given)


def usable(media: Mapping[str, Any], key: object, cleaner: Cleaner) -> dict[str, list[Any]]:
    """Return the values of each hook for a row as a list, in the active language, and report invalid values."""
    found: dict[str, list[Any]] = {}
    for name in EXTENSIONS:
        if name in media:
            drop = partial(cleaner.report.drop, key, name)
            found[name] = list(_settled(_values(name, media[name], drop), drop))
    return found


def context_of(
    key: object, name: str, loc: str, cleaner: Cleaner, *, links: Sequence[Link] = (), emit_deprecated: bool = False
) -> Context:
    """Return the context in which the elements of the hook `name` are written."""
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
    kind = EXTENSIONS[name].kind
    if isinstance(given, Value):
        given = (given,)
    # A file is iterable, too: iterating would open it.
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
            drop(InvalidEntry("E-FIELD-TYPE", f"{name} gave {shown(value)}{_advice(name, value)}"))


def _advice(name: str, value: Any) -> str:
    """Return which value to give instead."""
    extension = EXTENSIONS[name]
    kind = extension.kind.__name__
    if is_pending(value):
        return (
            f", which the database would have to compute. Return finished values from a method, as in "
            f"{extension.finished}; for expressions, make {name} an attribute."
        )
    if is_file(value):
        return f"; give {kind}(...), as in {extension.finished} for an object p."
    return f" ({type(value).__name__}); give {kind}(...), as in {extension.finished}."


def _each(given: Iterable[Any], drop: Drop) -> Iterator[Any]:
    try:
        yield from given
    except Exception as error:  # a generator of the project may raise anything
        drop(error)


def _settled(values: Iterable[Any], drop: Drop) -> Iterator[Any]:
    for value in values:
        try:
            yield value.settled() if isinstance(value, Value) else value
        except Exception as error:  # a lazy text may raise anything
            drop(error)
