"""What is served was right a moment ago, is made once for all who ask, and is there while the database is not."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.cache.backends.locmem import LocMemCache
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, get_script_prefix, set_script_prefix
from django.utils import timezone

import sitemaps_plus.serve.live
from built import build_and_warm
from databases import read_only
from factories import DAY, ArticleFactory, ProductFactory
from samples import SITE, Products, paths, product_paths, put_template
from sitemaps_plus import NewsSitemap, Sitemap, UrlFor, register, registry
from sitemaps_plus.build import build
from sitemaps_plus.errors import PageGone, PageNotFound, SitemapError, StrictError, Unavailable
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.protocol.limits import PROFILES, Profile
from sitemaps_plus.serve import cached
from sitemaps_plus.serve.cached import REST, serve
from sitemaps_plus.serve.live import Look, Made, Wanted, look
from sitemaps_plus.stores.cache import CLAIM, get_cache
from sitemaps_plus.stores.packing import pack
from testapp.models import Article, Product
from xml_checks import lastmods, locs

EXAMPLE = {"ORIGIN": "https://example.com"}


@pytest.fixture(autouse=True)
def _products_registered(settings):
    register("products", Products)
    settings.SITEMAPS_PLUS = EXAMPLE


def wanted(number=1, label="products", site=SITE, as_text=False):
    return Wanted(site=site, label=label, number=number, as_text=as_text)


def xml(*args, **options):
    return gzip.decompress(serve(wanted(*args, **options)).gzipped)


def shown(*args, **options):
    return paths(locs(xml(*args, **options)))


def replace_section(sitemap, label="products"):
    registry.unregister(label)
    register(label, sitemap)


# Fresh: whatever changes the rows shows once the database has been asked, and it is asked after CHECK_EVERY.


def add_in_bulk():
    ProductFactory.bulk(2)


def update():
    Product.objects.filter(slug="b").update(slug="b2", updated_at=DAY + timedelta(days=50))


def change_by_sql():
    with connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_product SET slug = 'raw', updated_at = '2020-01-01 00:00:00' WHERE slug = 'b'")


def delete_one():
    Product.objects.get(slug="b").delete()


def delete_in_bulk():
    Product.objects.filter(slug__in=["a", "b"]).delete()


def delete_by_sql():
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM testapp_product WHERE slug = 'b'")


def commit_late():
    # Stamped before all that are there: neither the newest date nor the newest page tells.
    ProductFactory.create(slug="late", updated_at=DAY - timedelta(days=30))


def swap_dates():
    a, b = Product.objects.get(slug="a"), Product.objects.get(slug="b")
    Product.objects.filter(pk=a.pk).update(slug="a2", updated_at=a.updated_at + timedelta(seconds=1))
    Product.objects.filter(pk=b.pk).update(updated_at=b.updated_at - timedelta(seconds=3))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change", [add_in_bulk, update, change_by_sql, delete_one, delete_in_bulk, delete_by_sql, commit_late, swap_dates]
)
def test_every_change_of_the_rows_shows_after_check_every_and_not_before(change, clock):
    for slug in "abc":
        ProductFactory.create(slug=slug)
    before = shown()

    change()
    clock.pass_(seconds=59)
    assert shown() == before

    clock.pass_(seconds=2)
    assert shown() == product_paths() != before


@pytest.mark.django_db
def test_a_row_shows_once_the_moment_has_come_that_its_filter_waits_for(clock):
    class Published(Products):
        def get_queryset(self):
            return Product.objects.filter(updated_at__lte=timezone.now())

    replace_section(Published)
    ProductFactory.create(slug="now")
    ProductFactory.create(slug="later", updated_at=clock.now + timedelta(minutes=10))
    assert shown() == ["/now/"]

    clock.pass_(minutes=11)

    assert shown() == ["/now/", "/later/"]


@pytest.mark.django_db
@pytest.mark.parametrize("is_built", [False, True])
def test_a_lastmod_that_lay_ahead_shows_once_it_has_come(clock, monkeypatch, is_built):
    # What lies ahead is told by a clock that Django's settings do not turn.
    cleaner = Section.cleaner
    monkeypatch.setattr(Section, "cleaner", lambda *args: replace(cleaner(*args), now=clock.now))
    ahead = clock.now.replace(microsecond=0) + timedelta(minutes=10)
    ProductFactory.create(updated_at=DAY)
    ProductFactory.create(updated_at=ahead)
    if is_built:
        build()
    assert lastmods(xml()) == ["2026-01-01T12:00:00+00:00", None]

    clock.pass_(minutes=11)

    assert lastmods(xml()) == ["2026-01-01T12:00:00+00:00", ahead.isoformat()]
    assert lastmods(xml(0)) == [ahead.isoformat()]
    assert serve(wanted()).changed_at == ahead.timestamp()


@pytest.mark.django_db
def test_without_a_period_the_database_is_asked_each_time(settings, rendered):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "CHECK_EVERY": 0}
    ProductFactory.bulk(1)
    assert shown() == product_paths()

    ProductFactory.bulk(1)
    assert shown() == product_paths()
    assert shown() == product_paths()

    assert rendered == [1, 1]


@pytest.mark.django_db
@pytest.mark.parametrize("as_text", [False, True])
def test_a_page_that_did_not_change_is_checked_in_few_queries_and_not_rendered(
    clock, rendered, as_text, django_assert_max_num_queries
):
    ProductFactory.bulk(10)
    first = serve(wanted(as_text=as_text))

    for _ in range(3):
        clock.pass_(seconds=61)
        # Savepoints count, too: two queries read the plan, one measures the page, and three lock it and note the check.
        with django_assert_max_num_queries(8):
            assert serve(wanted(as_text=as_text)) == first

    assert rendered == [1]


@pytest.mark.django_db
def test_what_was_checked_costs_no_query(clock, rendered, django_assert_num_queries):
    ProductFactory.bulk(10)
    first = serve(wanted())
    clock.pass_(seconds=61)
    serve(wanted())

    clock.pass_(seconds=30)
    with django_assert_num_queries(0):
        assert serve(wanted()) == first
        assert serve(wanted(), with_bytes=False) == first._replace(gzipped=b"")


@pytest.mark.django_db
def test_pages_that_did_not_change_are_kept_while_others_are_made_anew(clock, rendered):
    ProductFactory.bulk(30)
    for number in (1, 2, 3):
        shown(number)
    slug = product_paths()[15].strip("/")
    Product.objects.filter(slug=slug).update(updated_at=DAY - timedelta(days=1), slug="changed")

    clock.pass_(seconds=61)

    assert [row for number in (1, 2, 3) for row in shown(number)] == product_paths()
    assert rendered == [1, 2, 3, 2]


@pytest.mark.django_db
def test_after_max_age_a_page_is_rendered_whatever_its_rows_say(clock, settings):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "MAX_AGE": 3600}
    ProductFactory.create(slug="old")
    build()
    assert shown() == ["/old/"]

    # No date moves: the database cannot tell.
    Product.objects.update(slug="new")
    clock.pass_(seconds=3600 * 0.8 - 1)
    assert shown() == ["/old/"]

    clock.pass_(seconds=3600 * 0.2 + 2)
    assert shown() == ["/new/"]


@pytest.mark.django_db
@pytest.mark.parametrize("is_built", [False, True])
def test_a_class_that_was_changed_shows_at_the_next_check(clock, is_built):
    class Weekly(Products):
        changefreq = "weekly"

    ProductFactory.bulk(1)
    if is_built:
        build()
    assert b"weekly" not in xml()
    replace_section(Weekly)

    clock.pass_(seconds=61)
    assert b"<changefreq>weekly</changefreq>" in xml()


@pytest.mark.django_db
def test_a_template_that_is_overridden_shows_at_the_next_check(clock, settings, tmp_path):
    ProductFactory.bulk(1)
    assert b"by hand" not in xml()
    text = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><!-- by hand --></urlset>'
    put_template(settings, tmp_path, "sitemap.xml", text)

    clock.pass_(seconds=61)

    assert b"by hand" in xml()


class _Listed(Sitemap):
    """A list of objects."""

    def items(self):
        return list(Product.objects.order_by("pk"))

    def location(self, item):
        return f"/{item.slug}/"


class _InLanguages(ContribSitemap):
    """A class of contrib that is paged by position and tells its dates."""

    i18n = True
    languages = ("en",)

    def items(self):
        return Product.objects.order_by("pk")

    def lastmod(self, item):
        return item.updated_at

    def location(self, item):
        return f"/{item.slug}/"


class _WithOwnUrls(ContribSitemap):
    """A class that makes its URLs itself."""

    def items(self):
        return ["unused"]

    def get_urls(self, page=1, site=None, protocol=None):
        return [
            {"item": product, "location": f"https://example.com/{product.slug}/"}
            for product in Product.objects.order_by("pk")
        ]


@pytest.mark.django_db
@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("kind", [_Listed, _InLanguages, _WithOwnUrls])
@pytest.mark.parametrize("change", [update, add_in_bulk, delete_one, change_by_sql])
def test_classes_that_are_paged_by_position_show_changes_as_soon(clock, kind, change, is_built):
    for slug in "abc":
        ProductFactory.create(slug=slug)
    replace_section(kind)
    if is_built:
        build()
    assert shown() == ["/a/", "/b/", "/c/"]

    change()
    clock.pass_(seconds=61)

    assert shown() == product_paths() != ["/a/", "/b/", "/c/"]


@pytest.mark.django_db
def test_a_class_in_languages_that_tells_its_dates_is_rendered_only_after_a_change(clock, rendered):
    replace_section(_InLanguages)
    ProductFactory.bulk(2)
    for _ in range(3):
        shown()
        clock.pass_(seconds=61)

    assert rendered == [1]


@pytest.mark.django_db
def test_an_article_leaves_the_news_when_its_time_is_over(clock):
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

        def location(self, item):
            return f"/{item.title}/"

    register("news", News)
    ArticleFactory.create(title="old", published_at=clock.now - timedelta(hours=47))
    ArticleFactory.create(title="new", published_at=clock.now - timedelta(hours=1))
    ArticleFactory.create(title="next", published_at=clock.now + timedelta(hours=1))
    assert shown(label="news") == ["/new/", "/old/"]

    clock.pass_(hours=2)

    assert shown(label="news") == ["/next/", "/new/"]


@pytest.mark.django_db
def test_a_page_that_is_split_on_the_way_is_kept_as_what_it_became(clock, rendered, monkeypatch):
    monkeypatch.setitem(PROFILES, "default", Profile(max_bytes=1_000))
    ProductFactory.bulk(10)
    first = shown()
    assert 0 < len(first) < 10
    del rendered[:]

    clock.pass_(seconds=61)
    assert shown() == first
    assert rendered == []

    numbers = [int(path.split("-")[2].removesuffix(".xml")) for path in shown(0)]
    assert sorted(row for number in numbers for row in shown(number)) == sorted(product_paths())


@pytest.mark.django_db
def test_the_indexes_follow_their_pages(clock):
    ProductFactory.bulk(10)
    assert shown(0, "") == shown(0) == ["/sitemap-products-1.xml"]

    ProductFactory.bulk(1)
    clock.pass_(seconds=61)

    assert shown(0, "") == shown(0) == ["/sitemap-products-1.xml", "/sitemap-products-2.xml"]


@pytest.mark.django_db
def test_a_number_that_was_retired_is_gone_after_the_next_check(clock):
    ProductFactory.bulk(10)
    shown(), shown(0)
    refresh(get_section("products", SITE), repack=True)

    clock.pass_(seconds=61)

    assert shown(0) == ["/sitemap-products-2.xml"]
    with pytest.raises(PageGone):
        serve(wanted())


@pytest.mark.django_db
def test_what_is_not_there_any_more_is_not_kept_for_those_who_come_while_one_looks(clock):
    product = ProductFactory.create()
    serve(wanted())
    product.delete()
    clock.pass_(seconds=61)

    with pytest.raises(PageNotFound):
        serve(wanted())

    assert get_cache().find(wanted().name, "products")[0] is None


@pytest.mark.django_db
def test_a_check_of_a_clock_that_was_fast_does_not_hold(clock):
    ProductFactory.bulk(1)
    clock.pass_(days=2)
    serve(wanted())

    clock.pass_(days=-2)
    ProductFactory.bulk(1)

    assert shown() == product_paths()


@contextmanager
def change_while(monkeypatch, name, when):
    """Update a row before or after `name` of the pipeline runs."""
    make = getattr(sitemaps_plus.serve.live, name)

    def changed_meanwhile(*args, **options):
        if when == "before":
            update()
        made = make(*args, **options)
        if when == "after":
            update()
        return made

    with monkeypatch.context() as patch:
        patch.setattr(sitemaps_plus.serve.live, name, changed_meanwhile)
        yield


@pytest.mark.django_db
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", [Products, _Listed, _InLanguages, _WithOwnUrls])
def test_a_row_that_changes_while_its_page_is_rendered_shows_at_the_next_check(clock, monkeypatch, kind, when):
    for slug in "abc":
        ProductFactory.create(slug=slug)
    replace_section(kind)
    with change_while(monkeypatch, "render_planned", when):
        shown()

    clock.pass_(seconds=61)

    assert shown() == ["/a/", "/b2/", "/c/"]


@pytest.mark.django_db
def test_a_row_that_changes_right_after_the_plan_was_checked_shows_at_the_next_check(clock, monkeypatch):
    for slug in "abc":
        ProductFactory.create(slug=slug)
    serve(wanted())
    clock.pass_(seconds=61)
    with change_while(monkeypatch, "refresh", "after"):
        assert shown() == ["/a/", "/b/", "/c/"]

    clock.pass_(seconds=61)

    assert shown() == ["/a/", "/b2/", "/c/"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_planned", [False, True])
def test_where_the_plan_cannot_be_stored_a_page_is_kept_and_checked_all_the_same(
    clock, rendered, is_planned, django_assert_num_queries
):
    for slug in "abc":
        ProductFactory.create(slug=slug)
    if is_planned:
        refresh(get_section("products", SITE))
    update()
    clock.pass_(seconds=61)

    with read_only():
        assert shown() == ["/a/", "/b2/", "/c/"]
        with django_assert_num_queries(0):
            serve(wanted())
    assert rendered == [1]

    Product.objects.filter(slug="c").update(slug="c2", updated_at=DAY)
    clock.pass_(seconds=61)
    with read_only():
        assert shown() == ["/a/", "/b2/", "/c2/"]


# "Look now": what was said to have changed is checked before its time, but not at each request.


@pytest.mark.django_db
def test_a_change_that_was_said_shows_within_look_every(clock):
    clock.now = clock.now.replace(microsecond=300_000)
    ProductFactory.bulk(1)
    before = shown()
    ProductFactory.bulk(1)
    get_cache().look_again(["products"])

    clock.pass_(seconds=0.9)
    assert shown() == before

    clock.pass_(seconds=0.2)
    assert shown() == product_paths()


@pytest.mark.django_db
def test_pages_of_a_section_that_changes_all_the_time_share_one_check_a_second(clock, monkeypatch):
    ProductFactory.bulk(30)
    for number in (1, 2, 3):
        serve(wanted(number))
    checks = []
    measure = sitemaps_plus.plan.planner.measure
    monkeypatch.setattr(sitemaps_plus.plan.planner, "measure", lambda *args: checks.append(1) or measure(*args))

    for _ in range(4):
        clock.pass_(seconds=1.05)
        get_cache().look_again(["products"])
        for number in (1, 2, 3):
            serve(wanted(number))
            clock.pass_(seconds=0.01)

    assert len(checks) == 4 * 3


# One renderer for all: no database here, what is looked for is made by hand.


class Maker:
    """Stands for `look`: makes a document, slowly, and counts."""

    def __init__(self, text=b"<urlset/>", errors=()):
        self.text = text
        self.errors = list(errors)
        self.calls = 0
        self.is_making = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, wanted, since=None):
        self.calls += 1
        self.is_making.set()
        assert self.may_end.wait(5)
        if self.errors and (error := self.errors.pop(0)):
            raise error
        document = pack([self.text], 1)
        return Look("", timezone.now(), lambda _is_doubted: Made(document, "", timezone.now()))


@pytest.fixture
def maker(monkeypatch):
    made = Maker()
    monkeypatch.setattr(cached, "look", made)
    return made


def outcome_of(task):
    try:
        return task()
    except BaseException as error:
        return error


def break_cache(monkeypatch):
    def fail(*_args, **_options):
        raise ConnectionError("the cache is down")

    for name in ("get", "get_many", "set", "set_many", "add", "delete"):
        monkeypatch.setattr(LocMemCache, name, fail)


def all_at_once(maker, count=8, task=lambda: serve(wanted())):
    """Return what comes of `count` requests that all began before the first document was made."""
    with ThreadPoolExecutor(count) as pool:
        tasks = [pool.submit(outcome_of, task) for _ in range(count)]
        assert maker.is_making.wait(5)
        wait_until(lambda: len(cached._flights) == 1)
        time.sleep(0.1)
        maker.may_end.set()
        return [task.result(10) for task in tasks]


def wait_until(is_true, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_all_who_ask_for_a_cold_page_get_the_bytes_of_one_rendering(maker):
    found = all_at_once(maker)

    assert {gzip.decompress(served.gzipped) for served in found} == {b"<urlset/>"}
    assert maker.calls == 1
    assert cached._flights == {}


def test_threads_of_one_process_share_a_rendering_while_the_cache_is_down(maker, settings, monkeypatch):
    # An alias of its own: other tests must not meet a cache that is left in peace for a while.
    settings.CACHES = {**settings.CACHES, "down": settings.CACHES["default"]}
    settings.SITEMAPS_PLUS = {**EXAMPLE, "CACHE": "down"}
    break_cache(monkeypatch)

    found = all_at_once(maker)

    assert len(set(found)) == maker.calls == 1
    assert found[0].size == len(b"<urlset/>")


def test_while_one_renders_the_others_get_the_last_version_at_once(maker, settings):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "CHECK_EVERY": 0}
    maker.may_end.set()
    serve(wanted())
    maker.may_end.clear()
    maker.is_making.clear()
    maker.text = b"<urlset>new</urlset>"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(serve, wanted())
        assert maker.is_making.wait(5)
        others = [xml() for _ in range(3)]
        maker.may_end.set()

        assert others == [b"<urlset/>"] * 3
        assert gzip.decompress(first.result(5).gzipped) == b"<urlset>new</urlset>"
    assert maker.calls == 2


def test_those_who_wait_get_the_error_of_the_one_who_renders_and_the_next_one_tries(maker):
    maker.errors = [ValueError("broken hook")]

    found = all_at_once(maker)

    assert {str(error) for error in found} == {"broken hook"}
    assert maker.calls == 1
    assert xml() == b"<urlset/>"


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_when_the_thread_of_the_renderer_is_ended_one_of_those_who_wait_goes_on(maker, ending):
    maker.errors = [ending()]

    found = all_at_once(maker)

    assert len([one for one in found if isinstance(one, ending)]) == 1
    assert len({one for one in found if not isinstance(one, ending)}) == 1
    assert maker.calls == 2
    assert cached._flights == {}


def test_who_has_waited_long_enough_renders(maker, monkeypatch):
    monkeypatch.setattr(cached, "WAIT", 0.05)
    hangs = threading.Event()
    make = maker.__call__

    def look(wanted, since=None):
        if maker.calls == 0:
            maker.calls += 1
            maker.is_making.set()
            assert hangs.wait(5)
        return make(wanted, since)

    monkeypatch.setattr(cached, "look", look)
    maker.may_end.set()
    with ThreadPoolExecutor(1) as pool:
        stuck = pool.submit(serve, wanted())
        assert maker.is_making.wait(5)
        assert xml() == b"<urlset/>"
        hangs.set()
        assert stuck.result(5).size == len(b"<urlset/>")


def test_a_document_that_is_asked_for_by_what_makes_it_is_an_error_and_no_standstill(monkeypatch):
    monkeypatch.setattr(cached, "look", lambda wanted, since=None: serve(wanted))

    with pytest.raises(SitemapError, match="requests it: it would wait for itself"):
        serve(wanted())

    assert cached._flights == {}


def test_documents_may_be_asked_for_by_what_makes_others(monkeypatch, maker):
    maker.may_end.set()

    def look(one, since=None):
        return maker(one) if one.number == 2 else maker(wanted(number=serve(wanted(2)).size))

    monkeypatch.setattr(cached, "look", look)

    assert xml(1) == b"<urlset/>"
    assert maker.calls == 2


def test_while_another_process_renders_the_last_version_is_served(maker, clock):
    maker.may_end.set()
    serve(wanted())
    clock.pass_(seconds=61)
    get_cache().claim(wanted().name)
    maker.text = b"<urlset>new</urlset>"

    assert xml() == b"<urlset/>"

    # It has died, or it would have kept something.
    clock.pass_(seconds=CLAIM + 1)
    assert xml() == b"<urlset>new</urlset>"


def test_without_a_version_the_next_one_renders_when_the_claim_of_a_dead_renderer_ends(maker, clock):
    maker.may_end.set()
    get_cache().claim(wanted().name)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(serve, wanted())
        time.sleep(0.15)
        assert maker.calls == 0
        clock.pass_(seconds=CLAIM + 1)

        assert waiting.result(5).size == len(b"<urlset/>")
    assert get_cache().claim(wanted().name)


def test_a_claim_of_a_dead_renderer_is_not_waited_for_longer_than_a_client_waits(maker, monkeypatch):
    monkeypatch.setattr(cached, "WAIT", 0.1)
    maker.may_end.set()
    get_cache().claim(wanted().name)

    assert xml() == b"<urlset/>"


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit()])
def test_a_renderer_that_fails_leaves_no_claim(maker, error):
    maker.may_end.set()
    maker.errors = [error]

    with pytest.raises(type(error)):
        serve(wanted())

    assert get_cache().claim(wanted().name)


_PROCESS = """
import json, sys, time
import django
from django.conf import settings

cache, log = json.loads(sys.argv[1]), sys.argv[2]
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "sitemaps_plus"], CACHES={"default": cache}, USE_TZ=True,
    SITEMAPS_PLUS={"ORIGIN": "https://example.com"},
)
django.setup()

from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from sitemaps_plus import ModelSitemap, registry
from sitemaps_plus.serve import cached
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.stores.packing import pack
from sitemaps_plus.serve.live import Look, Made, Wanted, look


def look(wanted, since=None):
    with open(log, "a") as file:
        file.write("rendered\\n")
    time.sleep(0.5)
    document = pack([b"<urlset/>"], 1)
    return Look("", timezone.now(), lambda _: Made(document, "", timezone.now()))


cached.look = look
registry.register("products", type("Types", (ModelSitemap,), {"queryset": ContentType.objects.all(), "location": "/"}))
site = SiteOrigin(id=1, origin=Origin.parse("https://example.com"))
print("ready", flush=True)
sys.stdin.readline()
print(cached.serve(Wanted(site=site, label="products", number=1)).digest)
"""


_NO_REDIS = pytest.mark.skipif(
    "CACHE_URL" not in os.environ or find_spec("redis") is None,
    reason="CACHE_URL names no Redis, or its client is missing",
)


@pytest.mark.parametrize(
    ("backend", "adds_in_one_step"),
    [("filebased.FileBasedCache", False), pytest.param("redis.RedisCache", True, marks=_NO_REDIS)],
)
def test_processes_that_share_a_cache_render_once(backend, adds_in_one_step, tmp_path):
    place = os.environ.get("CACHE_URL", "") if "redis" in backend else str(tmp_path / "cache")
    prefix = f"{tmp_path.name}{time.time_ns()}"
    cache = {"BACKEND": f"django.core.cache.backends.{backend}", "LOCATION": place, "KEY_PREFIX": prefix}
    log = tmp_path / "log"
    command = [sys.executable, "-c", _PROCESS, json.dumps(cache), str(log)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
        if not adds_in_one_step:
            # Two that add at the very same moment may both believe that they were first.
            wait_until(log.exists)
    digests = {process.communicate(timeout=20)[0] for process in processes}

    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(digests) == 1
    assert log.read_text().count("rendered") == 1


# The last good version: what was served goes on being served.


@contextmanager
def down(error):
    """Let every query fail, as where the server is gone."""

    def fail(*_args):
        raise error

    with connection.execute_wrapper(fail):
        yield


GONE = [OperationalError("server closed the connection"), InterfaceError("connection already closed")]


@pytest.mark.django_db
@pytest.mark.parametrize("error", GONE, ids=repr)
@pytest.mark.parametrize("asked", [wanted(), wanted(0), wanted(0, ""), wanted(as_text=True)], ids=lambda one: one.name)
def test_while_the_database_is_down_what_is_kept_is_served(clock, caplog, asked, error):
    ProductFactory.bulk(3)
    before = serve(asked)
    clock.pass_(hours=5)

    with down(error):
        assert serve(asked) == before
    assert "its last version is served" in caplog.text

    ProductFactory.bulk(8)
    clock.pass_(seconds=61)
    assert serve(asked) != before


@pytest.mark.django_db
@pytest.mark.parametrize("error", GONE, ids=repr)
@pytest.mark.parametrize("asked", [wanted(), wanted(0), wanted(0, "")], ids=lambda one: one.name)
def test_while_the_database_is_down_a_built_file_is_served_where_nothing_is_kept(asked, error):
    ProductFactory.bulk(3)
    build()
    live = serve(asked)
    get_cache().forget(asked.name)

    with down(error):
        found = serve(asked)

    assert (found.digest, found.size, gzip.decompress(found.gzipped)) == (
        live.digest,
        live.size,
        gzip.decompress(live.gzipped),
    )


@pytest.mark.django_db
@pytest.mark.parametrize("error", GONE, ids=repr)
@pytest.mark.parametrize("asked", [wanted(), wanted(0), wanted(as_text=True)], ids=lambda one: one.name)
def test_while_the_database_is_down_and_nothing_is_there_the_sitemap_is_unavailable(asked, error):
    with down(error), pytest.raises(Unavailable) as caught:
        serve(asked)

    assert caught.value.__cause__ is error


class _Failing(Products):
    error = None

    def location(self, item):
        return f"/{item.slug}/"

    def items(self):
        if _Failing.error:
            raise _Failing.error
        return super().items()


@pytest.mark.django_db
@pytest.mark.parametrize("error", [RuntimeError("in the project"), OperationalError("no such table")], ids=repr)
def test_an_error_of_the_project_leaves_the_last_version(clock, monkeypatch, caplog, error):
    replace_section(_Failing)
    ProductFactory.bulk(3)
    pages = [shown(0, ""), shown(0), shown()]
    clock.pass_(seconds=61)
    monkeypatch.setattr(_Failing, "error", error)

    assert [shown(0, ""), shown(0), shown()] == pages
    assert str(error) in caplog.text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "raised"),
    [(RuntimeError("in the project"), RuntimeError), (OperationalError("no such table"), Unavailable)],
    ids=repr,
)
def test_an_error_of_the_project_is_shown_where_nothing_is_kept(monkeypatch, error, raised):
    replace_section(_Failing)
    ProductFactory.bulk(3)
    monkeypatch.setattr(_Failing, "error", error)

    with pytest.raises(raised):
        serve(wanted())


@pytest.mark.django_db
def test_an_error_of_the_project_leaves_the_built_file_where_nothing_is_kept(monkeypatch):
    replace_section(_Failing)
    ProductFactory.bulk(3)
    build()
    monkeypatch.setattr(_Failing, "error", RuntimeError("in the project"))

    assert shown() == product_paths()


@pytest.mark.django_db
def test_under_strict_an_error_is_shown_though_a_version_is_kept(clock, monkeypatch, settings):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "STRICT": True}
    replace_section(_Failing)
    ProductFactory.bulk(3)
    serve(wanted())
    clock.pass_(seconds=61)

    with down(OperationalError("gone")), pytest.raises(OperationalError):
        serve(wanted())

    monkeypatch.setattr(_Failing, "error", RuntimeError("in the project"))
    with pytest.raises(RuntimeError):
        serve(wanted())


@pytest.mark.django_db
def test_under_strict_a_bad_row_is_an_error_though_a_version_is_kept(clock, settings):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "STRICT": True}
    ProductFactory.bulk(3)
    serve(wanted())
    slug = product_paths()[0].strip("/")
    Product.objects.filter(slug=slug).update(slug="x" * 190, updated_at=DAY - timedelta(days=9))

    class Long(Products):
        def location(self, item):
            return f"/{item.slug * 20}/"

    replace_section(Long)
    clock.pass_(seconds=61)

    with pytest.raises(StrictError):
        serve(wanted())


# Whose document it is: nothing of one site, host or prefix is ever another's.

OTHER = SiteOrigin(id=2, origin=Origin.parse("https://other.example"))
FORGED = SiteOrigin(id=0, origin=Origin.parse("https://evil.example"), is_configured=False)


@pytest.mark.django_db
def test_a_host_that_only_the_request_names_neither_reads_nor_writes_the_cache(monkeypatch):
    ProductFactory.bulk(1)
    for name in ("get", "get_many", "set", "set_many", "add", "delete"):
        monkeypatch.setattr(LocMemCache, name, lambda *_args, **_options: pytest.fail("the cache was used"))

    assert all(loc.startswith("https://evil.example/") for loc in locs(xml(site=FORGED)))
    assert locs(xml(0, site=FORGED)) == ["https://evil.example/sitemap-products-1.xml"]


@pytest.mark.django_db
def test_a_host_that_only_the_request_names_gets_nothing_into_what_is_known_of_a_page():
    ProductFactory.bulk(1)
    serve(wanted(site=replace(FORGED, is_configured=True, origin=SITE.origin)))
    before = SitemapPage.objects.values().get()

    serve(wanted(site=FORGED))

    assert SitemapPage.objects.values().get() == before


@pytest.mark.django_db
def test_sites_never_share_a_document():
    ProductFactory.bulk(1)

    class OfSite(Products):
        def location(self, item):
            return f"/{item.slug}-of-{self.site.id}/"

    replace_section(OfSite)
    twin = replace(SITE, id=3)
    for _ in range(2):
        found = [locs(xml(site=site))[0] for site in (SITE, OTHER, twin)]
        assert [text.partition("//")[2].partition("/")[0] for text in found] == [
            "example.com",
            "other.example",
            "example.com",
        ]
        assert [text.rpartition("-")[2] for text in found] == ["1/", "2/", "3/"]


@pytest.mark.django_db
def test_script_prefixes_never_share_a_document():
    class Own(Products):
        def location(self, item):
            return f"{get_script_prefix()}{item.slug}/"

    replace_section(Own)
    ProductFactory.create(slug="a")
    try:
        for _ in range(2):
            found = []
            for prefix in ("/", "/shop/", "/shop|products|1/"):
                set_script_prefix(prefix)
                found += paths(locs(xml()))
            assert found[:2] == ["/a/", "/shop/a/"]
            assert len(set(found)) == 3
    finally:
        clear_script_prefix()


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["host", "x-forwarded-host"])
def test_a_forged_host_changes_nothing_for_others(settings, header):
    settings.USE_X_FORWARDED_HOST = True
    ProductFactory.create(slug="a")
    for _ in range(2):
        forged = Client(headers={header: "evil.example"}).get("/sitemap-products-1.xml")
        honest = Client(headers={"host": "example.com"}).get("/sitemap-products-1.xml")

        assert locs(forged.getvalue()) == locs(honest.getvalue()) == ["https://example.com/a/"]


@pytest.mark.django_db
def test_without_an_origin_a_forged_host_is_for_its_own_request_alone(settings, monkeypatch):
    settings.SITEMAPS_PLUS = {}
    settings.USE_X_FORWARDED_HOST = True
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    ProductFactory.create(slug="a")

    for _ in range(2):
        forged = Client(headers={"x-forwarded-host": "evil.example"}).get("/sitemap-products-1.xml")
        honest = Client(headers={"host": "example.com"}).get("/sitemap-products-1.xml")

        assert locs(forged.getvalue()) == ["http://evil.example/a/"]
        assert locs(honest.getvalue()) == ["http://example.com/a/"]


@pytest.mark.django_db
def test_while_the_database_is_down_it_is_asked_for_a_document_only_now_and_then(clock):
    ProductFactory.bulk(3)
    before = serve(wanted())
    clock.pass_(hours=5)

    with down(OperationalError("no route to host")):
        serve(wanted())
    with CaptureQueriesContext(connection) as queries:
        assert [serve(wanted()) for _ in range(20)] == [before] * 20
    assert not queries.captured_queries

    clock.pass_(seconds=REST + 1)
    with CaptureQueriesContext(connection) as queries:
        assert serve(wanted()) == before
    assert queries.captured_queries


@pytest.mark.django_db
def test_a_section_that_takes_long_to_check_is_checked_less_often_while_it_is_saved(clock, monkeypatch):
    ProductFactory.bulk(3)
    serve(wanted())
    clock.pass_(seconds=2)
    looks = []

    def slow(*arguments):
        looks.append(clock.now)
        clock.pass_(seconds=0.5)
        return look(*arguments)

    monkeypatch.setattr("sitemaps_plus.serve.cached.look", slow)
    for _ in range(20):
        get_cache().look_again(["products", ""])
        clock.pass_(seconds=1)
        serve(wanted())

    # One half second of work in about five and a half.
    assert 3 <= len(looks) <= 5


@pytest.mark.django_db
def test_a_site_below_two_prefixes_never_serves_the_built_files_of_the_other():
    class Reversed(Products):
        location = UrlFor("sitemaps_plus:section", label=F("slug"), extension="xml")

    replace_section(Reversed)
    ProductFactory.bulk(3)
    build()
    set_script_prefix("/shop/")
    try:
        found = serve(wanted())
    finally:
        clear_script_prefix()

    assert found.digest != serve(wanted()).digest


@pytest.mark.django_db
def test_a_page_by_position_shows_after_a_build_what_nobody_else_could_see(clock):
    class InLanguages(ContribSitemap):
        i18n = True
        languages = ["en", "de"]

        def items(self):
            return Product.objects.order_by("pk")

        def location(self, item):
            return f"/{item.slug}/"

        def lastmod(self, item):
            return item.updated_at

    replace_section(InLanguages)
    ProductFactory.bulk(3)
    before = xml()
    Product.objects.filter(pk=Product.objects.first().pk).update(slug="nobody-sees-it")
    clock.pass_(seconds=61)
    assert xml() == before

    build_and_warm()
    clock.pass_(seconds=61)

    assert "/nobody-sees-it/" in shown()
