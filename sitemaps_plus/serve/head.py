"""Find the URLs for the ``<head>`` of an HTML page: other languages, the canonical URL and the sitemap index."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.core.exceptions import DisallowedHost, TooManyFieldsSent
from django.db.models import Exists, Model, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, Resolver404, ResolverMatch, resolve, reverse
from django.utils import translation
from django.utils.http import RFC3986_SUBDELIMS, escape_leading_slashes

from sitemaps_plus.declare.items import key_of
from sitemaps_plus.declare.languages import valid_hreflang_of, x_default_of
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, SitemapError, UnknownHost, shown
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.keys import KeyValue
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section, get_section, make_cleaner, neutral
from sitemaps_plus.plan.sites import SiteOrigin, get_site
from sitemaps_plus.protocol.addresses import Scope, normalize
from sitemaps_plus.protocol.entries import Cleaner, Group, Link
from sitemaps_plus.protocol.names import index_file
from sitemaps_plus.protocol.reports import Report, Silence
from sitemaps_plus.render import object_path, row_path

logger = logging.getLogger("sitemaps_plus")

_NOT_SHOWN = ("lastmod", "changefreq", "priority", "images", "videos", "news")
# Characters that reverse() does not quote: a page and the sitemap must write a URL in the same way.
_SAFE = f"{RFC3986_SUBDELIMS}/~:@"

_models: dict[str, tuple[Any, type[Model] | None]] = {}
"""What is registered under each label, with the model of its rows."""


def page_links(request: HttpRequest, *, x_default: object = False) -> list[Link]:
    """Return links to the requested page in each of ``LANGUAGES``, itself included.

    There are none if all have the same URL. `x_default` is True or a language, as for the hook of that name.
    """
    site, match = _site(request), _match(request)
    if site is None or match is None:
        return []
    cleaner = _cleaner(site)
    hrefs = dict(_translations(match, cleaner))
    if len(set(hrefs.values())) < 2:
        return []
    default = x_default_of(x_default, hrefs)
    return cleaner.links("this page", [*hrefs.items(), *([("x-default", default)] if default else [])])


def object_links(item: Any, request: HttpRequest | None = None, *, label: str = "") -> list[Link]:
    """Return the links to other languages that the sitemap has for an object; none if it does not list the object.

    Raises InvalidSitemap for a section that cannot read a single row. Takes one query, or two if several sections have
    the object's model and `label` does not choose one.
    """
    if _is_nothing(item):
        return []
    if not isinstance(item, Model):
        raise SitemapError(
            f"{shown(item)} is not an instance of a model. Give an instance, or no object for the links of the "
            "requested page."
        )
    site = _site(request)
    group = None if site is None else _listed(item, site, label)
    return [] if group is None else _links_of(group, request)


def page_url(request: HttpRequest, keep: Collection[str] = ()) -> str | None:
    """Return the URL of the requested page as a sitemap would list it, with only the query parameters `keep`.

    Returns None if no sitemap can list it: it is too long, or has a part "." or "..", which clients remove.
    """
    site = _site(request)
    if site is None:
        return None
    query = _kept(request, keep)
    path = escape_leading_slashes(quote(request.path, safe=_SAFE, errors="replace"))
    return _loc(f"{path}?{query}" if query else path, _cleaner(site))


def object_url(item: Any, request: HttpRequest | None = None, *, label: str = "") -> str | None:
    """Return the URL of an object as the sitemap lists it, else that of its ``get_absolute_url()``.

    With several languages, the URL of the requested page comes first, then the active language, then ``LANGUAGE_CODE``.
    """
    site = None if _is_nothing(item) else _site(request)
    if site is None:
        return None
    group = _listed(item, site, label, for_url=True) if isinstance(item, Model) else None
    return _own_url(item, site) if group is None else _url_of(group, request)


def sitemap_url(request: HttpRequest | None = None) -> str | None:
    """Return the URL of the index, below ``PUBLIC_URL`` or in the URLconf; None if it is in neither."""
    site = _site(request)
    if site is None:
        return None
    if public := site.public_url:
        return f"{public}{index_file()}"
    with neutral(), suppress(NoReverseMatch):
        return normalize(reverse("sitemaps_plus:index"), origin=site.origin)
    return None


# The requested page


def _site(request: HttpRequest | None) -> SiteOrigin | None:
    try:
        return get_site(request)
    except (UnknownHost, DisallowedHost):
        # Anybody can send such a request: show the page without links.
        return None


def _match(request: HttpRequest) -> ResolverMatch | None:
    # Prefer the match of the request: the view may have changed the language since then.
    with suppress(Resolver404):
        return request.resolver_match or resolve(request.path_info)
    return None


def _translations(match: ResolverMatch, cleaner: Cleaner) -> Iterator[tuple[str, str]]:
    # Not translate_url(): it ignores the script prefix, decodes paths twice and fails for some patterns.
    for language, _ in settings.LANGUAGES:
        with translation.override(language):
            url = _reversed(match, cleaner)
        if url is not None:
            yield language, url


def _reversed(match: ResolverMatch, cleaner: Cleaner) -> str | None:
    try:
        return _loc(reverse(match.view_name, args=match.args, kwargs=match.kwargs), cleaner)
    except Exception:  # no pattern in this language, or a converter that rejects its own value
        return None


def _kept(request: HttpRequest, keep: Collection[str]) -> str:
    if not keep:
        return ""
    try:
        given = request.GET.lists()
    except TooManyFieldsSent:
        return ""
    pairs = [(name, value) for name, values in given if name in keep for value in values if value]
    return urlencode(pairs, quote_via=quote, safe="/:@", errors="replace")


def _loc(url: object, cleaner: Cleaner) -> str | None:
    try:
        return cleaner.loc("this page", url)
    except InvalidEntry:
        return None


def _cleaner(site: SiteOrigin) -> Cleaner:
    return make_cleaner(Scope(origin=site.origin), Silence("head"))


# An object as a section lists it


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneRow(Page):
    """A page of a single row."""

    key: object

    def rows(self, section: Section, after: KeyValue | None = None) -> QuerySet[Any]:
        return section.queryset().none() if after else section.queryset().filter(pk=self.key)


def _listed(item: Model, site: SiteOrigin, label: str, *, for_url: bool = False) -> Group | None:
    """Return the entries of an object, or None if it is not listed.

    With `for_url`, sections that cannot read a single row are skipped, and entries always have links.
    """
    with neutral():
        section = _section_of(item, _candidates(item, site, label, bool(label) or not for_url))
        if section is None:
            return None
        _reduce(section.sitemap)
        if for_url:
            section.sitemap.alternates = True
        return _read(item, section)


def _reduce(sitemap: Any) -> None:
    """Remove the hooks that a head does not need from a fresh instance: they may take queries."""
    for name in _NOT_SHOWN:
        # A read-only property stays.
        with suppress(AttributeError):
            setattr(sitemap, name, None)


def _read(item: Model, section: Section) -> Group | None:
    page = _OneRow(record=SitemapPage(), key=_key(item, section))
    # Silence: the page of the row reports its problems.
    read = row_path.read_groups if section.hooks.path == "row" else object_path.read_groups
    return next(read(section, page, section.cleaner(Silence(section.label))), None)


def _candidates(item: Model, site: SiteOrigin, label: str, must_read_rows: bool) -> list[Section]:
    """Return the sections that may list the object and can read its row; none if it has no primary key."""
    if label:
        found = [_checked_model(item, get_section(label, site))]
    else:
        found = [get_section(one, site) for one in registry if _has_model(item, _model(one, site))]
    readable = [section for section in found if section.paged_by == "key"]
    if found and not readable and must_read_rows:
        raise _not_readable(found[0])
    return [section for section in readable if _key(item, section) is not None]


def _section_of(item: Model, sections: Sequence[Section]) -> Section | None:
    """Return the first of `sections` that has the object; with only one this takes no query."""
    if len(sections) < 2:
        return next(iter(sections), None)
    found = [Exists(section.queryset().filter(pk=_key(item, section))) for section in sections]
    # Not type(item): the template may have a lazy object.
    model: Any = item._meta.concrete_model
    stored = model._base_manager.using(sections[0].queryset().db).filter(pk=item.pk)
    results = next(iter(stored.values_list(*found)[:1]), ())
    return next((section for section, is_there in zip(sections, results, strict=False) if is_there), None)


def _model(label: str, site: SiteOrigin) -> type[Model] | None:
    """Return the model of a section's rows, or None if they are not a QuerySet."""
    given = registry[label]
    known = _models.get(label)
    # Cached: the items() of a class may read all rows.
    if known is None or known[0] is not given:
        try:
            items = get_section(label, site).sitemap.items()
        except Exception:
            logger.exception("items() of the sitemap section %s fails; template tags ignore the section", label)
            return None
        known = _models[label] = (given, items.model if isinstance(items, QuerySet) else None)
    return known[1]


def _has_model(item: Model, model: type[Model] | None) -> bool:
    return model is not None and issubclass(item._meta.concrete_model, model._meta.concrete_model)  # type: ignore[arg-type]


def _key(item: Model, section: Section) -> Any:
    """Return the primary key of the object in the section's model; None if the object is not stored."""
    # Not item.pk: with multi-table inheritance a child may have another primary key than its parent.
    return getattr(item, section.queryset().model._meta.pk.attname)


def _checked_model(item: Model, section: Section) -> Section:
    items = section.sitemap.items()
    if isinstance(items, QuerySet) and not _has_model(item, items.model):
        raise InvalidSitemap(
            f"The sitemap section {section.label!r} lists {items.model.__name__}, but {shown(item)} is an instance of "
            f"{item._meta.object_name}. Name a section of that model, or no section."
        )
    return section


def _not_readable(section: Section) -> InvalidSitemap:
    return InvalidSitemap(
        f"The sitemap section {section.label!r} cannot read a single row: {section.name} is paged by position. Let "
        "items() return a QuerySet that is neither sliced nor combined, derive the class from ModelSitemap if it has "
        "i18n, and do not override get_urls(); or remove the object from the tag."
    )


def _links_of(group: Group, request: HttpRequest | None) -> list[Link]:
    url = _url_of(group, request)
    entry = next((entry for entry in group.entries if entry.loc == url), group.entries[0])
    return [*entry.links, *entry.more_links]


def _url_of(group: Group, request: HttpRequest | None) -> str:
    locs = [entry.loc for entry in group.entries]
    own = page_url(request) if request is not None and len(locs) > 1 else None
    if own in locs:
        return own
    hrefs = {link.hreflang: link.href for link in group.entries[0].links}
    wanted = (translation.get_language(), settings.LANGUAGE_CODE)
    codes = [valid_hreflang_of(language) for language in wanted if language]
    return next((hrefs[code] for code in codes if code in hrefs), locs[0])


def _own_url(item: Any, site: SiteOrigin) -> str | None:
    if not hasattr(item, "get_absolute_url"):
        raise SitemapError(
            f"{shown(item)} has no URL: no sitemap section lists it, and {type(item).__name__} has no "
            "get_absolute_url(). Add that method, or remove the object from the tag for the URL of the page."
        )
    try:
        return normalize(item.get_absolute_url(), origin=site.origin)
    except Exception as error:  # user code of any kind: show the page without the link
        Report("head").drop(key_of(item), "get_absolute_url", error)
        return None


def _is_nothing(item: Any) -> bool:
    # An undefined template variable gives an empty string.
    return item is None or item == ""
