"""The condition with which the database finds the row of a URL."""

import pytest
from django.db.models import CharField, F, Q, Value
from django.db.models.functions import Concat, Lower
from django.urls import clear_script_prefix, path, set_script_prefix
from django.utils import translation

from samples import SITE, Products, make_products
from sitemaps_plus import (
    ModelSitemap,
    PerLanguage,
    Related,
    Siblings,
    UrlFor,
    register,
)
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.section_search import Verdict
from testapp.models import Leaflet, Product, Translation
from url_search import HOST, AbsoluteProducts, AllLanguages, UrlProducts, found, of, use_unprefixed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def test_a_pattern_that_does_not_fit_costs_no_query(django_assert_num_queries):
    register("products", UrlProducts)
    make_products(3)

    with django_assert_num_queries(0):
        finding = find_url("/en/offers/product-1/", sites=[SITE])

    assert finding.matches == []
    assert "does not fit" in str(finding.searched[0].text)
    assert finding.is_complete


def test_a_url_in_another_language_is_found():
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


def test_columns_per_language_are_searched():
    class Leaflets(ModelSitemap):
        queryset = Leaflet.objects.all()
        location = UrlFor("text", text=PerLanguage("slug_{}"))
        i18n = True

    register("leaflets", Leaflets)
    leaflet = Leaflet.objects.create(slug="x", slug_en="house", slug_de="haus")

    assert found("/de/text/haus/").pk == leaflet.pk
    assert found("/en/text/house/").verdict == Verdict.LISTED
    assert found("/de/text/house/").verdict == Verdict.NO_ROW


def test_tables_of_translations_are_searched():
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
    assert wrong.verdict == Verdict.OTHER_URL
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


def test_constants_of_a_pattern_must_match():
    class Mixed(ModelSitemap):
        queryset = Product.objects.all()
        location = UrlFor("text", text="only-this")

    register("products", Mixed)
    make_products(1)

    assert found("/en/text/only-this/").verdict == Verdict.LISTED
    assert find_url("/en/text/other/").matches == []


def test_the_database_computes_a_location_that_is_an_expression():
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


def test_a_url_of_another_view_does_not_match_a_section_with_such_a_field(settings):
    use_unprefixed(settings)
    register("products", AbsoluteProducts)
    make_products(3)

    assert find_url("/offers/nothing/").matches == []
    assert find_url("/offers/product-1/").matches == []
    assert found("/products/nothing/").verdict == Verdict.NO_ROW


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
def test_a_url_is_found_in_each_of_its_spellings(url):
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


def test_the_language_of_the_visitor_does_not_matter():
    register("products", UrlProducts)
    make_products(1)

    with translation.override("de"):
        assert found("/en/products/product-1/").verdict == Verdict.LISTED


@pytest.mark.parametrize("text", ["abc", "99999999999999999999999999", "-1", "1.5"])
def test_a_value_that_the_column_cannot_hold_is_no_row(text):
    register("products", type("Ids", (UrlProducts,), {"location": UrlFor("text", text=F("pk"))}))
    make_products(2)

    assert found(f"/en/text/{text}/").verdict == Verdict.NO_ROW


def test_annotations_of_the_queryset_do_not_break_the_search_for_excluded_rows():
    class Annotated(UrlProducts):
        queryset = Product.objects.filter(is_active=True).annotate(
            code=Concat(Value("x-"), F("slug"), output_field=CharField())
        )
        location = UrlFor("text", text=F("code"))

    register("products", Annotated)
    make_products(2)

    assert found("/en/text/x-product-1/").verdict == Verdict.LISTED
    assert found("/en/text/x-none/").verdict == Verdict.NO_ROW


def test_the_database_computes_a_value_of_a_pattern():
    register("products", type("Lower", (UrlProducts,), {"location": UrlFor("text", text=Lower("name"))}))
    make_products(2)

    assert found("/en/text/product 2/").pk == of("product-2").pk


def test_a_filter_of_a_relation_must_match():
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
def test_url_parameters_name_fields(settings, monkeypatch, route):
    settings.ROOT_URLCONF = _ByNames(it=route)
    last = "y/" if "<y>" in route else ""
    monkeypatch.setattr(Product, "get_absolute_url", lambda item: f"/x/{item.pk}/{last}")
    register("products", AbsoluteProducts)
    make_products(3)
    pk = of("product-2").pk

    assert found(f"/x/{pk}/{last}").pk == pk
    assert found(f"/x/999999/{last}").verdict == Verdict.NO_ROW


@pytest.mark.parametrize("route", ["x/<int:nothing>/", "x/<int:tags>/", "x/1/", "elsewhere/"])
def test_url_parameters_that_name_no_field_are_not_searchable(settings, monkeypatch, route):
    settings.ROOT_URLCONF = _ByNames(it=route)
    monkeypatch.setattr(Product, "get_absolute_url", lambda item: "/x/1/")
    register("products", AbsoluteProducts)
    make_products(1)

    finding = find_url("/x/1/")

    assert finding.matches == []
    assert not finding.is_complete
