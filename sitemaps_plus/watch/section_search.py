"""Search one section for a URL: in its rows if the database can find them by their URL, else in its built files."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any

from django.db import models, transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.currency import NO_URLS, CurrencyCheck
from sitemaps_plus.plan.keys import KeyValue, as_shown
from sitemaps_plus.plan.overrides import PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan, active
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.validators import fingerprint_of
from sitemaps_plus.protocol.addresses import canonical, normalize
from sitemaps_plus.protocol.dates import parse_w3c
from sitemaps_plus.stores.published import PublishedFiles
from sitemaps_plus.watch.entries import Item, read_entries, read_row
from sitemaps_plus.watch.file_search import FileSearch, as_loc
from sitemaps_plus.watch.lookups import Lookup, NotSearchable, languages_of_url, lookup_of, views_of

logger = logging.getLogger("sitemaps_plus")

CANDIDATES = 5
"""Most rows of a section that are compared with one URL; several may fit if their texts differ only in case."""

_READ_AT_ONCE = 500


class Verdict(models.TextChoices):
    """The answer of one section about a URL."""

    LISTED = "listed", _("listed")
    LINKED = "linked", _("only linked as another language")
    OTHER_URL = "other_url", _("listed with another URL")
    LEFT_OUT = "left_out", _("left out")
    FILTERED = "filtered", _("excluded")
    NO_ROW = "no_row", _("no row")
    NOT_BUILT = "not_built", _("not built yet")
    GONE = "gone", _("only in the built file")
    UNKNOWN = "unknown", _("unknown")
    SITEMAP = "sitemap", _("a sitemap")
    NO_SITEMAP = "no_sitemap", _("no sitemap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One row or page of a section that a URL belongs to."""

    site: SiteOrigin
    label: str
    verdict: Verdict
    reason: Any
    """What the verdict means and what to do, as a lazy text."""
    number: int | None = None
    """Number of the page; None if it is not known."""
    key: object = None
    """Key of the row as messages show it; None if only a file was read."""
    pk: Any = None
    changed_at: date | datetime | None = None
    """Current lastmod of the row."""
    built_at: datetime | None = None
    """When a build last rendered the page."""
    has_other_query: bool = False
    """Whether the sitemap has the URL without the query string."""
    is_current: bool | None = None
    """Whether the built file has the current entry; None if there is no file, or nothing to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How one section was searched."""

    site: SiteOrigin
    label: str
    text: Any
    """A lazy text."""
    is_complete: bool = True
    """False if the section may list the URL although it was not found."""


class SectionSearch:
    """The search for one URL in one section."""

    def __init__(self, section: Section, url: str, files: PublishedFiles, deadline: float) -> None:
        self.section = section
        self.url = url
        self.urls = tuple(dict.fromkeys([url, url.partition("?")[0]]))
        """The URL, and if it has a query string, the URL without that."""
        self.files = files
        self.deadline = deadline
        self.file_search = FileSearch(files, section.label, deadline)
        self.plan = Plan(section=section, pages=())

    def run(self) -> tuple[list[Match], Searched]:
        """Return the matches in the section, and how it was searched."""
        try:
            lookup = lookup_of(self.section, canonical(self.url))
        except NotSearchable:
            return self._search_files()
        if lookup is None:
            return [], self._searched(_("The URL does not fit the URL pattern of the section."))
        # A savepoint: an error of the database must not break the transaction of a request.
        with transaction.atomic():
            self.plan = plan_of(self.section)
            matches = list(self._search_rows(lookup))
            if matches:
                exact = [match for match in matches if not match.has_other_query]
                return exact or matches, self._searched(_("The database was searched for the row."))
            return self._search_without_row(lookup)

    def _searched(self, text: Any, *, is_complete: bool = True) -> Searched:
        return Searched(site=self.section.site, label=self.section.label, text=text, is_complete=is_complete)

    def _match(self, verdict: Verdict, reason: Any, page: Page | None = None, **values: Any) -> Match:
        if page is not None:
            values = {"number": page.number, "built_at": page.record.built_at, **values}
        return Match(site=self.section.site, label=self.section.label, verdict=verdict, reason=reason, **values)

    # Rows of the section

    def _search_rows(self, lookup: Lookup) -> Iterator[Match]:
        for key, pk in self._rows(lookup, self.section.queryset()):
            page, items = self._find_row(key, pk)
            match = self._match_row(lookup, page, items, as_shown(key), pk)
            if match:
                yield match

    def _find_row(self, key: KeyValue, pk: Any, *, with_any_url: bool = False) -> tuple[Page | None, list[Item]]:
        """Return the page of a row, with the row's entries."""
        if self.section.paged_by == "position":
            return self._find_by_position(pk, with_any_url=with_any_url)
        page = self.plan.page_of(key)
        return page, read_row(self.section, page, key) if page else []

    def _rows(self, lookup: Lookup, rows: Any) -> list[tuple[KeyValue, Any]]:
        """Return the key and the primary key of the rows that fit."""
        names = self.section.key.names
        try:
            wanted = lookup.rows(rows.select_related(None).prefetch_related(None)).order_by(*names)
            found = [(tuple(row[: len(names)]), row[-1]) for row in wanted.values_list(*names, "pk")[:CANDIDATES]]
        except (ValueError, TypeError, OverflowError, ArithmeticError):
            # The column cannot hold the value in the URL, so no row has it.
            return []
        # A join to several rows gives the same row more than once.
        return list({as_shown(key): (key, pk) for key, pk in found}.values())

    def _find_by_position(self, pk: Any, *, with_any_url: bool) -> tuple[Page | None, list[Item]]:
        """Return the page by position that lists a row, with the row's entries, if there is time to find it."""
        for page in self.plan.listed:
            after: str | None = None
            while time.monotonic() < self.deadline:
                entries = read_entries(self.section, page, after=after, count=_READ_AT_ONCE)
                items = [item for item in entries.items if item.pk == pk]
                # The languages of a row may be in two parts of the list.
                if items and (with_any_url or items[0].loc is None or any(map(self._is_same, items))):
                    return page, items
                after = entries.next
                if after is None:
                    break
        return None, []

    def _is_same(self, item: Item) -> bool:
        return item.loc is not None and canonical(item.loc) in map(canonical, self.urls)

    def _without_query(self, url: str, reason: Any) -> Any:
        """Return the reason, after a sentence about the query string if the URL that was found is without it."""
        if canonical(url) == canonical(self.url):
            return reason
        return format_lazy(_("The query string was ignored, as the URL is {url}. {reason}"), url=url, reason=reason)

    def _match_row(self, lookup: Lookup, page: Page | None, items: list[Item], key: object, pk: Any) -> Match | None:
        """Return the match of a row that fits the lookup, or None if its URL is another one."""
        item = next(filter(self._is_same, items), None)
        if item and item.loc and page:
            verdict, reason, is_current = self._compare(page, item)
            return self._match(
                verdict,
                self._without_query(item.loc, reason),
                page,
                key=key,
                pk=pk,
                changed_at=parse_w3c(item.lastmod) if item.lastmod else None,
                has_other_query=canonical(item.loc) != canonical(self.url),
                is_current=is_current,
            )
        if not (lookup.is_exact or (items and items[0].loc is None and self._is_own(lookup))):
            return None
        if not items or page is None:
            text = _("The section has this row, but its page was not found in time. Search again.")
            return self._match(Verdict.UNKNOWN, text, key=key, pk=pk)
        if items[0].loc is None:
            reasons = " ".join(dict.fromkeys(problem.reason for problem in items[0].problems))
            reason = format_lazy(_("The row is left out: {reasons}"), reasons=reasons)
            return self._match(Verdict.LEFT_OUT, reason, page, key=key, pk=pk)
        locs = ", ".join(self._locs_like_this(items)[:5])
        reason = format_lazy(_("Row {key} is listed as {locs}."), key=key, locs=locs)
        return self._match(Verdict.OTHER_URL, reason, page, key=key, pk=pk)

    def _locs_like_this(self, items: list[Item]) -> list[str]:
        """Return the URLs of a row in the languages of the searched URL, or all if it has none in these."""
        locs = [item.loc for item in items if item.loc]
        languages = languages_of_url(self.section, canonical(self.url))
        return [loc for loc in locs if languages & languages_of_url(self.section, canonical(loc))] or locs

    def _compare(self, page: Page, item: Item) -> tuple[Verdict, Any, bool | None]:
        """Compare an entry with the built file; return the verdict, its reason, and whether the file is current."""
        if not self.files.manifest:
            return Verdict.LISTED, _("It is listed. Nothing is built, so the views serve the page."), None
        command = f"manage.py build_sitemaps {self.section.label}"
        if page.number not in self.file_search.numbers:
            text = _("It is listed, but its page was never built. Run {command}.")
            return Verdict.NOT_BUILT, format_lazy(text, command=command), False
        flags = self.file_search.contains(page.number, as_loc(item.loc or ""), item.xml)
        if flags is None:
            text = _("It is listed, but the built file of its page cannot be read. Run {command} --full.")
            return Verdict.NOT_BUILT, format_lazy(text, command=command), False
        is_listed, is_same = flags
        if not is_listed:
            text = _("It is listed, but not yet in the built file of its page. Run {command}.")
            return Verdict.NOT_BUILT, format_lazy(text, command=command), False
        if find_override(PAGE, self.section.label) is not None:
            # A template may write the entry in any form, so that it cannot be compared.
            return Verdict.LISTED, _("It is listed and in the built file."), self._is_current(page.record)
        if not is_same:
            text = _("It is listed, but the built file has an older version of its entry. Run {command}.")
            return Verdict.LISTED, format_lazy(text, command=command), False
        return Verdict.LISTED, _("It is listed, and the built file has its current entry."), True

    # No row of the section

    def _search_without_row(self, lookup: Lookup) -> tuple[list[Match], Searched]:
        missing = self._find_other_url(lookup) or self._explain_missing_row(lookup)
        hits = self.file_search.find(*self.urls)
        # If nothing is built, no file can contain the URL.
        is_complete = hits.is_complete or not self.file_search.numbers
        searched = self._searched(
            _("The database was searched for the row.") if is_complete else hits.text, is_complete=is_complete
        )
        if not hits.numbers:
            return [missing] if missing else [], searched
        missing = missing or self._match(Verdict.GONE, _("No row of the section has this URL."))
        reason = format_lazy(
            _("{reason} The built file still lists it. Run manage.py build_sitemaps {label}."),
            reason=self._without_query(hits.url, missing.reason),
            label=self.section.label,
        )
        built_at = {page.number: page.record.built_at for page in self.plan.pages}
        matches = [
            replace(missing, verdict=Verdict.GONE, reason=reason, number=number, built_at=built_at.get(number))
            for number in hits.numbers
        ]
        return matches, searched

    def _find_other_url(self, lookup: Lookup) -> Match | None:
        """Return the match of the row that the key in the URL names, if its URL has another slug."""
        if lookup.key is None:
            return None
        by_key = replace(lookup, condition=lookup.key)
        for key, pk in self._rows(by_key, self.section.queryset())[:1]:
            page, items = self._find_row(key, pk, with_any_url=True)
            views = [views_of(self.section, canonical(item.loc)) for item in items if item.loc]
            if not lookup.views or any(lookup.views & some for some in views):
                return self._match_row(replace(lookup, is_exact=True), page, items, as_shown(key), pk)
        return None

    def _explain_missing_row(self, lookup: Lookup) -> Match | None:
        """Return why the section has no such row, or None if the URL may have nothing to do with the section."""
        excluded = self._excluded_rows(lookup)
        if excluded:
            key, pk = excluded[0]
            text = _("A row has this URL, but the section's queryset excludes it. Change the row or the queryset.")
            return self._match(Verdict.FILTERED, text, key=as_shown(key), pk=pk)
        if lookup.is_exact or self._is_own(lookup):
            text = _("No row has this URL. If the row was deleted, there is nothing to do.")
            return self._match(Verdict.NO_ROW, text)
        return None

    def _excluded_rows(self, lookup: Lookup) -> list[tuple[KeyValue, Any]]:
        """Return the rows that fit and that the queryset of the section excludes."""
        model = self.section.model
        try:
            found = self._rows(lookup, model._base_manager.using(self.section.queryset().db))
            if not lookup.views:
                return found
            objects = model._base_manager.using(self.section.queryset().db).in_bulk([pk for _, pk in found])
            return [(key, pk) for key, pk in found if self._has_url(objects.get(pk))]
        except Exception:  # columns may be annotations of the section's queryset, and get_absolute_url() is user code
            logger.debug("Section %s: the excluded rows cannot be searched", self.section.label, exc_info=True)
            return []

    def _has_url(self, item: Any) -> bool:
        url = normalize(item.get_absolute_url(), origin=self.section.origin)
        return canonical(url) in map(canonical, self.urls)

    def _is_own(self, lookup: Lookup) -> bool:
        """Return whether the URL belongs to the same views as the section's first row."""
        for page in self.plan.listed[:1]:
            first = read_entries(self.section, page, count=1).items
            locs = [item.loc for item in first if item.loc]
            return bool(lookup.views & frozenset().union(*(views_of(self.section, canonical(loc)) for loc in locs)))
        return False

    # Built files only

    def _search_files(self) -> tuple[list[Match], Searched]:
        hits = self.file_search.find(*self.urls)
        listed = _("The built file lists it. Only another build shows whether it is still listed.")
        linked = _("The built file contains it only as an hreflang link to another language.")
        records = active(self.section).filter(number__in=hits.numbers) if hits.numbers else ()
        known = {record.number: record for record in records}
        matches = [
            self._match(
                Verdict.LISTED if is_listed else Verdict.LINKED,
                self._without_query(hits.url, listed if is_listed else linked),
                number=number,
                built_at=known[number].built_at if number in known else None,
                is_current=self._is_current(known.get(number)),
            )
            for number, is_listed in hits.numbers.items()
        ]
        return matches, self._searched(hits.text, is_complete=hits.is_complete)

    def _is_current(self, record: SitemapPage | None) -> bool | None:
        """Return False if the built file of a page is stale, else None: its entries cannot be compared."""
        known = self.files.manifest.section(self.section.label) if self.files.manifest else None
        reason = self._check.why_not_current(record, known) if record else NO_URLS
        return False if reason and reason.is_stale else None

    @cached_property
    def _check(self) -> CurrencyCheck:
        return CurrencyCheck(self.section, fingerprint_of(self.section))


def plan_of(section: Section) -> Plan:
    """Return the stored plan, or a new one; no page is checked, which would query its rows."""
    return refresh(section, only=())
