"""Serve the sitemaps of a ``{"sitemaps": {...}}`` dict, as ``django.contrib.sitemaps.views`` does.

There is no plan and no cache: the pages that the class makes go through the writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from inspect import Parameter, signature
from typing import Any, NamedTuple

from django.contrib.sitemaps.views import x_robots_tag
from django.contrib.sites.shortcuts import get_current_site
from django.core.paginator import EmptyPage, PageNotAnInteger, Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import http_date

from sitemaps_plus.declare.items import info_key, latest_lastmod, lazy_items, url_infos
from sitemaps_plus.declare.sitemaps import overrides
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.plan.overrides import INDEX, PAGE, is_shipped
from sitemaps_plus.plan.sections import make_cleaner
from sitemaps_plus.plan.sites import parse_origin
from sitemaps_plus.protocol.addresses import Origin, Scope, normalize
from sitemaps_plus.protocol.dates import as_datetime, format_date
from sitemaps_plus.protocol.entries import Cleaner, Group
from sitemaps_plus.protocol.limits import MAX_URLS
from sitemaps_plus.protocol.reports import Report, keep_broken
from sitemaps_plus.protocol.writer import IndexItem, Tally, write_index, write_urlset
from sitemaps_plus.render.own_template import SitemapIndexItem
from sitemaps_plus.render.renderer import url_info_group
from sitemaps_plus.values.extensions import namespaces_in


class SitemapResponse(TemplateResponse):
    """A template response whose content comes from the writer, unless the project overrides the template."""

    @property
    def rendered_content(self) -> Any:
        """Return the document."""
        if not is_shipped(self.resolve_template(self.template_name)):
            return super().rendered_content
        context: Any = self.resolve_context(self.context_data) or {}
        origin = _origin(self._request)
        return _index(context["sitemaps"], origin) if "sitemaps" in context else _urlset(context["urlset"], origin)


@x_robots_tag
def index(
    request: HttpRequest,
    sitemaps: Mapping[str, Any],
    template_name: str = INDEX,
    content_type: str = "application/xml",
    sitemap_url_name: str = "django.contrib.sitemaps.views.sitemap",
) -> HttpResponse:
    """Serve an index of all pages of all sections, as Django's view of the same name."""
    domain = get_current_site(request).domain
    items, newest = [], []
    for section, given in sitemaps.items():
        made = _made(given, request)
        path = reverse(sitemap_url_name, kwargs={"section": section})
        url = f"{request.scheme if made.protocol is None else made.protocol}://{domain}{path}"
        lastmod = _latest_lastmod(made)
        newest.append(_moment(lastmod))
        items.append(SitemapIndexItem(url, lastmod))
        items += [SitemapIndexItem(f"{url}?p={page}", lastmod) for page in range(2, _paginator(made).num_pages + 1)]
    return SitemapResponse(
        request,
        template_name,
        {"sitemaps": items},
        content_type=content_type,
        headers=_last_modified(newest),
    )


@x_robots_tag
def sitemap(
    request: HttpRequest,
    sitemaps: Mapping[str, Any],
    section: str | None = None,
    template_name: str = PAGE,
    content_type: str = "application/xml",
) -> HttpResponse:
    """Serve one page of a section, or of all sections together, as Django's view of the same name."""
    if section is not None and section not in sitemaps:
        raise Http404(f"No sitemap available for section: {section!r}")
    given = sitemaps.values() if section is None else [sitemaps[section]]
    page = request.GET.get("p", 1)
    site = get_current_site(request)
    infos: list[dict[str, Any]] = []
    newest: list[datetime | None] = []
    try:
        for part in _parts([_made(one, request) for one in given], page):
            with keep_broken():
                found = list(_infos(part, site, request.scheme or "https"))
            newest += [_moment(info.get("lastmod")) for info in found] or [None]
            infos += found
    except EmptyPage as error:
        raise Http404(f"Page {page} empty") from error
    except PageNotAnInteger as error:
        raise Http404(f"No page '{page}'") from error
    return SitemapResponse(
        request,
        template_name,
        {"urlset": infos},
        content_type=content_type,
        headers=_last_modified(newest),
    )


def _made(given: Any, request: HttpRequest) -> Any:
    if not callable(given):
        return given
    # As Wagtail's views do: its class finds the site, and so the rows, by the request.
    return given(request=request) if _takes_request(given) else given()


def _takes_request(given: Any) -> bool:
    for one in getattr(given, "__mro__", (given,)):
        parameters = signature(one).parameters
        if "request" in parameters:
            return True
        # An __init__ with **kwargs hands them to that of the next class.
        if all(parameter.kind is not Parameter.VAR_KEYWORD for parameter in parameters.values()):
            break
    return False


def _latest_lastmod(made: Any) -> date | datetime | None:
    # Django calls lastmod for every row of the table.
    return made.get_latest_lastmod() if overrides(made, "get_latest_lastmod") else latest_lastmod(made)


def _paginator(made: Any) -> Any:
    # Django makes all (item, language) pairs of the table.
    return made.paginator if overrides(made, "paginator", "_items") else Paginator(lazy_items(made), made.limit)


class _Part(NamedTuple):
    """One page of one section."""

    made: Any
    paginator: Any
    number: Any


def _parts(made: Sequence[Any], page: Any) -> Iterable[_Part]:
    """Return the pages of sections that together make one page, with each URL on exactly one and none too large."""
    if len(made) == 1:
        return [_Part(made[0], _paginator(made[0]), page)]
    filled: list[list[_Part]] = [[]]
    urls = 0
    for one in made:
        paginator = _paginator(one)
        for number in paginator.page_range:
            size = min(paginator.per_page, paginator.count - (number - 1) * paginator.per_page)
            if filled[-1] and urls + size > MAX_URLS:
                filled.append([])
                urls = 0
            filled[-1].append(_Part(one, paginator, number))
            urls += size
    (found,) = Paginator(filled, 1).page(page).object_list
    return found


def _infos(part: _Part, site: Any, protocol: str) -> Iterable[dict[str, Any]]:
    made = part.made
    if overrides(made, "get_urls", "_urls"):
        return made.get_urls(page=part.number, site=site, protocol=protocol)  # type: ignore[no-any-return]
    base = f"{made.get_protocol(protocol)}://{made.get_domain(site)}"
    return url_infos(made, part.number, base, report=Report(type(made).__name__), paginator=part.paginator)


def _last_modified(newest: Sequence[datetime | None]) -> dict[str, str] | None:
    known = [moment for moment in newest if moment is not None]
    # An unknown date could be the newest.
    if not known or len(known) < len(newest):
        return None
    return {"Last-Modified": http_date(max(known).replace(microsecond=0).timestamp())}


def _moment(value: Any) -> datetime | None:
    """Return a lastmod as a datetime, or None if it is invalid or in the future."""
    try:
        moment = as_datetime(value, tz=UTC)
    except InvalidEntry:
        return None
    return moment if moment <= datetime.now(UTC) else None


def _origin(request: Any) -> Origin:
    site = get_current_site(request)
    # Without a path after the domain, which Django keeps when it makes URLs.
    return parse_origin(f"{request.scheme or 'https'}://{site.domain.partition('/')[0]}", "The domain of the site")


class _Cleaner(Cleaner):
    """A cleaner that allows any host and scheme, as Django does."""

    __slots__ = ()

    def loc(self, key: object, value: object) -> str:
        """Return the URL of an item; raise InvalidEntry if it has none."""
        return normalize(value, origin=self.scope.origin)


def _index(items: Iterable[Any], origin: Origin) -> bytes:
    return b"".join(write_index(item for given in items if (item := _index_item(given, origin)) is not None))


def _index_item(given: Any, origin: Origin) -> IndexItem | None:
    try:
        return IndexItem(normalize(given.location, origin=origin), _index_date(given.last_mod))
    except InvalidEntry as error:
        Report("index").leave_out(given.location, "location", error)
        return None


def _urlset(infos: Iterable[dict[str, Any]], origin: Origin) -> bytes:
    infos = list(infos)
    report, tally = Report("urlset"), Tally()
    cleaner = make_cleaner(Scope(origin=origin), report, kind=_Cleaner)
    with keep_broken():
        written = write_urlset(
            _groups(infos, cleaner), prefixes=namespaces_in(infos), report=report, tally=tally, as_given=True
        )
        document = b"".join(written)
    # Django's template leaves a blank line where there are no URLs; XML comparisons see it.
    return document if tally.urls else document.replace(b"</urlset>", b"\n</urlset>")


def _groups(infos: Iterable[dict[str, Any]], cleaner: Cleaner) -> Iterator[Group]:
    for info in infos:
        group = url_info_group({**info, "lastmod": _url_date(info.get("lastmod"))}, info_key(info), cleaner)
        if group is not None:
            yield group


def _url_date(value: Any) -> Any:
    # As Django writes it: a naive datetime has no time zone, so that only its date is certain.
    return value.date() if isinstance(value, datetime) and timezone.is_naive(value) else value


def _index_date(value: Any) -> str | None:
    if isinstance(value, datetime) and timezone.is_naive(value):
        return value.isoformat(timespec="seconds")
    try:
        return format_date(value, tz=UTC, now=datetime.now(UTC))
    except InvalidEntry:
        return None
