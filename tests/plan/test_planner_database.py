"""When the planner queries and writes the database, and the records of renderings."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from databases import read_only, steps_of_sqlite
from factories import (
    CellFactory,
    ProductFactory,
    SeatFactory,
    TokenFactory,
    WordFactory,
)
from plan_samples import Cells, Seats, TenProducts, Tokens, Words, locs, numbers, sizes
from samples import render_page, section_of
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan import planner
from sitemaps_plus.plan.pages import stored_plan
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.records import record_rendering
from testapp.models import Product, Seat

# When the database is queried.


@pytest.mark.django_db
def test_the_database_is_queried_once_per_period(clock, django_assert_num_queries):
    ProductFactory.bulk(25)
    section = section_of(TenProducts)
    assert sizes(refresh(section)) == [9, 9, 7]
    ProductFactory.bulk(1)

    clock.pass_(seconds=59)
    with django_assert_num_queries(1):
        assert sizes(refresh(section)) == [9, 9, 7]

    clock.pass_(seconds=2)
    # The plan, a transaction of two, the lock, the plan again, three pages, the highest number, what differs of two.
    with django_assert_num_queries(11):
        assert sizes(refresh(section)) == [9, 9, 8]
    with django_assert_num_queries(1):
        refresh(section)


@pytest.mark.django_db
def test_a_check_in_the_future_does_not_stop_all_others(clock):
    section = section_of(TenProducts)
    refresh(section)
    ProductFactory.bulk(3)
    SitemapPage.objects.update(checked_at=clock.now + timedelta(days=365))

    assert sizes(refresh(section)) == [3]


@pytest.mark.django_db
def test_the_period_is_a_setting(clock, settings):
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 5}
    section = section_of(TenProducts)
    refresh(section)
    ProductFactory.bulk(3)

    clock.pass_(seconds=4)
    assert sizes(refresh(section)) == [0]
    clock.pass_(seconds=2)
    assert sizes(refresh(section)) == [3]


@pytest.mark.django_db
def test_the_stored_plan_asks_nothing_of_the_section(django_assert_num_queries):
    ProductFactory.bulk(25)
    refresh(section_of(TenProducts))

    class Broken(TenProducts):
        def get_queryset(self):
            raise RuntimeError("the shop is closed")

    with django_assert_num_queries(1):
        assert [page.number for page in stored_plan(section_of(Broken)).listed] == [1, 2, 3]


@pytest.mark.django_db
def test_the_record_that_only_holds_the_lock_is_no_page():
    section = section_of(TenProducts)
    SitemapPage.objects.create(site=section.site.id, label=section.label, number=1)
    ProductFactory.bulk(3)

    assert stored_plan(section).pages == []
    with pytest.raises(PageNotFound, match="has no page 1"):
        stored_plan(section).find(1)
    assert (numbers(refresh(section)), sizes(refresh(section))) == ([1], [3])


def lose(section):
    raise OperationalError("deadlock")


@pytest.mark.django_db
def test_a_planner_that_loses_a_deadlock_tries_again(monkeypatch, caplog):
    ProductFactory.bulk(12)
    section = section_of(TenProducts)
    attempts = iter([lose, planner._lock])
    monkeypatch.setattr(planner, "_lock", lambda section: next(attempts)(section))

    assert numbers(refresh(section)) == [1, 2]

    assert numbers(stored_plan(section)) == [1, 2]
    assert not caplog.records


@pytest.mark.django_db
def test_a_planner_that_cannot_store_its_plan_takes_the_one_of_another(monkeypatch, caplog):
    ProductFactory.bulk(12)
    section = section_of(TenProducts)

    def another_was_first(section):
        with monkeypatch.context() as as_it_is:
            as_it_is.setattr(planner, "_make_lock", make_lock)
            as_it_is.setattr(planner, "_lock", lock)
            refresh(section)

    make_lock, lock = planner._make_lock, planner._lock
    monkeypatch.setattr(planner, "_make_lock", another_was_first)
    monkeypatch.setattr(planner, "_lock", lose)
    with CaptureQueriesContext(connection) as captured:
        plan = refresh(section)

    assert (numbers(plan), sizes(plan)) == ([1, 2], [9, 3])
    assert len([query for query in captured if "COUNT(*)" in query["sql"]]) == 2
    assert "cannot be stored: deadlock" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_where_the_database_refuses_writes_the_plan_is_made_in_memory(caplog):
    ProductFactory.bulk(25)
    section = section_of(TenProducts)
    with read_only():
        plan = refresh(section)
        assert (numbers(plan), sizes(plan)) == ([1, 2, 3], [9, 9, 7])
        assert len(locs(render_page(section, 3))) == 7
    assert SitemapPage.objects.exclude(layout="").count() == 0
    assert "the plan of its pages cannot be stored" in caplog.text

    refresh(section)
    ProductFactory.bulk(5)
    with read_only():
        plan = refresh(section, force=True)
        assert (numbers(plan), sizes(plan)) == ([1, 2, 3, 4], [9, 9, 9, 3])
    assert numbers(stored_plan(section)) == [1, 2, 3]


# What a rendering finds.


@pytest.mark.django_db
def test_a_rendering_is_kept_beside_the_plan():
    ProductFactory.bulk(3)
    section = section_of(TenProducts)

    document = render_page(section, 1)

    record = refresh(section).pages[0].record
    assert (record.digest, record.urls, record.bytes) == (document.digest, 3, document.size)
    assert record.origin == "https://example.com"


@pytest.mark.django_db
def test_a_rendering_does_not_undo_what_another_process_has_written_meanwhile(clock):
    ProductFactory.bulk(3)
    section = section_of(TenProducts)
    page = refresh(section).pages[0]
    later = clock.now + timedelta(days=1)
    SitemapPage.objects.update(changed_at=later)

    record_rendering(section, page, digest="new", urls=3, size=300, newest=clock.now, began=clock.now, seconds=0.1)

    stored = SitemapPage.objects.get()
    assert (stored.digest, stored.changed_at) == ("new", later)


@pytest.mark.django_db
def test_a_rendering_of_rows_that_have_changed_since_is_not_kept(clock):
    ProductFactory.bulk(3)
    section = section_of(TenProducts)
    page = refresh(section).pages[0]
    ProductFactory.bulk(1)
    refresh(section, force=True)

    record_rendering(section, page, digest="old", urls=3, size=300, newest=None, began=clock.now, seconds=0.1)

    assert SitemapPage.objects.get().digest == ""


# The plans of the database.


@pytest.mark.django_db
@pytest.mark.skipif("__import__('django.db').db.connection.vendor != 'sqlite'", reason="the words are SQLite's")
@pytest.mark.parametrize(
    ("sitemap", "make"),
    [
        (TenProducts, ProductFactory),
        (Tokens, TokenFactory),
        (Words, WordFactory),
        (Cells, CellFactory),
        (Seats, SeatFactory),
    ],
)
def test_every_query_of_a_plan_uses_the_index_of_the_key(sitemap, make, django_assert_num_queries):
    make.bulk(30)
    section = section_of(sitemap)
    with django_assert_num_queries(100, exact=False) as captured:
        refresh(section)

    table = section.key.fields[0].model._meta.db_table
    queries = [query["sql"] for query in captured if query["sql"].startswith("SELECT") and table in query["sql"]]
    assert len(queries) >= 6
    for sql in queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            steps = [row[3] for row in cursor.fetchall()]
        # Without a lower bound the rows are read in the order of the key until the page is full; nothing is sorted.
        verb = "SEARCH" if "WHERE" in sql else "SCAN"
        assert [step.split()[0] for step in steps] == [verb], (sql, steps)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sitemap", "make"), [(TenProducts, ProductFactory), (Words, WordFactory), (Seats, SeatFactory)]
)
def test_each_boundary_of_an_open_page_is_counted_from_one_lower_bound(sitemap, make, django_assert_num_queries):
    make.bulk(11)
    section = section_of(sitemap)
    refresh(section)
    make.bulk(40)

    with django_assert_num_queries(100, exact=False) as captured:
        refresh(section, force=True)

    boundaries = [query["sql"] for query in captured if "OFFSET" in query["sql"]]
    assert len(boundaries) >= 5
    # Of two, SQLite searches with the first one, which is that of the page: each query would read all rows before it.
    # On MariaDB the bound of a key of two columns is written out, with a comparison for each.
    most = len(section.key.names) if connection.vendor == "mysql" else 1
    assert {sql.count(">=") for sql in boundaries} <= {0, most}


@pytest.mark.django_db
@pytest.mark.skipif("__import__('django.db').db.connection.vendor != 'sqlite'", reason="counts SQLite's steps")
def test_the_boundaries_of_four_times_as_many_rows_cost_four_times_as_much():
    def cost(rows):
        Product.objects.all().delete()
        ProductFactory.bulk(11)
        section = section_of(TenProducts)
        refresh(section, repack=True)
        ProductFactory.bulk(rows)
        with steps_of_sqlite() as steps:
            refresh(section, force=True)
        return len(steps)

    few, many = cost(300), cost(1200)

    assert 3 < many / few < 5


@pytest.mark.django_db
def test_a_key_of_several_columns_does_not_read_all_rows_that_share_the_first():
    SeatFactory.bulk(40)
    Seat.objects.bulk_create(SeatFactory.build(hall=77, name=f"{n:09}") for n in range(400))
    section = section_of(Seats)
    page = refresh(section).pages[30]
    assert page.start[0] == page.end[0] == 77

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
    formats = {"mysql": "JSON"}
    explained = page.rows(section).values("hall", "name").explain(format=formats.get(connection.vendor))

    both_columns = {
        "sqlite": "(hall,name)>(?,?)",
        "postgresql": "ROW(hall, (name)::text) >= ROW(",
        "mysql": '"used_key_parts": ["hall", "name"]',
    }
    assert both_columns[connection.vendor] in explained.replace("\\", "")
