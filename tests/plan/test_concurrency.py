"""Planners, renderings and writers that work at the same time lose no row, issue no number twice and never fail."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.db.models import F

from factories import DAY, ProductFactory
from plan_samples import numbers
from samples import render_page, section_of, text_of
from sitemaps_plus import ModelSitemap
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.measuring import Measuring
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.records import record_rendering
from sitemaps_plus.plan.upkeep import refresh_page
from testapp.models import Product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_shared_database", "_never_in_memory")]

ROUNDS = 5
THREADS = 4


class ProductsByMethod(ModelSitemap):
    queryset = Product.objects.all()
    lastmod = F("updated_at")
    limit = 10

    def location(self, item):
        return f"/{item.slug}/"


@pytest.fixture
def _shared_database(tmp_path):
    """Give threads one database: SQLite's in memory has locks unlike those of any other, so take one in a file."""
    if connection.vendor != "sqlite":
        yield
        return
    in_memory, known = connections["default"], connections.databases["default"]
    connections.databases["default"] = {**known, "NAME": tmp_path / "shared.sqlite3"}
    connections["default"] = connections.create_connection("default")
    with connections["default"].schema_editor() as editor:
        editor.create_model(SitemapPage)
        editor.create_model(Product)
    yield
    connections["default"].close()
    connections.databases["default"], connections["default"] = known, in_memory


@pytest.fixture
def _never_in_memory(caplog):
    """Fail where a planner had to give up storing its plan."""
    yield
    assert not [record for record in caplog.get_records("call") if "cannot be stored" in record.message]


def at_once(*tasks):
    """Return what `tasks`, each in a thread of its own, give when they start at the same time."""
    ready = threading.Barrier(len(tasks))

    def run(task):
        ready.wait(10)
        try:
            return task()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [done.result() for done in [pool.submit(run, task) for task in tasks]]


def plan_now(**how):
    return refresh(section_of(ProductsByMethod), **(how or {"force": True}))


def locs(document):
    # Not checked by a schema: lxml prepares its types once, and not safely in several threads.
    return re.findall("<loc>(.*?)</loc>", text_of(document).decode())


def keys(plan):
    return [key for page in plan.pages for key in page.rows(plan.section).order_by("pk").values_list("pk", flat=True)]


def assert_sound():
    """Fail unless the stored pages are a partition of the rows, and no number is missing or used twice."""
    plan = plan_now()
    stored = list(SitemapPage.objects.order_by("number"))
    active = [record for record in stored if record.retired_at is None]
    assert [record.number for record in stored] == list(range(1, len(stored) + 1))
    assert sorted(numbers(plan)) == [record.number for record in active]
    assert len({str(record.start) for record in active}) == len(active)
    assert sorted(record.rank for record in active) == list(range(1, len(active) + 1))
    assert keys(plan) == list(Product.objects.order_by("pk").values_list("pk", flat=True))
    assert all(page.record.rows <= 10 for page in plan.pages)


def insert_behind(key, count=8):
    """Insert rows directly after a key, where the ids leave room."""
    behind = Product.objects.filter(pk__gt=key).order_by("pk").first()
    room = range(key + 1, behind.pk if behind else key + 1000)
    Product.objects.bulk_create(ProductFactory.build(id=n) for n in list(room)[:count])


def spread(count=50, step=1000):
    Product.objects.bulk_create(ProductFactory.build(id=step * n) for n in range(1, count + 1))


def test_planners_that_make_the_first_cut_at_once_make_one():
    spread(50)

    plans = at_once(*[lambda: plan_now(force=False)] * THREADS)

    assert {tuple(numbers(plan)) for plan in plans} == {(1, 2, 3, 4, 5, 6)}
    assert SitemapPage.objects.count() == 6
    assert_sound()


def test_planners_that_split_at_once_issue_no_number_twice():
    spread(50)
    plan_now()
    for _ in range(ROUNDS):
        for page in plan_now().pages[::2]:
            insert_behind(page.rows(section_of(ProductsByMethod)).order_by("pk")[3].pk)
        at_once(*[plan_now] * THREADS)
        assert_sound()


def test_splits_of_one_page_at_different_rows_all_happen_and_equal_ones_once():
    spread(9)
    plan_now()
    tasks = [lambda at=at: plan_now(split={1: (at * 1000,)}) for at in (3, 5, 5, 7)]

    at_once(*tasks)
    at_once(*tasks)

    assert_sound()
    # Which page a row lies on depends on who came first; a split that came too late is made by its next rendering.
    starts = {tuple(record.start) for record in SitemapPage.objects.all() if record.start}
    # A split at the third row makes parts of two rows each.
    assert starts <= {(3000,), (5000,), (7000,), (9000,)}
    assert len(starts) >= 1


def test_views_beside_planners_and_writers_show_every_page_whole():
    spread(50)
    plan_now()
    steady = set(Product.objects.values_list("slug", flat=True))

    def write():
        for page in plan_now().pages[:ROUNDS]:
            insert_behind(page.rows(section_of(ProductsByMethod)).order_by("pk")[1].pk, 6)
            plan_now()

    def view():
        for _ in range(ROUNDS):
            section = section_of(ProductsByMethod)
            plan = refresh(section)
            for page in plan.listed:
                found = locs(render_page(section, page.number))
                assert len(found) == len(set(found))

    at_once(write, view, view, plan_now)

    assert_sound()
    plan = plan_now()
    found = [loc for page in plan.listed for loc in locs(render_page(plan.section, page.number))]
    assert len(found) == len(set(found)) == Product.objects.count()
    assert {f"https://example.com/{slug}/" for slug in steady} <= set(found)


def test_requests_for_the_pages_of_a_section_check_them_at_the_same_time(monkeypatch):
    spread(27)
    plan_now()
    SitemapPage.objects.update(checked_at=None)
    both = threading.Barrier(2)
    measure = Measuring.measure

    def measure_together(*args):
        # SQLite has one writer at a time.
        if connection.vendor != "sqlite":
            both.wait(10)
        return measure(*args)

    monkeypatch.setattr("sitemaps_plus.plan.measuring.Measuring.measure", measure_together)
    at_once(*[lambda n=n: refresh_page(section_of(ProductsByMethod), n) for n in (1, 2)])

    assert set(SitemapPage.objects.exclude(checked_at=None).values_list("number", flat=True)) == {1, 2}


def test_requests_beside_planners_and_writers_check_and_split_their_pages():
    spread(50)
    plan_now()

    def request():
        for _ in range(ROUNDS):
            for number in (1, 2, 3, 4, 5, 6):
                SitemapPage.objects.filter(number=number).update(checked_at=None)
                section = section_of(ProductsByMethod)
                page = refresh_page(section, number).find(number)
                assert page.rows(section).count() >= 1

    def write():
        for page in plan_now().pages[:ROUNDS]:
            insert_behind(page.rows(section_of(ProductsByMethod)).order_by("pk")[1].pk, 6)

    at_once(request, request, write, plan_now)

    assert_sound()


def test_views_during_a_repack_find_each_page_or_answer_that_it_is_gone():
    spread(30)
    plan_now()

    def view():
        gone = 0
        for _ in range(ROUNDS):
            for page in refresh(section_of(ProductsByMethod)).listed:
                try:
                    render_page(section_of(ProductsByMethod), page.number)
                except PageNotFound:
                    gone += 1
        return gone

    at_once(*[lambda: [plan_now(repack=True) for _ in range(ROUNDS)]] * 2, view, view)

    assert_sound()
    assert SitemapPage.objects.filter(retired_at__isnull=False).count() == 2 * ROUNDS * 4


def test_the_date_of_a_page_never_goes_back_beside_renderings():
    spread(9)
    plan_now()
    first = SitemapPage.objects.get().changed_at
    done = threading.Event()

    def write():
        for n in range(ROUNDS * 2):
            Product.objects.filter(pk=1000).update(slug=f"slug-{n}", updated_at=DAY + timedelta(days=n % 3))
            plan_now()
        done.set()

    def render():
        while not done.is_set():
            render_page(section_of(ProductsByMethod), 1)

    def look():
        seen = [first]
        while not done.is_set():
            seen.append(SitemapPage.objects.get().changed_at)
        return [*seen, SitemapPage.objects.get().changed_at]

    _, _, seen = at_once(write, render, look)

    assert seen == sorted(seen)
    assert len(set(seen)) > 1
    assert_sound()


def test_a_rendering_of_the_old_rows_is_not_kept_while_a_planner_measures_the_new_ones(monkeypatch):
    spread(15)
    page = plan_now().pages[1]
    Product.objects.filter(pk=15_000).update(updated_at=DAY - timedelta(days=1))

    def record():
        found = {"digest": "of the old rows", "urls": 6, "size": 600, "newest": None}
        record_rendering(section_of(ProductsByMethod), page, **found, began=DAY, seconds=0.1)
        connections.close_all()

    rendering = threading.Thread(target=record)
    measure = Measuring.measure

    def measure_slowly(*args):
        if rendering.ident is None:
            rendering.start()
            rendering.join(0.3)
        return measure(*args)

    monkeypatch.setattr("sitemaps_plus.plan.measuring.Measuring.measure", measure_slowly)
    plan_now()
    rendering.join(10)

    stored = SitemapPage.objects.get(number=2)
    assert stored.validator != page.record.validator
    assert stored.digest == ""


@pytest.mark.skipif("__import__('django.db').db.connection.vendor == 'sqlite'", reason="has one writer at a time")
def test_a_transaction_that_commits_late_is_seen_although_its_rows_are_old():
    spread(5)
    began, looked = threading.Event(), threading.Event()

    def write():
        with transaction.atomic():
            ProductFactory.create(id=2500, updated_at=DAY - timedelta(days=300))
            began.set()
            assert looked.wait(10)

    def look():
        assert began.wait(10)
        before = plan_now().pages[0].record
        looked.set()
        return before

    _, before = at_once(write, look)
    after = plan_now().pages[0].record

    assert (before.rows, after.rows) == (5, 6)
    assert before.validator != after.validator
    assert after.changed_at > before.changed_at
