"""How soon a page is rendered only to compare it."""

import math
import random
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from samples import Products, section_of
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.verification import Allowance, age_of, compare_after

NOW = timezone.now()

pytestmark = pytest.mark.verifies


def section(**attributes: Any) -> Section:
    return section_of(type("Section", (Products,), attributes))


@pytest.fixture(autouse=True)
def _no_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.random", lambda: 1.0)


# Live.


@pytest.mark.parametrize("is_decided", [True, False])
def test_a_cheap_page_is_compared_at_every_check(is_decided: bool, settings: Any) -> None:
    assert compare_after(section(), 0.049, is_decided=is_decided) == 60
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 0}

    assert compare_after(section(), 0.049, is_decided=is_decided) == 0


def test_an_undecided_page_takes_a_hundredth_of_the_time() -> None:
    found = [compare_after(section(), seconds, is_decided=False) for seconds in (0.1, 0.6, 2, 50)]

    assert found == [60, 60, 200, 5000]


def test_a_decided_page_is_verified_after_an_hour_at_most() -> None:
    found = [compare_after(section(), seconds, is_decided=True) for seconds in (0.05, 0.7, 3, 50)]

    assert found == [60, 70, 300, 3600]


@pytest.mark.parametrize(("is_decided", "seconds", "after"), [(True, 0.01, 0), (True, 0.5, 60), (False, 0.01, 0)])
def test_a_saved_row_makes_it_sooner_where_the_page_is_small(is_decided: bool, seconds: float, after: float) -> None:
    assert compare_after(section(), seconds, is_decided=is_decided, is_reported=True) == after


def test_a_saved_row_makes_no_page_take_more_than_its_share_of_the_time() -> None:
    assert compare_after(section(), 2, is_decided=False, is_reported=True) == 200


@pytest.mark.parametrize("is_decided", [True, False])
def test_a_class_may_want_to_be_compared_less_often(is_decided: bool) -> None:
    assert compare_after(section(max_age=7200), 0.01, is_decided=is_decided, is_reported=True) == 7200


# In builds.


def page(number: int, *, age: float | None, seconds: float | None, built: float = 3600) -> Page:
    """Return a page that was verified `age` seconds ago, which took `seconds`, and built `built` seconds ago."""
    return Page(
        record=SitemapPage(
            number=number,
            verified_at=None if age is None else NOW - timedelta(seconds=age),
            built_at=NOW - timedelta(seconds=built),
            seconds=seconds,
        )
    )


def chosen(pages: list[Page], *, sections: int = 1, **attributes: Any) -> set[int]:
    return Allowance(sections).choose(section(**attributes), pages, NOW)


def test_a_build_verifies_the_pages_verified_longest_ago_within_a_hundredth_of_the_time() -> None:
    # An hour ago: 36 seconds.
    pages = [page(number, age=3600 + number, seconds=15) for number in range(1, 6)]

    assert chosen(pages) == {5, 4}


def test_a_page_that_was_never_verified_comes_first() -> None:
    assert chosen([page(1, age=9000, seconds=20), page(2, age=None, seconds=20)]) == {2}


def test_the_share_is_that_of_all_sections_together() -> None:
    pages = [page(number, age=3600, seconds=9) for number in (1, 2, 3, 4)]

    assert len(chosen(pages)) == 4
    assert len(chosen(pages, sections=2)) == 2
    assert len(chosen(pages, sections=5)) == 0


def test_right_after_a_build_small_pages_are_verified_and_large_ones_are_not() -> None:
    pages = [page(number, age=10, seconds=0.019, built=0) for number in range(1, 10)]

    assert len(chosen(pages)) == 5
    assert chosen([page(1, age=10, seconds=0.2, built=0)]) == set()


def test_what_every_build_may_spend_is_shared_by_its_sections() -> None:
    allowance = Allowance(2)
    pages = [page(number, age=10, seconds=0.04, built=0) for number in (1, 2)]

    found = [allowance.choose(section(), pages, NOW) for _ in range(2)]

    assert [len(one) for one in found] == [2, 0]


def test_a_page_that_was_never_timed_is_taken_for_a_large_one() -> None:
    assert chosen([page(1, age=10, seconds=None, built=50)]) == set()
    assert chosen([page(1, age=200, seconds=None, built=200)]) == {1}


def test_a_page_that_costs_too_much_for_each_build_is_verified_by_one_in_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A build each minute may spend 0.6 seconds.
    monkeypatch.setattr("random.random", random.Random(7).random)  # noqa: S311 - the same in each run
    pages = [page(number, age=600 + number, seconds=3, built=60) for number in (1, 2)]

    found = [chosen(pages) for _ in range(1000)]

    assert {frozenset(one) for one in found} == {frozenset(), frozenset({2})}
    assert 150 < sum(map(len, found)) < 250


def test_a_page_that_costs_too_much_leaves_the_small_ones_their_share() -> None:
    pages = [page(1, age=5000, seconds=1e9, built=60), page(2, age=400, seconds=0.05, built=60)]

    assert chosen(pages) == {2}


def test_a_class_that_wants_to_be_compared_less_often_is_so_in_builds() -> None:
    pages = [page(1, age=7000, seconds=0.01), page(2, age=7300, seconds=0.01)]

    assert chosen(pages, max_age=7200) == {2}


def test_no_page_costs_nothing() -> None:
    assert chosen([]) == set()


@pytest.mark.parametrize(("age", "found"), [(None, math.inf), (5, 5), (-5, math.inf)])
def test_the_age_of_a_page_by_a_wrong_clock_is_infinite(age: float | None, found: float) -> None:
    assert age_of(page(1, age=age, seconds=1), NOW) == found
