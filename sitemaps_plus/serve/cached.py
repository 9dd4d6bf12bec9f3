"""Hand out a document: as it is kept in the cache, as it was built, or as it is made now, by one for all who ask."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from django.db import InterfaceError, OperationalError

from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import PageNotFound, SitemapError, StrictError, Unavailable
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.validators import longest
from sitemaps_plus.serve.live import Wanted, look
from sitemaps_plus.stores.cache import DocumentCache, Kept, get_cache
from sitemaps_plus.stores.packing import Document
from sitemaps_plus.stores.published import PublishedFiles

logger = logging.getLogger("sitemaps_plus")

WAIT = 20.0
"""Seconds for which a request waits for a document that another one makes, before it makes it itself."""

LOOK_EVERY = 1.0
"""Seconds between two checks of a section whose rows are being saved all the time."""

PATIENCE = 10
"""How many times as long as the last check took a section that is being saved is left alone."""

REST = 5.0
"""Seconds for which a document that could not be renewed is served as it is kept."""

_POLL = 0.05


class Served(NamedTuple):
    """A document on its way to a client."""

    digest: str
    """SHA-256 of the uncompressed bytes."""
    size: int
    """Uncompressed bytes."""
    packed: int
    """Bytes of gzip."""
    changed_at: float | None
    """When the content changed, in seconds since 1970."""
    gzipped: bytes = b""
    """Empty where only what is known of the document was asked for."""


def serve(wanted: Wanted, *, with_bytes: bool = True) -> Served:
    """Return a document that was right at most ``CHECK_EVERY`` seconds ago.

    Only sites whose origin is configured have documents in the cache: a forged host gets nothing in, and nothing out.
    While one request looks at the database or renders, the others get the last version at once; without one they wait.
    Raises PageNotFound, PageGone, StrictError, and Unavailable where the database is down and nothing is kept.
    """
    if wanted.label:
        registry[wanted.label]
    cache = get_cache() if wanted.site.is_configured else None
    if cache is None:
        return _served(look(wanted).make(False).document)
    gzipped: bytes | None = b""
    if with_bytes:
        kept, looked, gzipped = cache.find_all(wanted.name, wanted.label)
    else:
        kept, looked = cache.find(wanted.name, wanted.label)
    if kept and gzipped is not None and _is_current(wanted, kept, looked):
        return Served(kept.digest, kept.size, kept.packed, kept.changed_at, gzipped)
    return _by_one_thread(wanted, cache, kept)


def _is_current(wanted: Wanted, kept: Kept, looked: float) -> bool:
    """Return whether the database need not be asked."""
    now = time.time()
    # A clock that is set back must not make it longer.
    if now < _resting.get(wanted.name, 0.0) <= now + REST:
        return True
    age = now - kept.checked_at
    is_patient = _patient.get(wanted.label, 0.0) > now
    has_changed = looked > kept.checked_at and age > LOOK_EVERY and not is_patient
    # A check in the future was made by a clock that was wrong.
    return 0 <= age <= get_settings().CHECK_EVERY and not has_changed


def _from_cache(cache: DocumentCache, wanted: Wanted, kept: Kept) -> Served | None:
    gzipped = cache.read(wanted.name, kept)
    return None if gzipped is None else Served(kept.digest, kept.size, kept.packed, kept.changed_at, gzipped)


# One renderer at a time: among the threads of this process, and among all processes that share a cache.


class _Flight:
    """A document that one thread gets for all of this process that want it."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.is_over = threading.Event()
        self.served: Served | None = None
        self.error: Exception | None = None


# When a document, or a section that is being saved, may be looked at again, in seconds since 1970.
_resting: dict[str, float] = {}
_patient: dict[str, float] = {}

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
            raise SitemapError(f"The sitemap {wanted.name} is asked for by what makes it, which would wait for itself.")
        is_over = flight.is_over.wait(WAIT)
        if flight.error:
            raise flight.error
        if flight.served:
            return flight.served
        # Where its thread was ended the next one tries, and not all at once.
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
    # Somebody else may have been faster.
    kept, looked = cache.find(wanted.name, wanted.label)
    last = _from_cache(cache, wanted, kept) if kept else None
    if kept and last and _is_current(wanted, kept, looked):
        return last
    # Pages of one section share a check, even while it is saved all the time.
    since = min(looked, time.time() - LOOK_EVERY)
    started = time.time()
    try:
        now = look(wanted, datetime.fromtimestamp(since, UTC) if looked else None)
        _patient[wanted.label] = started + (1 + PATIENCE) * (time.time() - started)
        is_old = kept is not None and time.time() - kept.rendered_at > longest(wanted.name)
        if kept and last and now.state and kept.state == now.state and not is_old:
            cache.note(wanted.name, replace(kept, checked_at=_seconds(now.checked_at)))
            return last
        made = now.make(is_old)
    except PageNotFound:
        # Else it would be given to all who ask while one looks, and again when the database is down.
        cache.forget(wanted.name)
        raise
    except StrictError:
        raise
    except Exception as error:  # the database, or code of the project
        return _last_good(wanted, last, error)
    served = _served(made.document)
    if started - _seconds(made.checked_at) > get_settings().CHECK_EVERY:
        # A section could not be asked, and its last known pages are listed.
        _resting[wanted.name] = time.time() + REST
    cache.keep(
        wanted.name,
        served.gzipped,
        digest=served.digest,
        size=served.size,
        state=made.state,
        changed_at=served.changed_at,
        checked_at=_seconds(made.checked_at),
    )
    return served


def _last_good(wanted: Wanted, last: Served | None, error: Exception) -> Served:
    """Return the last good version, kept or built; without one raise `error`, Unavailable where the database is down.

    With ``STRICT`` the error is shown in any case.
    """
    if get_settings().STRICT:
        raise error
    is_down = isinstance(error, OperationalError | InterfaceError)
    if last is None and wanted.form == "xml":
        built = PublishedFiles(wanted.site.domain).read_document(wanted.label, wanted.number)
        last = _served(built) if built else None
    if last:
        _resting[wanted.name] = time.time() + REST
        logger.error("The sitemap %s cannot be renewed; its last version is served", wanted.name, exc_info=error)
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
    """Put the index of a site, the indexes of sections and these `pages` of each into the cache; return what failed."""
    wanted = [Wanted(site=site)]
    for label, numbers in pages.items():
        wanted.append(Wanted(site=site, label=label))
        wanted += [Wanted(site=site, label=label, number=number) for number in numbers]
    errors = []
    for one in wanted:
        try:
            serve(one)
            if not get_cache().has(one.name, one.label):
                errors.append(
                    f"cache of {site.domain}: {one.name} was gone at once. Is there room for {len(wanted):,} documents "
                    "(MAX_ENTRIES, maxmemory), and for values of their size?"
                )
                break
        except PageNotFound:
            # What it lists has gone since.
            continue
        except Exception as error:
            logger.exception("The cache could not be filled with %s", one.name)
            errors.append(f"cache of {one.name}: {type(error).__name__}: {error}")
    return errors
