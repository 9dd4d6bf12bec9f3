"""A requested page shows a change after its own check; an index after a round of checks over several requests."""

import gzip

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from factories import DAY, ProductFactory
from samples import SITE, Products, paths
from sitemaps_plus import register
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan import upkeep
from sitemaps_plus.plan.checking import Check
from sitemaps_plus.serve import cached
from sitemaps_plus.serve.cached import REST, serve
from sitemaps_plus.serve.live import Wanted
from sitemaps_plus.stores.cache import get_cache
from testapp.models import Product
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db

INDEX = Wanted(site=SITE)
PAGES = 9


@pytest.fixture(autouse=True)
def _pages(settings, clock):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("products", Products)
    ProductFactory.bulk(10 * PAGES)
    serve(INDEX)
    clock.pass_(days=1)


@pytest.fixture
def _one_at_a_time(monkeypatch):
    """Let the time of a request for an index suffice for one page."""
    monkeypatch.setattr(upkeep, "BUDGET", 0.0)


def page(number):
    return Wanted(site=SITE, label="products", number=number)


def text(wanted):
    return gzip.decompress(serve(wanted).gzipped)


def checked_now(clock):
    return SitemapPage.objects.filter(checked_at=clock.now).count()


def change_page_7():
    Product.objects.filter(slug=paths(locs(text(page(7))))[3].strip("/")).update(slug="changed", updated_at=DAY)


@pytest.mark.usefixtures("_one_at_a_time")
def test_each_request_for_an_index_checks_one_page_more_until_all_were_checked(clock):
    counts = []
    for _ in range(PAGES):
        serve(INDEX)
        counts.append(checked_now(clock))

    assert counts == list(range(1, PAGES + 1))
    with CaptureQueriesContext(connection) as captured:
        serve(INDEX)
    assert len(captured) == 0


@pytest.mark.usefixtures("_one_at_a_time")
def test_an_index_is_due_again_when_its_first_check_is_a_minute_old(clock):
    for _ in range(PAGES):
        serve(INDEX)
        clock.pass_(seconds=5)
    # The page that was checked first is 45 seconds old.
    with CaptureQueriesContext(connection) as captured:
        serve(INDEX)
    assert len(captured) == 0

    clock.pass_(seconds=16)
    serve(INDEX)
    assert checked_now(clock) == 1


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_change_is_on_its_page_after_check_every_and_in_the_index_after_the_round(clock):
    for _ in range(PAGES):
        serve(INDEX)
    change_page_7()
    clock.pass_(seconds=61)

    assert "/changed/" in paths(locs(text(page(7))))
    for _ in range(PAGES):
        serve(INDEX)
    assert lastmods(text(INDEX))[6] == clock.now.replace(microsecond=0).isoformat()


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_change_on_a_page_that_nobody_requests_is_in_the_index_after_the_round(clock):
    for _ in range(PAGES):
        serve(INDEX)
    change_page_7()
    clock.pass_(seconds=61)

    for _ in range(PAGES):
        serve(INDEX)

    assert lastmods(text(INDEX))[6] == clock.now.replace(microsecond=0).isoformat()


def test_an_index_of_a_small_site_shows_a_change_after_check_every(clock):
    serve(INDEX)
    change_page_7()
    clock.pass_(seconds=61)

    assert lastmods(text(INDEX))[6] == clock.now.replace(microsecond=0).isoformat()


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_report_makes_pages_due_a_few_at_each_request(clock):
    for _ in range(PAGES):
        serve(INDEX)
    clock.pass_(seconds=2)
    get_cache().look_again(["products", ""])
    clock.pass_(seconds=2)

    for _ in range(PAGES):
        serve(INDEX)

    assert checked_now(clock) == PAGES


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_section_that_fails_rests_and_an_unfinished_round_does_not(clock, monkeypatch):
    serve(INDEX)
    assert cached._next_try == {}

    def fail(_section):
        raise RuntimeError("the shop is closed")

    with monkeypatch.context() as broken:
        broken.setattr(Products, "get_queryset", fail)
        serve(INDEX)
    with CaptureQueriesContext(connection) as captured:
        serve(INDEX)
    assert len(captured) == 0

    clock.pass_(seconds=REST + 0.1)
    serve(INDEX)
    assert checked_now(clock) == 1


def test_a_request_for_a_page_leaves_the_other_pages_to_their_own_requests(clock):
    serve(page(3))
    assert checked_now(clock) == 1

    with CaptureQueriesContext(connection) as captured:
        serve(page(4))
    assert len([query for query in captured if "COUNT(*)" in query["sql"]]) == 1


# An index whose pages take longer to check than they stay current.


@pytest.fixture
def _slow(monkeypatch, clock):
    """Let each check take 0.6 seconds, and a request for an index check one page."""
    measure = Check.measure

    def measure_slowly(check, page):
        clock.pass_(seconds=0.6)
        return measure(check, page)

    monkeypatch.setattr(Check, "measure", measure_slowly)
    monkeypatch.setattr(upkeep, "BUDGET", 1e-9)


def queries_of_index():
    with CaptureQueriesContext(connection) as captured:
        serve(INDEX)
    return len(captured)


@pytest.mark.usefixtures("_slow")
def test_an_index_that_can_be_finished_does_not_rest():
    assert all(queries_of_index() for _ in range(PAGES))
    assert queries_of_index() == 0
    assert cached._next_try == {}


@pytest.mark.usefixtures("_slow")
@pytest.mark.parametrize(("every", "rest"), [(10, 6), (4, 4)], ids=["a-tenth-of-the-time", "no-longer-than-current"])
def test_an_index_that_is_never_finished_rests(clock, settings, every, rest):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "CHECK_EVERY": every}
    for _ in range(2 * every):
        if not cached._next_try:
            assert queries_of_index() > 0
            clock.pass_(seconds=1)

    for _ in range(2):
        clock.pass_(seconds=rest - 1.1)
        assert queries_of_index() == 0
        clock.pass_(seconds=0.2)
        assert queries_of_index() > 0
        clock.pass_(seconds=1)
