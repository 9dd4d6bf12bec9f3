"""Tell in which section and on which page an address is, or why it is on none."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from sitemaps_plus.errors import NoOrigin, SitemapError
from sitemaps_plus.plan.sections import Section, get_sections, neutral
from sitemaps_plus.plan.sites import SiteOrigin, get_sites
from sitemaps_plus.protocol.addresses import Scope, check_scope, normalize
from sitemaps_plus.stores.published import PublishedFiles
from sitemaps_plus.watch.section_search import Match, Searched, SectionSearch, Verdict

__all__ = ["Finding", "Match", "Searched", "Verdict", "find_url"]

logger = logging.getLogger("sitemaps_plus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer for one address."""

    url: str
    """The address as a sitemap writes it; as it was given where it is none, and for a path of several sites."""
    site: SiteOrigin | None
    """The site that the address belongs to; None where it belongs to none or, as a path, to several."""
    reason: Any = ""
    """Why nothing was looked at; empty where something was."""
    matches: Sequence[Match] = ()
    searched: Sequence[Searched] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the address is nowhere else."""
        return not self.reason and all(one.is_complete for one in self.searched)


def find_url(url: str, *, sites: Sequence[SiteOrigin] | None = None, seconds: float = 2.0) -> Finding:
    """Return where an address is listed, or why not; a path without host is looked for on each of `sites`, or all.

    Sections whose rows the database can find by their address cost at most 10 queries and those of ``Related``, once
    they have a plan, and 5 more for each further row that may be meant; one whose URL pattern does not fit costs none.
    Of all others, and for rows that are gone, the built files are read until `seconds` are over.
    """
    given = url.strip()
    with neutral():
        try:
            chosen = list(get_sites(lambda error: None)) if sites is None else list(sites)
        except NoOrigin as error:
            return Finding(url=given, site=None, reason=str(error))
        search = _Search(given, time.monotonic() + seconds)
        for site in chosen:
            search.look_at(site)
        return search.finding(chosen)


@dataclass
class _Search:
    """The search for one address."""

    given: str
    deadline: float
    sites: list[SiteOrigin] = field(default_factory=list)
    """Those that may list it."""
    urls: set[str] = field(default_factory=set)
    matches: list[Match] = field(default_factory=list)
    searched: list[Searched] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def look_at(self, site: SiteOrigin) -> None:
        """Look at all sections of a site."""
        files: PublishedFiles | None = None
        for section in get_sections(site):
            url = self._url_of(section)
            if url is None:
                continue
            files = files or PublishedFiles(site.domain)
            self.sites += [] if site in self.sites else [site]
            self.urls.add(url)
            try:
                matches, searched = SectionSearch(section, url, files, self.deadline).run()
            except Exception as error:  # user code of any kind, and each storage has errors of its own
                logger.exception("Sitemap section %s cannot be searched", section.label)
                matches = []
                said = format_lazy(_("It cannot be searched: {error}"), error=f"{type(error).__name__}: {error}"[:500])
                searched = Searched(site=site, label=section.label, text=said, is_complete=False)
            self.matches += matches
            self.searched.append(searched)

    def finding(self, sites: Sequence[SiteOrigin]) -> Finding:
        """Return what was found."""
        reason: Any = ""
        if not self.sites:
            known = ", ".join(str(site.origin) for site in sites)
            said = self.refused[0] if self.refused else _("No section is registered.")
            reason = format_lazy(_("{said} Sites: {sites}."), said=said, sites=known) if sites else said
        return Finding(
            url=next(iter(self.urls)) if len(self.urls) == 1 else self.given,
            site=self.sites[0] if len(self.sites) == 1 else None,
            reason=reason,
            matches=self.matches,
            searched=self.searched,
        )

    def _url_of(self, section: Section) -> str | None:
        """Return the address as the section would write it, or None where it may not list it."""
        try:
            url = normalize(self.given, origin=section.origin)
            check_scope(url, Scope(origin=section.origin, any_host=section.cross_submission))
        except SitemapError as error:
            said = str(error)
            self.refused += [] if said in self.refused else [said]
            return None
        return url
