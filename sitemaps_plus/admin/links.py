"""Say where a sitemap can be seen: served now, and as a built file."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.names import page_path
from sitemaps_plus.stores.files import get_store


def live_address(request: HttpRequest, site: SiteOrigin, name: str, *args: Any) -> str:
    """Return where this project serves a sitemap now; "" where its URLconf does not have them."""
    try:
        names = ("label", "number", "extension") if name == "page" else ("label", "extension")
        address = reverse(f"sitemaps_plus:{name}", kwargs=dict(zip(names, [*args, "xml"], strict=False)))
    except NoReverseMatch:
        return ""
    # Under the host of this request another site may be served.
    own = getattr(settings, "SITE_ID", None)
    is_other = site.model and (site.id != own if own else site.domain != request.get_host())
    return f"{site.origin}{address}" if is_other else address


def file_of(section: Section, number: int) -> str:
    """Return where the built file of a page is, for people; "" where the storage cannot tell."""
    try:
        return get_store().where(page_path(section.site.domain, section.label, number))
    except Exception:  # each storage has errors of its own
        return ""
