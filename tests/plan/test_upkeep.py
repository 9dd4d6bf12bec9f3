"""A page checks itself at the cost of one page; an index checks all pages, a few at each request."""

import itertools
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from databases import read_only
from factories import DAY, ProductFactory
from plan_samples import TenProducts, all_keys, keys_on, numbers, sizes
from samples import ListedProducts, section_of
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan import upkeep
from sitemaps_plus.plan.checking import Check
from sitemaps_plus.plan.pages import url_count
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.upkeep import Round, refresh_page
from testapp.models import Product

pytestmark = pytest.mark.django_db


@pytest.fixture
def _one_at_a_time(monkeypatch):
    """Let the time of each round suffice for one page."""
    monkeypatch.setattr(upkeep, "BUDGET", 0.0)


class Dated(TenProducts):
    """Pages whose validators tell of changed rows."""

    lastmod = F("updated_at")


@pytest.fixture
def section():
    return section_of(Dated)


def counted(captured):
    """Return the queries that add up rows."""
    return [query["sql"] for query in captured if "COUNT(*)" in query["sql"]]


def checked_now(clock):
    """Return the section and the number of each page that was checked at this moment."""
    return set(SitemapPage.objects.filter(checked_at=clock.now).values_list("label", "number"))


def touch(number, section):
    """Change a row in the middle of a page, in a way that only a check of this page can see; return its key."""
    (page,) = (page for page in refresh(section, only=()).pages if page.number == number)
    (key,) = keys_on(section, page)[4]
    Product.objects.filter(pk=key).update(updated_at=DAY - timedelta(days=9))
    return key


# One page.


@pytest.mark.parametrize("pages", [3, 30, 300])
def test_a_page_that_is_due_costs_one_aggregate_however_many_pages_there_are(section, clock, pages):
    ProductFactory.bulk(9 * pages)
    assert len(refresh(section).pages) == pages
    clock.pass_(seconds=61)

    with CaptureQueriesContext(connection) as captured:
        plan = refresh_page(section, 2)

    assert (numbers(plan), sizes(plan)) == ([2], [9])
    assert checked_now(clock) == {("products", 2)}
    assert len(counted(captured)) == 1
    # The page, a transaction of two, its lock, the page again, its rows, when it was checked.
    assert len(captured) == 7


def test_a_page_that_is_not_due_costs_one_query(section, clock, django_assert_num_queries):
    ProductFactory.bulk(27)
    refresh(section)
    clock.pass_(seconds=59)

    with django_assert_num_queries(1):
        plan = refresh_page(section, 2)

    assert keys_on(section, plan.pages[0]) == all_keys(section)[9:18]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_page_has_the_rows_that_it_has_in_the_whole_plan(section, number):
    ProductFactory.bulk(27)
    whole = refresh(section).find(number)

    page = refresh_page(section, number).find(number)

    assert (page.start, page.end, page.record) == (whole.start, whole.end, whole.record)


def test_a_page_is_due_sooner_after_a_report_and_after_a_clock_that_was_wrong(section, clock):
    ProductFactory.bulk(27)
    refresh(section)
    first = clock.now
    clock.pass_(seconds=10)
    refresh_page(section, 2, since=first)
    assert checked_now(clock) == set()

    refresh_page(section, 2, since=clock.now)
    assert checked_now(clock) == {("products", 2)}

    SitemapPage.objects.filter(number=3).update(checked_at=clock.now + timedelta(days=9))
    refresh_page(section, 3)
    assert checked_now(clock) == {("products", 2), ("products", 3)}


def test_a_page_that_has_too_many_rows_is_split_when_it_is_checked(section, clock):
    ProductFactory.bulk(27)
    refresh(section)
    lowest = all_keys(section)[0][0]
    Product.objects.bulk_create(ProductFactory.build(id=lowest - n) for n in (1, 2))
    clock.pass_(seconds=61)

    with CaptureQueriesContext(connection) as captured:
        plan = refresh_page(section, 1)

    assert plan.has_new_pages
    assert (numbers(plan), sizes(plan)) == ([1, 4, 2, 3], [9, 2, 9, 9])
    # Twice the page, and its two parts.
    assert len(counted(captured)) == 4
    assert checked_now(clock) == {("products", 1), ("products", 4)}


def test_a_page_that_is_split_while_a_request_waits_for_its_lock_has_its_new_range(section, clock, monkeypatch):
    ProductFactory.bulk(27)
    refresh(section)
    clock.pass_(seconds=61)
    read = upkeep.read_page

    def read_and_be_late(*args):
        page = read(*args)
        monkeypatch.setattr(upkeep, "read_page", read)
        refresh(section, split={2: all_keys(section)[12]})
        return page

    monkeypatch.setattr(upkeep, "read_page", read_and_be_late)
    page = refresh_page(section, 2).find(2)

    assert keys_on(section, page) == all_keys(section)[9:12]
    assert page.record.rows == 3


def test_a_number_that_is_no_page_costs_no_check(section, clock):
    ProductFactory.bulk(27)
    refresh(section)
    refresh(section, repack=True)
    clock.pass_(seconds=500)

    with CaptureQueriesContext(connection) as captured:
        with pytest.raises(PageGone):
            refresh_page(section, 2).find(2)
        with pytest.raises(PageNotFound, match="has no page 9"):
            refresh_page(section, 9).find(9)

    assert counted(captured) == []


def test_a_page_whose_rows_are_gone_is_not_found_and_comes_back(section, clock):
    ProductFactory.bulk(27)
    page = refresh(section).find(2)
    kept = list(page.rows(section))
    page.rows(section).delete()
    clock.pass_(seconds=61)
    with pytest.raises(PageNotFound, match="no URLs at present"):
        refresh_page(section, 2).find(2)

    Product.objects.bulk_create(kept)
    clock.pass_(seconds=61)
    assert refresh_page(section, 2).find(2).record.rows == 9


def test_a_row_whose_key_changes_is_on_its_new_page_at_the_next_check_of_that_page(section, clock):
    ProductFactory.bulk(27)
    refresh(section)
    keys = [key for (key,) in all_keys(section)]
    Product.objects.filter(pk=keys[4]).update(id=keys[-1] + 1)
    clock.pass_(seconds=61)

    first = refresh_page(section, 1).find(1)
    stored = SitemapPage.objects.get(number=3).validator
    last = refresh_page(section, 3).find(3)

    assert (first.record.rows, last.record.rows) == (8, 10)
    # The page that got the row was not checked by the request for the other one, and is due all the same.
    assert stored != last.record.validator
    assert (keys[-1] + 1,) in keys_on(section, last)


# The first cut.


@pytest.mark.parametrize("pages", [3, 30])
def test_a_first_cut_for_one_page_measures_it_and_the_last_one(section, pages):
    ProductFactory.bulk(9 * pages)

    with CaptureQueriesContext(connection) as captured:
        plan = refresh_page(section, 2)

    assert (numbers(plan), sizes(plan)) == ([2], [9])
    assert plan.pages[0].record.validator
    assert len(counted(captured)) == 2
    assert plan.has_new_pages


def test_pages_that_nobody_measured_are_listed_counted_and_without_a_date(section):
    ProductFactory.bulk(25)

    plan = refresh(section, only=())

    assert [page.number for page in plan.listed] == [1, 2, 3]
    assert sizes(plan) == [9, 9, 7]
    assert [bool(page.record.changed_at) for page in plan.pages] == [False, False, True]
    assert sum(url_count(section, page.record) for page in plan.pages) == 25
    assert plan.checked_at is None


def test_a_section_without_rows_is_known_to_be_empty_after_its_first_cut(section):
    assert refresh(section, only=()).listed == []


def test_another_limit_cuts_the_section_and_measures_the_page(section, clock):
    ProductFactory.bulk(27)
    refresh(section)
    section.sitemap.limit = 20

    with pytest.raises(PageGone):
        refresh_page(section, 1).find(1)
    assert refresh_page(section, 4).find(4).record.rows == 18


@pytest.mark.django_db(transaction=True)
def test_where_the_database_refuses_writes_a_page_is_checked_in_memory(section, clock, caplog):
    ProductFactory.bulk(27)
    refresh(section)
    touch(2, section)
    before = SitemapPage.objects.get(number=2).validator
    clock.pass_(seconds=61)

    with read_only():
        page = refresh_page(section, 2).find(2)

    assert page.record.validator != before
    assert "cannot be stored" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_where_the_database_refuses_writes_a_page_that_was_never_planned_is_measured(section, clock):
    ProductFactory.bulk(27)

    with read_only():
        page = refresh_page(section, 2).find(2)
        (plan,) = Round([section]).plans()

    assert (page.record.checked_at, page.record.rows) == (clock.now, 9)
    assert page.record.validator
    assert (plan.checked_at, sizes(plan)) == (clock.now, [9, 9, 9])


@pytest.mark.parametrize("is_index", [False, True])
def test_who_waits_for_a_locked_database_in_vain_waits_only_once_more(section, clock, is_index):
    ProductFactory.bulk(27)
    refresh(section)
    clock.pass_(seconds=61)
    tried = []

    def refuse(execute, sql, *args):
        if sql.startswith("UPDATE"):
            tried.append(sql)
            raise OperationalError("database is locked")
        return execute(sql, *args)

    with connection.execute_wrapper(refuse):
        plan = Round([section]).plans()[0] if is_index else refresh_page(section, 2)

    assert len(tried) == 2
    assert plan.find(2).record.checked_at == clock.now


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_one_at_a_time")
def test_where_the_database_refuses_writes_a_round_checks_all_sections_in_memory_once(clock):
    ProductFactory.bulk(27)
    sections = sections_of(a=Dated, b=Dated, listed=type("Listed", (ListedProducts,), {"limit": 10}))
    for section in sections:
        refresh(section)
    ProductFactory.bulk(5)
    clock.pass_(seconds=61)
    checks = Round(sections)

    with read_only():
        plans = checks.plans()
        with CaptureQueriesContext(connection) as captured:
            again = checks.plans()

    assert [plan.checked_at for plan in plans] == [clock.now] * 3
    assert [numbers(plan) for plan in plans] == [[1, 2, 3, 4]] * 3
    # What is in memory is still there after pages were compared.
    assert (again, len(captured)) == (plans, 0)


@pytest.mark.django_db(transaction=True)
def test_a_round_in_memory_tries_to_write_only_until_it_is_refused(clock):
    ProductFactory.bulk(9 * 30)
    sections = sections_of(a=Dated, b=Dated)
    for section in sections:
        refresh(section)
    clock.pass_(seconds=61)

    with read_only(), CaptureQueriesContext(connection) as captured:
        Round(sections).plans()

    assert len([query for query in captured if query["sql"].startswith("UPDATE")]) <= 2
    # The first page twice: only after it was refused is the rest done in memory.
    assert len(counted(captured)) == 2 * 30 + 1


# A build checks all.


@pytest.mark.parametrize("pages", [3, 30])
def test_a_build_that_finds_no_change_stores_all_checks_in_one_statement(section, clock, pages):
    ProductFactory.bulk(9 * pages)
    refresh(section)
    clock.pass_(seconds=61)

    with CaptureQueriesContext(connection) as captured:
        refresh(section, force=True)

    assert len(checked_now(clock)) == pages
    assert (
        len([query for query in captured if "checked_at" in query["sql"].partition("WHERE")[0].partition("SET")[2]])
        == 1
    )
    assert len(counted(captured)) == pages


# The index checks all, a few at each request.


def sections_of(**classes):
    return [section_of(sitemap, label) for label, sitemap in classes.items()]


@pytest.mark.usefixtures("_one_at_a_time")
def test_rounds_go_on_until_all_pages_were_checked_the_last_page_first(section, clock):
    ProductFactory.bulk(45)
    refresh(section)
    clock.pass_(seconds=61)

    found = []
    for _ in range(5):
        before = checked_now(clock)
        (plan,) = Round([section]).plans()
        found += checked_now(clock) - before
    with CaptureQueriesContext(connection) as captured:
        (plan,) = Round([section]).plans()

    assert [number for _, number in found] == [5, 1, 2, 3, 4]
    assert plan.checked_at == clock.now
    assert counted(captured) == []


def test_a_round_with_time_checks_all(section, clock):
    ProductFactory.bulk(45)
    refresh(section)
    clock.pass_(seconds=61)

    (plan,) = Round([section]).plans()

    assert plan.checked_at == clock.now


def writes(captured):
    return [query["sql"] for query in captured if query["sql"].startswith("UPDATE")]


@pytest.mark.parametrize("pages", [5, 40])
def test_a_round_that_finds_no_change_stores_its_checks_together(section, clock, pages):
    ProductFactory.bulk(9 * pages)
    refresh(section)
    clock.pass_(seconds=61)

    with CaptureQueriesContext(connection) as captured:
        (plan,) = Round([section]).plans()

    assert len(checked_now(clock)) == pages
    assert plan.checked_at == clock.now
    # The lock and the record of the first page, which tells whether writes are possible, and all others.
    assert len(writes(captured)) == 3
    assert len(counted(captured)) == pages


def test_a_round_stores_a_page_that_changed_with_its_values(section, clock):
    ProductFactory.bulk(9 * 5)
    refresh(section)
    touch(3, section)
    clock.pass_(seconds=61)

    (plan,) = Round([section]).plans()

    assert len(checked_now(clock)) == 5
    record = SitemapPage.objects.get(number=3)
    assert record.validator == next(page.record.validator for page in plan.pages if page.number == 3)
    assert record.changed_at == clock.now


def test_checks_that_cannot_be_stored_together_are_due_again(section, clock):
    ProductFactory.bulk(9 * 5)
    refresh(section)
    clock.pass_(seconds=61)

    def lock(execute, sql, *args):
        if sql.startswith("UPDATE") and " IN (" in sql:
            raise OperationalError("database is locked")
        return execute(sql, *args)

    with connection.execute_wrapper(lock):
        (plan,) = Round([section]).plans()
    assert plan.checked_at == clock.now
    assert len(checked_now(clock)) == 1

    Round([section]).plans()
    assert len(checked_now(clock)) == 5


@pytest.mark.usefixtures("_one_at_a_time")
def test_pages_of_all_sections_take_turns(clock):
    ProductFactory.bulk(27)
    sections = sections_of(a=TenProducts, b=TenProducts)
    Round(sections).plans()
    for section in sections:
        refresh(section, force=True)
    clock.pass_(seconds=61)

    found = []
    for _ in range(6):
        before = checked_now(clock)
        Round(sections).plans()
        found += checked_now(clock) - before

    assert found == [("a", 3), ("b", 3), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]


@pytest.mark.usefixtures("_one_at_a_time")
def test_no_page_waits_for_ever_if_all_are_due_at_each_request(section, clock):
    ProductFactory.bulk(45)
    refresh(section)
    seen = {}
    for turn in range(60):
        clock.pass_(seconds=61)
        Round([section]).plans()
        for _, number in checked_now(clock):
            seen.setdefault(number, []).append(turn)

    assert sorted(seen) == [1, 2, 3, 4, 5]
    # Most rows are appended.
    assert len(seen[5]) > 2 * max(len(seen[number]) for number in (1, 2, 3, 4))
    assert all(later - earlier < 30 for turns in seen.values() for earlier, later in itertools.pairwise(turns))


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_change_of_any_page_is_in_the_plans_after_one_round(section, clock):
    ProductFactory.bulk(90)
    refresh(section)
    clock.pass_(days=1)
    touch(7, section)

    for _ in range(10):
        (plan,) = Round([section]).plans()

    assert [page.number for page in plan.pages if page.record.changed_at == clock.now] == [7]


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_round_splits_a_page_that_nobody_requests(section, clock):
    ProductFactory.bulk(27)
    refresh(section)
    lowest = all_keys(section)[0][0]
    Product.objects.bulk_create(ProductFactory.build(id=lowest - n) for n in (1, 2))
    clock.pass_(seconds=61)

    plans = [Round([section]).plans()[0] for _ in range(3)]

    assert [plan.has_new_pages for plan in plans] == [False, True, False]
    assert [numbers(plan) for plan in plans] == [[1, 2, 3], [1, 4, 2, 3], [1, 4, 2, 3]]


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_section_by_position_is_checked_as_a_whole_in_its_turn(clock):
    ProductFactory.bulk(27)
    listed = type("Listed", (ListedProducts,), {"limit": 10})
    sections = sections_of(keyed=TenProducts, listed=listed)
    for section in sections:
        refresh(section)
    clock.pass_(seconds=61)

    found = []
    for _ in range(4):
        before = checked_now(clock)
        Round(sections).plans()
        found.append(checked_now(clock) - before)

    assert found == [{("keyed", 3)}, {("listed", n) for n in (1, 2, 3)}, {("keyed", 1)}, {("keyed", 2)}]


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_section_that_fails_leaves_the_time_to_the_others(clock, caplog):
    class Broken(TenProducts):
        is_broken = False

        def get_queryset(self):
            if Broken.is_broken:
                raise RuntimeError("the shop is closed")
            return super().get_queryset()

    ProductFactory.bulk(9)
    for section in sections_of(broken=Broken, whole=TenProducts):
        refresh(section)
    clock.pass_(seconds=61)
    Broken.is_broken = True

    broken, whole = Round(sections_of(broken=Broken, whole=TenProducts)).plans()

    assert (broken.has_failed, numbers(broken)) == (True, [1])
    assert (whole.has_failed, whole.checked_at) == (False, clock.now)
    assert "the shop is closed" in caplog.text


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_section_whose_checks_fail_does_not_use_up_the_time_of_the_others(clock, monkeypatch):
    ProductFactory.bulk(9)
    sections = sections_of(broken=TenProducts, whole=TenProducts)
    for section in sections:
        refresh(section)
    clock.pass_(seconds=61)
    is_down = {"broken": True}
    measure = Check.measure

    def fail(check, page):
        if is_down.get(check.section.label):
            raise RuntimeError("the rows cannot be read")
        return measure(check, page)

    monkeypatch.setattr(Check, "measure", fail)
    assert [plan.has_failed for plan in Round(sections).plans()] == [True, False]
    Round(sections).plans()
    assert checked_now(clock) == {("whole", 1)}

    is_down.clear()
    Round(sections).plans()
    assert checked_now(clock) == {("whole", 1), ("broken", 1)}


@pytest.fixture
def flaky_and_whole(clock):
    """Two sections of three pages, all of them due."""
    ProductFactory.bulk(27)
    sections = sections_of(flaky=TenProducts, whole=TenProducts)
    for section in sections:
        refresh(section)
    clock.pass_(seconds=61)
    return sections


@pytest.fixture
def down(monkeypatch):
    """The labels of sections whose checks fail."""
    labels, measure = set(), Check.measure

    def fail(check, page):
        if check.section.label in labels:
            raise RuntimeError("the rows cannot be read")
        return measure(check, page)

    monkeypatch.setattr(Check, "measure", fail)
    return labels


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_section_that_failed_once_is_checked_again_though_others_are_always_due(flaky_and_whole, down, clock):
    down.add("flaky")
    Round(flaky_and_whole).plans()
    down.clear()

    seen = set()
    for _ in range(60):
        clock.pass_(seconds=61)
        Round(flaky_and_whole).plans()
        seen |= checked_now(clock)

    assert seen == {(label, number) for label in ("flaky", "whole") for number in (1, 2, 3)}


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_section_that_always_fails_leaves_turns_to_others_that_are_always_due(flaky_and_whole, down, clock):
    down.add("flaky")

    seen = set()
    for _ in range(60):
        Round(flaky_and_whole).plans()
        seen |= checked_now(clock)
        clock.pass_(seconds=61)

    assert seen == {("whole", number) for number in (1, 2, 3)}
