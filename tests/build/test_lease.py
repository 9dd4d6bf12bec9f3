"""One build of a site runs at a time, whatever its clock says and however it ends."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from clock import Clock
from databases import refusing, shared_database
from leases import die, disconnect, expire, is_locked, results, statements
from samples import SITE
from sitemaps_plus.build import lease
from sitemaps_plus.build.lease import LEASE, hold
from sitemaps_plus.errors import BuildLocked, LeaseLost, SitemapError, Stopped
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
def database(tmp_path: Path) -> Iterator[str]:
    with shared_database(tmp_path, Build) as address:
        yield address


@pytest.fixture
def start(database: str) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Give what starts a process that takes the lease, and gives it back, at a line from here each."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROCESS],
            env={
                **os.environ,
                "DATABASE_URL": database,
                "DJANGO_SETTINGS_MODULE": "testapp.settings",
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_POLL", 0.001)


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


# One at a time


def test_a_second_build_of_the_site_hears_of_a_first_one_that_gives_no_sign_of_life() -> None:
    with hold(SITE):
        Build.objects.update(expires_at=timezone.now() + timedelta(seconds=LEASE - 100))
        with (
            pytest.raises(BuildLocked, match=r"no sign of life for 10[0-9] seconds: process .* can begin in 0:03:"),
            hold(SITE),
        ):
            pytest.fail("both build")


def test_a_second_build_of_the_site_hears_who_builds_since_when_and_for_how_long_at_most() -> None:
    with hold(SITE):
        Build.objects.update(started_at=timezone.now() - timedelta(minutes=12, seconds=3))
        with pytest.raises(BuildLocked) as caught, hold(SITE):
            pytest.fail("both build")

    assert f"process {os.getpid()} on {socket.gethostname()}" in str(caught.value)
    assert "Another build of example.com has been running for 0:12:0" in str(caught.value)
    assert "its lease ends in 0:05:00 at the latest" in str(caught.value)
    assert results() == ["done"]


def test_builds_of_other_sites_are_independent() -> None:
    with hold(SITE), hold(OTHER_SITE):
        locked = is_locked(SITE), is_locked(OTHER_SITE)

    assert locked == (True, True)
    assert list(Build.objects.order_by("site").values_list("site", "result")) == [(1, "done"), (2, "done")]


def test_a_site_is_free_again_when_its_build_has_ended() -> None:
    with hold(SITE):
        pass

    assert not is_locked()
    assert results() == ["done", "done"]


@pytest.mark.parametrize("is_expired", [False, True])
@pytest.mark.usefixtures("database")
def test_of_threads_that_start_at_once_one_builds(is_expired: bool, caplog: pytest.LogCaptureFixture) -> None:
    ready, tried = threading.Barrier(THREADS, timeout=10), threading.Barrier(THREADS, timeout=10)
    won: list[int] = []
    locked: list[str] = []

    def race(number: int) -> None:
        try:
            ready.wait()
            with hold(SITE):
                won.append(number)
                tried.wait()
        except BuildLocked as error:
            locked.append(str(error))
            tried.wait()
        finally:
            connections.close_all()

    for count in range(1, ROUNDS + 1):
        if is_expired:
            die()
            expire()
        threads = [threading.Thread(target=race, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)

        assert len(won) == count
        assert len(locked) == count * (THREADS - 1)
    assert results() == (["lost", "done"] if is_expired else ["done"]) * ROUNDS
    assert not caplog.records


def test_of_processes_that_start_at_once_one_builds(start: Callable[[], subprocess.Popen[str]]) -> None:
    processes = [start() for _ in range(3)]
    assert [answer(process) for process in processes] == ["ready"] * 3

    for process in processes:
        tell(process)
    answers = [answer(process) for process in processes]

    assert sorted(text.split()[0] for text in answers) == ["held", "locked", "locked"]
    winner = processes[answers.index("held")]
    assert all(f"process {winner.pid} on" in text for text in answers if text != "held")
    tell(winner)
    winner.wait(10)
    assert results() == ["done"]


# Waiting


@pytest.mark.usefixtures("_no_pause")
def test_who_waits_builds_when_the_other_has_ended() -> None:
    other = ExitStack()
    other.enter_context(hold(SITE))
    notices: list[str] = []

    def wait(notice: str) -> None:
        notices.append(notice)
        if len(notices) == 3:
            other.close()

    with hold(SITE, if_locked="wait", waiting=wait):
        before = results()

    # The same text each time, so that who prints it can tell whether it is new.
    assert (
        notices == [f"Waiting for another build of example.com: process {os.getpid()} on {socket.gethostname()}."] * 3
    )
    assert before == ["done", "running"]


@pytest.mark.usefixtures("_no_pause")
def test_who_waits_takes_over_from_a_dead_build() -> None:
    die()

    with hold(SITE, if_locked="wait", waiting=lambda _: expire()):
        found = results()

    assert found == ["lost", "running"]


def test_an_error_ends_the_waiting_and_the_other_build_stays_as_it_is() -> None:
    def stop(_: str) -> None:
        raise Stopped("asked to stop")

    with hold(SITE):
        with pytest.raises(Stopped), hold(SITE, if_locked="wait", waiting=stop):
            pytest.fail("both build")
        found = results()

    assert found == ["running"]


def test_who_waits_asks_once_a_second_and_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    die()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("sitemaps_plus.build.lease.time.sleep", pause)
    with CaptureQueriesContext(connection) as queries, pytest.raises(KeyboardInterrupt):
        hold(SITE, if_locked="wait").__enter__()

    assert pauses == [1, 1, 1]
    assert [sql.split()[0] for sql in statements(queries)] == ["SELECT"] * 3


# A dead build


def test_a_killed_builder_keeps_the_lease_until_it_is_over(start: Callable[[], subprocess.Popen[str]]) -> None:
    process = start()
    assert answer(process) == "ready"
    tell(process)
    assert answer(process) == "held"

    process.send_signal(signal.SIGKILL)
    process.wait(10)
    locked = is_locked()
    expire()
    with hold(SITE):
        found = results()

    assert locked
    assert found == ["lost", "running"]
    dead = Build.objects.earliest("pk")
    assert dead.lease is None
    assert dead.ended_at is not None


def test_a_lease_holds_for_its_seconds_by_the_time_of_the_database() -> None:
    with hold(SITE):
        build = Build.objects.get()
        assert build.expires_at - build.started_at == pytest.approx(timedelta(seconds=LEASE), abs=timedelta(seconds=1))

        Build.objects.update(expires_at=timezone.now() + timedelta(seconds=20))
        before = is_locked()
        Build.objects.update(expires_at=timezone.now() - timedelta(seconds=20))
        after = is_locked()

    assert (before, after) == (True, False)


@pytest.mark.parametrize("days", [-4000, -1, 1, 4000])
def test_a_host_whose_clock_is_wrong_neither_takes_nor_loses_a_lease(clock: Clock, days: int) -> None:
    right = clock.now

    with hold(SITE):
        clock.pass_(days=days)
        live = is_locked()
        expire()
        dead = is_locked()
    with hold(OTHER_SITE):
        build = Build.objects.get(site=2)
        clock.now = right
        live_again = is_locked(OTHER_SITE)

    assert (live, dead, live_again) == (True, False, True)
    assert abs(build.started_at - right) < timedelta(minutes=1)
    assert abs(build.expires_at - right) < timedelta(seconds=LEASE + 60)


@pytest.mark.skipif("__import__('django.db').db.connection.vendor == 'sqlite'", reason="has no time zone")
@pytest.mark.parametrize("offset", ["+07:00", "-07:00"])
def test_a_connection_in_another_time_zone_sees_the_same_lease(offset: str) -> None:
    change = "SET time_zone = %s" if connection.vendor == "mysql" else "SET TIME ZONE INTERVAL %s HOUR TO MINUTE"
    with hold(SITE) as held:
        with connection.cursor() as cursor:
            cursor.execute(change, [offset])
        try:
            locked = is_locked()
            held._tried -= LEASE
            held.keep()
        finally:
            connection.close()
        left = Build.objects.get().expires_at - timezone.now()

    assert locked
    assert left.total_seconds() == pytest.approx(LEASE, abs=60)


def test_a_database_that_stays_locked_gives_no_build_without_a_lease() -> None:
    def locked(*_args: Any) -> Any:
        raise OperationalError("database is locked")

    with (
        connection.execute_wrapper(locked),
        pytest.raises(SitemapError, match=r"got no lease, because the database was locked.*Build again"),
        hold(SITE),
    ):
        raise AssertionError("it began")


def test_who_gives_back_a_lease_that_another_one_has_taken_knows_it() -> None:
    with hold(SITE) as held:
        expire()
        with hold(SITE) as other:
            pass

    assert held.is_lost
    assert not other.is_lost


# Signs of life


def test_a_sign_of_life_renews_the_lease(passes: Callable[[float], None]) -> None:
    with hold(SITE) as held:
        Build.objects.update(expires_at=timezone.now() + timedelta(seconds=1))
        passes(LEASE / 4)
        held.keep()
        left = Build.objects.get().expires_at - timezone.now()

    assert left.total_seconds() == pytest.approx(LEASE, abs=60)


def test_signs_of_life_ask_the_database_ten_times_while_a_lease_holds(passes: Callable[[float], None]) -> None:
    with hold(SITE) as held, CaptureQueriesContext(connection) as queries:
        for _ in range(LEASE * 10):
            passes(0.1)
            held.keep()
        asked = statements(queries)

    assert 9 <= len(asked) <= 10
    assert results() == ["done"]


def test_who_was_taken_over_hears_it_and_leaves_the_other_alone(passes: Callable[[float], None]) -> None:
    with hold(SITE) as held:
        expire()
        with hold(SITE):
            passes(LEASE)
            with pytest.raises(LeaseLost, match=r"Another build of example\.com has taken over"):
                held.keep()
            found = results()

    assert found == ["lost", "running"]
    assert results() == ["lost", "done"]


def test_an_expired_lease_that_nobody_took_may_be_renewed(passes: Callable[[float], None]) -> None:
    with hold(SITE) as held:
        expire()
        passes(LEASE)
        held.keep()
        locked = is_locked()

    assert locked
    assert results() == ["done"]


def test_a_sign_of_life_that_comes_just_before_the_takeover_is_seen() -> None:
    def renew_first(execute: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("UPDATE") and not renewed:
            renewed.append(sql)
            Build.objects.update(expires_at=timezone.now() + timedelta(seconds=LEASE))
        return execute(sql, *args)

    renewed: list[str] = []
    with hold(SITE):
        expire()
        with connection.execute_wrapper(renew_first):
            locked = is_locked()

    assert renewed
    assert locked
    assert results() == ["done"]


def test_a_build_that_was_taken_over_unnoticed_says_so_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as other:
        with hold(SITE):
            expire()
            other.enter_context(hold(SITE))
        found = results()

    assert found == ["lost", "running"]
    assert caplog.messages == ["Another build of example.com took over before this one had ended."]


def test_a_database_that_is_away_for_a_while_costs_a_warning(
    passes: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    with hold(SITE) as held:
        passes(LEASE / 2)
        with refusing("^UPDATE"):
            held.keep()
            held.keep()
        passes(LEASE / 4)
        held.keep()
        passes(LEASE * 0.9)
        with refusing("^UPDATE"):
            held.keep()

    assert results() == ["done"]
    assert (
        caplog.messages
        == ["The lease of the build of example.com could not be renewed yet: the server has gone away"] * 2
    )


def test_a_build_that_could_not_renew_its_lease_in_time_must_stop(passes: Callable[[float], None]) -> None:
    def keep_in_vain() -> None:
        with hold(SITE) as held:
            for _ in range(4):
                passes(LEASE / 4)
                with refusing("^UPDATE"):
                    held.keep()

    with pytest.raises(LeaseLost, match="could not be renewed for 300 seconds"):
        keep_in_vain()

    assert results() == ["failed"]


@pytest.mark.skipif("__import__('django.db').db.connection.vendor == 'sqlite'", reason="has no server")
def test_a_connection_that_the_server_closed_meanwhile_is_opened_anew(
    passes: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    with hold(SITE) as held:
        disconnect()
        passes(LEASE)
        held.keep()
        disconnect()

    assert results() == ["done"]
    assert not caplog.records
