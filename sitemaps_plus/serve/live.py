"""Say what a document is made of now, and make it: of the built file where that is current, else by rendering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from django.urls import get_script_prefix

from sitemaps_plus.plan.currency import CurrencyCheck
from sitemaps_plus.plan.pages import Page, Plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, get_section, neutral
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.validators import fingerprint_of
from sitemaps_plus.render.indexes import render_index
from sitemaps_plus.render.pages import Format, render_planned
from sitemaps_plus.stores.packing import Document
from sitemaps_plus.stores.published import PublishedFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which document is wanted."""

    site: SiteOrigin
    label: str = ""
    """The section; empty for the index of the site."""
    number: int = 0
    """The page; 0 for an index."""
    form: Format = "xml"

    @property
    def name(self) -> str:
        """What tells the document from all others, under the script prefix now active."""
        return f"{self.site.origin}|{self.site.id}|{get_script_prefix()}|{self.label}|{self.number}|{self.form}"


class Made(NamedTuple):
    """A document, and what it was made of."""

    document: Document
    state: str
    checked_at: datetime | None


class Look(NamedTuple):
    """What a document would be made of now."""

    state: str
    """Equal as long as the document is; empty where only making it would tell."""
    checked_at: datetime | None
    """When the database was asked."""
    make: Callable[[bool], Made]
    """Makes the document; called with whether the built file is not to be trusted."""


def look(wanted: Wanted, since: datetime | None = None) -> Look:
    """Ask the database what a document would be made of, if nobody did `since` a moment or for ``CHECK_EVERY`` seconds.

    Raises PageNotFound and PageGone.
    """
    if not wanted.number:
        return Look("", None, partial(_make_index, wanted, since))
    with neutral():
        section = get_section(wanted.label, wanted.site)
        plan = refresh(section, since=since)
        page = plan.find(wanted.number)
        # Before the page is made: a row that changes meanwhile gives another state the next time.
        fingerprint = fingerprint_of(section)
        make = partial(_make_page, wanted, plan, page, fingerprint)
        return Look(_state(section, page, fingerprint), plan.checked_at, make)


def _state(section: Section, page: Page, fingerprint: str) -> str:
    if section.makes_its_urls or section.model is None:
        return ""
    record = page.record
    # A date that lay in the future counts once it has come, though no row changes; and a build may have seen more.
    return " ".join(map(str, (record.validator, record.changed_at, fingerprint, section.recipe, section.base)))


def _make_index(wanted: Wanted, since: datetime | None, _is_doubted: bool) -> Made:
    document = render_index(wanted.site, label=wanted.label or None, since=since)
    return Made(document, "", document.checked_at)


def _make_page(wanted: Wanted, plan: Plan, page: Page, fingerprint: str, is_doubted: bool) -> Made:
    section = plan.section
    document = None if is_doubted or wanted.form != "xml" else _built(section, page)
    if document is None:
        document, plan = render_planned(section, page.number, form=wanted.form, plan=plan)
    with neutral():
        # It may have been split on the way, and its date is known only now.
        return Made(document, _state(section, plan.find(page.number), fingerprint), plan.checked_at)


def _built(section: Section, page: Page) -> Document | None:
    """Return the built file of a page where it is what rendering would give."""
    record = page.record
    # Without the manifest: reading it for each page would cost more than it saves.
    if CurrencyCheck(section).why_not_current(record, known=None):
        return None
    document = PublishedFiles(section.site.domain).read_document(section.label, page.number)
    if document is None or document.digest != record.digest:
        return None
    return replace(document, urls=record.urls or 0, changed_at=record.changed_at)
