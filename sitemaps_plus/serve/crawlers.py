"""Count which crawlers fetch which sitemap: in memory during requests, written to the database once a minute."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import request_finished
from django.db import connections, router, transaction
from django.db.models import DateTimeField, F, QuerySet, Value
from django.db.models.functions import Greatest
from django.dispatch import receiver
from django.http import HttpRequest

from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.models import CrawlerVisit

logger = logging.getLogger("sitemaps_plus")

CRAWLERS = (
    "Googlebot",
    "Google-InspectionTool",
    "GoogleOther",
    "Bingbot",
    "YandexBot",
    "Baiduspider",
    "DuckDuckBot",
    "Applebot",
    "Yeti",
    "PetalBot",
    "Bytespider",
    "SeznamBot",
    "Sogou",
    "360Spider",
    "Coccocbot",
    "Qwantbot",
    "MojeekBot",
    "Slurp",
    "GPTBot",
    "OAI-SearchBot",
    "ClaudeBot",
    "PerplexityBot",
    "Amazonbot",
    "Meta-ExternalAgent",
    "CCBot",
    "AhrefsBot",
    "SemrushBot",
    "MJ12bot",
)
"""Crawlers that are counted under their own name."""

OTHER = "other"
"""The name for all others that call themselves a bot, crawler or spider."""

EVERY = 60.0
"""Seconds between two writes of a process, and before a retry."""

BATCH = 50
"""Most rows in one write; the others wait for the next one."""

WAITING = 10_000
"""Most rows that wait in memory while the database refuses writes; further ones are not counted."""

# Other spellings, and parts of longer names.
_SPELLINGS = {
    "yandexmobilebot": "YandexBot",
    "yandeximages": "YandexBot",
    "yandexwebmaster": "YandexBot",
    "sogou web spider": "Sogou",
    "yeti/": "Yeti",
}
_AMBIGUOUS = ("Sogou", "Yeti")  # also occur in other words, or in the name of a browser
_NAMES = {name.lower(): name for name in CRAWLERS if name not in _AMBIGUOUS} | _SPELLINGS
# Lower case in place of IGNORECASE: the expression then skips letters that begin no name. Cubot is a phone.
_CRAWLER = re.compile("|".join([*map(re.escape, _NAMES), r"bot(?<!cubot)\b", "crawl", "spider"]))
_LONGEST = 500

_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


def crawler_of(user_agent: str) -> str | None:
    """Return the one of ``CRAWLERS`` that a user agent names, ``OTHER`` for another crawler, None for a browser.

    Anybody can send any user agent. Only its first 500 characters count.
    """
    found = _CRAWLER.search(user_agent[:_LONGEST].lower())
    return _NAMES.get(found[0], OTHER) if found else None


def note_visit(request: HttpRequest, site_id: int, label: str, status: int) -> None:
    """Count a response if the user agent names a crawler; this takes no query and never fails."""
    if get_settings().CRAWLER_VISITS and (crawler := crawler_of(request.META.get("HTTP_USER_AGENT", ""))):
        visits.note(site_id, label, crawler, status)


_Key = tuple[int, str, str, int]  # site, label, crawler, days since 1970 in UTC


@dataclass(slots=True)
class _Count:
    """Responses of one day, and the time of the last one in seconds since 1970."""

    ok: int = 0
    not_modified: int = 0
    other: int = 0
    last: float = 0.0

    def add(self, more: _Count) -> None:
        self.ok += more.ok
        self.not_modified += more.not_modified
        self.other += more.other
        self.last = max(self.last, more.last)


class Visits:
    """Visits of crawlers that this process has counted and not written yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[_Key, _Count] = {}
        self._next = 0.0
        self._pruned = 0

    def note(self, site_id: int, label: str, crawler: str, status: int) -> None:
        """Count a response, unless its label is not registered: anybody can request any label."""
        if label and label not in registry:
            return
        now = time.time()
        key = (site_id, label, crawler, int(now // _DAY))
        with self._lock:
            count = self._counts.get(key)
            if count is None:
                if len(self._counts) >= WAITING:
                    return
                count = self._counts[key] = _Count()
            if status == 200:
                count.ok += 1
            elif status == 304:
                count.not_modified += 1
            else:
                count.other += 1
            count.last = now

    def flush(self) -> None:
        """Write the counts if the last write was a minute ago; keep them for the next one if that fails.

        Never raises: errors are logged as a warning. If a connection breaks during a commit, visits may count twice.
        """
        # Without the lock: this runs at the end of every request of the project.
        if not self._counts or time.monotonic() < self._next:
            return
        with self._lock:
            if time.monotonic() < self._next:
                return
            self._next = time.monotonic() + EVERY
            batch = {key: self._counts.pop(key) for key in list(islice(self._counts, BATCH))}
        try:
            with _connected() as using:
                _write(batch, using)
                batch = {}
                self._prune(using)
        except Exception as error:  # counting must never break a response
            self._take_back(batch)
            logger.warning(
                "Visits of crawlers cannot be written; the next try is in %d seconds. Run migrate if you have not, or "
                'stop counting with SITEMAPS_PLUS = {"CRAWLER_VISITS": False}. %s: %s',
                EVERY,
                type(error).__name__,
                error,
            )

    def _take_back(self, batch: dict[_Key, _Count]) -> None:
        with self._lock:
            for key, count in batch.items():
                if key in self._counts:
                    self._counts[key].add(count)
                elif len(self._counts) < WAITING:
                    self._counts[key] = count

    def _prune(self, using: str) -> None:
        """Delete visits older than ``VISIT_HISTORY``, once a day."""
        today = int(time.time() // _DAY)
        if self._pruned != today:
            oldest = _date(today) - timedelta(days=get_settings().VISIT_HISTORY)
            with transaction.atomic(using=using):
                CrawlerVisit.objects.using(using).filter(day__lte=oldest).delete()
            self._pruned = today


visits = Visits()
"""The counts of this process."""


@receiver(request_finished, dispatch_uid="sitemaps_plus.visits")
def _write_afterwards(**_kwargs: Any) -> None:
    """Write after the response of any view: the next crawler may come only days later."""
    visits.flush()


@contextmanager
def _connected() -> Iterator[str]:
    """Yield the alias of the database; close its connection afterwards if it was not open before."""
    using = router.db_for_write(CrawlerVisit)
    was_open = connections[using].connection is not None
    try:
        yield using
    finally:
        # The request is over, so that Django would not close it.
        if not was_open:
            connections[using].close()


def _write(counts: dict[_Key, _Count], using: str) -> None:
    rows = CrawlerVisit.objects.using(using)
    # Sorted, and missing rows are created in an earlier transaction: two processes never wait for each other.
    keys = sorted(counts)
    if missing := sorted(set(keys) - _known(rows, keys)):
        # Created with zero counts: if another process creates them first, nothing is lost.
        with transaction.atomic(using=using):
            rows.bulk_create([_empty(key, counts[key]) for key in missing], ignore_conflicts=True)
    with transaction.atomic(using=using):
        for key in keys:
            _add(rows, key, counts[key])


def _known(rows: QuerySet[CrawlerVisit], keys: list[_Key]) -> set[_Key]:
    """Return the keys of stored rows; these may be more than `keys`."""
    sites, labels, crawlers, days = (set(values) for values in zip(*keys, strict=True))
    found = rows.filter(site__in=sites, label__in=labels, crawler__in=crawlers, day__in=map(_date, days))
    return {
        (site, label, crawler, day.toordinal() - _EPOCH)
        for site, label, crawler, day in found.values_list("site", "label", "crawler", "day")
    }


def _add(rows: QuerySet[CrawlerVisit], key: _Key, count: _Count) -> None:
    site, label, crawler, day = key
    rows.filter(site=site, label=label, crawler=crawler, day=_date(day)).update(
        count_200=F("count_200") + count.ok,
        count_304=F("count_304") + count.not_modified,
        count_other=F("count_other") + count.other,
        last_at=Greatest(F("last_at"), Value(_moment(count.last), output_field=DateTimeField())),
    )


def _empty(key: _Key, count: _Count) -> CrawlerVisit:
    site, label, crawler, day = key
    return CrawlerVisit(site=site, label=label, crawler=crawler, day=_date(day), last_at=_moment(count.last))


def _date(days: int) -> date:
    return date.fromordinal(_EPOCH + days)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC if django_settings.USE_TZ else None)
