"""Turn the fields of values into finished XML: texts cleaned and escaped, addresses encoded, dates with their zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.addresses import Origin, normalize
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.protocol.limits import MAX_LOC
from sitemaps_plus.protocol.text import Warn, clean, escape, ignore

# What stands together in the query of an address that is good for some time only.
_SIGNATURES = (
    ("X-Amz-Signature",),
    ("X-Amz-Expires",),
    ("X-Goog-Signature",),
    ("X-Goog-Expires",),
    # The older ones of Amazon and Google, and those of CloudFront.
    ("Signature", "Expires"),
    ("Signature", "Policy"),
    # Azure: "se" is the end, unless a policy kept there has it; "sv" is always there.
    ("sig", "se"),
    ("sig", "sv"),
    ("token",),
)
# With one of these each of them has a parameter; found ten times faster.
_ANY_SIGNATURE = re.compile(r"[?&](?:x-amz-|x-goog-|sig|token)", re.IGNORECASE)


Drop = Callable[[Exception], None]
"""Called with the error of each value that is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is known of the page that a value belongs to."""

    origin: Origin
    """Where paths without scheme and host lead to."""
    tz: tzinfo
    """Zone of naive datetimes."""
    now: datetime
    """The moment of rendering, aware."""
    loc: str
    """The page's own address, as it is written."""
    warn: Warn = ignore
    """Hears of what was changed or left out of a value."""
    emit_deprecated: bool = False
    """Write the elements that search engines have given up, too."""
    strict: bool = False
    """Raise `InvalidEntry` where text would have to be changed."""
    max_loc: int = MAX_LOC
    """Most characters of an address."""
    links: Sequence[Link] = ()
    """The links to other languages that the page has already."""


def each_element(
    values: Iterable[Any], write: Callable[[Any, Context], str], context: Context, drop: Drop
) -> Iterator[str]:
    """Yield the element that `write` makes of each value; call `drop` with the error of a broken one."""
    for value in values:
        if value is None:
            continue
        try:
            element = write(value, context)
        except Exception as error:  # a lazy text may raise anything
            drop(error)
        else:
            yield element


def tag(name: str, content: str, **attributes: str | None) -> str:
    """Return an element; `content` and `attributes` are finished XML, those that are None are left out."""
    pairs = "".join(f' {key}="{value}"' for key, value in attributes.items() if value is not None)
    return f"<{name}{pairs}>{content}</{name}>"


def text_of(value: Any, context: Context) -> str:
    """Return free text as the content of an element."""
    return escape(clean(value, warn=context.warn, strict=context.strict))


def attribute_of(value: Any, context: Context) -> str | None:
    """Return free text as the value of an attribute, None for none."""
    # Parsers make a space of a bare line end or tab (XML 1.0, 3.3.3).
    return None if value is None else text_of(value, context).replace("\n", "&#10;").replace("\t", "&#9;")


def absolute_url(where: str, value: Any, context: Context) -> str:
    """Return an address that stands in the field `where`; a path is joined to the origin."""
    try:
        return normalize(value, origin=context.origin, warn=context.warn, max_length=context.max_loc)
    except InvalidEntry as error:
        raise error.within(where, None if error.code == "E-URL-USERINFO" else shown(value)) from error


def url_of(where: str, value: Any, context: Context) -> str:
    """Return an address that stands in the field `where` as XML; a path is joined to the origin."""
    return escape(absolute_url(where, value, context))


def media_url_of(where: str, value: Any, context: Context, *, may_be_ftp: bool = False) -> str:
    """Return the address of a file or player as XML; one that stops working some day with ``W-URL-SIGNED``.

    The files of a video may be on FTP too (G-VID). `where` names the field, for messages.
    """
    if may_be_ftp and isinstance(value, str) and value[:6].lower() == "ftp://":
        url = _ftp_url(where, value, context)
    else:
        url = absolute_url(where, value, context)
    # The cheap test first: a row may have a thousand of these.
    if "?" in url and (signature := signature_in(url)):
        # The signature itself is no matter for a log.
        said = f"{where}: the address {shown(url.partition('?')[0])} is signed ({signature}) and will stop working"
        context.warn("W-URL-SIGNED", f"{said}; give one that everybody may fetch at any time.")
    return escape(url)


def signature_in(url: str) -> str | None:
    """Return the parameters of an address by which it stops working some day, joined by ``+``, or None."""
    if not _ANY_SIGNATURE.search(url):
        return None
    query = url.partition("#")[0].partition("?")[2]
    names = {pair.partition("=")[0].lower() for pair in query.split("&")}
    return next(("+".join(marks) for marks in _SIGNATURES if all(mark.lower() in names for mark in marks)), None)


def _ftp_url(where: str, value: str, context: Context) -> str:
    # Encoded as any other address, under the scheme whose default port it does not name.
    scheme = "http" if ":443" in value else "https"
    longer = replace(context, max_loc=context.max_loc + len(scheme) - len("ftp"))
    url = absolute_url(where, f"{scheme}://{value[6:]}", longer)
    return f"ftp{url.removeprefix(scheme)}"


def date_of(where: str, value: Any, context: Context, *, future: tuple[str, str] | None = None) -> str | None:
    """Return a date as text, or None for one that is later than now with the warning `future`: its code and text."""

    def warn(code: str, text: str) -> None:
        if future and code == "W-LASTMOD-FUTURE":
            context.warn(future[0], f"{where} is {shown(value)}, in the future: {future[1]}")
        else:
            context.warn(code, f"{where}: {text}")

    return format_date(value, tz=context.tz, now=context.now if future else None, warn=warn)


def yes_or_no(value: bool) -> str:
    """Return the word for a `bool`."""
    return "yes" if value else "no"


def texts(prefix: str, value: Any, names: Sequence[str], context: Context) -> Iterator[str]:
    """Yield an element for each of the text fields `names` that is filled."""
    for name in names:
        if (given := getattr(value, name)) is not None:
            yield tag(f"{prefix}:{name}", text_of(given, context))


def plain(prefix: str, value: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield an element for each of the fields `names` that is filled with a number, a word or a `bool`."""
    for name in names:
        if (given := getattr(value, name)) is not None:
            yield tag(f"{prefix}:{name}", yes_or_no(given) if isinstance(given, bool) else escape(str(given)))


def dates(prefix: str, value: Any, names: Sequence[str], context: Context) -> Iterator[str]:
    """Yield an element for each of the date fields `names` that is filled."""
    for name in names:
        where = f"{type(value).__name__}.{name}"
        if (given := date_of(where, getattr(value, name), context)) is not None:
            yield tag(f"{prefix}:{name}", given)


def writes_deprecated(value: Any, names: Sequence[str], context: Context) -> bool:
    """Return whether the fields `names` are to be written; where they are not but filled, warn ``W-DEPRECATED``."""
    filled = () if context.emit_deprecated else [name for name in names if getattr(value, name) is not None]
    if filled:
        said = f"{type(value).__name__}: {', '.join(filled)} left out of {shown(context.loc)}"
        context.warn("W-DEPRECATED", f"{said}; search engines read it no more. Remove it, or set emit_deprecated.")
    return context.emit_deprecated
