"""Template tags for the heads of HTML pages, and for projects that write ``sitemap.xml`` themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from sitemaps_plus.declare.items import info_key
from sitemaps_plus.errors import InvalidEntry, SitemapError, shown
from sitemaps_plus.plan.sections import make_cleaner
from sitemaps_plus.protocol.addresses import Origin, Scope
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.entries import Cleaner
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.text import format_priority
from sitemaps_plus.protocol.writer import link_elements, namespaces
from sitemaps_plus.render.own_template import Url, UrlSet
from sitemaps_plus.render.renderer import url_info_links
from sitemaps_plus.serve import head
from sitemaps_plus.values.extensions import elements, links_of, namespaces_in

register = template.Library()

_PAGE = object()
"""Stands for the requested page where no object is given."""


@register.filter
def w3c_date(value: Any) -> str:
    """Return a date, datetime or date text as the writer writes it, or "" if it is empty or invalid."""
    try:
        return format_date(value, tz=timezone.get_default_timezone(), now=datetime.now(UTC)) or ""
    except InvalidEntry:
        return ""


@register.filter
def sitemap_priority(value: Any) -> str:
    """Return a priority as the writer writes it, or "" if it is empty or invalid."""
    try:
        return "" if value in (None, "") else format_priority(value)
    except InvalidEntry:
        return ""


@register.simple_tag(takes_context=True)
def sitemap_namespaces(context: Mapping[str, Any]) -> SafeString:
    """Return the namespace declarations of the extensions that ``urlset`` uses, for the ``<urlset>`` tag."""
    urlset = context.get("urlset", ())
    return _xml(namespaces(urlset.prefixes if isinstance(urlset, UrlSet) else namespaces_in(urlset or ())))


@register.simple_tag
def sitemap_alternates(url: Mapping[str, Any]) -> SafeString:
    """Return the links to the other languages of a ``url``: its ``alternates`` and ``hreflang``."""
    _check_url("sitemap_alternates", url)
    key, cleaner = info_key(url), _cleaner(url)
    links = url_info_links(url, key, cleaner)
    return _xml(link_elements([*links, *links_of(url, key, str(url["location"]), cleaner, links=links)]))


@register.simple_tag
def sitemap_images(url: Mapping[str, Any]) -> SafeString:
    """Return the ``<image:image>`` of a ``url``."""
    return _elements("sitemap_images", url, "images")


@register.simple_tag
def sitemap_videos(url: Mapping[str, Any]) -> SafeString:
    """Return the ``<video:video>`` of a ``url``."""
    return _elements("sitemap_videos", url, "videos")


@register.simple_tag
def sitemap_news(url: Mapping[str, Any]) -> SafeString:
    """Return the ``<news:news>`` of a ``url``."""
    return _elements("sitemap_news", url, "news")


@register.simple_tag(takes_context=True)
def hreflang_links(
    context: template.Context, item: Any = _PAGE, *, section: str = "", x_default: Any = False
) -> SafeString:
    """Return the links to the other languages of the requested page, or of an object as its section has them."""
    _refuse("hreflang_links", item, section=section, x_default=x_default)
    if item is _PAGE:
        links = head.page_links(_needed_request(context, "hreflang_links"), x_default=x_default)
    else:
        links = head.object_links(item, _request(context), label=section)
    return format_html_join("\n", '<link rel="alternate" hreflang="{}" href="{}">', links)


@register.simple_tag(takes_context=True)
def canonical_link(context: template.Context, item: Any = _PAGE, *, section: str = "", keep: Any = "") -> SafeString:
    """Return the canonical link of an object, or of the requested page with the query parameters `keep`."""
    _refuse("canonical_link", item, section=section, keep=keep)
    if item is _PAGE:
        url = head.page_url(_needed_request(context, "canonical_link"), _names(keep))
    else:
        url = head.object_url(item, _request(context), label=section)
    return _link('<link rel="canonical" href="{}">', url)


@register.simple_tag(takes_context=True)
def sitemap_link(context: template.Context) -> SafeString:
    """Return the link to the sitemap index."""
    return _link('<link rel="sitemap" type="application/xml" href="{}">', head.sitemap_url(_request(context)))


def _refuse(tag: str, item: Any, *, section: str, **of_page: Any) -> None:
    """Raise SitemapError for an option without effect: some are only for the page, one is only for an object."""
    if item is _PAGE:
        refused, why = {"section": section}, "has no effect without an object. Give an object, or remove the option."
    else:
        refused, why = of_page, "is only for the requested page. Remove the option, or the object."
    for name, given in refused.items():
        if given:
            raise SitemapError(f"{{% {tag} %}}: {name}={given!r} {why}")


def _names(keep: Any) -> list[str]:
    names = keep.split(",") if isinstance(keep, str) else list(keep) if isinstance(keep, list | tuple) else [keep]
    if not all(isinstance(name, str) for name in names if name is not None):
        raise SitemapError(
            f"{{% canonical_link keep={shown(keep)} %}}: give the names of parameters, as in "
            '{% canonical_link keep="page,q" %}.'
        )
    return [name.strip() for name in names if name is not None]


def _link(form: str, url: str | None) -> SafeString:
    return mark_safe("") if url is None else format_html(form, url)


def _request(context: template.Context) -> HttpRequest | None:
    # render() sets the attribute even without a context processor.
    return context.get("request") or getattr(context, "request", None)


def _needed_request(context: template.Context, tag: str) -> HttpRequest:
    request = _request(context)
    if request is None:
        raise SitemapError(
            f"{{% {tag} %}} needs the request, which this template does not have. Use render(request, ...), or add "
            '"django.template.context_processors.request" to the context_processors of TEMPLATES.'
        )
    return request


def _xml(finished: str) -> SafeString:
    return mark_safe(finished)  # noqa: S308 - written and escaped by the writer


def _elements(tag: str, url: Mapping[str, Any], name: str) -> SafeString:
    _check_url(tag, url)
    loc, is_deprecated = str(url["location"]), bool(url.get("emit_deprecated"))
    return _xml(elements({name: url.get(name)}, info_key(url), loc, _cleaner(url), emit_deprecated=is_deprecated))


def _check_url(tag: str, url: Any) -> None:
    if not isinstance(url, Mapping) or "location" not in url:
        raise SitemapError(
            f"{{% {tag} %}} got {shown(url)}, which is not a dict of urlset. Write {{% {tag} url %}} inside "
            "{% for url in urlset %}; the tag finds the object in url.item."
        )


def _cleaner(url: Mapping[str, Any]) -> Cleaner:
    if isinstance(url, Url):
        return url.cleaner
    scheme, _, rest = str(url["location"]).partition("://")
    origin = Origin.parse(f"{scheme}://{rest.partition('/')[0]}")
    return make_cleaner(Scope(origin=origin, any_host=True), Report("urlset"))
