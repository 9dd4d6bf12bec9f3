import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.core.handlers.wsgi import WSGIRequest
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.template import Context, Template
from django.test import AsyncClient, Client, RequestFactory
from django.urls import clear_script_prefix, set_script_prefix, set_urlconf
from django.utils import timezone, translation
from django.utils.functional import SimpleLazyObject

from samples import SITE, make_products, render_page, text_of
from sitemaps_plus import Alternate, Image, ModelSitemap, NewsSitemap, Siblings, Sitemap, UrlFor, register, registry
from sitemaps_plus.errors import InvalidSitemap, NoOrigin, PageNotFound, SitemapError
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.serve import head
from testapp.models import Article, Box, Bundle, Cell, Product, Seat, Tag
from testapp.urls_head import Unprefixed, UnprefixedDefault
from xml_checks import SITEMAP, validate

pytestmark = [pytest.mark.django_db, pytest.mark.urls("testapp.urls_head")]

XHTML_LINK = "{http://www.w3.org/1999/xhtml}link"
HREFLANG, CANONICAL = "{% hreflang_links %}", "{% canonical_link %}"


class InLanguages(ModelSitemap):
    queryset = Product.objects.all()
    location = UrlFor("product", slug=F("slug"))
    i18n = True
    alternates = True
    x_default = True


@pytest.fixture(autouse=True)
def _english_german_portuguese(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("pt-br", "Português")]
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    # Its cache is the one thing that a page may ask the database for.
    Site.objects.get_current()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "link"
        self.found.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        assert not data.strip()


def links(html: str) -> list[dict[str, str | None]]:
    """Return the attributes of the links that are all of `html`."""
    parser = _Links()
    parser.feed(html)
    parser.close()
    return parser.found


def get(address: str, template: str, **extra: Any) -> list[dict[str, str | None]]:
    response = Client().get(address, headers={"template": template}, **extra)
    assert response.status_code == 200, response.content
    return links(response.content.decode())


def hreflangs(address: str, template: str = HREFLANG, **extra: Any) -> dict[str | None, str | None]:
    found = get(address, template, **extra)
    assert {link["rel"] for link in found} <= {"alternate"}
    assert len({link["hreflang"] for link in found}) == len(found)
    return {link["hreflang"]: link["href"] for link in found}


def canonical(address: str, template: str = CANONICAL, **extra: Any) -> str | None:
    found = get(address, template, **extra)
    assert [link["rel"] for link in found] in ([], ["canonical"])
    return found[0]["href"] if found else None


def in_sitemap(label: str = "products") -> dict[str, list[tuple[str, str]]]:
    """Return what the pages of a section list: the links of each address."""
    root = validate(text_of(render_page(get_section(label, SITE), 1)))
    return {
        url.findtext(f"{SITEMAP}loc", ""): [(x.attrib["hreflang"], x.attrib["href"]) for x in url.findall(XHTML_LINK)]
        for url in root
    }


def rendered(template: str, **context: Any) -> str:
    return Template("{% load sitemaps_plus %}" + template).render(Context(context))


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("{% canonical_link item keep='q' %}", "keep='q' is only for the requested page"),
        ("{% hreflang_links item x_default=True %}", "x_default=True is only for the requested page"),
        ("{% canonical_link nothing keep='q' %}", "keep='q' is only for the requested page"),
        ("{% canonical_link section='products' %}", "section='products' has no effect without an object"),
        ("{% hreflang_links section='products' %}", "section='products' has no effect without an object"),
        ("{% canonical_link keep=5 %}", "give the names of parameters"),
        ("{% canonical_link keep=item %}", "give the names of parameters"),
    ],
)
def test_options_without_effect_or_sense_are_refused(tag: str, said: str) -> None:
    request = RequestFactory().get("/plain/a")

    with pytest.raises(SitemapError, match=re.escape(said)):
        rendered(tag, request=request, item=Product(pk=1, slug="a"))


@pytest.mark.parametrize("keep", [None, "", ["q"], ("q",), "q"])
def test_parameters_to_keep_come_as_a_text_or_a_list(keep: Any) -> None:
    html = rendered("{% canonical_link keep=names %}", request=RequestFactory().get("/plain/a?q=1&b=2"), names=keep)

    assert ("?q=1" in html) is bool(keep)
    assert "b=2" not in html


# The page in other languages


def test_a_page_under_language_prefixes_names_itself_and_the_others() -> None:
    assert hreflangs("/de/products/pen/") == {
        "en": "https://example.com/en/products/pen/",
        "de": "https://example.com/de/products/pen/",
        "pt-BR": "https://example.com/pt-br/products/pen/",
    }


def test_the_default_language_may_have_no_prefix(settings: Any) -> None:
    settings.ROOT_URLCONF = UnprefixedDefault

    found = hreflangs("/products/pen/", "{% hreflang_links x_default=True %}")

    assert found == {
        "en": "https://example.com/products/pen/",
        "de": "https://example.com/de/products/pen/",
        "pt-BR": "https://example.com/pt-br/products/pen/",
        "x-default": "https://example.com/products/pen/",
    }
    assert hreflangs("/pt-br/products/pen/", "{% hreflang_links x_default=True %}") == found


@pytest.mark.parametrize("address", ["/en/offers/pen/", "/de/angebote/pen/", "/pt-br/offers/pen/"])
def test_translated_paths_are_found_from_every_language(address: str) -> None:
    assert hreflangs(address) == {
        "en": "https://example.com/en/offers/pen/",
        "de": "https://example.com/de/angebote/pen/",
        "pt-BR": "https://example.com/pt-br/offers/pen/",
    }


def test_translated_paths_need_no_prefix(settings: Any) -> None:
    settings.ROOT_URLCONF = Unprefixed
    german = {"HTTP_ACCEPT_LANGUAGE": "de"}

    assert hreflangs("/angebote/pen/", **german)["en"] == "https://example.com/offers/pen/"
    assert hreflangs("/offers/pen/")["de"] == "https://example.com/angebote/pen/"


@pytest.mark.parametrize("address", ["/plain/x", "/en/nameless/"])
def test_a_page_with_one_address_for_all_languages_has_no_links(address: str) -> None:
    assert get(address, "{% hreflang_links x_default=True %}") == []


def test_a_site_with_one_language_has_no_links(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English")]

    assert get("/en/products/pen/", HREFLANG) == []


def test_arguments_of_the_pattern_and_namespaces_are_kept() -> None:
    assert hreflangs("/en/extra/")["de"] == "https://example.com/de/extra/"
    assert hreflangs("/en/shop/")["de"] == "https://example.com/de/shop/"


def test_a_pattern_that_reverse_refuses_has_no_links() -> None:
    assert get("/en/bob/5/mixed/", HREFLANG) == []


def test_the_query_is_dropped() -> None:
    assert hreflangs("/en/products/pen/?utm_source=x")["de"] == "https://example.com/de/products/pen/"


def test_x_default_is_the_default_language_without_prefix_or_the_language_named() -> None:
    address = "/de/products/pen/"

    assert hreflangs(address, "{% hreflang_links x_default=True %}")["x-default"] == "https://example.com/products/pen/"
    german = hreflangs(address, '{% hreflang_links x_default="de" %}')
    assert german["x-default"] == german["de"] == "https://example.com/de/products/pen/"
    assert "x-default" not in hreflangs(address)


def test_the_codes_are_those_of_the_setting_and_each_stands_once(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"es-ar": "es", "es-mx": "es", "de": None}}
    settings.LANGUAGES = [(code, code) for code in ("en", "de", "zh-hans", "es-ar", "es-mx", "tlh")]

    found = hreflangs("/en/products/pen/")

    assert list(found) == ["en", "zh-Hans", "es"]
    assert found["es"] == "https://example.com/es-ar/products/pen/"


@pytest.fixture
def _no_script_prefix() -> Iterator[None]:
    yield
    clear_script_prefix()


@pytest.mark.usefixtures("_no_script_prefix")
def test_a_script_prefix_stands_in_every_address() -> None:
    below = {"SCRIPT_NAME": "/app"}
    # As the handlers of a server do with each request, and that of the test client does not.
    set_script_prefix("/app/")

    found = hreflangs("/de/products/pen/", "{% hreflang_links x_default=True %}", **below)

    assert found["en"] == "https://example.com/app/en/products/pen/"
    assert found["x-default"] == "https://example.com/app/products/pen/"
    assert canonical("/de/products/pen/", **below) == "https://example.com/app/de/products/pen/"
    assert get("/plain/x", HREFLANG, **below) == []
    assert get("/plain/x", "{% sitemap_link %}", **below)[0]["href"] == "https://example.com/app/sitemap.xml"


def test_a_view_that_changes_the_language_changes_no_link() -> None:
    template = "{% load i18n %}{% language 'pt-br' %}{% hreflang_links %}{% endlanguage %}"

    assert hreflangs("/de/products/pen/", template) == hreflangs("/de/products/pen/")


def test_a_request_that_no_pattern_was_asked_about_is_looked_up(rf: RequestFactory) -> None:
    found = links(rendered(HREFLANG, request=rf.get("/en/products/pen/")))

    assert [link["href"] for link in found][1] == "https://example.com/de/products/pen/"
    assert rendered(HREFLANG, request=rf.get("/nowhere/")) == ""


def test_the_links_of_a_page_cost_no_query(rf: RequestFactory, django_assert_num_queries: Any) -> None:
    request = rf.get("/en/products/pen/?page=2")

    with django_assert_num_queries(0):
        html = rendered("{% hreflang_links %}{% canonical_link keep='page' %}{% sitemap_link %}", request=request)

    assert len(links(html)) == 5


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

    assert head.object_address(box) == "https://example.com/box"


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
        address = head.object_address(product, rf.get("/"))
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
        assert head.object_address(product, rf.get("/")) == "https://example.com/plain/product-1"


def test_of_several_sections_the_one_that_has_the_object_counts(django_assert_num_queries: Any) -> None:
    register("articles", type("Articles", (ModelSitemap,), {"queryset": Article.objects.all()}))
    for number in range(1, 5):
        rows = Product.objects.filter(slug=f"product-{number}")
        register(f"p{number}x", type("Some", (Elsewhere,), {"queryset": rows, "location": _joined(f"/{number}/")}))
    products = make_products(5)
    head.object_links(products[0])

    with django_assert_num_queries(2):
        assert head.object_address(products[2]) == "https://example.com/3/product-3"
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
    assert head.object_address(cell) == "https://example.com/cell"
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

    assert head.object_address(article) == f"https://example.com/articles/{article.pk}/"
    with pytest.raises(InvalidSitemap, match="'articles' cannot read a single row"):
        head.object_address(article, label="articles")


def test_a_section_that_cannot_be_asked_is_passed_over_beside_one_that_can() -> None:
    register("news", News)
    register("articles", type("Articles", (ModelSitemap,), {"queryset": Article.objects.all(), "location": "/all/"}))
    article = Article.objects.create(title="x", published_at="2026-01-01T12:00:00Z")

    assert head.object_links(article) == []
    assert head.object_address(article) == "https://example.com/all/"
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


# The address of the page


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/plain/a?utm_source=x&page=2", "/plain/a"),
        ("/plain/%C3%BCber/ä b", "/plain/%C3%BCber/%C3%A4%20b"),
        ("/plain/%27%22%3E%3Cscript%3E&amp;", "/plain/'%22%3E%3Cscript%3E&amp;"),
        ("/plain/100%25/%2541/%3Fq=1%23x", "/plain/100%25/%2541/%3Fq=1%23x"),
        ("/plain/a%0Bb%00", "/plain/a%0Bb%00"),
        ("/plain/(a)+b;c,d=e:f@g!$*~", "/plain/(a)+b;c,d=e:f@g!$*~"),
        ("/plain//double", "/plain//double"),
        ("/plain/%F0%9F%98%80", "/plain/%F0%9F%98%80"),
    ],
)
def test_the_address_of_a_page_is_encoded_as_in_the_sitemap(address: str, expected: str) -> None:
    assert canonical(address) == f"https://example.com{expected}"


def test_the_address_of_a_page_leads_back_to_the_page() -> None:
    for text in ("%FF", "é", "a%2Fb", "50%", "%25", "?#", "[x]|^`{}\\"):
        own = canonical(_quoted(f"/plain/{text}"))
        assert own is not None
        assert canonical(own.removeprefix("https://example.com")) == own


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3F").replace("#", "%23")


@pytest.mark.parametrize("address", [f"/plain/{'x' * 2048}", "/plain/a/../b", "/plain/%2e%2e/b", "/plain/."])
def test_a_page_that_no_sitemap_could_list_has_no_address(address: str) -> None:
    assert canonical(address) is None


def test_bytes_that_are_no_utf_8_make_an_address(rf: RequestFactory) -> None:
    request = WSGIRequest({**rf._base_environ(), "PATH_INFO": "/en/text/\xff\xfe/", "QUERY_STRING": "q=%FF&\xff=\xff"})

    (own,) = links(rendered("{% canonical_link keep='q' %}", request=request))

    assert own["href"] == "https://example.com/en/text/%25FF%25FE/?q=%EF%BF%BD"
    assert len(links(rendered(HREFLANG, request=request))) == 3


def test_a_path_that_begins_with_two_slashes_keeps_them_encoded(rf: RequestFactory) -> None:
    request = rf.get("/")
    request.path = "//evil.example/x"

    assert head.page_address(request) == "https://example.com/%2Fevil.example/x"


@pytest.mark.parametrize("path", ["//evil.example/x", "///", "/\ud800/", "*"])
def test_a_path_that_looks_like_another_host_stays_on_this_one(rf: RequestFactory, path: str) -> None:
    request = rf.get("/")
    request.path = request.path_info = path

    for link in links(rendered("{% canonical_link %}{% hreflang_links %}", request=request)):
        assert str(link["href"]).startswith("https://example.com/")
        assert not str(link["href"]).startswith("https://example.com//")


def test_parameters_that_are_kept_stay_in_order_without_empty_ones() -> None:
    template = '{% canonical_link keep="page, q,tag" %}'

    found = canonical("/plain/a?q=a+b%26c%3D%22&utm=1&page=2&tag=&tag=x&tag=y&PAGE=3", template)

    assert found == "https://example.com/plain/a?q=a%20b%26c%3D%22&page=2&tag=x&tag=y"
    assert canonical("/plain/a?q=&utm=1", template) == "https://example.com/plain/a"


def test_a_query_of_too_many_parameters_is_dropped() -> None:
    address = "/plain/a?" + "&".join(f"q={number}" for number in range(2000))

    assert canonical(address, '{% canonical_link keep="q" %}') == "https://example.com/plain/a"


def test_a_page_that_is_served_asynchronously_has_the_same_head() -> None:
    template = "{% canonical_link keep='q' %}{% hreflang_links %}"

    response = async_to_sync(AsyncClient().get)("/de/text/pen%3F/?q=é", headers={"template": template})

    found = [link["href"] for link in links(response.content.decode())]
    assert found[:2] == [
        "https://example.com/de/text/pen%3F/?q=%C3%A9",
        "https://example.com/en/text/pen%3F/",
    ]


@pytest.mark.parametrize("language", ["en", "de", "pt-br"])
def test_an_object_has_its_address_in_the_language_of_the_page(language: str) -> None:
    register("products", type("Unlinked", (InLanguages,), {"alternates": False, "x_default": False}))
    make_products(1)

    own = canonical(f"/{language}/products/product-1/?utm_source=x", "{% canonical_link product %}")

    assert own == f"https://example.com/{language}/products/product-1/"
    assert own in in_sitemap()
    assert canonical(f"/{language}/also/product-1/", "{% canonical_link product %}") == own


def test_an_object_without_an_address_in_the_language_of_the_page_has_that_of_the_default_or_the_first(
    settings: Any,
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"pt-br": None}}
    register("products", ByMethod)
    first, second = make_products(2)

    with translation.override("pt-br"):
        assert head.object_address(first) == head.object_address(first, label="products")
        assert str(head.object_address(first)).startswith("https://example.com/product-1/")
        assert str(head.object_address(second)).startswith("https://example.com/product-2/")
    with translation.override(None):
        assert head.object_address(first) is not None


def test_a_language_without_hreflang_has_its_own_address_on_its_own_page(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"pt-br": None}}
    register("products", InLanguages)
    make_products(1)

    own = canonical("/pt-br/products/product-1/", "{% canonical_link product %}")

    assert own == "https://example.com/pt-br/products/product-1/"


def test_an_object_that_no_section_lists_has_the_address_it_gives_itself(caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Product):
        class Meta:
            proxy = True
            app_label = "testapp"

        def get_absolute_url(self) -> str:
            raise LookupError("no slug")

    product, tag = Product(slug="ä b"), Tag(name="x")

    assert head.object_address(product) == "https://example.com/products/%C3%A4%20b/"
    assert head.object_address(Odd()) is None
    assert "LookupError: no slug" in caplog.text
    with pytest.raises(SitemapError, match=r"Tag has no get_absolute_url\(\)"):
        head.object_address(tag)


# The sitemap, and where all of it is


def test_the_link_to_the_sitemap_is_the_index() -> None:
    (found,) = get("/de/products/pen/", "{% sitemap_link %}")

    assert found == {"rel": "sitemap", "type": "application/xml", "href": "https://example.com/sitemap.xml"}


def test_the_urls_of_a_single_request_do_not_hide_the_sitemap() -> None:
    set_urlconf(Unprefixed)
    try:
        assert head.sitemap_address() == "https://example.com/sitemap.xml"
    finally:
        set_urlconf(None)


def test_without_included_urls_only_a_public_url_tells_where_the_sitemap_is(settings: Any) -> None:
    settings.ROOT_URLCONF = Unprefixed

    assert get("/products/pen/", "{% sitemap_link %}") == []
    for public in ("https://cdn.example/maps", {1: "https://cdn.example/maps/"}):
        settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "PUBLIC_URL": public, "EXTENSION": "xml.gz"}
        assert get("/products/pen/", "{% sitemap_link %}")[0]["href"] == "https://cdn.example/maps/sitemap.xml"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:99999", 'x"><script>', "a b", "", "[::1"])
def test_a_forged_host_reaches_no_address_where_the_origin_is_set(host: str, rf: RequestFactory) -> None:
    request = rf.get("/en/products/pen/", headers={"host": host})

    html = rendered("{% hreflang_links %}{% canonical_link %}{% sitemap_link %}", request=request)

    assert len(links(html)) == 5
    assert all(str(link["href"]).startswith("https://example.com/") for link in links(html))


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


def test_a_host_of_no_site_gives_no_links(settings: Any, rf: RequestFactory) -> None:
    del settings.SITEMAPS_PLUS, settings.SITE_ID

    assert rendered(CANONICAL, request=rf.get("/plain/x", headers={"host": "unknown.example"})) == ""
    known = rendered(CANONICAL, request=rf.get("/plain/x", headers={"host": "example.com"}))
    assert links(known)[0]["href"] == "http://example.com/plain/x"


@pytest.mark.parametrize("tag", ["hreflang_links", "canonical_link"])
def test_a_template_without_request_says_how_to_give_it_one(tag: str) -> None:
    with pytest.raises(SitemapError, match=f"{tag} .*needs the request.*context_processors.request"):
        rendered(f"{{% {tag} %}}")


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


@pytest.mark.usefixtures("_no_script_prefix")
def test_a_script_prefix_without_a_request_is_the_active_one() -> None:
    set_script_prefix("/shop/")

    assert head.sitemap_address() == "https://example.com/shop/sitemap.xml"


def test_a_template_that_does_not_escape_still_gets_escaped_attributes() -> None:
    template = "{% autoescape off %}{% canonical_link %}{% endautoescape %}"

    response = Client().get("/plain/a&b'", headers={"template": template})

    assert response.content == b'<link rel="canonical" href="https://example.com/plain/a&amp;b&#x27;">'
