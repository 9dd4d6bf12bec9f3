"""Explain the URL of a sitemap: which index or page it is, and what that has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.formats import number_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import PageGone, PageNotFound, SitemapError
from sitemaps_plus.plan.pages import Plan, stored_plan, url_count
from sitemaps_plus.plan.sections import Section, get_section, get_sections
from sitemaps_plus.plan.sites import SiteOrigin, directory
from sitemaps_plus.protocol.addresses import normalize
from sitemaps_plus.protocol.names import INDEX_ALIAS, DocumentName, index_file, parse_document_name
from sitemaps_plus.watch.section_search import Match, Verdict, plan_of


def document_name(site: SiteOrigin, url: str) -> DocumentName | None:
    """Return which index or page of a site has a URL, or None if none has; a query string is ignored."""
    try:
        path = normalize(url, origin=site.origin).partition("?")[0]
    except SitemapError:
        return None
    bases = [f"{site.origin}{directory()}", *([site.public_url] if site.public_url else [])]
    names = [path.removeprefix(base) for base in bases if path.startswith(base)]
    return next(filter(None, map(parse_document_name, names)), None)


def explain(site: SiteOrigin, name: DocumentName, url: str) -> Match:
    """Return what an index or a page has now; this refreshes the plan of a section that has none."""
    if not name.label:
        return _match(site, name, Verdict.SITEMAP, _index_text(site, url))
    if name.label not in registry:
        text = _("No section is registered as {label}, so that this URL answers 404.")
        return _match(site, name, Verdict.NO_SITEMAP, format_lazy(text, label=name.label))
    section = get_section(name.label, site)
    plan = plan_of(section)
    if name.number is None:
        text = _("This is the index of the section {label}: {pages}, {urls}.")
        return _match(site, name, Verdict.SITEMAP, format_lazy(text, label=name.label, **_counts([plan])))
    return _page(section, plan, name)


def _page(section: Section, plan: Plan, name: DocumentName) -> Match:
    number = name.number or 0
    try:
        record = plan.find(number).record
    except PageGone:
        text = _("Page {number} of {label} is retired: it answers 410, and crawlers forget it. See the index.")
        return _match(section.site, name, Verdict.NO_SITEMAP, format_lazy(text, number=number, label=name.label))
    except PageNotFound:
        text = _("{label} has no page {number} with URLs at present. See the index.")
        return _match(section.site, name, Verdict.NO_SITEMAP, format_lazy(text, number=number, label=name.label))
    text = _("This is page {number} of {label}: {urls}.")
    urls = _urls(url_count(section, record), is_estimated=record.urls is None)
    reason = format_lazy(text, number=number, label=name.label, urls=urls)
    return _match(section.site, name, Verdict.SITEMAP, reason, number=number, built_at=record.built_at)


def _index_text(site: SiteOrigin, url: str) -> Any:
    plans = [stored_plan(section) for section in get_sections(site)]
    text = _("This is the index of {site}: {pages}, {urls}.")
    if url.partition("?")[0].endswith(f"/{INDEX_ALIAS}"):
        text = _("This redirects to {index}, the index of {site}: {pages}, {urls}.")
    return format_lazy(text, index=index_file(), site=site.domain, **_counts(plans))


def _match(site: SiteOrigin, name: DocumentName, verdict: Verdict, reason: Any, **values: Any) -> Match:
    return Match(site=site, label=name.label, verdict=verdict, reason=reason, **values)


def _counts(plans: Iterable[Plan]) -> dict[str, Any]:
    listed = [(plan.section, page.record) for plan in plans for page in plan.listed]
    pages = format_lazy(ngettext_lazy("{count} page", "{count} pages", len(listed)), count=_number(len(listed)))
    urls = sum(url_count(section, record) for section, record in listed)
    return {"pages": pages, "urls": _urls(urls, is_estimated=any(record.urls is None for _, record in listed))}


def _urls(count: int, *, is_estimated: bool) -> Any:
    urls = format_lazy(ngettext_lazy("{count} URL", "{count} URLs", count), count=_number(count))
    return format_lazy(_("about {count}"), count=urls) if is_estimated else urls


def _format(count: int) -> str:
    return number_format(count, force_grouping=True)


_number = lazy(_format, str)
