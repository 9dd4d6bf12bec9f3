"""Links and canonical URLs of objects in the heads of pages, as their section lists them."""

from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test import RequestFactory
from django.utils import timezone, translation
from django.utils.functional import SimpleLazyObject

from head_links import CANONICAL, InLanguages, canonical, hreflangs, in_sitemap, links, rendered
from samples import make_products
from sitemaps_plus import Alternate, Image, ModelSitemap, NewsSitemap, Siblings, Sitemap, UrlFor, register, registry
from sitemaps_plus.errors import InvalidSitemap, NoOrigin, PageNotFound, SitemapError
from sitemaps_plus.serve import head
from testapp.models import Article, Box, Bundle, Cell, Product, Seat, Tag

pytestmark = [pytest.mark.django_db, pytest.mark.urls("testapp.urls_head")]


@pytest.fixture(autouse=True)
def _english_german_portuguese(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("pt-br", "Português")]
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    # Its cache is the one thing that a page may ask the database for.
    Site.objects.get_current()


# An object, as the sitemap lists it


def test_an_object_has_the_links_of_its_sitemap() -> None:
    register("products", InLanguages)
    make_products(3)

    listed = in_sitemap()

    for number in (1, 2, 3):
        found = hreflangs(f"/de/products/product-{number}/", "{% hreflang_links product %}")
        assert list(found.items()) == listed[f"https://example.com/de/products/product-{number}/"]
    assert list(found) == ["en", "de", listed[f"https://example.com/de/products/product-{number}/"][2][0], "x-default"]


def test_an_object_has_the_codes_of_the_setting(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"de": "de-AT", "pt-br": None}}
    register("products", InLanguages)
    make_products(1)

    found = hreflangs("/en/products/product-1/", "{% hreflang_links product %}")

    assert list(found.items()) == in_sitemap()["https://example.com/en/products/product-1/"]
    assert list(found) == ["en", "de-AT", "x-default"]


def test_links_that_depend_on_the_language_are_those_of_the_page(settings: Any) -> None:
    class PerShop(InLanguages):
        def hreflang(self, item: Product) -> Alternate:
            return Alternate(hreflang="ja", href=f"https://example.jp/{translation.get_language()}/{item.slug}/")

    register("products", PerShop)
    make_products(1)

    for language in ("en", "de", "pt-br"):
        found = hreflangs(f"/{language}/products/product-1/", "{% hreflang_links product %}")
        assert list(found.items()) == in_sitemap()[f"https://example.com/{language}/products/product-1/"]
        assert found["ja"] == f"https://example.jp/{language}/product-1/"


def test_rows_that_are_translations_of_each_other_cost_two_queries(django_assert_num_queries: Any) -> None:
    class Seats(ModelSitemap):
        queryset = Seat.objects.all()
        location = Concat(Value("/"), "hall", Value("/"), "name", output_field=CharField())
        hreflang = Siblings("hall", language=F("name"))

    register("seats", Seats)
    first, second, alone = (
        Seat.objects.create(hall=hall, name=name) for hall, name in ((1, "en"), (1, "de"), (2, "en"))
    )
    listed = in_sitemap("seats")

    with django_assert_num_queries(2):
        found = head.object_links(second)

    assert found == head.object_links(first) == listed["https://example.com/1/de"] == listed["https://example.com/1/en"]
    assert [link.hreflang for link in found] == ["en", "de"]
    assert head.object_links(alone) == listed["https://example.com/2/en"] == []


def test_a_child_of_a_child_is_found_in_the_section_of_its_first_parent() -> None:
    register("products", Elsewhere)
    make_products(3)
    box = Box.objects.create(name="x", slug="box")

    assert head.object_url(box) == "https://example.com/box"


class ByMethod(ModelSitemap):
    queryset = Product.objects.all()
    i18n = True
    alternates = True

    def get_languages_for_item(self, item: Product) -> list[str]:
        return ["en", "de"] if item.slug == "product-1" else ["de"]

    def location(self, item: Product) -> str:
        return f"/{item.slug}/{'übersetzt' if item.slug == 'product-1' else ''}?a='&b=\"<"

    def lastmod(self, item: Product) -> None:
        raise AssertionError("a head shows no lastmod")


def _joined(before: str) -> Concat:
    return Concat(Value(before), F("slug"), output_field=CharField())


class Elsewhere(ModelSitemap):
    queryset = Product.objects.filter(is_active=True)
    location = _joined("/")
    hreflang = [
        Alternate(hreflang="en", href=_joined("https://example.com/")),
        Alternate(hreflang="zh-hans-us", href=_joined("https://a.example/é?a&b=")),
    ]
    images = [Image(loc=F("file"))]


class ElsewhereByMethod(Elsewhere):
    def hreflang(self, item: Product) -> list[Alternate]:  # type: ignore[override]
        return [Alternate(hreflang="de", href=f"https://example.de/{item.slug}/")]


class ByProperty(Elsewhere):
    @property
    def images(self) -> list[Image]:  # type: ignore[override]
        return [Image(loc=F("file"))]


class Linked(InLanguages):
    def hreflang(self, item: Product) -> Alternate:
        return Alternate(hreflang="ja", href=f"https://example.jp/{item.slug}/")


class AsInDjango(contrib.Sitemap):
    def items(self) -> Any:
        return Product.objects.order_by("-name")


@pytest.mark.parametrize("sitemap", [ByMethod, Elsewhere, ElsewhereByMethod, ByProperty, Linked, AsInDjango])
def test_codes_and_addresses_are_those_of_the_sitemap_whatever_gives_them(sitemap: Any, rf: RequestFactory) -> None:
    first, second = make_products(2)
    # A sitemap whose lastmod raises is asked for its page, too.
    register("products", type("Quiet", (sitemap,), {"lastmod": None}))
    listed = in_sitemap()
    register("other", sitemap)
    registry.unregister("products")

    for product in (first, second):
        found = links(rendered("{% hreflang_links product %}", product=product, request=rf.get("/")))
        address = head.object_url(product, rf.get("/"))
        assert address in listed
        assert [(link["hreflang"], link["href"]) for link in found] == listed[address]


def test_an_object_costs_one_query(rf: RequestFactory, django_assert_num_queries: Any) -> None:
    class Costly(ElsewhereByMethod):
        queryset = Product.objects.prefetch_related("tags", "notes")
        location = UrlFor("plain", text=F("slug"))
        hreflang = Elsewhere.hreflang  # type: ignore[assignment]

        def images(self, item: Product) -> list[Image]:  # type: ignore[override]
            return [Image(loc=f"/{tag.name}.png") for tag in item.tags.all()]

    register("products", Costly)
    (product,) = make_products(1)

    with django_assert_num_queries(1):
        found = head.object_links(product, rf.get("/"))

    assert [link.hreflang for link in found] == ["en", "zh-Hans-US"]
    with django_assert_num_queries(1):
        assert head.object_url(product, rf.get("/")) == "https://example.com/plain/product-1"


def test_of_several_sections_the_one_that_has_the_object_counts(django_assert_num_queries: Any) -> None:
    register("articles", type("Articles", (ModelSitemap,), {"queryset": Article.objects.all()}))
    for number in range(1, 5):
        rows = Product.objects.filter(slug=f"product-{number}")
        register(f"p{number}x", type("Some", (Elsewhere,), {"queryset": rows, "location": _joined(f"/{number}/")}))
    products = make_products(5)
    head.object_links(products[0])

    with django_assert_num_queries(2):
        assert head.object_url(products[2]) == "https://example.com/3/product-3"
    with django_assert_num_queries(2):
        assert len(head.object_links(SimpleLazyObject(lambda: products[3]))) == 2
    with django_assert_num_queries(1):
        assert head.object_links(products[4]) == []


def test_the_section_that_is_named_is_asked() -> None:
    register("products", InLanguages)
    register("elsewhere", Elsewhere)
    (product,) = make_products(1)

    found = links(rendered('{% hreflang_links product section="elsewhere" %}', product=product))

    assert [link["hreflang"] for link in found] == ["en", "zh-Hans-US"]
    assert len(links(rendered('{% hreflang_links product section="products" %}', product=product))) == 4
    address = links(rendered('{% canonical_link product section="elsewhere" %}', product=product))[0]["href"]
    assert address == "https://example.com/product-1"


def test_an_object_that_the_sitemap_does_not_list_has_no_links() -> None:
    register("products", Elsewhere)
    hidden, listed = make_products(1, is_active=False) + make_products(1, first=2)
    unsaved = Product(slug="new")
    tag = Tag.objects.create(name="x")

    html = "{% hreflang_links product %}"
    assert [rendered(html, product=product) for product in (hidden, unsaved, tag)] == ["", "", ""]
    assert rendered(html, product=listed) != ""


@pytest.mark.parametrize("product", [None, ""])
def test_a_variable_that_is_empty_or_unknown_has_no_links(product: Any) -> None:
    assert rendered("{% hreflang_links product %}{% canonical_link product %}", product=product) == ""
    assert rendered("{% hreflang_links unknown %}{% canonical_link unknown %}") == ""


def test_a_row_with_an_address_that_breaks_a_rule_has_no_links() -> None:
    class Broken(InLanguages):
        location = Value("nowhere")

    register("products", Broken)
    (product,) = make_products(1)

    assert head.object_links(product) == []


def test_a_child_and_a_composite_key_are_found() -> None:
    register("products", Elsewhere)
    register("cells", type("Cells", (ModelSitemap,), {"queryset": Cell.objects.all(), "location": Value("/cell")}))
    bundle = Bundle.objects.create(name="x", slug="bundle", size=3)
    cell = Cell.objects.create(row=1, column="a")

    assert head.object_links(bundle)[0].href == "https://example.com/bundle"
    assert head.object_url(cell) == "https://example.com/cell"
    assert head.object_links(Cell(row=1)) == []


def test_the_language_and_zone_of_the_visitor_do_not_reach_what_the_sitemap_says() -> None:
    class OneLanguage(ModelSitemap):
        queryset = Product.objects.all()
        location = UrlFor("product", slug=F("slug"))

        def hreflang(self, item: Product) -> Alternate:
            return Alternate(hreflang="ja", href=f"https://example.jp/{timezone.get_current_timezone_name()}")

    register("products", OneLanguage)
    make_products(1)

    with timezone.override("Asia/Tokyo"):
        own = canonical("/de/products/product-1/", "{% canonical_link product %}")
        found = hreflangs("/de/products/product-1/", "{% hreflang_links product %}")

    assert own == "https://example.com/en/products/product-1/"
    assert {own: list(found.items())} == in_sitemap()


class News(NewsSitemap):
    queryset = Article.objects.all()
    date_field = "published_at"


class Sliced(contrib.Sitemap):
    def items(self) -> Any:
        return Article.objects.all()[:5]


class Listed(Sitemap):
    def items(self) -> Any:
        return list(Article.objects.all())


class OwnUrls(ModelSitemap):
    queryset = Article.objects.all()

    def get_urls(self, *args: Any, **kwargs: Any) -> Any:
        return []


@pytest.mark.parametrize("sitemap", [News, Sliced, Listed, OwnUrls])
def test_a_section_that_cannot_be_asked_for_one_row_says_so(sitemap: Any) -> None:
    register("articles", sitemap)
    article = Article.objects.create(title="x", published_at="2026-01-01T12:00:00Z")

    with pytest.raises(InvalidSitemap, match=r"'articles' cannot read a single row: .* items\(\) return a QuerySet"):
        head.object_links(article, label="articles")

    assert head.object_url(article) == f"https://example.com/articles/{article.pk}/"
    with pytest.raises(InvalidSitemap, match="'articles' cannot read a single row"):
        head.object_url(article, label="articles")


def test_a_section_that_cannot_be_asked_is_passed_over_beside_one_that_can() -> None:
    register("news", News)
    register("articles", type("Articles", (ModelSitemap,), {"queryset": Article.objects.all(), "location": "/all/"}))
    article = Article.objects.create(title="x", published_at="2026-01-01T12:00:00Z")

    assert head.object_links(article) == []
    assert head.object_url(article) == "https://example.com/all/"
    registry.unregister("articles")
    with pytest.raises(InvalidSitemap, match="'news'"):
        head.object_links(article)


def test_a_section_of_another_model_and_what_is_no_object_are_refused() -> None:
    register("products", Elsewhere)
    article = Article.objects.create(title="x", published_at="2026-01-01T12:00:00Z")

    with pytest.raises(InvalidSitemap, match=r"'products' lists Product, but .* is an instance of Article"):
        head.object_links(article, label="products")
    with pytest.raises(PageNotFound, match="no sitemap section 'nowhere'"):
        head.object_links(article, label="nowhere")
    with pytest.raises(SitemapError, match="'products' is not an instance of a model"):
        head.object_links("products")


def test_a_section_whose_rows_cannot_be_told_hurts_no_other(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Sitemap):
        def items(self) -> Any:
            raise LookupError("no connection")

    register("broken", Broken)
    register("products", Elsewhere)
    (product,) = make_products(1)

    assert len(head.object_links(product)) == 2
    assert "items() of the sitemap section broken fails" in caplog.text


def test_the_items_of_a_class_are_asked_for_once(django_assert_num_queries: Any) -> None:
    register("articles", Listed)
    register("products", Elsewhere)
    (product,) = make_products(1)

    head.object_links(product)

    with django_assert_num_queries(1):
        head.object_links(product)


def test_a_label_that_is_registered_anew_is_asked_anew() -> None:
    (product,) = make_products(1)
    register("all", type("Articles", (ModelSitemap,), {"queryset": Article.objects.all()}))
    assert head.object_links(product) == []

    registry.unregister("all")
    register("all", Elsewhere)

    assert len(head.object_links(product)) == 2


def test_an_object_without_an_address_in_the_language_of_the_page_has_that_of_the_default_or_the_first(
    settings: Any,
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"pt-br": None}}
    register("products", ByMethod)
    first, second = make_products(2)

    with translation.override("pt-br"):
        assert head.object_url(first) == head.object_url(first, label="products")
        assert str(head.object_url(first)).startswith("https://example.com/product-1/")
        assert str(head.object_url(second)).startswith("https://example.com/product-2/")
    with translation.override(None):
        assert head.object_url(first) is not None


@pytest.mark.parametrize("host", ["evil.example:99999", 'x"><script>', "a b", "[::1"])
def test_a_host_that_is_none_gives_no_links(settings: Any, rf: RequestFactory, host: str) -> None:
    del settings.SITEMAPS_PLUS, settings.SITE_ID
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    register("products", Elsewhere)
    (product,) = make_products(1)
    request = rf.get("/en/products/pen/", headers={"host": host})

    every = "{% hreflang_links %}{% canonical_link %}{% hreflang_links product %}{% canonical_link product %}"

    assert rendered(every + "{% sitemap_link %}", request=request, product=product) == ""
    request = rf.get("/en/products/pen/", headers={"host": "good.example"}, secure=True)
    assert links(rendered(CANONICAL, request=request))[0]["href"] == "https://good.example/en/products/pen/"


def test_an_object_needs_no_request_where_the_origin_is_known(settings: Any) -> None:
    register("products", Elsewhere)
    (product,) = make_products(1)

    assert (
        rendered("{% canonical_link product %}{% sitemap_link %}", product=product).count("https://example.com/") == 2
    )
    del settings.SITEMAPS_PLUS
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    with pytest.raises(NoOrigin, match="Set SITEMAPS_PLUS"):
        rendered("{% canonical_link product %}", product=product)
