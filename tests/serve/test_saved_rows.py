"""A row that is saved or deleted makes its sections be looked at soon, and costs the one who saves it nothing."""

import gzip

import pytest
from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.core import serializers
from django.core.cache.backends.locmem import LocMemCache
from django.db import transaction

from factories import DAY, ArticleFactory, BundleFactory, ProductFactory, TagFactory
from samples import SITE, paths
from sitemaps_plus import ModelSitemap, Sitemap, register, registry
from sitemaps_plus.serve import saved_rows
from sitemaps_plus.serve.cached import LOOK_EVERY, serve
from sitemaps_plus.serve.live import Wanted
from sitemaps_plus.stores.cache import DocumentCache
from testapp.models import Article, Bundle, Product
from xml_checks import locs

EXAMPLE = {"ORIGIN": "https://example.com"}
CACHE_METHODS = ("get", "get_many", "set", "set_many", "add", "delete")


class Products(ModelSitemap):
    queryset = Product.objects.all()

    def lastmod(self, item):
        return item.updated_at


@pytest.fixture(autouse=True)
def _products_registered(monkeypatch, settings):
    monkeypatch.setattr(saved_rows, "_marked", {})
    register("products", Products)
    settings.SITEMAPS_PLUS = EXAMPLE


@pytest.fixture
def marked(monkeypatch):
    """The labels of each mark."""
    found = []
    monkeypatch.setattr(DocumentCache, "look_again", lambda _cache, labels: found.append(sorted(labels)))
    return found


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    """A block after which what it saved is committed."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


def shown(number=1):
    served = serve(Wanted(site=SITE, label="products", number=number))
    return paths(locs(gzip.decompress(served.gzipped)))


def save():
    ProductFactory.create(slug="new")


def save_again():
    product = Product.objects.get(slug="a")
    product.slug, product.updated_at = "b", DAY
    product.save()


def delete():
    Product.objects.get(slug="a").delete()


def delete_several():
    Product.objects.filter(slug="a").delete()


@pytest.mark.django_db
@pytest.mark.parametrize("change", [save, save_again, delete, delete_several])
def test_a_row_that_is_saved_or_deleted_shows_within_a_second_or_so(clock, committed, change):
    ProductFactory.create(slug="a")
    ProductFactory.create(slug="z")
    before = shown()
    indexed = shown(0)
    with committed():
        change()

    clock.pass_(seconds=LOOK_EVERY + 0.01)

    assert shown() == [f"/products/{product.slug}/" for product in Product.objects.order_by("pk")] != before
    assert shown(0) == indexed


@pytest.mark.django_db
def test_new_pages_show_in_the_indexes_as_soon(clock, committed):
    class Small(Products):
        limit = 2

    registry.unregister("products")
    register("products", Small)
    ProductFactory.bulk(2)
    index = Wanted(site=SITE)
    assert len(locs(gzip.decompress(serve(index).gzipped))) == len(shown(0)) == 1

    with committed():
        ProductFactory.create()
    clock.pass_(seconds=LOOK_EVERY + 0.01)

    assert len(locs(gzip.decompress(serve(index).gzipped))) == len(shown(0)) == 2


@pytest.mark.django_db(transaction=True)
def test_nothing_is_marked_before_the_transaction_is_committed(marked):
    with transaction.atomic():
        ProductFactory.create()
        with transaction.atomic():
            ProductFactory.create()
        assert marked == []

    assert marked == [["", "products"]]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_marked_after_a_rollback(marked):
    with transaction.atomic():
        ProductFactory.create()
        transaction.set_rollback(True)
    with transaction.atomic():
        with transaction.atomic():
            ProductFactory.create()
            transaction.set_rollback(True)
        TagFactory.create()

    assert marked == []


@pytest.mark.django_db(transaction=True)
def test_a_project_that_commits_by_hand_saves_as_before(marked):
    transaction.set_autocommit(False)
    try:
        ProductFactory.create(slug="by-hand")
        transaction.commit()
    finally:
        transaction.set_autocommit(True)

    assert Product.objects.get().slug == "by-hand"


@pytest.mark.django_db
def test_a_save_costs_no_query_more(marked, committed, django_assert_num_queries):
    product = ProductFactory.create()

    with django_assert_num_queries(1), committed():
        product.save()

    assert len(marked) == 1


@pytest.mark.django_db
def test_a_cache_in_the_database_is_not_asked_at_a_save(settings, committed, django_assert_num_queries):
    table = {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "no_such_table"}
    settings.CACHES = {**settings.CACHES, "table": table}
    settings.SITEMAPS_PLUS = {**EXAMPLE, "CACHE": "table"}
    product = ProductFactory.create()

    with django_assert_num_queries(1), committed():
        product.save()


@pytest.mark.django_db
def test_many_saves_are_marked_once_a_second(clock, marked, committed):
    clock.now = clock.now.replace(microsecond=0)
    for _ in range(20):
        with committed():
            ProductFactory.create()
        clock.pass_(milliseconds=100)

    assert marked == [["", "products"]] * 2


@pytest.mark.django_db
def test_what_is_saved_later_in_the_same_second_shows_too(clock, committed):
    clock.now = clock.now.replace(microsecond=0)
    shown_rows = []
    for _ in range(40):
        with committed():
            ProductFactory.create()
        clock.pass_(milliseconds=130)
        shown_rows.append(len(shown()))

    # Behind by what is saved in two seconds at most: the one that is over, and the one between two checks.
    assert all(rows >= saved - 2 * 8 for saved, rows in enumerate(shown_rows, start=1))

    clock.pass_(seconds=LOOK_EVERY + 0.01)
    assert len(shown()) == 40


@pytest.mark.django_db
def test_each_section_of_a_model_is_told_and_each_within_the_same_second(clock, marked, committed):
    class Articles(ModelSitemap):
        queryset = Article.objects.all()

    register("articles", Articles)
    register("more", Products)
    with committed():
        ProductFactory.create()
    with committed():
        ArticleFactory.create()
        ProductFactory.create()

    assert marked == [["", "more", "products"], ["", "articles"]]


@pytest.mark.django_db
def test_raw_fixtures_say_nothing(marked, committed):
    text = serializers.serialize("json", [ProductFactory.create()])
    del marked[:]

    with committed() as callbacks:
        for row in serializers.deserialize("json", text):
            row.save()

    assert callbacks == []
    assert marked == []


@pytest.mark.django_db
def test_a_model_that_is_in_no_section_says_nothing(committed, monkeypatch):
    for name in CACHE_METHODS:
        monkeypatch.setattr(LocMemCache, name, lambda *_args, **_options: pytest.fail("the cache was used"))

    with committed() as callbacks:
        TagFactory.create().delete()

    assert callbacks == []


class ProductProxy(Product):
    class Meta:
        proxy = True
        app_label = "testapp"


def sitemap_of(model):
    class OfModel(ModelSitemap):
        queryset = model._default_manager.all()

    return OfModel


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("listed", "saved"),
    [
        (Product, ProductProxy),
        (ProductProxy, Product),
        (ProductProxy, ProductProxy),
        (Product, Bundle),
        (ProductProxy, Bundle),
        (Bundle, Product),
        (Bundle, ProductProxy),
    ],
)
def test_a_proxy_a_child_and_a_parent_of_the_model_count(marked, committed, listed, saved):
    registry.unregister("products")
    register("products", sitemap_of(listed))
    row = BundleFactory.create()

    with committed():
        saved.objects.get(pk=row.pk).save()

    assert marked == [["", "products"]]


@pytest.mark.django_db
def test_instances_with_a_queryset_are_marked(marked, committed):
    register("contrib", ContribGenericSitemap({"queryset": Article.objects.all()}))

    with committed():
        ArticleFactory.create()

    assert marked == [["", "contrib"]]


@pytest.mark.django_db
def test_a_section_is_never_asked_for_its_rows_by_a_save(marked, committed):
    class Asking(Sitemap):
        @property
        def queryset(self):
            raise RuntimeError("asked")

        def items(self):
            raise RuntimeError("asked")

    register("asking", Asking())

    with committed():
        ProductFactory.create()

    assert marked == [["", "products"]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("alias", ["down", "unknown"])
def test_a_broken_cache_breaks_no_save(settings, monkeypatch, alias):
    def fail(*_args, **_options):
        raise ConnectionError("the cache is down")

    settings.CACHES = {**settings.CACHES, "down": settings.CACHES["default"]}
    settings.SITEMAPS_PLUS = {**EXAMPLE, "CACHE": alias}
    for name in CACHE_METHODS:
        monkeypatch.setattr(LocMemCache, name, fail)

    product = ProductFactory.create(slug="saved")
    with transaction.atomic():
        ProductFactory.create(slug="saved-too")
    product.delete()

    assert [row.slug for row in Product.objects.all()] == ["saved-too"]


@pytest.mark.django_db(transaction=True)
def test_whatever_fails_in_saying_so_breaks_no_save(monkeypatch, caplog):
    def fail(*_args):
        raise RuntimeError("cannot be marked")

    monkeypatch.setattr(DocumentCache, "look_again", fail)

    ProductFactory.create(slug="saved")
    with transaction.atomic():
        Product.objects.get().save()

    assert "cannot be marked" in caplog.text


@pytest.mark.django_db
def test_what_is_said_while_a_page_is_being_checked_is_not_lost(clock, committed):
    clock.now = clock.now.replace(microsecond=100_000)
    ProductFactory.create(slug="a")
    shown()
    clock.pass_(seconds=1.1)
    with committed():
        ProductFactory.create(slug="b")
    assert shown() == ["/products/a/", "/products/b/"]

    # In the second in which it was marked already, and checked.
    clock.pass_(milliseconds=100)
    with committed():
        ProductFactory.create(slug="c")
    clock.pass_(seconds=LOOK_EVERY)

    assert shown() == ["/products/a/", "/products/b/", "/products/c/"]
