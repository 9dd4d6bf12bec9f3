"""Tell what one section knows of an address: by its rows where the database can find them, else by its files."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
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
from sitemaps_plus.plan.pages import Page, Plan, active, make_plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.validators import fingerprint_of
from sitemaps_plus.protocol.addresses import canonical, normalize
from sitemaps_plus.protocol.dates import parse_w3c
from sitemaps_plus.protocol.text import escape
from sitemaps_plus.stores.packing import unpack
from sitemaps_plus.stores.published import PublishedFiles
from sitemaps_plus.watch.entries import Item, read_entries, read_row
from sitemaps_plus.watch.lookups import Lookup, NotAskable, lookup_of, views_of

logger = logging.getLogger("sitemaps_plus")

CANDIDATES = 5
"""Rows of a section that are looked at for one address; several where texts differ only in case."""

_READ_AT_ONCE = 500


class Verdict(models.TextChoices):
    """What became of an address in a section."""

    LISTED = "listed", _("listed")
    LINKED = "linked", _("only linked as another language")
    LEFT_OUT = "left_out", _("left out")
    FILTERED = "filtered", _("filtered")
    NO_ROW = "no_row", _("no row")
    NOT_BUILT = "not_built", _("not built yet")
    GONE = "gone", _("in the built file only (gone since)")
    UNKNOWN = "unknown", _("not known")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What one section knows of an address."""

    site: SiteOrigin
    label: str
    verdict: Verdict
    reason: Any
    """What that means and what to do, a lazy text."""
    number: int | None = None
    """The page, as far as it is known."""
    key: object = None
    """Key of the row as messages show it; None where only a file was read."""
    pk: Any = None
    changed_at: date | datetime | None = None
    """The row's lastmod, as the sitemap gives it now."""
    built_at: datetime | None = None
    """When a build last rendered the page."""
    is_current: bool | None = None
    """Whether the built file has the entry as it is now; None where there is no file, or nothing to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How one section was looked at."""

    site: SiteOrigin
    label: str
    text: Any
    """A lazy text."""
    is_complete: bool = True
    """False where the address may be in the section all the same."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The built pages of a section that have an address."""

    numbers: dict[int, bool]
    """By number, whether the page lists the address; if not, it links to it as another language."""
    text: Any
    is_complete: bool


class SectionSearch:
    """The search for one address in one section."""

    def __init__(self, section: Section, url: str, files: PublishedFiles, deadline: float) -> None:
        self.section = section
        self.url = url
        self.files = files
        self.deadline = deadline
        self.plan = Plan(section=section, pages=())

    def run(self) -> tuple[list[Match], Searched]:
        """Return what the section knows of the address, and how it was asked."""
        try:
            lookup = lookup_of(self.section, canonical(self.url))
        except NotAskable:
            return self._of_files()
        if lookup is None:
            return [], self._searched(_("The address does not fit its URL pattern."))
        # Not to break the transaction of a request by what its database refuses.
        with transaction.atomic():
            self.plan = _plan(self.section)
            matches = list(self._of_rows(lookup))
            if matches:
                return matches, self._searched(_("The database was asked for the row."))
            return self._without_row(lookup)

    def _searched(self, text: Any, *, is_complete: bool = True) -> Searched:
        return Searched(site=self.section.site, label=self.section.label, text=text, is_complete=is_complete)

    def _match(self, verdict: Verdict, reason: Any, page: Page | None = None, **values: Any) -> Match:
        if page is not None:
            values = {"number": page.number, "built_at": page.record.built_at, **values}
        return Match(site=self.section.site, label=self.section.label, verdict=verdict, reason=reason, **values)

    # Rows of the section

    def _of_rows(self, lookup: Lookup) -> Iterator[Match]:
        for key, pk in self._rows(lookup, self.section.queryset()):
            page = self.plan.page_of(key) if self.section.paged_by == "key" else None
            items = read_row(self.section, page, key) if page else []
            if self.section.paged_by == "position":
                page, items = self._read_until(pk)
            found = self._of_row(lookup, page, items, as_shown(key), pk)
            if found:
                yield found

    def _rows(self, lookup: Lookup, among: Any) -> list[tuple[KeyValue, Any]]:
        """Return key and primary key of the rows that fit."""
        names = self.section.key.names
        try:
            wanted = lookup.rows(among.select_related(None).prefetch_related(None)).order_by(*names)
            found = [(tuple(row[: len(names)]), row[-1]) for row in wanted.values_list(*names, "pk")[:CANDIDATES]]
        except (ValueError, TypeError, OverflowError, ArithmeticError):
            # The column cannot hold what the address has: no row has it.
            return []
        # A join to several rows gives the same row more than once.
        return list({as_shown(key): (key, pk) for key, pk in found}.values())

    def _read_until(self, pk: Any) -> tuple[Page | None, list[Item]]:
        """Return the page by position that shows a row, and what it shows, as far as there is time to look."""
        for page in self.plan.listed:
            after: str | None = None
            while time.monotonic() < self.deadline:
                some = read_entries(self.section, page, after=after, count=_READ_AT_ONCE)
                items = [item for item in some.items if item.pk == pk]
                # The languages of a row may lie in two parts.
                if any(self._is_same(item) for item in items) or (items and items[0].loc is None):
                    return page, items
                after = some.next
                if after is None:
                    break
        return None, []

    def _is_same(self, item: Item) -> bool:
        return item.loc is not None and canonical(item.loc) == canonical(self.url)

    def _of_row(self, lookup: Lookup, page: Page | None, items: list[Item], key: object, pk: Any) -> Match | None:
        """Return what is to be said of a row that fits; None where its address is another one."""
        item = next(filter(self._is_same, items), None)
        if item and page:
            return replace(self._listed(page, item), key=key, pk=pk, changed_at=_lastmod(item))
        if not (lookup.is_exact or (items and items[0].loc is None and self._is_own(lookup))):
            return None
        if not items or page is None:
            said = _("The row is in the section; on which page was not found in the time given. Search again.")
            return self._match(Verdict.UNKNOWN, said, key=key, pk=pk)
        if items[0].loc is None:
            reasons = " ".join(dict.fromkeys(problem.reason for problem in items[0].problems))
            said = format_lazy(_("The row is left out: {reasons}"), reasons=reasons)
        else:
            locs = ", ".join(str(one.loc) for one in items[:5])
            said = format_lazy(_("The row is listed under another address: {locs}"), locs=locs)
        return self._match(Verdict.LEFT_OUT, said, page, key=key, pk=pk)

    def _listed(self, page: Page, item: Item) -> Match:
        label, number = self.section.label, page.number
        if not self.files.manifest:
            return self._match(Verdict.LISTED, _("It is listed; nothing is built, so the views serve it."), page)
        build_it = f"manage.py build_sitemaps {label}"
        if number not in self.files.numbers(label):
            said = format_lazy(_("It is listed, but its page was never built; run {command}."), command=build_it)
            return self._match(Verdict.NOT_BUILT, said, page, is_current=False)
        has = self._texts_in(number, _as_loc(item.loc or ""), item.xml)
        if has is None:
            said = format_lazy(
                _("It is listed, but the built file of its page cannot be read; run {command} --full."),
                command=build_it,
            )
            return self._match(Verdict.NOT_BUILT, said, page, is_current=False)
        is_listed, is_current = has
        if not is_listed:
            said = format_lazy(
                _("It is listed, but the built file of its page does not have it yet; run {command}."),
                command=build_it,
            )
            return self._match(Verdict.NOT_BUILT, said, page, is_current=False)
        if find_override(PAGE, label) is not None:
            # A template may write it in any way.
            return self._match(
                Verdict.LISTED,
                _("It is listed, and in the built file."),
                page,
                is_current=self._is_current(page.record),
            )
        if not is_current:
            said = format_lazy(
                _("It is listed; the built file has an older version of its entry; run {command}."), command=build_it
            )
            return self._match(Verdict.LISTED, said, page, is_current=False)
        return self._match(
            Verdict.LISTED, _("It is listed, and in the built file as it is now."), page, is_current=True
        )

    # No row of the section

    def _without_row(self, lookup: Lookup) -> tuple[list[Match], Searched]:
        missing = self._missing(lookup)
        hits = self._search_files()
        # Without a build there is nothing that could still have it.
        is_complete = hits.is_complete or not self.files.numbers(self.section.label)
        searched = self._searched(
            _("The database was asked for the row.") if is_complete else hits.text, is_complete=is_complete
        )
        if not hits.numbers:
            return [missing] if missing else [], searched
        missing = missing or self._match(Verdict.GONE, _("No row of the section has this address."))
        reason = format_lazy(
            _("{reason} The built file still has it; run manage.py build_sitemaps {label}."),
            reason=missing.reason,
            label=self.section.label,
        )
        built_at = {page.number: page.record.built_at for page in self.plan.pages}
        matches = [
            replace(missing, verdict=Verdict.GONE, reason=reason, number=number, built_at=built_at.get(number))
            for number in hits.numbers
        ]
        return matches, searched

    def _missing(self, lookup: Lookup) -> Match | None:
        """Return why the section has no such row; None where the address may have nothing to do with it."""
        stored = self._stored(lookup)
        if stored:
            key, pk = stored[0]
            said = _("There is such a row, but the queryset of the section does not have it; change the row or it.")
            return self._match(Verdict.FILTERED, said, key=as_shown(key), pk=pk)
        if lookup.is_exact or self._is_own(lookup):
            said = _("There is no row with this address; nothing is to be done if it was deleted.")
            return self._match(Verdict.NO_ROW, said)
        return None

    def _stored(self, lookup: Lookup) -> list[tuple[KeyValue, Any]]:
        """Return the rows that fit and that the queryset of the section leaves out."""
        model = self.section.model
        try:
            found = self._rows(lookup, model._base_manager.using(self.section.queryset().db))
            if not lookup.views:
                return found
            objects = model._base_manager.using(self.section.queryset().db).in_bulk([pk for _, pk in found])
            return [(key, pk) for key, pk in found if self._leads_to(objects.get(pk))]
        except Exception:  # the columns may be annotations of its own queryset, and an address is user code
            logger.debug("Section %s: rows outside cannot be asked for", self.section.label, exc_info=True)
            return []

    def _leads_to(self, item: Any) -> bool:
        found = normalize(item.get_absolute_url(), origin=self.section.origin)
        return canonical(found) == canonical(self.url)

    def _is_own(self, lookup: Lookup) -> bool:
        """Return whether the views that answer the address answer those of the section, by its first row."""
        for page in self.plan.listed[:1]:
            first = read_entries(self.section, page, count=1).items
            locs = [item.loc for item in first if item.loc]
            return bool(lookup.views & frozenset().union(*(views_of(self.section, canonical(loc)) for loc in locs)))
        return False

    # Files

    def _of_files(self) -> tuple[list[Match], Searched]:
        hits = self._search_files()
        listed = _("It is in the built file; only building again tells whether it is still listed.")
        linked = _("The built file has it as the address of another language, not as one of its own.")
        records = active(self.section).filter(number__in=hits.numbers) if hits.numbers else ()
        known = {record.number: record for record in records}
        matches = [
            self._match(
                Verdict.LISTED if is_listed else Verdict.LINKED,
                listed if is_listed else linked,
                number=number,
                built_at=known[number].built_at if number in known else None,
                is_current=self._is_current(known.get(number)),
            )
            for number, is_listed in hits.numbers.items()
        ]
        return matches, self._searched(hits.text, is_complete=hits.is_complete)

    def _is_current(self, record: SitemapPage | None) -> bool | None:
        """Return False where the built file is stale; else None, as the entry itself cannot be compared."""
        known = self.files.manifest.section(self.section.label) if self.files.manifest else None
        reason = self._check.why_not_current(record, known) if record else NO_URLS
        return False if reason and reason.is_stale else None

    @cached_property
    def _check(self) -> CurrencyCheck:
        return CurrencyCheck(self.section, fingerprint_of(self.section))

    def _search_files(self) -> Hits:
        """Return which of the published pages have the address, as far as there is time to read them."""
        numbers, found, unread = self.files.numbers(self.section.label), dict[int, bool](), list[int]()
        if not numbers:
            return Hits({}, _("Nothing is known without a build."), is_complete=False)
        forms = sorted({self.url, canonical(self.url)})
        for count, number in enumerate(numbers):
            if time.monotonic() > self.deadline:
                said = format_lazy(_("Stopped after {count} of {all} built pages."), count=count, all=len(numbers))
                return Hits(found, said, is_complete=False)
            has = self._texts_in(number, *map(_as_loc, forms), *map(_as_link, forms))
            if has is None:
                unread.append(number)
            elif any(has):
                found[number] = any(has[: len(forms)])
        if unread:
            shown = ", ".join(map(str, unread[:10]))
            said = format_lazy(_("The built files of some pages cannot be read, build again: {pages}."), pages=shown)
            return Hits(found, said, is_complete=False)
        return Hits(found, format_lazy(_("Built pages read: {count}."), count=len(numbers)), is_complete=True)

    def _texts_in(self, number: int, *texts: str) -> list[bool] | None:
        """Return which of `texts` the built file of a page has; None where it cannot be read."""
        label = self.section.label
        try:
            data = self.files.read_page(label, number)
            return None if data is None else _contained(data, [text.encode() for text in texts])
        except Exception as error:  # each storage has errors of its own; half a file is no gzip
            logger.warning("The built file of page %s of the sitemap %r cannot be read: %s", number, label, error)
            return None


def _contained(data: bytes, texts: Sequence[bytes]) -> list[bool]:
    """Return which of `texts` the unpacked data have, piece by piece; raise if they are not whole."""
    found = [False] * len(texts)
    longest = max(map(len, texts))
    rest = b""
    for piece in unpack(data):
        window = rest + piece
        found = [is_found or text in window for is_found, text in zip(found, texts, strict=True)]
        rest = window[len(window) - longest + 1 :] if len(window) >= longest else window
    return found


def _as_loc(url: str) -> str:
    """Return an address as the writer writes it."""
    return f"<loc>{escape(url)}</loc>"


def _as_link(url: str) -> str:
    return f'href="{escape(url)}"'


def _plan(section: Section) -> Plan:
    """Return the plan as it is stored, or a new one: to bring it up to date would ask for the rows of every page."""
    records = list(active(section))
    if records and all(record.layout == section.layout for record in records):
        return make_plan(section, records)
    return refresh(section)


def _lastmod(item: Item) -> date | None:
    return parse_w3c(item.lastmod) if item.lastmod else None
