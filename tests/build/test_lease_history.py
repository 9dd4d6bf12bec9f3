"""The end of a build, what the history keeps of it, and builds without a lease."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from databases import read_only, refusing
from leases import die, expire, is_locked, raise_in_block, results
from samples import SITE
from sitemaps_plus.build import lease
from sitemaps_plus.build.lease import LEASE, hold
from sitemaps_plus.build.results import BuildProgress
from sitemaps_plus.errors import Stopped
from sitemaps_plus.models import Build
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin

pytestmark = pytest.mark.django_db(transaction=True)

OTHER_SITE = SiteOrigin(id=2, origin=Origin.parse("https://example.org"))
ROUNDS = 5
THREADS = 6

PROCESS = """
import sys, django
django.setup()
from samples import SITE
from databases import shared_database
from sitemaps_plus.errors import BuildLocked
from sitemaps_plus.build.lease import hold

print("ready", flush=True)
sys.stdin.readline()
try:
    with hold(SITE):
        print("held", flush=True)
        sys.stdin.readline()
except BuildLocked as error:
    print("locked", error, flush=True)
"""


@pytest.fixture
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_POLL", 0.001)


# What is kept of a build


def test_who_started_a_build_and_what_for_is_kept(passes: Callable[[float], None]) -> None:
    with hold(SITE, started_by="cron", labels=["products"]) as held:
        found = Build.objects.get()
        passes(3)
        held.report_progress(BuildProgress("products", 1, 20))
        passes(1)
        held.report_progress(BuildProgress("products", 2, 20))
        said = Build.objects.get().progress
        held.report = {"urls": 50, "errors": ["the index"], "sections": [{"label": "products"}]}

    assert (found.started_by, found.labels) == ("cron", ["products"])
    assert said == "products: 1 / 20"
    ended = Build.objects.get()
    assert (ended.progress, ended.urls, ended.errors, ended.sections) == (
        "",
        50,
        ["the index"],
        [{"label": "products"}],
    )


def test_how_far_a_build_is_is_no_error_of_the_build(passes: Callable[[float], None]) -> None:
    with hold(SITE) as held, refusing("^UPDATE"):
        passes(3)
        held.report_progress(BuildProgress("products", 1, 20))

    assert len(results()) == 1


# How a build ends


def test_a_build_that_ends_gives_its_lease_back_with_its_result() -> None:
    with hold(SITE) as held:
        running = Build.objects.get()
        held.result = Build.Result.FAILED

    build = Build.objects.get()
    assert (running.result, running.ended_at, running.lease is None) == ("running", None, False)
    assert (build.result, build.lease) == ("failed", None)
    assert build.ended_at is not None
    assert build.started_at <= build.ended_at
    assert str(build) == f"build {build.pk} of site 1"


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (ValueError("bad"), "failed"),
        (MemoryError(), "failed"),
        (KeyboardInterrupt(), "stopped"),
        (SystemExit(1), "stopped"),
        (Stopped("asked to stop"), "stopped"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_an_error_that_leaves_the_block_says_how_the_build_ended(error: BaseException, result: str) -> None:
    with pytest.raises(type(error)):
        raise_in_block(error)

    assert results() == [result]
    assert not is_locked()


def test_a_lease_that_cannot_be_given_back_hides_no_error(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match="bad"), refusing("^UPDATE"):
        raise_in_block(ValueError("bad"))

    assert results() == ["running"]
    assert caplog.messages == [
        "The lease of the build of example.com could not be given back, and ends by itself within 300 seconds: "
        "the server has gone away"
    ]


def test_old_builds_of_the_site_are_forgotten(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BUILD_HISTORY": 3}
    with hold(OTHER_SITE):
        for _ in range(6):
            is_locked()
    numbers = list(Build.objects.filter(site=1).order_by("pk").values_list("pk", flat=True))

    with hold(SITE):
        running = Build.objects.get(result="running")
        left = list(Build.objects.filter(site=1).order_by("pk").values_list("pk", flat=True))

    assert left == [*numbers[-3:], running.pk]
    assert Build.objects.filter(site=2).count() == 1


def test_builds_that_run_or_are_recent_are_kept() -> None:
    old = Build.objects.bulk_create(
        Build(site=1, holder="cron", started_at=timezone.now(), expires_at=timezone.now(), result="done")
        for _ in range(250)
    )
    assert len(old) == 250

    with hold(SITE):
        pass

    assert results() == ["done"] * 201


def test_history_that_cannot_be_forgotten_holds_up_no_build(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BUILD_HISTORY": 0}
    with hold(SITE):
        pass

    with refusing("^DELETE"), hold(SITE):
        found = results()

    assert found == ["done", "running"]


# Without a lease


def test_where_the_database_refuses_writes_the_build_goes_on_and_says_what_that_means(
    caplog: pytest.LogCaptureFixture, passes: Callable[[float], None]
) -> None:
    with read_only(), hold(SITE) as held:
        passes(LEASE)
        held.keep()
        held.result = Build.Result.FAILED

    assert results() == []
    assert len(caplog.records) == 1
    assert caplog.records[0].levelno == logging.WARNING
    assert "has no lease, so that two builds at once cannot be told apart" in caplog.text


def test_where_the_database_refuses_writes_another_build_is_still_heard_of() -> None:
    with hold(SITE), read_only():
        locked = is_locked()

    assert locked


def test_a_lease_that_is_over_where_the_database_refuses_writes_stops_no_build(
    caplog: pytest.LogCaptureFixture,
) -> None:
    die()
    expire()

    with read_only():
        locked = is_locked()

    assert not locked
    assert "cannot be told apart" in caplog.text


def test_without_its_table_a_build_has_no_lease_and_is_told_to_migrate(caplog: pytest.LogCaptureFixture) -> None:
    with connection.schema_editor() as editor:
        editor.delete_model(Build)
    try:
        with hold(SITE) as held:
            held.keep()
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(Build)

    assert results() == []
    assert "has migrate been run" in caplog.text


def test_one_failure_of_the_database_is_not_the_end_of_the_lease(caplog: pytest.LogCaptureFixture) -> None:
    failures = 0

    def fail_once(execute: Any, sql: str, *args: Any) -> Any:
        nonlocal failures
        if sql.startswith("INSERT") and not failures:
            failures += 1
            raise OperationalError("Deadlock found when trying to get lock; try restarting transaction")
        return execute(sql, *args)

    with connection.execute_wrapper(fail_once), hold(SITE):
        locked = is_locked()

    assert failures == 1
    assert locked
    assert not caplog.records


def test_in_an_open_transaction_there_is_no_lease_that_others_would_wait_for(caplog: pytest.LogCaptureFixture) -> None:
    with transaction.atomic(), hold(SITE) as held:
        held.keep()
        found = results()

    assert found == []
    assert "a transaction is open" in caplog.text


@pytest.mark.django_db
def test_the_transaction_of_a_test_case_is_no_obstacle() -> None:
    with hold(SITE):
        locked = is_locked()

    assert locked
    assert results() == ["done"]
