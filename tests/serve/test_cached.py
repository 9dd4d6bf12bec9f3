"""What is served was right a moment ago, is made once for all who ask, and is there while the database is not."""

import gzip
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db import connection
from django.utils import timezone

import sitemaps_plus.serve.live
from databases import read_only
from factories import DAY, ArticleFactory, ProductFactory
from own_templates import put_template
from samples import SITE, Products, paths, product_paths
from sitemaps_plus import NewsSitemap, Sitemap, register, registry
from sitemaps_plus.build import build
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.plan.measuring import Measuring
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, get_section
from sitemaps_plus.protocol.limits import PROFILES, Profile
from sitemaps_plus.serve.cached import serve
from sitemaps_plus.serve.live import Wanted
from sitemaps_plus.stores.cache import get_cache
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
def test_a_number_that_was_retired_is_gone_when_no_index_lists_it_any_more(clock):
    ProductFactory.bulk(10)
    shown(), shown(0)
    refresh(get_section("products", SITE), repack=True)

    clock.pass_(seconds=61)
    assert shown(0) == ["/sitemap-products-2.xml"]
    assert shown() == product_paths()

    clock.pass_(seconds=70)
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
    with change_while(monkeypatch, "refresh_page", "after"):
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
def test_pages_of_a_section_that_changes_all_the_time_are_checked_once_a_second_each(clock, monkeypatch):
    ProductFactory.bulk(30)
    for number in (1, 2, 3):
        serve(wanted(number))
    checks = []
    measure = Measuring.measure
    monkeypatch.setattr(Measuring, "measure", lambda *args: checks.append(1) or measure(*args))

    for _ in range(4):
        clock.pass_(seconds=1.05)
        get_cache().look_again(["products"])
        for number in (1, 2, 3):
            serve(wanted(number))
            clock.pass_(seconds=0.01)

    assert len(checks) == 4 * 3
