"""Template tags for the heads of HTML pages, and for projects that write ``sitemap.xml`` themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from sitemaps_plus import head
from sitemaps_plus.addresses import Origin, Scope
from sitemaps_plus.dates import format_date
from sitemaps_plus.entries import Cleaner, Link
from sitemaps_plus.errors import InvalidEntry, SitemapError
from sitemaps_plus.items import key_of
from sitemaps_plus.languages import hreflang_of
from sitemaps_plus.media import extras, url_prefixes
from sitemaps_plus.rendering import url_info_links
from sitemaps_plus.reports import Report
from sitemaps_plus.templated import Url, UrlSet
from sitemaps_plus.text import format_priority
from sitemaps_plus.writer import link_elements, namespaces

register = template.Library()

_PAGE = object()
"""In place of an object: the requested page."""


@register.filter
def w3c_date(value: Any) -> str:
    """Return a date, datetime or date text as the writer does, or "" where there is none that can be used."""
    try:
        return format_date(value, tz=timezone.get_default_timezone(), now=datetime.now(UTC)) or ""
    except InvalidEntry:
        return ""


@register.filter
def sitemap_priority(value: Any) -> str:
    """Return a priority as the writer does, or "" where there is none."""
    try:
        return "" if value in (None, "") else format_priority(value)
    except InvalidEntry:
        return ""


@register.simple_tag(takes_context=True)
def sitemap_namespaces(context: Mapping[str, Any]) -> SafeString:
    """Return the declarations of the extensions that ``urlset`` uses, to stand inside ``<urlset>``."""
    urlset = context.get("urlset", ())
    return _xml(namespaces(urlset.prefixes if isinstance(urlset, UrlSet) else url_prefixes(urlset or ())))


@register.simple_tag
def sitemap_alternates(url: Mapping[str, Any]) -> SafeString:
    """Return the links to the other languages of a ``url``: its ``alternates`` and ``hreflang``."""
    links = url_info_links(url, _key(url), _cleaner(url))
    return _xml(link_elements(links) + _extras(url, "hreflang", links))


@register.simple_tag
def sitemap_images(url: Mapping[str, Any]) -> SafeString:
    """Return the ``<image:image>`` of a ``url``."""
    return _xml(_extras(url, "images"))


@register.simple_tag
def sitemap_videos(url: Mapping[str, Any]) -> SafeString:
    """Return the ``<video:video>`` of a ``url``."""
    return _xml(_extras(url, "videos"))


@register.simple_tag
def sitemap_news(url: Mapping[str, Any]) -> SafeString:
    """Return the ``<news:news>`` of a ``url``."""
    return _xml(_extras(url, "news"))


@register.simple_tag(takes_context=True)
def hreflang_links(
    context: template.Context, item: Any = _PAGE, *, section: str = "", x_default: Any = False
) -> SafeString:
    """Return the links to the other languages of the requested page, or of an object as its section lists them."""
    if item is _PAGE:
        links = head.page_links(_needed_request(context, "hreflang_links"), x_default=x_default)
    else:
        links = head.object_links(item, _request(context), label=section)
    return format_html_join("\n", '<link rel="alternate" hreflang="{}" href="{}">', links)


@register.simple_tag(takes_context=True)
def canonical_link(context: template.Context, item: Any = _PAGE, *, section: str = "", keep: str = "") -> SafeString:
    """Return the link to the one address of the requested page, with the parameters `keep`, or of an object."""
    if item is _PAGE:
        names = [name.strip() for name in keep.split(",")]
        address = head.page_address(_needed_request(context, "canonical_link"), names)
    else:
        address = head.object_address(item, _request(context), label=section)
    return _link('<link rel="canonical" href="{}">', address)


@register.simple_tag(takes_context=True)
def sitemap_link(context: template.Context) -> SafeString:
    """Return the link to the index of sitemaps."""
    return _link('<link rel="sitemap" type="application/xml" href="{}">', head.sitemap_address(_request(context)))


def _link(form: str, address: str | None) -> SafeString:
    return mark_safe("") if address is None else format_html(form, address)


def _request(context: template.Context) -> HttpRequest | None:
    # render() hands the request over even where no context processor does.
    return context.get("request") or getattr(context, "request", None)


def _needed_request(context: template.Context, tag: str) -> HttpRequest:
    request = _request(context)
    if request is None:
        raise SitemapError(
            f"{{% {tag} %}} needs the request, and the template has none. Render it with render(request, ...), or add "
            '"django.template.context_processors.request" to the context_processors of TEMPLATES.'
        )
    return request


def _xml(finished: str) -> SafeString:
    return mark_safe(finished)  # noqa: S308 - written and escaped by the writer


def _extras(url: Mapping[str, Any], name: str, links: Sequence[Link] = ()) -> str:
    return extras(
        {name: url.get(name)},
        _key(url),
        str(url["location"]),
        _cleaner(url),
        links=links,
        emit_deprecated=bool(url.get("emit_deprecated")),
    )


def _key(url: Mapping[str, Any]) -> object:
    item = url.get("item")
    return key_of(item[0] if isinstance(item, tuple) and item else item)


def _cleaner(url: Mapping[str, Any]) -> Cleaner:
    if isinstance(url, Url):
        return url.cleaner
    scheme, _, rest = str(url["location"]).partition("://")
    origin = Origin.parse(f"{scheme}://{rest.partition('/')[0]}")
    return Cleaner(
        scope=Scope(origin=origin, any_host=True),
        tz=timezone.get_default_timezone(),
        now=datetime.now(UTC),
        report=Report("urlset"),
        hreflang=hreflang_of,
    )
