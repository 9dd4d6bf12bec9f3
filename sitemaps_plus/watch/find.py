"""Find the section and the page that list a URL, or the reason why none does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from sitemaps_plus.errors import NoOrigin, SitemapError
from sitemaps_plus.plan.sections import Section, get_sections, neutral
from sitemaps_plus.plan.sites import SiteOrigin, get_sites
from sitemaps_plus.protocol.addresses import Origin, Scope, check_scope, normalize
from sitemaps_plus.stores.published import PublishedFiles
from sitemaps_plus.watch.section_search import Match, Searched, SectionSearch
from sitemaps_plus.watch.sitemap_urls import document_name, explain

logger = logging.getLogger("sitemaps_plus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of the search for one URL."""

    url: str
    """The URL as a sitemap writes it; unchanged if it is invalid, or a path that several sites have."""
    site: SiteOrigin | None
    """The site that the URL belongs to; None if it belongs to none or, as a path, to several."""
    reason: Any = ""
    """Why nothing was searched; empty if something was."""
    notes: Sequence[Any] = ()
    """In which other form the URL was searched, as lazy texts."""
    matches: Sequence[Match] = ()
    searched: Sequence[Searched] = ()

    @property
    def is_complete(self) -> bool:
        """Whether no other section can list the URL."""
        return not self.reason and all(one.is_complete for one in self.searched)


def find_url(url: str, *, sites: Sequence[SiteOrigin] | None = None, seconds: float = 2.0) -> Finding:
    """Return where a URL is listed, or why it is not; a path without a host is searched on each of `sites`, or all.

    If no site lists a URL as given, it is searched without ``www.``, or with it, and with the scheme of each site. The
    URL of a sitemap is explained.

    A section whose rows the database can find by their URL costs at most 10 queries plus those of ``Related``, once it
    has a plan, and 5 more for each further row that fits. A section whose URL pattern does not fit costs none. For all
    other sections, and for rows that were deleted, the built files are read until `seconds` are over.
    """
    given = url.strip()
    with neutral():
        try:
            chosen = list(get_sites(lambda error: None)) if sites is None else list(sites)
        except NoOrigin as error:
            return Finding(url=given, site=None, reason=str(error))
        search = _Search(given, time.monotonic() + seconds)
        for site in chosen:
            search.search_site(site, given)
        if not search.matches:
            for site in chosen:
                search.search_own_form(site)
        return search.finding(chosen)


@dataclass
class _Search:
    """The search for one URL."""

    given: str
    deadline: float
    sites: list[SiteOrigin] = field(default_factory=list)
    """The sites that may list the URL."""
    urls: set[str] = field(default_factory=set)
    matches: list[Match] = field(default_factory=list)
    searched: list[Searched] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)

    def search_site(self, site: SiteOrigin, given: str) -> None:
        """Explain the URL if it is that of a sitemap, else search all sections of a site."""
        name = document_name(site, given)
        if name is not None:
            self.sites += [] if site in self.sites else [site]
            self._attempt(site, name.label, lambda: ([explain(site, name, given)], None))
            return
        files: PublishedFiles | None = None
        for section in get_sections(site):
            url = self._url_of(section, given)
            if url is None:
                continue
            files = files or PublishedFiles(site.domain)
            self.sites += [] if site in self.sites else [site]
            self.urls.add(url)
            self._attempt(site, section.label, SectionSearch(section, url, files, self.deadline).run)

    def search_own_form(self, site: SiteOrigin) -> None:
        """Search the URL under the origin of a site if it differs only in ``www.`` or in ``http`` and ``https``."""
        url = _own_form(self.given, site.origin)
        if url is None:
            return
        self.urls.clear()
        self.search_site(site, url)
        text = _("The sitemaps of this site only list URLs that begin with {origin}. This one was searched: {url}")
        self.notes.append(format_lazy(text, origin=str(site.origin), url=url))

    def _attempt(self, site: SiteOrigin, label: str, search: Callable[[], tuple[list[Match], Searched | None]]) -> None:
        """Add the result of a search, or its error."""
        searched: Searched | None
        try:
            matches, searched = search()
        except Exception as error:  # user code of any kind, and each storage has errors of its own
            logger.exception("Sitemap section %s cannot be searched", label)
            matches = []
            shown = f"{type(error).__name__}: {error}"[:500]
            text = format_lazy(_("The section cannot be searched: {error}"), error=shown)
            searched = Searched(site=site, label=label, text=text, is_complete=False)
        self.matches += matches
        self.searched += [searched] if searched else []

    def finding(self, sites: Sequence[SiteOrigin]) -> Finding:
        """Return the result."""
        reason: Any = ""
        if not self.sites:
            known = ", ".join(str(site.origin) for site in sites)
            reason = self.errors[0] if self.errors else _("No section is registered.")
            if sites:
                reason = format_lazy(_("{reason} Sites: {sites}."), reason=reason, sites=known)
        notes = list(self.notes)
        if "#" in self.given and not reason:
            notes.append(_("The part from # on was ignored: it is not part of an address in a sitemap."))
        return Finding(
            notes=notes,
            url=next(iter(self.urls)) if len(self.urls) == 1 else self.given,
            site=self.sites[0] if len(self.sites) == 1 else None,
            reason=reason,
            matches=self.matches,
            searched=self.searched,
        )

    def _url_of(self, section: Section, given: str) -> str | None:
        """Return the URL as the section would write it, or None if the section may not list it."""
        try:
            url = normalize(given, origin=section.origin)
            check_scope(url, Scope(origin=section.origin, any_host=section.cross_submission))
        except SitemapError as error:
            text = str(error)
            self.errors += [] if text in self.errors else [text]
            return None
        return url


def _own_form(given: str, own: Origin) -> str | None:
    """Return a URL under the origin `own`, or None if it differs in more than ``www.`` and the scheme."""
    try:
        url = normalize(given, origin=own)
        end = url.index("/", url.index("://") + 3)
        found = Origin.parse(url[:end])
    except SitemapError:
        return None
    is_own = (found.host.removeprefix("www."), found.port) == (own.host.removeprefix("www."), own.port)
    return f"{own}{url[end:]}" if is_own and found != own else None
