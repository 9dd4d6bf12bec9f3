"""Write the fields of values as XML: cleaned and escaped text, encoded URLs, dates with a time zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, TypeVar

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.addresses import Origin, normalize
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.protocol.limits import MAX_LOC
from sitemaps_plus.protocol.text import Warn, clean, escape, ignore

# Parameters of URLs that expire.
_SIGNATURES = (
    ("X-Amz-Signature",),
    ("X-Amz-Expires",),
    ("X-Goog-Signature",),
    ("X-Goog-Expires",),
    # Older ones of Amazon and Google, and those of CloudFront.
    ("Signature", "Expires"),
    ("Signature", "Policy"),
    # Azure: "se" is the expiry, which may also be in a stored policy; "sv" is always present.
    ("sig", "se"),
    ("sig", "sv"),
    ("token",),
)
# Every signature has one of these. This test is ten times faster.
_ANY_SIGNATURE = re.compile(r"[?&](?:x-amz-|x-goog-|sig|token)", re.IGNORECASE)


_Result = TypeVar("_Result")

Drop = Callable[[Exception], None]
"""Called with the error of each value that is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The page that a value belongs to, and how to write it."""

    origin: Origin
    """The origin of paths without scheme and host."""
    tz: tzinfo
    """Zone of naive datetimes."""
    now: datetime
    """The time of rendering, aware."""
    loc: str
    """The URL of the page, as it is written."""
    warn: Warn = ignore
    """Called when a part of a value is changed or left out."""
    emit_deprecated: bool = False
    """Write also the elements that search engines no longer read."""
    strict: bool = False
    """Raise `InvalidEntry` instead of changing text."""
    max_loc: int = MAX_LOC
    """Most characters of a URL."""
    links: Sequence[Link] = ()
    """The hreflang links that the page has already."""


def each(
    values: Iterable[Any], write: Callable[[Any, Context], _Result], context: Context, drop: Drop
) -> Iterator[_Result]:
    """Yield the result of `write` for each value but None; call `drop` with the error of a broken one."""
    for value in values:
        if value is None:
            continue
        try:
            result = write(value, context)
        except Exception as error:  # a lazy text may raise anything
            drop(error)
        else:
            yield result


def tag(name: str, content: str, **attributes: str | None) -> str:
    """Return an element; `content` and `attributes` are escaped already, and attributes that are None are omitted."""
    pairs = "".join(f' {key}="{value}"' for key, value in attributes.items() if value is not None)
    return f"<{name}{pairs}>{content}</{name}>"


def text_of(value: Any, context: Context) -> str:
    """Return free text as the content of an element."""
    return escape(clean(value, warn=context.warn, strict=context.strict))


def attribute_of(value: Any, context: Context) -> str | None:
    """Return free text as the value of an attribute; None stays None."""
    # XML parsers turn a plain line end or tab into a space (XML 1.0, 3.3.3).
    return None if value is None else text_of(value, context).replace("\n", "&#10;").replace("\t", "&#9;")


def absolute_url(where: str, value: Any, context: Context) -> str:
    """Return the URL in the field `where`; a path gets the origin."""
    try:
        return normalize(value, origin=context.origin, warn=context.warn, max_length=context.max_loc)
    except InvalidEntry as error:
        raise error.within(where, None if error.code == "E-URL-USERINFO" else shown(value)) from error


def url_of(where: str, value: Any, context: Context) -> str:
    """Return the URL in the field `where` as XML; a path gets the origin."""
    return escape(absolute_url(where, value, context))


def media_url_of(where: str, value: Any, context: Context, *, may_be_ftp: bool = False) -> str:
    """Return the URL of a file or player as XML; warn ``W-URL-SIGNED`` if it expires.

    Files of a video may also be on FTP servers (G-VID). `where` is the name of the field, for messages.
    """
    if may_be_ftp and isinstance(value, str) and value.lstrip()[:6].lower() == "ftp://":
        url = _ftp_url(where, value, context)
    else:
        url = absolute_url(where, value, context)
    # The cheap test first: a row may have a thousand images.
    if "?" in url and (signature := signature_in(url)):
        # Without the query: the signature must not get into a log.
        message = f"{where}: the URL {shown(url.partition('?')[0])} is signed ({signature}) and will expire"
        context.warn("W-URL-SIGNED", f"{message}; give a public URL that does not expire.")
    return escape(url)


def signature_in(url: str) -> str | None:
    """Return the parameters that make a URL expire, joined by ``+``, or None if it does not expire."""
    if not _ANY_SIGNATURE.search(url):
        return None
    query = url.partition("#")[0].partition("?")[2]
    names = {pair.partition("=")[0].lower() for pair in query.split("&")}
    return next(("+".join(marks) for marks in _SIGNATURES if all(mark.lower() in names for mark in marks)), None)


def _ftp_url(where: str, value: str, context: Context) -> str:
    # Encode it under a web scheme whose default port it does not have, so that the port stays.
    scheme = "http" if ":443" in value else "https"
    longer = replace(context, max_loc=context.max_loc + len(scheme) - len("ftp"))
    before, mark, rest = value.partition("://")
    url = absolute_url(where, f"{before[:-3]}{scheme}{mark}{rest}", longer)
    return f"ftp{url.removeprefix(scheme)}"


def date_of(where: str, value: Any, context: Context, *, future: tuple[str, str] | None = None) -> str | None:
    """Return a date as text; for a later date than now, return None and warn with `future`, a code and a text."""

    def warn(code: str, text: str) -> None:
        if future and code == "W-LASTMOD-FUTURE":
            context.warn(future[0], f"{where} is {shown(value)}, in the future: {future[1]}")
        else:
            context.warn(code, f"{where}: {text}")

    return format_date(value, tz=context.tz, now=context.now if future else None, warn=warn)


def yes_or_no(value: bool) -> str:
    """Return ``yes`` or ``no``."""
    return "yes" if value else "no"


def texts(prefix: str, value: Any, names: Sequence[str], context: Context) -> Iterator[str]:
    """Yield one element for each text field in `names` that has a value."""
    for name in names:
        if (given := getattr(value, name)) is not None:
            yield tag(f"{prefix}:{name}", text_of(given, context))


def plain(prefix: str, value: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield one element for each field in `names` that has a number, a word or a `bool`."""
    for name in names:
        if (given := getattr(value, name)) is not None:
            yield tag(f"{prefix}:{name}", yes_or_no(given) if isinstance(given, bool) else escape(str(given)))


def dates(prefix: str, value: Any, names: Sequence[str], context: Context) -> Iterator[str]:
    """Yield one element for each date field in `names` that has a value."""
    for name in names:
        where = f"{type(value).__name__}.{name}"
        if (given := date_of(where, getattr(value, name), context)) is not None:
            yield tag(f"{prefix}:{name}", given)


def writes_deprecated(value: Any, names: Sequence[str], context: Context) -> bool:
    """Return whether to write the deprecated fields `names`; warn ``W-DEPRECATED`` if values are left out."""
    filled = () if context.emit_deprecated else [name for name in names if getattr(value, name) is not None]
    if filled:
        message = f"{type(value).__name__}: {', '.join(filled)} left out of {shown(context.loc)}"
        context.warn("W-DEPRECATED", f"{message}; search engines no longer read it. Remove it, or set emit_deprecated.")
    return context.emit_deprecated
