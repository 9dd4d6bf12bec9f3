"""Store in the record of a page what rendering and publishing it found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any, Required, TypedDict, Unpack

from django.conf import settings
from django.db import DatabaseError, router, transaction
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from sitemaps_plus.conf import get_settings
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.seen import Sums, seen_validator
from sitemaps_plus.plan.statements import Slot, Update, UpdateStatement
from sitemaps_plus.plan.validators import Fingerprint, fingerprint_of, measure, moment, settles_at
from sitemaps_plus.protocol import dates
from sitemaps_plus.protocol.reports import PROBLEMS_PER_PAGE, Report

_BATCH = 500
"""Records that are written in one transaction."""

_AT_LEAST = "at least changed_at"
"""The new value of ``changed_at``, unless the stored one is later."""


class Rendering(TypedDict, total=False):
    """The results of one rendering of a page."""

    digest: Required[str]
    urls: Required[int]
    size: Required[int]
    newest: Required[datetime | None]
    began: Required[datetime]
    seconds: Required[float]
    report: Report | None
    seen: Sums | None


def record_rendering(section: Section, page: Page, **found: Unpack[Rendering]) -> None:
    """Store the results of a rendering that `began` at a moment; ``changed_at`` moves when the bytes have changed.

    The page gets the validator of the rows that were `seen`, which may have moved since it was measured.
    """
    _store(_rendered(section, page, section.base, found))


def record_renderings(section: Section, renderings: Iterable[tuple[Page, Any]]) -> None:
    """Store the `Rendering` of each of many pages, as `record_rendering` does."""
    base = section.base
    _store(chain.from_iterable(_rendered(section, page, base, found) for page, found in renderings))


def _rendered(section: Section, page: Page, origin: str, given: Rendering) -> Iterator[Update]:
    """Note the results of a rendering in the record of the page, and yield what to store, if there is anything."""
    record = page.record
    digest, urls, began, report = given["digest"], given["urls"], given["began"], given.get("report")
    known, found = record.validator, _measured(section, record, given.get("seen"))
    if record.pk is None:
        _note(record, found)
        return
    seconds = given["seconds"]
    if record.seconds is not None:
        # A busy moment of the machine must not make a small page look large for long.
        seconds = min(seconds, 2 * record.seconds)
    compared: dict[str, Any] = {"verified_at": newest_of(began), "seconds": seconds}
    # Of a page that shows the same as its built file: a row that is left out since does not change the bytes.
    missing = _missing(report) if report and digest == record.built_digest else {}
    is_known = all(getattr(record, name) == value for name, value in missing.items())
    compared |= missing
    if not found and is_known and (record.digest, record.origin, record.urls) == (digest, origin, urls):
        verified = record.verified_at
        # Nobody asks more exactly, and most renderings find nothing new.
        if verified is None or abs(moment(began) - moment(verified)) > timedelta(
            seconds=get_settings().CHECK_EVERY / 2
        ):
            _note(record, compared)
            yield Update(record.pk, compared)
        return
    now = timezone.now()
    differs = bool(record.digest) and record.origin == origin and record.digest != digest
    # A date means its midnight in UTC, which may be in the future although the day has begun in the local zone.
    shown = None if given["newest"] is None else min(given["newest"], moment(now))
    newest = newest_of(shown, now if differs else None)
    changes = {"digest": digest, "origin": origin, "urls": urls, "bytes": given["size"], **compared, **found}
    _note(record, {**changes, "changed_at": newest_of(record.changed_at, newest)})
    # Another process may have measured the page meanwhile, and found other rows.
    validators = (known, found.get("validator", known))
    yield Update(record.pk, changes if newest is None else {**changes, _AT_LEAST: newest}, validators)


def _measured(section: Section, record: SitemapPage, seen: Sums | None) -> dict[str, Any]:
    """Return what to store of the rows of a page that were `seen`, if it was measured with other rows."""
    validator = seen_validator(section, record.validator, seen)
    if seen is None or validator == record.validator:
        return {}
    return {"validator": validator, "rows": seen.rows, "settles_at": newest_of(settles_at(section, seen.last))}


def record_publishings(published: Iterable[tuple[Page, str, Report]], built_at: datetime) -> None:
    """Store of pages the digest of the built file, when it was rendered, and what was left out of it.

    If the database refuses writes, nothing is lost: the next build renders the pages again.
    """
    _store(
        _noted(page.record, {"built_digest": digest, "built_at": built_at, **_missing(report)})
        for page, digest, report in published
        if page.record.pk is not None
    )


def _missing(report: Report) -> dict[str, Any]:
    """Return what to store of the rows and parts that are missing in a built file."""
    problems = [problem.as_list() for problem in report.problems[:PROBLEMS_PER_PAGE]]
    return {"left_out": report.left_out, "dropped": report.dropped, "problems": problems}


def record_unseen(page: Page, count: int) -> None:
    """Store that a rendering found `count` URLs changed of which the validator had told nothing; 0 if unknown."""
    if page.record.pk is not None:
        _store([_noted(page.record, {"unseen": count, "unseen_at": newest_of(timezone.now())})])


def has_moved(section: Section, page: Page, fingerprint: Fingerprint) -> bool:
    """Return whether the database tells of a change since a page was measured and its section had `fingerprint`."""
    if section.paged_by == "position":
        return fingerprint_of(section) != fingerprint
    return measure(section, page.rows(section), timezone.now()).validator != page.record.validator


def _store(updates: Iterable[Update]) -> None:
    """Write to the database what it accepts, some hundred pages at a time."""
    using = router.db_for_write(SitemapPage)
    statements: dict[tuple[bool, tuple[str, ...]], UpdateStatement] = {}
    for batch in _batched(updates, _BATCH):
        with suppress(DatabaseError), transaction.atomic(using=using):
            for kind, group in _grouped(batch).items():
                if kind not in statements:
                    statements[kind] = _statement(*kind, using)
                statements[kind].run(group)


def _statement(is_conditional: bool, names: Iterable[str], using: str) -> UpdateStatement:
    columns = dict(_column(name) for name in names)
    return UpdateStatement.of(columns, using=using, is_conditional=is_conditional)


def _column(name: str) -> tuple[str, Any]:
    """Return a column and the expression for its new value."""
    column = name.removeprefix("at least ")
    slot = Slot(name, SitemapPage._meta.get_field(column))  # type: ignore[arg-type]
    # Compared by the database: another process may have written a later moment in the meantime.
    return column, Coalesce(Greatest(column, slot), slot) if name == _AT_LEAST else slot


def _grouped(updates: Iterable[Update]) -> dict[tuple[bool, tuple[str, ...]], list[Update]]:
    """Return updates by what their statements have in common."""
    groups: dict[tuple[bool, tuple[str, ...]], list[Update]] = {}
    for update in updates:
        groups.setdefault((update.validators is not None, tuple(update.values)), []).append(update)
    return groups


def _batched(updates: Iterable[Update], size: int) -> Iterator[list[Update]]:
    rest = iter(updates)
    while batch := list(islice(rest, size)):
        yield batch


def _noted(record: SitemapPage, changes: Mapping[str, Any]) -> Update:
    _note(record, changes)
    return Update(record.pk, changes)


def _note(record: SitemapPage, changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        setattr(record, name, value)


def newest_of(*moments: datetime | None) -> datetime | None:
    """Return the latest moment as a DateTimeField stores it: naive without ``USE_TZ``."""
    zone = timezone.get_default_timezone()
    found = dates.newest(moments, tz=zone)
    return found if found is None or settings.USE_TZ else timezone.make_naive(found, zone)
