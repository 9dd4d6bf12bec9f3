"""Fixtures of all tests; nothing in the cache or the storages is left over from the test before."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from clock import Clock
from own_templates import put_template
from sitemaps_plus import registry
from sitemaps_plus.plan import upkeep, verification
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.render import pages
from sitemaps_plus.serve import cached, crawlers, live
from sitemaps_plus.stores.packing import Document

# How long an example takes varies with the load of the machine; only their number counts.
hypothesis_settings.register_profile(
    "sitemaps_plus", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# For the many environments of tox: what differs between versions is not found by the twentieth example.
hypothesis_settings.register_profile("few", hypothesis_settings.get_profile("sitemaps_plus"), max_examples=10)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sitemaps_plus"))


@pytest.fixture(autouse=True)
def _nothing_kept(settings: Any) -> Iterator[None]:
    cache.clear()
    cached._next_try.clear()
    cached._next_check.clear()
    cached._next_comparing.clear()
    upkeep._failed_at.clear()
    cached._unfinished.clear()
    crawlers.visits = crawlers.Visits()
    settings.STORAGES = dict(settings.STORAGES)  # Assigning builds the storages again, those in memory empty.
    with registry.isolated(*registry):
        yield


@pytest.fixture(autouse=True)
def _cached_in_transactions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let documents be kept in the cache, as they are on a site: pytest-django runs each test in a transaction.

    The marker ``in_transactions`` turns this off, for tests of what users see in theirs.
    """
    if request.node.get_closest_marker("in_transactions") is None:
        monkeypatch.setattr(cached, "is_in_transaction", lambda: False)


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a request for an index check all pages, however busy the machine is."""
    monkeypatch.setattr(upkeep, "BUDGET", 60.0)
    monkeypatch.setattr(cached, "COMPARING", 60.0)


@pytest.fixture(autouse=True)
def _verified_late(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify decided pages as late as possible: most tests are about what the database tells.

    The mark `verifies` leaves it as it is for users, who have small pages verified at every check.
    """
    if request.node.get_closest_marker("verifies"):
        return
    at_once = live.compare_after

    def late(section: Section, seconds: float, *, is_decided: bool, is_reported: bool = False) -> float:
        after = at_once(section, seconds, is_decided=is_decided, is_reported=is_reported)
        return max(after, verification.LATEST) if is_decided else after

    monkeypatch.setattr(live, "compare_after", late)
    monkeypatch.setattr(verification.Allowance, "choose", lambda *_args: set())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time that a test lets pass."""
    return Clock(monkeypatch)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A function that lets seconds pass on the clock of this process that nobody can set."""
    now = 1_000_000.0

    def pass_(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr("time.monotonic", lambda: now)
    return pass_


@pytest.fixture
def write_template(settings: Any, tmp_path: Path) -> Callable[..., None]:
    """A function of a name and a text that puts a template of the project before those of the apps."""
    return partial(put_template, settings, tmp_path / "templates")


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count renderings: the numbers of the pages that were rendered, in this process."""
    numbers = []
    render = pages._render

    def counted(section: Section, page: Page, *args: Any) -> Document:
        numbers.append(page.number)
        return render(section, page, *args)

    monkeypatch.setattr(pages, "_render", counted)
    return numbers


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, on a server, what does not ask it: that has been seen on SQLite."""
    if connection.vendor != "sqlite":
        config.hook.pytest_deselected(items=[item for item in items if not _asks_the_database(item)])
        items[:] = filter(_asks_the_database, items)


def _asks_the_database(item: pytest.Item) -> bool:
    # pytest-django keeps all other tests from it.
    return item.get_closest_marker("django_db") is not None or not {"db", "transactional_db"}.isdisjoint(
        getattr(item, "fixturenames", ())
    )
