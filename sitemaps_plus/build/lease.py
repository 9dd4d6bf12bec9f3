"""Let one build of a site run at a time: it holds a unique row that expires by the database's clock."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypeVar

from django.db import DatabaseError, IntegrityError, InterfaceError, connections, router, transaction
from django.db.models import F, QuerySet

from sitemaps_plus.build.results import BuildProgress
from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import BuildLocked, LeaseLost, SitemapError, Stopped
from sitemaps_plus.models import LEASE, RENEW_EVERY, SILENT, Build, DatabaseNow
from sitemaps_plus.plan.sites import SiteOrigin

logger = logging.getLogger("sitemaps_plus")

REPORT_EVERY = 2.0
"""Seconds between two reports of the progress."""

_POLL = 1.0

T = TypeVar("T")


@contextmanager
def hold(
    site: SiteOrigin,
    *,
    started_by: str = "",
    labels: Sequence[str] = (),
    if_locked: Literal["fail", "wait", "skip"] = "fail",
    waiting: Callable[[str], None] = lambda _: None,
) -> Iterator[Lease]:
    """Hold the lease of a site while the block runs; raise BuildLocked where another build has it.

    With "wait" the database is queried once a second, and `waiting` is called each time with a text that names the
    other build; it may raise to end the waiting. With "skip" the error does not advise to wait. A block that raises
    counts as failed, or as stopped for KeyboardInterrupt, SystemExit and Stopped. Raises SitemapError where the
    database is locked for too long. The history keeps `started_by` and `labels`, and ``Lease.report`` once the build
    has ended.

    Where the database refuses writes, or a transaction is open, the block runs without a lease; that is logged.
    """
    lease = Lease(site, started_by, labels)
    while other := lease._take():
        if if_locked != "wait":
            raise BuildLocked(other.refusal(site, is_skipped=if_locked == "skip"))
        waiting(f"Waiting for another build of {site.domain}: {other.holder}.")
        time.sleep(_POLL)
    try:
        yield lease
    except BaseException as error:
        is_stopped = isinstance(error, (KeyboardInterrupt, SystemExit, Stopped))
        lease.result = Build.Result.STOPPED if is_stopped else Build.Result.FAILED
        raise
    finally:
        lease._give_back()


class Lease:
    """The right of one build to publish the files of one site."""

    def __init__(self, site: SiteOrigin, started_by: str = "", labels: Sequence[str] = ()) -> None:
        self.result = Build.Result.DONE
        """The result that the history keeps."""
        self.is_lost = False
        """Whether another build had taken over when this one gave the lease back."""
        self.report: dict[str, Any] = {}
        """More fields of ``Build`` that the history keeps."""
        self._site = site
        self._kept: dict[str, Any] = {"started_by": started_by[:255], "labels": list(labels)}
        self._reported = 0.0
        self._name = f"site {site.id}"
        self._using = router.db_for_write(Build)
        self._id = 0
        self._renewed = self._tried = 0.0

    @property
    def is_held(self) -> bool:
        """Whether no other build of the site can run; False also where the database does not take the lease."""
        return bool(self._id)

    def keep(self, *, now: bool = False) -> None:
        """Renew the lease. Call it for every page; it costs one query in ``RENEW_EVERY`` seconds.

        With `now` it always costs one query.

        Raises LeaseLost where another build has taken over, or may have because the database was away for so long.
        """
        moment = time.monotonic()
        if not self._id or (not now and moment - self._tried < RENEW_EVERY):
            return
        self._tried = moment
        try:
            is_ours = self._query(
                lambda builds: self._ours(builds).update(expires_at=DatabaseNow() + timedelta(seconds=LEASE))
            )
        except (DatabaseError, InterfaceError) as error:
            if moment - self._renewed >= LEASE:
                raise LeaseLost(
                    f"The lease of the build of {self._site.domain} could not be renewed for {LEASE} seconds, and "
                    f"another build may have taken over: {error}"
                ) from error
            logger.warning("The lease of the build of %s could not be renewed yet: %s", self._site.domain, error)
            return
        if not is_ours:
            self._id = 0
            raise LeaseLost(
                f"Another build of {self._site.domain} has taken over, because this one did not renew its lease for "
                f"{LEASE} seconds. Build again when that one has ended, if it was of other sections."
            )
        self._renewed = moment

    def report_progress(self, progress: BuildProgress) -> None:
        """Store the progress for others to see; at most once in ``REPORT_EVERY`` seconds, and never an error."""
        moment = time.monotonic()
        if not self._id or moment - self._reported < REPORT_EVERY:
            return
        self._reported = moment
        with suppress(DatabaseError, InterfaceError):
            self._query(lambda builds: self._ours(builds).update(progress=progress.as_text()[:255]))

    def _take(self) -> _Other | None:
        """Take the lease, or return the build that has it."""
        self._renewed = self._tried = time.monotonic()
        try:
            return self._try_to_take()
        except RuntimeError:
            if not connections[self._using].in_atomic_block:
                raise
            reason = "a transaction is open, and nobody else would see the lease. Build outside of it"
        except (DatabaseError, InterfaceError) as error:
            if _is_busy(error):
                raise SitemapError(
                    f"The build of {self._site.domain} got no lease, because the database was locked for too long: "
                    f"{error}. Build again when what else writes to it has ended."
                ) from error
            reason = f"{error} (has migrate been run, and may the database be written to?)"
        logger.warning(
            "The build of %s has no lease, so that two builds at once cannot be told apart: %s.",
            self._site.domain,
            reason,
        )
        return None

    def _try_to_take(self) -> _Other | None:
        other = self._query(self._find_other, durable=True)
        if other and other.left > timedelta():
            return other
        try:
            if other:
                self._query(self._end_expired)
            self._id = self._query(self._start)
        except IntegrityError:
            # Another build was faster, and may even have ended already.
            return self._query(self._find_other) or _Other("one that has just ended", timedelta(), timedelta())
        with suppress(DatabaseError, InterfaceError):
            self._query(self._prune)
        return None

    def _find_other(self, builds: QuerySet[Build]) -> _Other | None:
        found = builds.filter(lease=self._name).values_list(
            "holder", DatabaseNow() - F("started_at"), F("expires_at") - DatabaseNow()
        )
        return next((_Other(*row) for row in found), None)

    def _end_expired(self, builds: QuerySet[Build]) -> None:
        # Checked again here: it may have been renewed meanwhile.
        expired = builds.filter(lease=self._name, expires_at__lte=DatabaseNow())
        expired.update(lease=None, result=Build.Result.LOST, ended_at=DatabaseNow())

    def _start(self, builds: QuerySet[Build]) -> int:
        holder = f"process {os.getpid()} on {socket.gethostname()}"[:255]
        expires_at: Any = DatabaseNow() + timedelta(seconds=LEASE)
        return builds.create(
            site=self._site.id,
            lease=self._name,
            holder=holder,
            started_at=DatabaseNow(),
            expires_at=expires_at,
            **self._kept,
        ).pk

    def _prune(self, builds: QuerySet[Build]) -> None:
        history = get_settings().BUILD_HISTORY
        ended = builds.filter(site=self._site.id, lease=None)
        oldest = ended.order_by("-pk").values_list("pk", flat=True)[history : history + 1]
        # Two queries: MariaDB has no LIMIT in the subquery of a DELETE.
        for pk in oldest:
            ended.filter(pk__lte=pk).delete()

    def _give_back(self) -> None:
        if not self._id:
            return
        end = {**self.report, "lease": None, "result": self.result, "ended_at": DatabaseNow(), "progress": ""}
        try:
            is_ours = self._query(lambda builds: self._ours(builds).update(**end))
        except (DatabaseError, InterfaceError) as error:
            logger.warning(
                "The lease of the build of %s could not be given back, and ends by itself within %s seconds: %s",
                self._site.domain,
                LEASE,
                error,
            )
        else:
            if not is_ours:
                self.is_lost = True
                logger.warning("Another build of %s took over before this one had ended.", self._site.domain)

    def _ours(self, builds: QuerySet[Build]) -> QuerySet[Build]:
        # Even if it has expired: it is ours until another build takes it.
        return builds.filter(pk=self._id, lease=self._name)

    def _query(self, query: Callable[[QuerySet[Build]], T], *, durable: bool = False) -> T:
        """Call `query` with all builds in a transaction of its own, and return its result."""
        # Twice: the first time may end in a deadlock, or on a connection that the server has closed meanwhile.
        for is_last in (False, True):
            try:
                with transaction.atomic(using=self._using, durable=durable):
                    return query(Build.objects.using(self._using))
            except IntegrityError:
                raise
            except (DatabaseError, InterfaceError):
                if is_last:
                    raise
                connection = connections[self._using]
                # A working connection stays, as it may have session settings.
                if not connection.in_atomic_block and connection.connection and not connection.is_usable():
                    connection.close()
        raise AssertionError("the last time returns or raises")


def _is_busy(error: Exception) -> bool:
    """Return whether the error says that the database is locked for the moment."""
    # "database is locked", "lock timeout", "Lock wait timeout exceeded", "deadlock detected".
    return "lock" in str(error).lower()


class _Other(NamedTuple):
    """The build that has the lease."""

    holder: str
    age: timedelta
    left: timedelta
    """How long its lease holds if it is not renewed."""

    def refusal(self, site: SiteOrigin, *, is_skipped: bool) -> str:
        age, left = (timedelta(seconds=max(0, round(period.total_seconds()))) for period in (self.age, self.left))
        silence = LEASE - round(left.total_seconds())
        if silence >= SILENT:
            return (
                f"Another build of {site.domain} has the lease, but has given no sign of life for {silence} seconds: "
                f"{self.holder}. If it died, a build can begin in {left} (h:mm:ss); --if-locked wait does so."
            )
        advice = "" if is_skipped else "Wait until it has ended, for example with --if-locked wait. "
        return (
            f"Another build of {site.domain} has been running for {age} (h:mm:ss): {self.holder}. {advice}"
            f"Should it have died, its lease ends in {left} at the latest."
        )
