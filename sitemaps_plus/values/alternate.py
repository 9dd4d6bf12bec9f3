"""Links to a page in other languages: the fields and rules of ``<xhtml:link>``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.codes import check_hreflang
from sitemaps_plus.values.base import Path, Value
from sitemaps_plus.values.fields import Text, Url, is_late, text, url

_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]*:")


def _hreflang(where: str, value: Any) -> Any:
    kept = text(where, value)
    return kept if kept is None or is_late(kept) else check_hreflang(kept)


def _href(where: str, value: Any) -> Any:
    kept = url(where, value)
    if isinstance(value, Path) and value.startswith("/"):
        # Which site a path is of is sure here: its origin goes before it when it is written.
        return value
    if isinstance(kept, str) and not _SCHEME.match(kept):
        said = f"{where} is {shown(kept)}; begin it with http:// or https://, or give UrlFor for a page of this site."
        raise InvalidEntry("E-URL-RELATIVE", said)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate(Value):
    """One ``<xhtml:link>`` of a page: the same page in another language."""

    hreflang: Text = None
    """Language, script, region: ``pt-BR``, ``zh-Hant``; or ``x-default``; required (G-HRF)."""
    href: Url = None
    """Absolute address, on any domain, or `UrlFor` for a page of this site; required (G-HRF)."""

    _rules: ClassVar = {"hreflang": _hreflang, "href": _href}
    _required: ClassVar = ("hreflang", "href")
