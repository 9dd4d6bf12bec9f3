"""The four extensions of the sitemap format: the table of what differs between them, and how a page gets their XML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.entries import Cleaner, Link
from sitemaps_plus.values.alternate import Alternate, link_elements
from sitemaps_plus.values.base import Value, is_pending
from sitemaps_plus.values.fields import is_file
from sitemaps_plus.values.image import Image, image_elements
from sitemaps_plus.values.news import News, news_elements
from sitemaps_plus.values.video import Video, video_elements
from sitemaps_plus.values.xml import Context, Drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """One extension of the sitemap format: tags of its own, which one hook gives the values of."""

    hook: str
    """The hook, which gives one value or a list."""
    prefix: str
    """The prefix of the tags."""
    namespace: str
    """The XML namespace of the tags; ``http`` is part of its name."""
    kind: type[Value]
    """The class of the values."""
    write: Callable[[Iterable[Any], Context, Drop], str]
    """Returns the XML of values; called with the values of one page, the page, and a callback for broken values."""
    declared: str
    """An example of an attribute, for messages."""
    finished: str
    """An example of what a method returns for an object ``p``, for messages."""


EXTENSIONS = {
    extension.hook: extension
    # The order of the elements in a <url>.
    for extension in (
        Extension(
            hook="hreflang",
            prefix="xhtml",
            namespace="http://www.w3.org/1999/xhtml",
            kind=Alternate,
            write=link_elements,
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
"""The extensions by their hook."""


def namespaces_of(hooks: Iterable[str]) -> dict[str, str]:
    """Return the namespaces of the extensions of some hooks, by prefix."""
    return {EXTENSIONS[hook].prefix: EXTENSIONS[hook].namespace for hook in hooks}


def namespaces_in(infos: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the namespaces that the dicts of Django's ``get_urls()`` need; that of hreflang links always."""
    return namespaces_of(hook for hook in EXTENSIONS if hook == "hreflang" or any(info.get(hook) for info in infos))


def elements(hook: str, given: Any, context: Context, drop: Drop) -> str:
    """Return the XML of what a hook gave: one value, several, or None; call `drop` with the error of a broken one."""
    return EXTENSIONS[hook].write(_values(hook, given, drop), context, drop)


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
        for name in EXTENSIONS
        if not _is_nothing(media.get(name))
    )


def _is_nothing(given: Any) -> bool:
    # Most rows of a relation have nothing: that has to cost nothing.
    return given is None or (isinstance(given, list | tuple) and not given)


def usable(media: Mapping[str, Any], key: object, cleaner: Cleaner) -> dict[str, list[Any]]:
    """Return the values of all media of a row as lists, in the language now active, reporting what is no value."""
    found: dict[str, list[Any]] = {}
    for name in EXTENSIONS:
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
    kind = EXTENSIONS[name].kind
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
    extension = EXTENSIONS[name]
    kind = extension.kind.__name__
    if is_pending(value):
        return (
            f", which the database would have to compute. A method gives finished values, as in {extension.finished}; "
            f"with expressions {name} is an attribute."
        )
    if is_file(value):
        return f"; give {kind}(...), as in {extension.finished} for an object p."
    return f" ({type(value).__name__}); give {kind}(...), as in {extension.finished}."


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
