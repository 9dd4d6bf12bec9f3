"""A section knows how its class is paged, what its rows are and what its pages depend on."""

import os
import subprocess
import sys

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.core.paginator import Paginator
from django.db.models import Count, Exists, F, FilteredRelation, OuterRef, Q, Subquery, Value
from django.http import HttpResponse
from django.urls import clear_script_prefix, path, set_script_prefix

from samples import SITE, AllProducts, section_of
from sitemaps_plus import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap, UrlFor
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.plan.sections import get_section, get_sections
from testapp.models import Article, Bundle, Note, Product, Seat, Tag


def having(base=contrib.Sitemap, rows=None, **attributes):
    """Return a class made of `base` whose items are `rows`."""
    return type("Made", (base,), {"items": lambda self: Product.objects.all() if rows is None else rows, **attributes})


# By key or by position.


@pytest.mark.parametrize(
    "rows",
    [
        Product.objects.all(),
        Product.objects.none(),
        Product.objects.filter(tags__name="x"),
        Product.objects.order_by("-name").distinct(),
        Product.objects.annotate(n=Count("tags")).filter(n__gt=1),
        Product.objects.only("name").reverse(),
        Product.objects.extra(where=["1=1"]),
        Bundle.objects.all(),
    ],
)
@pytest.mark.parametrize("base", [contrib.Sitemap, Sitemap], ids=["contrib", "ours"])
def test_a_queryset_is_paged_by_key(rows, base):
    assert section_of(having(base, rows)).paged_by == "key"


@pytest.mark.parametrize(
    "rows",
    [
        Product.objects.all()[:5],
        Product.objects.all()[2:],
        Product.objects.all().union(Product.objects.all()),
        Product.objects.intersection(Product.objects.all()),
        Product.objects.raw("SELECT 1"),
        Product.objects.distinct("slug"),
        Product.objects.values(),
        Product.objects.values_list("slug", flat=True),
        Product.objects.dates("updated_at", "day"),
        ["a", "b"],
        ("a",),
        range(3),
    ],
)
@pytest.mark.parametrize("base", [contrib.Sitemap, Sitemap], ids=["contrib", "ours"])
def test_what_has_no_key_is_paged_by_position(rows, base):
    assert section_of(having(base, rows)).paged_by == "position"


@pytest.mark.parametrize(
    "touched",
    [
        {"paginator": property(lambda self: Paginator([], 1))},
        {"_items": lambda self: []},
        {"_urls": lambda self, page, protocol, domain: []},
        {"get_urls": lambda self, page=1, site=None, protocol=None: []},
        {"_location": lambda self, item, force_lang_code=None: "/"},
        {"_get": lambda self, name, item, default=None: None},
        {"get_domain": lambda self, site=None: "example.org"},
        {"get_protocol": lambda self, protocol=None: "http"},
    ],
    ids=lambda touched: next(iter(touched)),
)
@pytest.mark.parametrize(
    "base", [contrib.Sitemap, contrib.GenericSitemap, AllProducts], ids=["plain", "generic", "own"]
)
def test_a_class_that_makes_its_urls_itself_is_paged_by_position(touched, base):
    if base is contrib.GenericSitemap:
        touched = {**touched, "__init__": lambda self: base.__init__(self, {"queryset": Product.objects.all()})}
    section = section_of(type("Made", (base,), touched) if base is not contrib.Sitemap else having(**touched))

    assert section.makes_its_urls
    assert section.paged_by == "position"


def test_a_class_of_django_with_languages_is_paged_by_position_and_one_of_ours_by_key():
    assert section_of(having(i18n=True)).paged_by == "position"
    assert section_of(having(Sitemap, i18n=True)).paged_by == "key"
    assert section_of(type("Made", (AllProducts,), {"i18n": True})).paged_by == "key"


def test_news_are_paged_by_position():
    section = section_of(
        type("News", (NewsSitemap,), {"queryset": Article.objects.all(), "date_field": "published_at"})
    )

    assert (section.paged_by, section.is_windowed) == ("position", True)


@pytest.mark.parametrize("generic", [GenericSitemap, contrib.GenericSitemap], ids=["ours", "contrib"])
def test_a_generic_sitemap_is_paged_by_key(generic):
    assert section_of(lambda: generic({"queryset": Product.objects.all()})).paged_by == "key"


# The rows.


@pytest.mark.parametrize(
    ("rows", "is_distinct"),
    [
        (Product.objects.all(), False),
        (Product.objects.filter(tags__name="x"), True),
        (Product.objects.filter(tags=1), True),
        (Product.objects.filter(notes__text="x"), True),
        (Product.objects.filter(Q(name="x") | Q(notes__text="x")), True),
        (Product.objects.exclude(tags__name="x"), False),
        (Product.objects.annotate(n=Count("tags")).filter(n__gt=1), False),
        (Product.objects.annotate(told=FilteredRelation("notes")).filter(told__text="x"), True),
        (Product.objects.filter(Exists(Note.objects.filter(product=OuterRef("pk")))), False),
        (Product.objects.filter(bundle__size=1), False),
        (Tag.objects.filter(products__name="x"), True),
        (Note.objects.filter(product__name="x"), False),
        (Note.objects.filter(product__tags__name="x"), True),
        (Article.objects.filter(remarks__text="x"), True),
        (Bundle.objects.filter(name="x", product_ptr__slug="x"), False),
    ],
)
def test_rows_are_made_distinct_where_a_join_may_repeat_them(rows, is_distinct):
    assert section_of(having(Sitemap, rows)).queryset().query.distinct is is_distinct


def test_the_order_of_the_rows_is_taken_away_that_of_the_model_too():
    assert not section_of(having(Sitemap, Seat.objects.all())).queryset().ordered
    assert not section_of(having(Sitemap, Seat.objects.order_by("name"))).queryset().ordered


# Limits.


@pytest.mark.parametrize(
    ("limit", "fill", "rows"),
    [(100, 0.9, 90), (100, 0.29, 29), (100, 1.0, 100), (100, 1, 100), (1, 0.9, 1), (10, 0.01, 1), (10, 3.0, 10)],
)
def test_new_pages_get_a_share_of_the_limit(limit, fill, rows):
    section = section_of(type("Made", (AllProducts,), {"limit": limit, "fill": fill}))

    assert (section.rows_limit, section.rows_to_fill) == (limit, rows)


def test_the_limit_is_that_of_the_class_of_the_languages_and_of_the_search_engine(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    plain, translated = section_of(AllProducts), section_of(type("Made", (AllProducts,), {"i18n": True}))
    assert (plain.rows_limit, translated.rows_limit) == (50_000, 16_666)

    settings.SITEMAPS_PLUS = {"PROFILE": "naver"}
    assert (plain.rows_limit, translated.rows_limit) == (49_999, 16_666)
    assert plain.bytes_to_fill == int(10_485_759 * 0.9)


# What the pages depend on.


def test_the_layout_names_limit_languages_and_key(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    layouts = [
        section_of(type("Made", (ModelSitemap,), {"queryset": Seat.objects.all(), **attributes})).layout
        for attributes in [{}, {"limit": 25_000}, {"i18n": True}, {"key": ("hall", "name")}, {"key": "pk"}]
    ]

    # 25,000 rows in one language, or 50,000 URLs in two: still not the same.
    assert len(set(layouts)) == 4
    assert layouts[4] == layouts[0]


class Recipe(AllProducts):
    location = Value("/")
    lastmod = F("updated_at")


@pytest.mark.parametrize(
    "changed",
    [
        {"lastmod": F("published_on")},
        {"location": Subquery(Note.objects.values("text")[:1])},
        {"location": lambda self, item: "/", "lastmod": None},
        {"changefreq": "daily"},
        {"priority": 0.5},
        {"version": 2},
        {"i18n": True},
        {"alternates": True},
        {"x_default": True},
    ],
    ids="-".join,
)
def test_the_recipe_is_another_when_entries_are_made_in_another_way(changed):
    assert section_of(type("Recipe", (Recipe,), changed)).recipe != section_of(Recipe).recipe


def test_the_recipe_is_another_when_another_language_is_for_everybody_else(settings):
    class InLanguages(Recipe):
        i18n, alternates, x_default, languages = True, True, True, ["en", "de"]

    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    settings.LANGUAGE_CODE = "en-us"
    before = section_of(InLanguages).recipe

    settings.LANGUAGE_CODE = "de"

    assert section_of(InLanguages).recipe != before


def test_the_recipe_is_another_when_the_urls_move(settings):
    class Moved(ModelSitemap):
        queryset = Product.objects.all()
        location = UrlFor("product", slug=F("slug"))

    def recipe_under(*patterns):
        settings.ROOT_URLCONF = type("URLconf", (), {"urlpatterns": list(patterns)})
        return section_of(Moved).recipe

    recipes = [
        recipe_under(path("p/<slug:slug>/", HttpResponse, name="product")),
        recipe_under(path("q/<slug:slug>/", HttpResponse, name="product")),
        recipe_under(path("q/<slug:slug>", HttpResponse, name="product")),
        recipe_under(),
    ]

    assert len(set(recipes)) == 4
    assert recipe_under(path("p/<slug:slug>/", HttpResponse, name="product")) == recipes[0]
    set_script_prefix("/shop/")
    try:
        assert section_of(Moved).recipe == recipe_under(path("p/<slug:slug>/", HttpResponse, name="product"))
        assert section_of(Moved).recipe == recipes[0]
    finally:
        clear_script_prefix()


def test_the_recipe_is_another_for_another_search_engine(settings):
    before = section_of(Recipe).recipe
    settings.SITEMAPS_PLUS = {"PROFILE": "yandex"}

    assert section_of(Recipe).recipe != before


def test_the_recipe_is_the_same_in_every_process():
    # Neither hash seeds nor addresses in memory are part of it.
    code = """
import django; django.setup()
from django.db.models import Exists, F, OuterRef, Subquery
from samples import section_of
from sitemaps_plus import ModelSitemap
from testapp.models import Note, Product

class Hooks(ModelSitemap):
    queryset = Product.objects.all()
    location = Subquery(Note.objects.filter(product=OuterRef("pk")).values("text")[:1])
    priority = Exists(Note.objects.all())
    padding = [object() for _ in range(PADDING)]

    def changefreq(self, item):
        return "daily"

print(section_of(Hooks).recipe)
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "testapp.settings", "PYTHONPATH": os.pathsep.join(sys.path)}
    recipes = {
        subprocess.run(
            [sys.executable, "-c", code.replace("PADDING", str(padding))],
            env={**environment, "PYTHONHASHSEED": str(padding)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for padding in (1, 20_000)
    }

    assert len(recipes) == 1


# What moves.


def test_changed_is_the_hook_or_else_the_newest_date():
    class Changed(Recipe):
        changed = F("pk")

    class Method(AllProducts):
        def lastmod(self, item):
            return item.updated_at.date()

    assert section_of(Changed).changed == F("pk")
    assert section_of(Changed).newest == section_of(Recipe).changed == F("updated_at")
    assert (section_of(Method).changed, section_of(Method).newest) == (None, None)
    assert section_of(AllProducts).changed is None


def test_a_method_that_hands_out_one_column_is_as_good_as_an_expression():
    class Method(contrib.Sitemap):
        def items(self):
            return Product.objects.all()

        def lastmod(self, item):
            return item.updated_at

    assert section_of(Method).changed == F("updated_at")


# Where it comes from.


@pytest.fixture
def _registered():
    registry.register("products", AllProducts)
    registry.register("recipes", Recipe)


@pytest.mark.usefixtures("_registered")
def test_sections_come_from_the_registry_each_with_an_instance_of_its_own():
    first, second = get_section("products", SITE), get_section("products", SITE)

    assert type(first.sitemap) is AllProducts
    assert first.sitemap is not second.sitemap
    assert first.sitemap.site is SITE
    assert (first.name, first.label) == ("AllProducts", "products")
    assert [section.label for section in get_sections(SITE)] == ["products", "recipes"]
    with pytest.raises(PageNotFound, match="no sitemap section 'books'"):
        get_section("books", SITE)


@pytest.mark.usefixtures("_registered")
def test_a_sitemap_gets_the_site_object_where_there_is_one():
    model = Site(pk=7, domain="example.org")
    site = type(SITE)(id=7, origin=SITE.origin, model=model)

    assert get_section("products", site).sitemap.site is model


def test_the_protocol_of_the_class_replaces_that_of_the_site():
    assert str(section_of(AllProducts).origin) == "https://example.com"
    assert str(section_of(type("Made", (AllProducts,), {"protocol": "http"})).origin) == "http://example.com"
