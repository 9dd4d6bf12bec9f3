"""Serve a document from the cache, or make it once for all requests that wait for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from django.db import InterfaceError, OperationalError, connections

from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import MissingTables, PageNotFound, SitemapError, StrictError, Unavailable
from sitemaps_plus.models import explained
from sitemaps_plus.plan import upkeep
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.serve.live import Made, Wanted, look
from sitemaps_plus.stores.cache import DocumentCache, Kept, get_cache
from sitemaps_plus.stores.packing import Document
from sitemaps_plus.stores.published import PublishedFiles

logger = logging.getLogger("sitemaps_plus")

WAIT = 20.0
"""Seconds that a request waits for a document that another request makes, before it makes its own."""

LOOK_EVERY = 1.0
"""Least seconds between two checks of a page or index under constant writes."""

PATIENCE = 10
"""Under constant writes a document is rechecked only after this many times the duration of its last check."""

REST = 5.0
"""Seconds that a cached document is served without a check after it could not be renewed."""

LATEST = 3_600.0
"""Most seconds for which a document is not tried again after code of the project failed."""

SHARE = 100
"""Comparing, and trying again what failed, takes a hundredth of the time."""

COMPARING = 0.5
"""Seconds after which an index compares no more of its pages, but goes on the next time."""

_POLL = 0.05

# Every check was before it, whatever a test does to the clock.
_ALWAYS = datetime.max.replace(tzinfo=UTC)


class Served(NamedTuple):
    """A document as a response needs it."""

    digest: str
    """SHA-256 of the uncompressed bytes."""
    size: int
    """Uncompressed bytes."""
    packed: int
    """Bytes as gzip."""
    changed_at: float | None
    """When the content changed, in seconds since 1970."""
    gzipped: bytes = b""
    """Empty if the caller did not want the bytes."""


def serve(wanted: Wanted, *, with_bytes: bool = True) -> Served:
    """Return a document that was current at most ``CHECK_EVERY`` seconds ago.

    The cache is used only for sites whose origin is configured, so that a forged host can neither fill nor read it, and
    only outside of transactions: inside one the document is made of what the transaction sees.
    While one request checks the database or renders, others get the last version at once, or wait if there is none.
    Raises PageNotFound, PageGone, StrictError, and Unavailable if the database is down and nothing is cached.
    """
    if wanted.label:
        registry[wanted.label]
    if is_in_transaction():
        return _served(replace(look(wanted, _ALWAYS), is_due=True).make(None).document)
    if not wanted.site.is_configured:
        return _served(look(wanted).make(None).document)
    cache = get_cache()
    gzipped: bytes | None = b""
    if with_bytes:
        kept, recheck_since, gzipped = cache.find_all(wanted.name, wanted.label)
    else:
        kept, recheck_since = cache.find(wanted.name, wanted.label)
    if kept and gzipped is not None and _is_current(wanted, kept, recheck_since):
        return Served(kept.digest, kept.size, kept.packed, kept.changed_at, gzipped)
    return _by_one_thread(wanted, cache, kept)


def is_in_transaction() -> bool:
    """Return whether this thread has begun a transaction, which may see rows that nobody else will ever see.

    The views never run in one, unless somebody calls them in one, as the tests of a project do: Django's ``TestCase``.
    """
    return any(connection.in_atomic_block for connection in connections.all(initialized_only=True))


def _is_current(wanted: Wanted, kept: Kept, recheck_since: float) -> bool:
    """Return whether a cached document can be served without a check of the database.

    `recheck_since` is when a row of the section was last saved, or the section built, in seconds since 1970.
    """
    now = time.time()
    # The upper bound: a clock that is set back must not extend the rest.
    if _next_try and now < _next_try.get(wanted.name, 0.0) <= now + LATEST:
        return True
    age = now - kept.checked_at
    # A negative age comes from a clock that was wrong.
    if not 0 <= age < get_settings().CHECK_EVERY:
        return False
    has_changed = recheck_since > kept.checked_at and age > LOOK_EVERY
    return not has_changed or now < _next_check.get(wanted.name, 0.0) <= now + LATEST


def _from_cache(cache: DocumentCache, wanted: Wanted, kept: Kept) -> Served | None:
    gzipped = cache.read(wanted.name, kept)
    return None if gzipped is None else Served(kept.digest, kept.size, kept.packed, kept.changed_at, gzipped)


# One request at a time makes a document: among the threads of this process, and the processes that share a cache.


class _Flight:
    """A document that one thread makes for all threads of this process."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.is_over = threading.Event()
        self.served: Served | None = None
        self.error: Exception | None = None


# When a document may be tried again after a failure or an endless round of checks, or be checked again under constant
# writes, in seconds since 1970.
_next_try: dict[str, float] = {}
_next_check: dict[str, float] = {}
# Since when some pages of an index are always due, in seconds since 1970.
_unfinished: dict[str, float] = {}
# When pages of an index may be compared again, by the clock that nobody can set.
_next_comparing: dict[str, float] = {}
_failing: set[str] = set()

_flights: dict[str, _Flight] = {}
_flights_lock = threading.Lock()


def _by_one_thread(wanted: Wanted, cache: DocumentCache, kept: Kept | None) -> Served:
    with _flights_lock:
        flight = _flights.get(wanted.name)
        is_first = flight is None
        flight = _flights.setdefault(wanted.name, _Flight()) if flight is None else flight
    if not is_first:
        last = kept and _from_cache(cache, wanted, kept)
        if last:
            return last
        if flight.thread == threading.get_ident():
            raise SitemapError(
                f"Code that makes the sitemap {wanted.name} requests it: it would wait for itself forever."
            )
        is_over = flight.is_over.wait(WAIT)
        if flight.error:
            raise flight.error
        if flight.served:
            return flight.served
        # If its thread was killed, one of the waiting ones takes over.
        return _by_one_thread(wanted, cache, kept) if is_over else _renewed(wanted, cache)
    try:
        flight.served = _by_one_process(wanted, cache, kept)
    except Exception as error:
        flight.error = error
        raise
    else:
        return flight.served
    finally:
        with _flights_lock:
            del _flights[wanted.name]
        flight.is_over.set()


def _by_one_process(wanted: Wanted, cache: DocumentCache, kept: Kept | None) -> Served:
    deadline = time.monotonic() + WAIT
    while (token := cache.claim(wanted.name)) is None:
        last = kept and _from_cache(cache, wanted, kept)
        if last:
            return last
        if time.monotonic() > deadline:
            return _renewed(wanted, cache)
        time.sleep(_POLL)
        kept, _ = cache.find(wanted.name, wanted.label)
    try:
        return _renewed(wanted, cache)
    finally:
        cache.release(wanted.name, token)


def _renewed(wanted: Wanted, cache: DocumentCache) -> Served:
    # Another process may have renewed it in the meantime.
    kept, recheck_since = cache.find(wanted.name, wanted.label)
    last = _from_cache(cache, wanted, kept) if kept else None
    if kept and last and _is_current(wanted, kept, recheck_since):
        return last
    # A second earlier: pages that were just checked need no other check, even under constant writes.
    since = datetime.fromtimestamp(min(recheck_since, time.time() - LOOK_EVERY), UTC) if recheck_since else None
    started = time.time()
    try:
        now = look(
            wanted,
            since,
            kept=kept if last else None,
            last=last.gzipped if last else None,
            saved_at=recheck_since,
            compare=partial(_compare_pages, wanted.name),
            holds=True,
        )
        _rest_after_check(wanted, time.time() - started)
        is_same = kept is not None and kept.version == now.version
        if kept and last and is_same and not now.is_due:
            cache.note(wanted.name, replace(kept, checked_at=_seconds(now.checked_at)))
            if now.has_new_pages:
                _renew_indexes(cache, wanted)
            return last
        made = now.make(last.gzipped if last and is_same else None)
        if not wanted.number:
            # An index is checked while it is made.
            _rest_after_check(wanted, time.time() - started)
            _rest_in_round(wanted, made, time.time() - started)
        if made.has_new_pages:
            _renew_indexes(cache, wanted)
    except PageNotFound:
        # Else it would be served during the next check, and when the database is down.
        cache.forget(wanted.name)
        raise
    except StrictError:
        raise
    except Exception as error:  # the database, or code of the project
        return _last_good(wanted, last, error, time.time() - started)
    served = _served(made.document)
    if made.has_failed:
        _next_try[wanted.name] = time.time() + REST
    _keep(cache, wanted, made, served, kept if last else None)
    return served


def _rest_after_check(wanted: Wanted, seconds: float) -> None:
    """Note until when a document is left alone under constant writes, after a check that took `seconds`."""
    if PATIENCE * seconds < LOOK_EVERY:
        _next_check.pop(wanted.name, None)
    else:
        _next_check[wanted.name] = time.time() + PATIENCE * seconds


def _rest_in_round(wanted: Wanted, made: Made, seconds: float) -> None:
    """Note until when an index is left alone whose checks, of which these took `seconds`, do not end in time.

    Else each request for it would check pages for as long as one may, without end.
    """
    now, every = time.time(), get_settings().CHECK_EVERY
    if now - _seconds(made.checked_at) < every:
        _unfinished.pop(wanted.name, None)
    elif now - _unfinished.setdefault(wanted.name, now) >= every and seconds >= upkeep.BUDGET:
        # Not longer than an index that is current: pages that give up rows are held for that time.
        _next_try[wanted.name] = now + min(PATIENCE * seconds, every)


def _renew_indexes(cache: DocumentCache, wanted: Wanted) -> None:
    """Have the indexes made at the next request: they lack pages that were added now."""
    for label in {"", wanted.label}:
        index = replace(wanted, label=label, number=0, as_text=False)
        if index != wanted:
            cache.expire(index.name)


def _keep(cache: DocumentCache, wanted: Wanted, made: Made, served: Served, kept: Kept | None) -> None:
    """Store a document in place of `kept`; the bytes only if they differ."""
    checked_at = _seconds(made.checked_at)
    if kept and (kept.digest, kept.packed) == (served.digest, served.packed):
        now = replace(kept, version=made.version, changed_at=served.changed_at, checked_at=checked_at)
        cache.note(wanted.name, replace(now, rendered_at=made.rendered_at, seconds=made.seconds))
        return
    cache.keep(
        wanted.name,
        served.gzipped,
        digest=served.digest,
        size=served.size,
        version=made.version,
        changed_at=served.changed_at,
        checked_at=checked_at,
        rendered_at=made.rendered_at,
        seconds=made.seconds,
    )


def _compare_pages(name: str, pages: Sequence[Wanted]) -> bool:
    """Render pages of an index for a short while, unless a hundredth of the time is used up; return whether it did."""
    started = time.monotonic()
    if started < _next_comparing.get(name, 0.0):
        return False
    until = started + COMPARING
    # Pages that fail come last: they stay the oldest, and would use up the time of all others.
    for page in sorted(pages, key=lambda page: page.name in _failing):
        _failing.add(page.name)
        with suppress(Exception):  # code of the project; who asks for that page hears of it
            serve(page, with_bytes=False)
            if _next_try.get(page.name, 0.0) <= time.time():
                _failing.discard(page.name)
        if time.monotonic() >= until:
            break
    # While rows are saved all the time, an index is made each second.
    if (seconds := time.monotonic() - started) > COMPARING / 10:
        _next_comparing[name] = started + SHARE * seconds
    return True


def _last_good(wanted: Wanted, last: Served | None, error: Exception, seconds: float) -> Served:
    """Return the last good version, cached or built, for a time that depends on the `seconds` that the failure took.

    Raises `error` if there is none or ``STRICT`` is on, and Unavailable in its place if the database is down or its
    tables are missing.
    """
    error = explained(error)
    if get_settings().STRICT:
        raise error
    is_down = isinstance(error, OperationalError | InterfaceError)
    if last is None and not wanted.as_text:
        built = PublishedFiles(wanted.site.domain).read_document(wanted.label, wanted.number)
        last = _served(built) if built else None
    if last:
        # A database that is back is asked soon.
        _next_try[wanted.name] = time.time() + (REST if is_down else min(LATEST, max(REST, SHARE * seconds)))
        # What to do about missing tables is clear without a traceback.
        details = None if isinstance(error, MissingTables) else error
        logger.error(
            "The sitemap %s cannot be renewed; its last version is served: %s", wanted.name, error, exc_info=details
        )
        return last
    if is_down:
        raise Unavailable("The database does not answer, and there is no earlier version. Try again later.") from error
    raise error


def _served(document: Document) -> Served:
    changed_at = document.changed_at.timestamp() if document.changed_at else None
    return Served(document.digest, document.size, len(document.gzipped), changed_at, document.gzipped)


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()


def warm(site: SiteOrigin, pages: Mapping[str, Sequence[int]]) -> list[str]:
    """Put the indexes of a site and of its sections and these `pages` of each into the cache; return the errors."""
    wanted = [Wanted(site=site)]
    for label, numbers in pages.items():
        wanted.append(Wanted(site=site, label=label))
        wanted += [Wanted(site=site, label=label, number=number) for number in numbers]
    errors = []
    for one in wanted:
        try:
            serve(one)
            if not (is_in_transaction() or get_cache().has(one.name, one.label)):
                errors.append(
                    f"cache of {site.domain}: {one.name} was evicted at once. Give the cache room for {len(wanted):,} "
                    "documents (MAX_ENTRIES, maxmemory), and for values of their size."
                )
                break
        except PageNotFound:
            # Its rows were deleted since.
            continue
        except Exception as error:
            logger.exception("The cache could not be filled with %s", one.name)
            errors.append(f"cache of {one.name}: {type(error).__name__}: {error}")
    return errors
