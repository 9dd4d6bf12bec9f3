"""Tell which version of a document the rows give now, and make it: from a current built file, else by rendering."""

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
from sitemaps_plus.render.pages import render_planned
from sitemaps_plus.stores.packing import Document
from sitemaps_plus.stores.published import PublishedFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The document that a request asks for."""

    site: SiteOrigin
    label: str = ""
    """The section; empty for the index of the site."""
    number: int = 0
    """The page; 0 for an index."""
    as_text: bool = False
    """Whether it is a list of URLs, one a line, in place of XML."""

    @property
    def name(self) -> str:
        """A name that no other document has, under the script prefix now active."""
        syntax = "txt" if self.as_text else "xml"
        return f"{self.site.origin}|{self.site.id}|{get_script_prefix()}|{self.label}|{self.number}|{syntax}"


class Made(NamedTuple):
    """A document and its version."""

    document: Document
    version: str
    checked_at: datetime | None


class Look(NamedTuple):
    """The version that a document has now."""

    version: str
    """Equal as long as the document is the same; empty if only making the document shows that."""
    checked_at: datetime | None
    """When the database was queried."""
    make: Callable[[bool], Made]
    """Makes the document; the argument is true if the built file must not be used."""


def look(wanted: Wanted, since: datetime | None = None) -> Look:
    """Return the version of a document; the database is queried unless that happened after `since`.

    Without `since` it is queried at most once per ``CHECK_EVERY``.

    Raises PageNotFound and PageGone.
    """
    if not wanted.number:
        return Look("", None, partial(_make_index, wanted, since))
    with neutral():
        section = get_section(wanted.label, wanted.site)
        plan = refresh(section, since=since)
        page = plan.find(wanted.number)
        # Read before the page is made: a row that changes in between gives another version the next time.
        fingerprint = fingerprint_of(section)
        make = partial(_make_page, wanted, plan, page, fingerprint)
        return Look(_version(section, page, fingerprint), plan.checked_at, make)


def _version(section: Section, page: Page, fingerprint: str) -> str:
    if section.makes_its_urls or section.model is None:
        return ""
    record = page.record
    # changed_at: a future lastmod shows once it is past, without a change of a row, and a build may have seen more.
    return " ".join(map(str, (record.validator, record.changed_at, fingerprint, section.recipe, section.base)))


def _make_index(wanted: Wanted, since: datetime | None, _ignores_built: bool) -> Made:
    document = render_index(wanted.site, label=wanted.label or None, since=since)
    return Made(document, "", document.checked_at)


def _make_page(wanted: Wanted, plan: Plan, page: Page, fingerprint: str, ignores_built: bool) -> Made:
    section = plan.section
    document = None if ignores_built or wanted.as_text else _built(section, page)
    if document is None:
        document, plan = render_planned(section, page.number, as_text=wanted.as_text, plan=plan)
    with neutral():
        # Rendering may have split the page, and it has set its date.
        return Made(document, _version(section, plan.find(page.number), fingerprint), plan.checked_at)


def _built(section: Section, page: Page) -> Document | None:
    """Return the built file of a page, or None unless it is current."""
    record = page.record
    # Without the manifest: reading it for each page would cost more than it saves.
    if CurrencyCheck(section).why_not_current(record, known=None):
        return None
    document = PublishedFiles(section.site.domain).read_document(section.label, page.number)
    if document is None or document.digest != record.digest:
        return None
    return replace(document, urls=record.urls or 0, changed_at=record.changed_at)
