"""Store in the record of a page what rendering and publishing it found."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, router, transaction
from django.db.models import DateTimeField, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from sitemaps_plus.conf import get_settings
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.seen import Sums, seen_validator
from sitemaps_plus.plan.validators import Fingerprint, fingerprint_of, measure, moment, settles_at
from sitemaps_plus.protocol import dates
from sitemaps_plus.protocol.reports import PROBLEMS_PER_PAGE, Report


def record_rendering(
    section: Section,
    page: Page,
    *,
    digest: str,
    urls: int,
    size: int,
    newest: datetime | None,
    began: datetime,
    seconds: float,
    report: Report | None = None,
    seen: Sums | None = None,
) -> None:
    """Store the results of a rendering that `began` at a moment; ``changed_at`` moves when the bytes have changed.

    The page gets the validator of the rows that were `seen`, which may have moved since it was measured.
    """
    record = page.record
    origin = section.base
    known, found = record.validator, _measured(section, record, seen)
    if record.pk is None:
        _note(record, found)
        return
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
            _store(page, compared)
        return
    now = timezone.now()
    differs = bool(record.digest) and record.origin == origin and record.digest != digest
    # A date means its midnight in UTC, which may be in the future although the day has begun in the local zone.
    shown = None if newest is None else min(newest, moment(now))
    newest = newest_of(shown, now if differs else None)
    changes = {"digest": digest, "origin": origin, "urls": urls, "bytes": size, **compared, **found}
    with suppress(DatabaseError), transaction.atomic(using=router.db_for_write(SitemapPage)):
        # Another process may have measured the page meanwhile, and found other rows.
        stored = SitemapPage.objects.filter(pk=record.pk, validator__in={known, found.get("validator", known)})
        stored.update(**changes, **({} if newest is None else {"changed_at": _at_least(newest)}))
    _note(record, changes)
    record.changed_at = newest_of(record.changed_at, newest)


def _measured(section: Section, record: SitemapPage, seen: Sums | None) -> dict[str, Any]:
    """Return what to store of the rows of a page that were `seen`, if it was measured with other rows."""
    validator = seen_validator(section, record.validator, seen)
    if seen is None or validator == record.validator:
        return {}
    return {"validator": validator, "rows": seen.rows, "settles_at": newest_of(settles_at(section, seen.last))}


def record_publishing(page: Page, digest: str, built_at: datetime, report: Report) -> None:
    """Store the digest of a page's built file, when it was rendered, and what was left out of it.

    If the database refuses writes, nothing is lost: the next build renders the page again.
    """
    if page.record.pk is None:
        return
    _store(page, {"built_digest": digest, "built_at": built_at, **_missing(report)})


def _missing(report: Report) -> dict[str, Any]:
    """Return what to store of the rows and parts that are missing in a built file."""
    problems = [problem.as_list() for problem in report.problems[:PROBLEMS_PER_PAGE]]
    return {"left_out": report.left_out, "dropped": report.dropped, "problems": problems}


def record_unseen(page: Page, count: int) -> None:
    """Store that a rendering found `count` URLs changed of which the validator had told nothing; 0 if unknown."""
    if page.record.pk is not None:
        _store(page, {"unseen": count, "unseen_at": newest_of(timezone.now())})


def has_moved(section: Section, page: Page, fingerprint: Fingerprint) -> bool:
    """Return whether the database tells of a change since a page was measured and its section had `fingerprint`."""
    if section.paged_by == "position":
        return fingerprint_of(section) != fingerprint
    return measure(section, page.rows(section), timezone.now()).validator != page.record.validator


def _store(page: Page, changes: Mapping[str, Any]) -> None:
    with suppress(DatabaseError), transaction.atomic(using=router.db_for_write(SitemapPage)):
        SitemapPage.objects.filter(pk=page.record.pk).update(**changes)
    _note(page.record, changes)


def _note(record: SitemapPage, changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        setattr(record, name, value)


def newest_of(*moments: datetime | None) -> datetime | None:
    """Return the latest moment as a DateTimeField stores it: naive without ``USE_TZ``."""
    zone = timezone.get_default_timezone()
    found = dates.newest(moments, tz=zone)
    return found if found is None or settings.USE_TZ else timezone.make_naive(found, zone)


def _at_least(moment: datetime) -> Coalesce:
    # Compared by the database: another process may have written a later moment in the meantime.
    value = Value(moment, output_field=DateTimeField())
    return Coalesce(Greatest("changed_at", value), value)
