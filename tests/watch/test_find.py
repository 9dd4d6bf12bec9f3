"""An address leads to its section, page and row, or to the reason why it is listed nowhere."""

import gzip
import logging
from datetime import datetime, timedelta

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connection, transaction
from django.db.models import CharField, F, Q, Value
from django.db.models.functions import Concat, Lower
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, path, set_script_prefix
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from factories import ArticleFactory, ProductFactory
from samples import DAY, SITE, Products, make_products, put_template, unregister_all
from sitemaps_plus import (
    Alternate,
    ModelSitemap,
    NewsSitemap,
    PerLanguage,
    Related,
    Siblings,
    Sitemap,
    UrlFor,
    register,
    registry,
)
from sitemaps_plus.build import build
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import get_site
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from sitemaps_plus.watch.entries import read_entries
from sitemaps_plus.watch.find import Verdict, find_url
from testapp import urls_head
from testapp.models import Article, Leaflet, Product, Translation

pytestmark = pytest.mark.django_db

LANGUAGES = [("en", "English"), ("de", "German")]
HOST = "https://example.com"


@pytest.fixture(autouse=True)
def _project(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": HOST}
    settings.ROOT_URLCONF = "testapp.urls_head"
    settings.LANGUAGES = LANGUAGES


class UrlProducts(ModelSitemap):
    queryset = Product.objects.filter(is_active=True)
    location = UrlFor("product", slug=F("slug"))
    lastmod = F("updated_at")
    limit = 10
    fill = 1.0


class AllLanguages(UrlProducts):
    i18n = True
    alternates = True


class AbsoluteProducts(ModelSitemap):
    """By get_absolute_url() of the model."""

    queryset = Product.objects.filter(is_active=True)
    limit = 10
    fill = 1.0


class MethodProducts(AbsoluteProducts):
    def location(self, item):
        return f"/shop/{item.slug}/?a=1&b='2'"


def found(url, **options):
    """Return the only match."""
    (match,) = find_url(url, **options).matches
    return match


def of(slug):
    return Product.objects.get(slug=slug)


def put(data, number=1, label="products"):
    name = f"example.com/sitemap-{label}-{number}.xml.gz"
    storages["sitemaps"].delete(name)
    storages["sitemaps"].save(name, ContentFile(data))


def use_unprefixed(settings):
    """Make the paths of the models' get_absolute_url() those of a view."""
    settings.ROOT_URLCONF = urls_head.Unprefixed


# Rows that are listed


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


def test_each_address_that_pages_list_is_found_there():
    register("products", AllLanguages)
    make_products(25)
    section = get_section("products", get_site())

    for page in refresh(section).pages:
        for item in read_entries(section, page).items:
            match = found(item.loc)
            assert (match.verdict, match.number, match.pk) == (Verdict.LISTED, page.number, item.pk)


def test_a_page_that_was_split_gives_the_row_to_the_new_number():
    register("products", UrlProducts)
    make_products(20)
    section = get_section("products", get_site())
    pages = refresh(section).pages
    middle = Product.objects.order_by("pk")[5]
    refresh(section, split=(pages[0].number, (middle.pk,)))

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


def test_a_pattern_that_does_not_fit_costs_no_query(django_assert_num_queries):
    register("products", UrlProducts)
    make_products(3)

    with django_assert_num_queries(0):
        finding = find_url("/en/offers/product-1/", sites=[SITE])

    assert finding.matches == []
    assert "does not fit" in str(finding.searched[0].text)
    assert finding.is_complete


def test_an_address_in_another_language_is_found():
    register("products", AllLanguages)
    make_products(2)

    match = found("/de/products/product-2/")

    assert (match.verdict, match.pk) == (Verdict.LISTED, of("product-2").pk)


def test_translated_routes_are_found_in_each_language():
    register("products", type("Offers", (AllLanguages,), {"location": UrlFor("offer", slug=F("slug"))}))
    make_products(2)

    assert found("/de/angebote/product-2/").verdict == Verdict.LISTED
    assert found("/en/offers/product-2/").verdict == Verdict.LISTED
    assert find_url("/de/offers/product-2/").matches == []


def test_a_language_that_the_section_does_not_have_is_not_found():
    register("products", UrlProducts)
    make_products(2)

    assert find_url("/de/products/product-2/").matches == []


def test_columns_per_language_are_asked():
    class Leaflets(ModelSitemap):
        queryset = Leaflet.objects.all()
        location = UrlFor("text", text=PerLanguage("slug_{}"))
        i18n = True

    register("leaflets", Leaflets)
    leaflet = Leaflet.objects.create(slug="x", slug_en="house", slug_de="haus")

    assert found("/de/text/haus/").pk == leaflet.pk
    assert found("/en/text/house/").verdict == Verdict.LISTED
    assert found("/de/text/house/").verdict == Verdict.NO_ROW


def test_tables_of_translations_are_asked():
    class Translated(ModelSitemap):
        queryset = Product.objects.all()
        location = UrlFor("text", text=Related("translations", F("slug"), language=F("language_code")))
        i18n = True

    register("products", Translated)
    (product, _) = make_products(2)
    product = of("product-1")
    for code, slug in (("en", "house"), ("de", "haus")):
        Translation.objects.create(product=product, language_code=code, slug=slug)

    assert found("/de/text/haus/").pk == product.pk
    wrong = found("/en/text/haus/")
    assert wrong.verdict == Verdict.LEFT_OUT
    assert "/en/text/house/" in str(wrong.reason)


def test_rows_of_one_language_each_are_found():
    class Leaflets(ModelSitemap):
        queryset = Leaflet.objects.all()
        location = UrlFor("text", text=F("slug"))
        hreflang = Siblings("translation_key", language=F("locale"))

    register("leaflets", Leaflets)
    Leaflet.objects.create(slug="house", locale="en", translation_key="h")
    german = Leaflet.objects.create(slug="haus", locale="de", translation_key="h")

    assert found("/de/text/haus/").pk == german.pk


def test_constants_of_a_pattern_count():
    class Mixed(ModelSitemap):
        queryset = Product.objects.all()
        location = UrlFor("text", text="only-this")

    register("products", Mixed)
    make_products(1)

    assert found("/en/text/only-this/").verdict == Verdict.LISTED
    assert find_url("/en/text/other/").matches == []


def test_a_computed_location_is_asked_of_the_database():
    register("products", Products)
    make_products(15)

    match = found(f"{HOST}/product-12/")

    assert (match.verdict, match.number) == (Verdict.LISTED, 2)
    assert find_url("/product-99/").matches == []


def test_get_absolute_url_is_resolved(settings):
    use_unprefixed(settings)
    register("products", AbsoluteProducts)
    make_products(15)

    match = found(f"{HOST}/products/product-12/")

    assert (match.verdict, match.number, match.pk) == (Verdict.LISTED, 2, of("product-12").pk)


def test_an_address_of_another_view_is_not_of_a_section_with_such_a_field(settings):
    use_unprefixed(settings)
    register("products", AbsoluteProducts)
    make_products(3)

    assert find_url("/offers/nothing/").matches == []
    assert find_url("/offers/product-1/").matches == []
    assert found("/products/nothing/").verdict == Verdict.NO_ROW


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


def test_no_time_for_pages_by_position_is_told():
    class Latest(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        location = UrlFor("text", text=F("title"))

    register("news", Latest)
    article = ArticleFactory(published_at=timezone.now() - timedelta(hours=1))

    match = found(f"/en/text/{article.title}/", seconds=0)

    assert (match.verdict, match.pk) == (Verdict.UNKNOWN, article.pk)


@pytest.mark.parametrize(
    "url",
    [
        "/en/text/b%C3%BCcher%20%26%20mehr/",
        "/en/text/b%c3%bccher%20%26%20mehr/",
        "/en/text/bücher & mehr/",
        f"{HOST}/en/text/bücher%20&%20mehr/",
        f"  {HOST}/en/text/b%C3%BCcher & mehr/#part\n",
        "HTTPS://EXAMPLE.com:443/en/text/b%C3%BCcher%20&%20mehr/",
    ],
)
def test_an_address_may_be_written_in_any_way(url):
    class Texts(ModelSitemap):
        queryset = Product.objects.all()
        location = UrlFor("text", text=F("name"))

    register("products", Texts)
    make_products(1, name="bücher & mehr")

    assert found(url).verdict == Verdict.LISTED


def test_a_site_below_a_prefix_is_searched():
    register("products", UrlProducts)
    make_products(1)
    set_script_prefix("/shop/")
    try:
        assert found(f"{HOST}/shop/en/products/product-1/").verdict == Verdict.LISTED
        assert find_url(f"{HOST}/en/products/product-1/").matches == []
    finally:
        clear_script_prefix()


def test_the_language_of_the_visitor_is_no_matter():
    register("products", UrlProducts)
    make_products(1)

    with translation.override("de"):
        assert found("/en/products/product-1/").verdict == Verdict.LISTED


def test_a_row_in_two_sections_is_found_in_both():
    register("products", UrlProducts)
    register("again", AllLanguages)
    make_products(1)

    finding = find_url("/en/products/product-1/")

    assert [match.label for match in finding.matches] == ["products", "again"]


# Rows that are not listed


def test_a_filtered_row_is_told():
    register("products", UrlProducts)
    make_products(3)
    hidden = Product.objects.get(slug="product-2")
    Product.objects.filter(pk=hidden.pk).update(is_active=False)

    match = found("/en/products/product-2/")

    assert (match.verdict, match.pk, match.number) == (Verdict.FILTERED, hidden.pk, None)
    assert "queryset" in str(match.reason)


def test_a_filtered_row_of_get_absolute_url_is_told(settings):
    use_unprefixed(settings)
    register("products", AbsoluteProducts)
    make_products(3)
    Product.objects.filter(slug="product-2").update(is_active=False)

    assert found("/products/product-2/").verdict == Verdict.FILTERED


def test_a_row_that_does_not_exist_is_told():
    register("products", UrlProducts)
    make_products(3)

    finding = find_url("/en/products/product-9/")

    assert [match.verdict for match in finding.matches] == [Verdict.NO_ROW]
    assert finding.is_complete


def test_a_row_that_is_left_out_says_why(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": HOST, "PROFILE": "baidu"}
    register("texts", type("Texts", (UrlProducts,), {"location": UrlFor("text", text=F("name"))}))
    make_products(1, name="ü" * 100)

    match = found(f"/en/text/{'ü' * 100}/")

    assert (match.verdict, match.number, match.pk) == (Verdict.LEFT_OUT, 1, of("product-1").pk)
    assert "E-URL-LENGTH" in str(match.reason)


def test_an_empty_slug_leads_nowhere():
    register("products", UrlProducts)
    make_products(1, slug="")

    finding = find_url("/en/products//")

    assert finding.matches == []
    assert "does not fit" in str(finding.searched[0].text)


def test_a_left_out_row_of_get_absolute_url_is_told(settings, monkeypatch):
    use_unprefixed(settings)
    register("products", AbsoluteProducts)
    make_products(3)
    path = Product.get_absolute_url
    monkeypatch.setattr(Product, "get_absolute_url", lambda item: path(item) if item.slug != "product-2" else 1 / 0)

    match = found("/products/product-2/")

    assert (match.verdict, match.pk) == (Verdict.LEFT_OUT, of("product-2").pk)


def test_a_row_whose_languages_cannot_be_told_is_left_out():
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
    assert other.verdict == Verdict.LEFT_OUT
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


# What is built


def test_a_built_row_is_current():
    register("products", UrlProducts)
    make_products(15)
    build()

    match = found("/en/products/product-12/")

    assert (match.verdict, match.number, match.is_current) == (Verdict.LISTED, 2, True)
    assert match.built_at is not None
    assert "has its current entry" in str(match.reason)


def test_a_row_changed_after_the_build_is_told():
    register("products", UrlProducts)
    make_products(3)
    build()
    changed = DAY + timedelta(hours=3)
    Product.objects.filter(slug="product-2").update(updated_at=changed)

    match = found("/en/products/product-2/")

    assert (match.verdict, match.is_current, match.changed_at) == (Verdict.LISTED, False, changed)
    assert "build_sitemaps products" in str(match.reason)
    assert found("/en/products/product-1/").is_current is True


def test_a_row_added_after_the_build_is_not_built_yet():
    register("products", UrlProducts)
    make_products(3)
    build()
    make_products(1, first=4)

    match = found("/en/products/product-4/")

    assert (match.verdict, match.number, match.is_current) == (Verdict.NOT_BUILT, 1, False)


def test_a_section_added_after_the_build_is_not_built_yet():
    register("other", Products)
    make_products(3)
    build()
    register("products", UrlProducts)

    assert found("/en/products/product-1/").verdict == Verdict.NOT_BUILT


def test_a_row_removed_after_the_build_is_in_the_file_only():
    register("products", UrlProducts)
    make_products(15)
    build()
    of("product-12").delete()

    match = found("/en/products/product-12/")

    assert (match.verdict, match.number, match.pk) == (Verdict.GONE, 2, None)
    assert match.built_at is not None
    assert "No row" in str(match.reason)


def test_a_row_filtered_after_the_build_is_in_the_file_only():
    register("products", UrlProducts)
    make_products(3)
    build()
    Product.objects.filter(slug="product-2").update(is_active=False)

    match = found("/en/products/product-2/")

    assert (match.verdict, match.pk) == (Verdict.GONE, of("product-2").pk)
    assert "queryset" in str(match.reason)


@pytest.mark.parametrize("sitemap", [MethodProducts, ContribSitemap])
def test_locations_that_are_methods_are_found_in_the_files(sitemap):
    if sitemap is ContribSitemap:

        class sitemap(ContribSitemap):  # noqa: N801
            limit = 10

            def items(self):
                return [product.slug for product in Product.objects.order_by("pk")]

            def location(self, item):
                return f"/shop/{item}/?a=1&b='2'"

    register("products", sitemap)
    make_products(15)
    build()

    finding = find_url("/shop/product-12/?a=1&b='2'")
    (match,) = finding.matches

    assert (match.verdict, match.number, match.key) == (Verdict.LISTED, 2, None)
    assert match.built_at is not None
    assert finding.is_complete
    assert find_url("/shop/product-12/?a=1").matches == []
    assert find_url("/shop/product-1").matches == []


def test_nothing_is_known_of_methods_without_a_build():
    register("products", MethodProducts)
    make_products(1)

    finding = find_url("/shop/product-1/")

    assert finding.matches == []
    assert "Nothing is built" in str(finding.searched[0].text)
    assert not finding.is_complete


def test_a_link_to_another_language_is_found():
    class Linked(Sitemap):
        def items(self):
            return ["one"]

        def location(self, item):
            return f"/{item}/"

        def hreflang(self, item):
            return [
                Alternate(hreflang=code, href=f"{HOST}{path}/{item}/") for code, path in (("de", "/de"), ("en", ""))
            ]

    register("products", Linked)
    build()

    assert found("/de/one/").verdict == Verdict.LINKED
    assert found("/one/").verdict == Verdict.LISTED


def test_the_search_in_files_stops_in_time():
    register("products", MethodProducts)
    make_products(25)
    build()

    finding = find_url("/shop/product-1/?a=1&b='2'", seconds=0)

    assert finding.matches == []
    assert str(finding.searched[0].text) == "The search ran out of time after 0 of 3 built pages."
    assert not finding.is_complete


CORRUPT = {
    "empty": b"",
    "no gzip": b"no gzip",
    "a part": gzip.compress(b"<urlset>" * 1000)[:40],
    "more behind it": gzip.compress(b"x") + b"y",
}


@pytest.mark.parametrize("data", CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_file_is_told(data):
    register("products", UrlProducts)
    register("methods", MethodProducts)
    make_products(3)
    build()
    put(data)
    put(data, label="methods")

    assert found("/en/products/product-1/").verdict == Verdict.NOT_BUILT
    assert "cannot be read" in str(found("/en/products/product-1/").reason)
    finding = find_url("/shop/product-1/")
    assert finding.matches == []
    assert not finding.is_complete
    assert "cannot be read" in str(finding.searched[1].text)


def test_a_missing_file_is_told():
    register("products", UrlProducts)
    make_products(3)
    build()
    storages["sitemaps"].delete("example.com/sitemap-products-1.xml.gz")

    assert found("/en/products/product-1/").verdict == Verdict.NOT_BUILT


def test_a_broken_manifest_is_as_no_build():
    register("products", UrlProducts)
    make_products(3)
    build()
    storages["sitemaps"].delete(f"example.com/{MANIFEST}")
    storages["sitemaps"].save(f"example.com/{MANIFEST}", ContentFile(b"{"))

    assert found("/en/products/product-1/").verdict == Verdict.LISTED
    assert found("/en/products/product-1/").is_current is None


def test_a_storage_that_fails_hurts_no_other_section(monkeypatch, caplog):
    register("methods", MethodProducts)
    register("products", UrlProducts)
    make_products(3)
    monkeypatch.setattr("sitemaps_plus.stores.files.FileStore.read", lambda *_: 1 / 0)

    finding = find_url("/en/products/product-1/")

    assert [searched.is_complete for searched in finding.searched] == [False, False]
    assert "ZeroDivisionError" in str(finding.searched[0].text)


def test_entries_of_a_template_are_not_compared(settings, tmp_path):
    put_template(
        settings,
        tmp_path / "templates",
        "sitemap.xml",
        '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        "{% for url in urlset %}<url> <loc>{{ url.location }}</loc> </url>{% endfor %}</urlset>",
    )
    register("products", UrlProducts)
    make_products(1)
    build()

    match = found("/en/products/product-1/")

    assert (match.verdict, match.is_current) == (Verdict.LISTED, None)


# Sites and what is no address


@pytest.mark.parametrize("url", ["https://other.example/en/products/product-1/", "https://example.com:8443/"])
def test_an_address_of_another_host_is_refused(url):
    register("products", UrlProducts)

    finding = find_url(url)

    assert (finding.site, list(finding.matches), list(finding.searched)) == (None, [], [])
    assert HOST in str(finding.reason)
    assert not finding.is_complete


def test_an_address_with_another_scheme_says_so():
    register("products", UrlProducts)
    make_products(1)

    finding = find_url("http://example.com/en/products/product-1/")

    assert finding.site is None
    assert "E-URL-SCHEME" in str(finding.reason)


def test_each_site_is_searched_for_its_own(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: HOST, 2: "https://second.example"}}
    register("products", UrlProducts)
    make_products(1)

    finding = find_url("https://second.example/en/products/product-1/")

    assert finding.site.id == 2
    assert [match.site.id for match in finding.matches] == [2]


def test_a_path_is_looked_for_on_every_site(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: HOST, 2: "https://second.example"}}
    register("products", UrlProducts)
    make_products(1)

    finding = find_url("/en/products/product-1/")

    assert finding.site is None
    assert [match.site.id for match in finding.matches] == [1, 2]
    assert finding.is_complete


def test_an_address_on_another_host_may_be_in_a_section_for_several():
    class Cross(ModelSitemap):
        queryset = Product.objects.all()
        location = Concat(Value("https://other.example/"), F("slug"), output_field=CharField())
        cross_submission = "verified"

    register("products", Cross)
    register("own", UrlProducts)
    make_products(1)

    assert found("https://other.example/product-1").verdict == Verdict.LISTED


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "no address",
        "example.com/en/products/product-1/",
        "mailto:a@example.com",
        "javascript:alert(1)",
        "https://",
        "https://user:secret@example.com/",
        "//example.com/",
        "/" + "a" * 3000,
        "a" * 3000,
        "/\ud800",
        "https://[::1/",
        "\x00",
        "https://exa mple.com/",
    ],
)
def test_what_is_no_address_is_told(url):
    register("products", UrlProducts)
    register("absolute", AbsoluteProducts)
    make_products(1)

    finding = find_url(url)

    assert finding.matches == []
    assert str(finding.reason)
    assert "secret" not in str(finding.reason)


@pytest.mark.parametrize(
    "path",
    ["/\x00", "/en/text/%00/", "/en/text/\x00/", "/\r\n\t", "/%", "/%zz/", "/en/text/%FF/", "/en/products/' OR 1/"],
)
def test_strange_paths_find_nothing(path):
    register("products", UrlProducts)
    register("texts", type("Texts", (UrlProducts,), {"location": UrlFor("text", text=F("slug"))}))
    register("computed", Products)
    register("methods", MethodProducts)
    make_products(2)
    build()

    finding = find_url(path)

    assert {match.verdict for match in finding.matches} <= {Verdict.NO_ROW}


@pytest.mark.parametrize("text", ["abc", "99999999999999999999999999", "-1", "1.5"])
def test_a_value_that_the_column_cannot_hold_is_no_row(text):
    register("products", type("Ids", (UrlProducts,), {"location": UrlFor("text", text=F("pk"))}))
    make_products(2)

    assert found(f"/en/text/{text}/").verdict == Verdict.NO_ROW


@given(st.text(max_size=80) | st.text(max_size=80).map(lambda text: f"/en/text/{text}/"))
def test_no_text_breaks_the_search(url):
    unregister_all()
    register("texts", type("Texts", (UrlProducts,), {"location": UrlFor("text", text=F("slug"))}))
    register("computed", Products)

    finding = find_url(url)

    assert all("cannot be searched" not in str(searched.text) for searched in finding.searched)


def test_without_sections_nothing_is_searched():
    finding = find_url("/en/products/product-1/")

    assert "No section" in str(finding.reason)


def test_without_a_site_nothing_is_searched(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "nonsense"}
    register("products", UrlProducts)

    finding = find_url("/en/products/product-1/")

    assert "ORIGIN" in str(finding.reason)


def test_a_section_that_fails_hurts_no_other(caplog):
    class Broken(UrlProducts):
        def get_queryset(self):
            raise InvalidEntry("E-TEST", "broken")

    register("broken", Broken)
    register("products", UrlProducts)
    make_products(1)

    with caplog.at_level(logging.ERROR):
        finding = find_url("/en/products/product-1/")

    assert [match.label for match in finding.matches] == ["products"]
    assert not finding.is_complete
    assert "broken" in str(finding.searched[0].text)


def test_a_query_that_the_database_refuses_leaves_the_transaction_whole():
    class Broken(UrlProducts):
        queryset = Product.objects.extra(where=["nonsense = 1"])

    register("broken", Broken)
    register("products", UrlProducts)
    make_products(1)

    with transaction.atomic():
        finding = find_url("/en/products/product-1/")
        assert Product.objects.count() == 1

    assert [match.label for match in finding.matches] == ["products"]


def test_verdicts_and_reasons_can_be_translated():
    register("products", UrlProducts)
    ProductFactory.bulk(1)

    match = found("/en/products/none/")

    assert str(match.verdict.label) == "no row"
    assert str(match.reason)


def test_a_row_of_a_computed_location_that_is_gone_is_in_the_file_only():
    register("products", Products)
    make_products(3)
    build()
    of("product-2").delete()

    assert found("/product-2/").verdict == Verdict.GONE


def test_a_file_that_could_not_be_read_may_still_have_the_row():
    register("products", UrlProducts)
    make_products(3)
    build()
    put(b"no gzip")

    finding = find_url("/en/products/product-9/")

    assert [match.verdict for match in finding.matches] == [Verdict.NO_ROW]
    assert not finding.is_complete


def test_a_plan_of_another_layout_is_made_anew():
    register("products", UrlProducts)
    make_products(25)
    refresh(get_section("products", get_site()))
    unregister_all()
    register("products", type("Smaller", (UrlProducts,), {"limit": 5}))

    match = found("/en/products/product-25/")

    assert (match.verdict, match.number) == (Verdict.LISTED, 8)


def test_an_address_across_two_pieces_of_a_file_is_found():
    register("products", type("Many", (MethodProducts,), {"limit": 5000}))
    make_products(3000)
    build()
    numbers = range(1, 3000, 97)

    finding = [find_url(f"/shop/product-{number}/?a=1&b='2'").matches for number in numbers]

    assert all(len(matches) == 1 for matches in finding)


def test_what_a_queryset_computes_is_no_matter_for_rows_outside():
    class Annotated(UrlProducts):
        queryset = Product.objects.filter(is_active=True).annotate(
            code=Concat(Value("x-"), F("slug"), output_field=CharField())
        )
        location = UrlFor("text", text=F("code"))

    register("products", Annotated)
    make_products(2)

    assert found("/en/text/x-product-1/").verdict == Verdict.LISTED
    assert found("/en/text/x-none/").verdict == Verdict.NO_ROW


def test_a_computed_value_of_a_pattern_is_asked():
    register("products", type("Lower", (UrlProducts,), {"location": UrlFor("text", text=Lower("name"))}))
    make_products(2)

    assert found("/en/text/product 2/").pk == of("product-2").pk


def test_a_filter_of_a_relation_counts():
    related = Related("translations", F("slug"), language=F("language_code"), filter=~Q(title="draft"))
    register("products", type("Translated", (AllLanguages,), {"location": UrlFor("text", text=related)}))
    make_products(1)
    Translation.objects.create(product=of("product-1"), language_code="en", slug="house", title="draft")

    assert found("/en/text/house/").verdict == Verdict.NO_ROW


def test_a_language_without_a_column_has_no_rows():
    columns = PerLanguage({"en": "slug_en"})
    sitemap = type("Leaflets", (ModelSitemap,), {"queryset": Leaflet.objects.all(), "i18n": True})
    register("leaflets", type("Leaflets", (sitemap,), {"location": UrlFor("text", text=columns)}))
    Leaflet.objects.create(slug="x", slug_en="house")

    assert found("/en/text/house/").verdict == Verdict.LISTED
    assert find_url("/de/text/house/").matches == []


class _ByNames:
    """Views of one path for each name that a parameter may have."""

    def __init__(self, **routes):
        self.urlpatterns = [path(route, lambda request: None, name=name) for name, route in routes.items()]


@pytest.mark.parametrize("route", ["x/<int:pk>/", "x/<int:id>/", "x/<int:product_id>/", "x/<int:pk>/<y>/"])
def test_parameters_name_fields(settings, monkeypatch, route):
    settings.ROOT_URLCONF = _ByNames(it=route)
    last = "y/" if "<y>" in route else ""
    monkeypatch.setattr(Product, "get_absolute_url", lambda item: f"/x/{item.pk}/{last}")
    register("products", AbsoluteProducts)
    make_products(3)
    pk = of("product-2").pk

    assert found(f"/x/{pk}/{last}").pk == pk
    assert found(f"/x/999999/{last}").verdict == Verdict.NO_ROW


@pytest.mark.parametrize("route", ["x/<int:nothing>/", "x/<int:tags>/", "x/1/", "elsewhere/"])
def test_parameters_that_name_no_field_tell_nothing(settings, monkeypatch, route):
    settings.ROOT_URLCONF = _ByNames(it=route)
    monkeypatch.setattr(Product, "get_absolute_url", lambda item: "/x/1/")
    register("products", AbsoluteProducts)
    make_products(1)

    finding = find_url("/x/1/")

    assert finding.matches == []
    assert not finding.is_complete
