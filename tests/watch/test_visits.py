"""Summaries of the visits of crawlers."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from clock import Clock
from samples import make_visit
from sitemaps_plus.watch.visits import visits_of


@pytest.mark.django_db
def test_a_summary_has_the_last_visit_and_the_counts_of_30_days(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    clock = Clock(monkeypatch)
    clock.now = datetime(2026, 3, 31, 12, tzinfo=UTC)
    old, new = datetime(2026, 3, 1, 8, tzinfo=UTC), datetime(2026, 3, 31, 8, tzinfo=UTC)
    make_visit(day=date(2026, 3, 31), count_200=1, count_304=2, count_other=3, last_at=new)
    make_visit(day=date(2026, 3, 2), count_200=10, last_at=old)
    make_visit(day=date(2026, 3, 1), count_200=100, last_at=old)
    make_visit(day=date(2026, 3, 1), crawler="Bingbot", count_200=5, last_at=old)
    make_visit(day=date(2026, 3, 31), label="", count_304=1, last_at=new)
    make_visit(day=date(2026, 3, 31), site=2, count_200=7, last_at=new)
    make_visit(day=date(2026, 3, 31), site=3, count_200=9, last_at=new)

    with django_assert_num_queries(1):
        found = visits_of([1, 2])

    shown = {
        key: [(one.crawler, one.last_at, one.count_200, one.count_304, one.count_other) for one in summaries]
        for key, summaries in found.items()
    }
    assert shown == {
        (1, "products"): [("Googlebot", new, 11, 2, 3), ("Bingbot", old, 0, 0, 0)],
        (1, ""): [("Googlebot", new, 0, 1, 0)],
        (2, "products"): [("Googlebot", new, 7, 0, 0)],
    }


@pytest.mark.django_db
def test_without_sites_there_is_nothing_to_sum_up() -> None:
    assert visits_of([]) == {}
