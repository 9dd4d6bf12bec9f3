"""The search for a URL in the rows of a section."""

from datetime import datetime, timedelta

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from django.utils import timezone

from factories import ArticleFactory
from samples import DAY, Products, make_products, unregister_all
from sitemaps_plus import (
    NewsSitemap,
    UrlFor,
    register,
    registry,
)
from sitemaps_plus.build import build
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import get_site
from sitemaps_plus.watch.entries import read_entries
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.section_search import Verdict
from testapp.models import Article, Product
from url_search import HOST, AbsoluteProducts, AllLanguages, UrlProducts, found, of, use_unprefixed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def view(request, **kwargs):
    return HttpResponse("ok")


def first_page(label):
    return refresh(get_section(label, get_site())).pages[0]


@pytest.mark.parametrize("number", [1, 10, 11, 20, 25])
def test_a_row_is_found_on_its_page(number):
    register("products", UrlProducts)
    make_products(25)

    match = found(f"{HOST}/en/products/product-{number}/")

    product = of(f"product-{number}")
    assert (match.label, match.verdict) == ("products", Verdict.LISTED)
    assert match.number == (number - 1) // 10 + 1
    assert (match.key, match.pk) == (product.pk, product.pk)
    assert match.changed_at == DAY + timedelta(minutes=number)
    assert match.built_at is None


def test_each_listed_url_is_found_on_its_page():
    register("products", AllLanguages)
    make_products(25)
    section = get_section("products", get_site())

    for page in refresh(section).pages:
        for item in read_entries(section, page).items:
            match = found(item.loc)
            assert (match.verdict, match.number, match.pk) == (Verdict.LISTED, page.number, item.pk)


def test_a_row_of_a_split_page_is_found_on_the_new_page():
    register("products", UrlProducts)
    make_products(20)
    section = get_section("products", get_site())
    pages = refresh(section).pages
    middle = Product.objects.order_by("pk")[5]
    refresh(section, split={pages[0].number: (middle.pk,)})

    numbers = [found(f"/en/products/product-{number}/").number for number in (1, 5, 6, 10, 11)]

    assert numbers == [1, 1, 3, 3, 2]


def test_many_pages_cost_few_queries():
    class Small(UrlProducts):
        limit = 1

    register("products", Small)
    make_products(150)
    refresh(get_section("products", get_site()))

    with CaptureQueriesContext(
        connection,
    ) as queries:
        match = found("/en/products/product-131/")

    assert match.number == 131
    assert len(queries) <= 10


@pytest.mark.parametrize("url", ["/en/products/product-3/", "/en/products/none/", "/en/products/hidden/"])
@pytest.mark.parametrize("is_built", [False, True])
def test_the_number_of_queries_is_bounded(url, is_built):
    for label in ("one", "two"):
        register(label, AllLanguages)
    for label in ("offers", "extra"):
        register(label, type(label, (UrlProducts,), {"location": UrlFor("offer", slug=F("slug"))}))
    make_products(25)
    make_products(1, first=30, slug="hidden", is_active=False)
    for label in registry:
        refresh(get_section(label, get_site()))
    if is_built:
        build()

    with CaptureQueriesContext(connection) as queries:
        find_url(url)

    assert len(queries) <= 2 * 10


def test_news_are_found_by_position(settings):
    class Latest(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        location = UrlFor("text", text=F("title"))
        limit = 2

    register("news", Latest)
    ArticleFactory.bulk(4, published_at=timezone.now() - timedelta(hours=1))
    old = ArticleFactory(published_at=timezone.now() - timedelta(days=5))
    oldest = Article.objects.order_by("pk").first()

    match = found(f"/en/text/{oldest.title}/")

    assert (match.verdict, match.number, match.pk) == (Verdict.LISTED, 2, oldest.pk)
    assert found(f"/en/text/{old.title}/").verdict == Verdict.FILTERED


def test_the_verdict_is_unknown_if_there_is_no_time_for_pages_by_position():
    class Latest(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        location = UrlFor("text", text=F("title"))

    register("news", Latest)
    article = ArticleFactory(published_at=timezone.now() - timedelta(hours=1))

    match = found(f"/en/text/{article.title}/", seconds=0)

    assert (match.verdict, match.pk) == (Verdict.UNKNOWN, article.pk)


def test_a_row_in_two_sections_is_found_in_both():
    register("products", UrlProducts)
    register("again", AllLanguages)
    make_products(1)

    finding = find_url("/en/products/product-1/")

    assert [match.label for match in finding.matches] == ["products", "again"]


def test_an_excluded_row_is_reported():
    register("products", UrlProducts)
    make_products(3)
    hidden = Product.objects.get(slug="product-2")
    Product.objects.filter(pk=hidden.pk).update(is_active=False)

    match = found("/en/products/product-2/")

    assert (match.verdict, match.pk, match.number) == (Verdict.FILTERED, hidden.pk, None)
    assert "queryset" in str(match.reason)


def test_an_excluded_row_with_get_absolute_url_is_reported(settings):
    use_unprefixed(settings)
    register("products", AbsoluteProducts)
    make_products(3)
    Product.objects.filter(slug="product-2").update(is_active=False)

    assert found("/products/product-2/").verdict == Verdict.FILTERED


def test_a_row_that_does_not_exist_is_reported():
    register("products", UrlProducts)
    make_products(3)

    finding = find_url("/en/products/product-9/")

    assert [match.verdict for match in finding.matches] == [Verdict.NO_ROW]
    assert finding.is_complete


def test_a_row_that_is_left_out_has_its_reason(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": HOST, "PROFILE": "baidu"}
    register("texts", type("Texts", (UrlProducts,), {"location": UrlFor("text", text=F("name"))}))
    make_products(1, name="ü" * 100)

    match = found(f"/en/text/{'ü' * 100}/")

    assert (match.verdict, match.number, match.pk) == (Verdict.LEFT_OUT, 1, of("product-1").pk)
    assert "E-URL-LENGTH" in str(match.reason)


def test_an_empty_slug_matches_no_row():
    register("products", UrlProducts)
    make_products(1, slug="")

    finding = find_url("/en/products//")

    assert finding.matches == []
    assert "does not fit" in str(finding.searched[0].text)


def test_a_left_out_row_with_get_absolute_url_is_reported(settings, monkeypatch):
    use_unprefixed(settings)
    register("products", AbsoluteProducts)
    make_products(3)
    path = Product.get_absolute_url
    monkeypatch.setattr(Product, "get_absolute_url", lambda item: path(item) if item.slug != "product-2" else 1 / 0)

    match = found("/products/product-2/")

    assert (match.verdict, match.pk) == (Verdict.LEFT_OUT, of("product-2").pk)


def test_a_row_whose_languages_raise_is_left_out():
    class Languages(AllLanguages):
        def get_languages_for_item(self, item):
            return ["en"] if item.slug == "product-1" else 1 / 0

    register("products", Languages)
    make_products(2)

    match = found("/en/products/product-2/")

    assert (match.verdict, match.number, match.pk) == (Verdict.LEFT_OUT, 1, of("product-2").pk)
    assert "division by zero" in str(match.reason)
    assert found("/en/products/product-1/").verdict == Verdict.LISTED
    other = found("/de/products/product-1/")
    assert other.verdict == Verdict.OTHER_URL
    assert f"{HOST}/en/products/product-1/" in str(other.reason)


def test_a_row_that_is_on_the_page_already_is_left_out():
    register("products", UrlProducts)
    make_products(2, slug="same")

    verdicts = [match.verdict for match in find_url("/en/products/same/").matches]

    # Each is looked at for itself.
    assert verdicts == [Verdict.LISTED, Verdict.LISTED]


def test_a_bad_date_leaves_no_row_out():
    register("products", UrlProducts)
    make_products(1, updated_at=datetime(1, 1, 2, tzinfo=timezone.get_default_timezone()))

    assert found("/en/products/product-1/").verdict == Verdict.LISTED


def test_a_plan_of_another_layout_is_made_again():
    register("products", UrlProducts)
    make_products(25)
    refresh(get_section("products", get_site()))
    unregister_all()
    register("products", type("Smaller", (UrlProducts,), {"limit": 5}))

    match = found("/en/products/product-25/")

    assert (match.verdict, match.number) == (Verdict.LISTED, 8)


# Query strings


@pytest.mark.parametrize("base", [UrlProducts, Products, AbsoluteProducts], ids=["UrlFor", "expression", "object"])
@pytest.mark.parametrize("is_built", [False, True])
def test_a_query_string_that_the_sitemap_does_not_have_is_ignored(base, is_built, settings):
    use_unprefixed(settings)
    register("products", base)
    make_products(3)
    if is_built:
        build()
    listed = read_entries(get_section("products", get_site()), first_page("products")).items[1].loc

    match = found(f"{listed}?utm_source=x&utm_medium=y")

    assert (match.verdict, match.pk, match.has_other_query) == (Verdict.LISTED, of("product-2").pk, True)
    assert str(match.reason).startswith(f"The query string was ignored, as the URL is {listed}. It is listed")
    assert "query string" not in str(found(listed).reason)


def test_a_query_string_that_the_sitemap_has_is_kept():
    class WithQuery(UrlProducts):
        location = Concat(Value("/list/"), F("name"), output_field=CharField())

    register("products", WithQuery)
    plain, second = make_products(2)
    Product.objects.filter(pk=plain.pk).update(name="")
    Product.objects.filter(pk=second.pk).update(name="?page=2")

    assert [match.pk for match in find_url("/list/?page=2").matches] == [second.pk]
    assert [match.pk for match in find_url("/list/").matches] == [plain.pk]
    match = found("/list/?page=3")
    assert (match.pk, match.has_other_query) == (plain.pk, True)


def test_a_query_string_costs_no_more_queries():
    for label in ("one", "two"):
        register(label, AllLanguages)
    register("texts", Products)
    make_products(25)
    for label in registry:
        refresh(get_section(label, get_site()))
    build()

    for url in ("/en/products/product-3/", "/product-3/", "/en/products/none/", "/none/"):
        with CaptureQueriesContext(connection) as plain:
            find_url(url)
        with CaptureQueriesContext(connection) as with_query:
            find_url(f"{url}?utm_source=x")

        assert len(with_query) == len(plain) <= 3 * 10


# Old slugs


class OfDjango(contrib.Sitemap):
    """Products of a class that is paged by position."""

    i18n = True
    languages = ("en",)

    def items(self):
        return Product.objects.order_by("pk")


class ByKeyAndSlug(UrlProducts):
    location = UrlFor("product", pk=F("pk"), slug=F("slug"))


@pytest.fixture
def _keys_and_slugs(project, settings):
    class Patterns:
        urlpatterns = (
            *i18n_patterns(path("products/<int:pk>-<slug:slug>/", view, name="product")),
            path("orders/<int:pk>-<slug:slug>/", view, name="order"),
            path("", include("sitemaps_plus.urls")),
        )

    settings.ROOT_URLCONF = Patterns


@pytest.mark.usefixtures("_keys_and_slugs")
@pytest.mark.parametrize("is_built", [False, True])
def test_a_right_key_with_an_old_slug_leads_to_the_present_url(is_built):
    register("products", ByKeyAndSlug)
    make_products(12)
    product = of("product-12")
    if is_built:
        build()

    match = found(f"/en/products/{product.pk}-old-slug/")

    assert (match.verdict, match.number, match.pk) == (Verdict.OTHER_URL, 2, product.pk)
    assert str(match.reason) == f"Row {product.pk} is listed as {HOST}/en/products/{product.pk}-product-12/."


@pytest.mark.usefixtures("_keys_and_slugs")
def test_an_old_slug_in_a_built_file_is_reported_with_the_present_url():
    register("products", ByKeyAndSlug)
    make_products(2)
    product = of("product-2")
    build()
    Product.objects.filter(pk=product.pk).update(slug="new")

    match = found(f"/en/products/{product.pk}-product-2/")

    assert (match.verdict, match.pk) == (Verdict.GONE, product.pk)
    assert f"is listed as {HOST}/en/products/{product.pk}-new/. The built file still lists it." in str(match.reason)


@pytest.mark.usefixtures("_keys_and_slugs")
def test_an_old_slug_leads_to_the_url_in_the_same_language():
    register("products", type("Both", (ByKeyAndSlug,), {"i18n": True}))
    (product,) = make_products(1)

    match = found(f"/de/products/{product.pk}-alt/?utm_source=x")

    assert str(match.reason) == f"Row {product.pk} is listed as {HOST}/de/products/{product.pk}-product-1/."


@pytest.mark.usefixtures("_keys_and_slugs")
def test_a_wrong_key_with_any_slug_is_no_row():
    register("products", ByKeyAndSlug)
    make_products(1)

    assert found("/en/products/999-product-1/").verdict == Verdict.NO_ROW


@pytest.mark.usefixtures("_keys_and_slugs")
@pytest.mark.parametrize("base", [AbsoluteProducts, OfDjango], ids=["by key", "by position"])
def test_an_old_slug_is_found_with_get_absolute_url(base, monkeypatch):
    monkeypatch.setattr(Product, "get_absolute_url", lambda item: f"/en/products/{item.pk}-{item.slug}/")
    register("products", base)
    (product,) = make_products(1)

    match = found(f"/en/products/{product.pk}-old/")

    assert (match.verdict, match.pk) == (Verdict.OTHER_URL, product.pk)
    # The same key under another view is another page.
    assert find_url(f"/orders/{product.pk}-old/").matches == []


@pytest.mark.usefixtures("_keys_and_slugs")
def test_a_row_that_is_left_out_says_so_for_an_old_slug():
    register("products", ByKeyAndSlug)
    (product,) = make_products(1, slug="")

    match = found(f"/en/products/{product.pk}-old/")

    assert (match.verdict, match.pk) == (Verdict.LEFT_OUT, product.pk)
    assert "slug is ''" in str(match.reason)


@pytest.mark.usefixtures("_keys_and_slugs")
def test_an_old_slug_costs_few_queries():
    register("products", ByKeyAndSlug)
    make_products(25)
    refresh(get_section("products", get_site()))
    build()

    for url in (f"/en/products/{of('product-12').pk}-old/", "/en/products/999-old/"):
        with CaptureQueriesContext(connection) as queries:
            find_url(url)

        assert len(queries) <= 10
