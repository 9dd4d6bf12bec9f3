"""Links to the same page in other languages: the fields, rules and XML of ``<xhtml:link>``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.codes import check_hreflang, warn_of_underscore
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.values.base import Path, Value
from sitemaps_plus.values.fields import Text, Url, is_late, text, url
from sitemaps_plus.values.xml import Context, Drop, absolute_url, each

_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]*:")


def _hreflang(where: str, value: Any) -> Any:
    kept = text(where, value)
    if kept is None or is_late(kept):
        return kept
    code = check_hreflang(kept)
    # With an underscore it stays as it is, for the warning that comes with the page.
    return kept if "_" in kept else code


def _href(where: str, value: Any) -> Any:
    kept = url(where, value)
    if isinstance(value, Path) and value.startswith("/"):
        # UrlFor gives paths of this site; they get its origin when they are written.
        return value
    if isinstance(kept, str) and not _SCHEME.match(kept):
        message = (
            f"{where} is {shown(kept)}; begin it with http:// or https://, or give UrlFor for a page of this site."
        )
        raise InvalidEntry("E-URL-RELATIVE", message)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate(Value):
    """One ``<xhtml:link>`` of a page: the same page in another language."""

    hreflang: Text = None
    """Language, script, region: ``pt-BR``, ``zh-Hant``; or ``x-default``; required (G-HRF)."""
    href: Url = None
    """Absolute URL, on any domain, or `UrlFor` for a page of this site; required (G-HRF)."""

    _rules: ClassVar = {"hreflang": _hreflang, "href": _href}
    _required: ClassVar = ("hreflang", "href")


def to_link(given: Alternate | Link, context: Context) -> Link:
    """Return a link as it is written; raise `InvalidEntry` for an invalid code or URL."""
    if isinstance(given, Alternate):
        given = given.settled()
    link = Link(check_hreflang(str(given.hreflang)), absolute_url("Alternate.href", given.href, context))
    warn_of_underscore(str(given.hreflang), link.hreflang, context.warn)
    return link


def more_links(values: Iterable[Alternate | Link | None], context: Context, drop: Drop) -> list[Link]:
    """Return the links that the page does not have yet; call `drop` with the error of a broken or contradicting link.

    Warn ``W-HREFLANG-SELF`` if none of the links leads to the page itself (G-HRF).
    """
    hrefs = {link.hreflang: link.href for link in context.links}
    found = []
    for link in each(values, to_link, context, drop):
        if link.hreflang not in hrefs:
            hrefs[link.hreflang] = link.href
            found.append(link)
        elif hrefs[link.hreflang] != link.href:
            message = f"{context.loc} has a second URL for {link.hreflang}: {link.href}; the first one was listed."
            drop(InvalidEntry("E-HREFLANG-REPEATED", message))
    if found and context.loc not in hrefs.values():
        message = f"{context.loc} links to other languages but not to itself; search engines require that, too."
        context.warn("W-HREFLANG-SELF", message)
    return found
