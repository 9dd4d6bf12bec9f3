"""Tell what one section knows of an address: by its rows where the database can find them, else by its files."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from django.db import models, transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from sitemaps_plus.plan.keys import KeyValue, as_shown
from sitemaps_plus.plan.overrides import PAGE, find_override
from sitemaps_plus.plan.pages import Page, Plan, active, make_plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import canonical, normalize
from sitemaps_plus.stores.published import Published, as_loc
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


class SectionSearch:
    """The search for one address in one section."""

    def __init__(self, section: Section, url: str, built: Published) -> None:
        self.section = section
        self.url = url
        self.built = built

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
            while time.monotonic() < self.built.deadline:
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
            return replace(self._listed(page, item), key=key, pk=pk, changed_at=_moment(item.lastmod))
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
        if not self.built.manifest:
            return self._match(Verdict.LISTED, _("It is listed; nothing is built, so the views serve it."), page)
        build_it = f"manage.py build_sitemaps {label}"
        if number not in self.built.numbers(label):
            said = format_lazy(_("It is listed, but its page was never built; run {command}."), command=build_it)
            return self._match(Verdict.NOT_BUILT, said, page, is_current=False)
        has = self.built.has(label, number, as_loc(item.loc or ""), item.xml)
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
            return self._match(Verdict.LISTED, _("It is listed, and in the built file."), page)
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
        hits = self.built.search(self.section.label, self.url)
        # Without a build there is nothing that could still have it.
        is_complete = hits.is_complete or not self.built.numbers(self.section.label)
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
        hits = self.built.search(self.section.label, self.url)
        listed = _("It is in the built file; only building again tells whether it is still listed.")
        linked = _("The built file has it as the address of another language, not as one of its own.")
        records = active(self.section).filter(number__in=hits.numbers) if hits.numbers else ()
        built_at = {record.number: record.built_at for record in records}
        matches = [
            self._match(
                Verdict.LISTED if is_listed else Verdict.LINKED,
                listed if is_listed else linked,
                number=number,
                built_at=built_at.get(number),
            )
            for number, is_listed in hits.numbers.items()
        ]
        return matches, self._searched(hits.text, is_complete=hits.is_complete)


def _plan(section: Section) -> Plan:
    """Return the plan as it is stored, or a new one: to bring it up to date would ask for the rows of every page."""
    records = list(active(section))
    if records and all(record.layout == section.layout for record in records):
        return make_plan(section, records)
    return refresh(section)


def _moment(text: str | None) -> date | datetime | None:
    if not text:
        return None
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
