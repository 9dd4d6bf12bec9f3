"""A column for each language: django-modeltranslation, and columns of one's own."""

from datetime import UTC, datetime
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from django.contrib.sites.models import Site
from django.db.models import F
from django.test import Client
from modeltranslation.utils import build_localized_fieldname

from clusters import answers, built, clusters, complaints, linked, paths, queries, served, undocumented
from shop.models import Leaflet, Product
from shop.sitemaps import FilmSitemap, ProductsByMethod, ProductSitemap
from sitemaps_plus import UrlFor

pytestmark = pytest.mark.django_db

PRODUCTS = ["products", "products-by-method"]
LEAFLETS = ["leaflets", "leaflets-by-method"]
VIDEO = "{http://www.google.com/schemas/sitemap-video/1.1}"
TITLES = {"en": "Lamp", "de": "Lampe", "pt_br": "Lâmpada", "es_419": "Lámpara"}


def make_product(**slugs: str | None) -> Product:
    names = {f"name_{code}": f"{TITLES[code]} {slug}" for code, slug in slugs.items()}
    columns = {f"slug_{code}": slug for code, slug in slugs.items()}
    return Product.objects.create(updated_at=datetime(2026, 5, 4, 12, tzinfo=UTC), **names, **columns)


def make_products(count: int) -> None:
    for number in range(Product.objects.count(), Product.objects.count() + count):
        make_product(en=f"lamp-{number}", de=f"lampe-{number}", pt_br=f"lampada-{number}", es_419=f"lampara-{number}")


def test_a_view_has_an_address_in_every_language():
    found = paths(linked(served("views")))

    assert list(answers(found).values()) == ["en", "de", "pt-br", "es-419"] * 2
    assert found["/es-419/about/"] == {
        "en": "/en/about/",
        "de": "/de/about/",
        "pt-BR": "/pt-br/about/",
        "es": "/es-419/about/",
        "x-default": "/about/",
    }


@pytest.mark.parametrize("label", ["views", *PRODUCTS])
def test_a_language_without_a_code_is_listed_and_in_no_cluster(settings, label):
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "HREFLANG": {"es-419": None}}
    make_product(en="lamp", de="lampe", es_419="lampara")

    found = paths(linked(served(label)))

    assert {path for path, links in found.items() if not links} == {path for path in found if "/es-419/" in path}
    assert {code for links in found.values() for code in links} <= {"en", "de", "pt-BR", "x-default"}
    assert found == paths(linked(built(label)))


@pytest.mark.parametrize("label", PRODUCTS)
def test_each_language_has_its_own_slug_and_links_to_all(label):
    make_product(en="lamp", de="lampe", pt_br="lampada", es_419="lampara")

    found = paths(linked(served(label)))

    assert list(found) == [
        "/en/products/lamp/",
        "/de/products/lampe/",
        "/pt-br/products/lampada/",
        "/es-419/products/lampara/",
    ]
    assert found["/de/products/lampe/"] == {
        "en": "/en/products/lamp/",
        "de": "/de/products/lampe/",
        "pt-BR": "/pt-br/products/lampada/",
        "es": "/es-419/products/lampara/",
        "x-default": "/products/lamp/",
    }


@pytest.mark.parametrize("label", PRODUCTS)
@pytest.mark.parametrize("empty", ["", None])
def test_a_row_that_is_not_translated_has_no_address_in_that_language(label, empty):
    make_product(en="chair", de=empty, pt_br="cadeira")
    make_product(en="lamp", de="lampe")

    found = paths(linked(served(label)))

    chair = {"en": "/en/products/chair/", "pt-BR": "/pt-br/products/cadeira/", "x-default": "/products/chair/"}
    lamp = {"en": "/en/products/lamp/", "de": "/de/products/lampe/", "x-default": "/products/lamp/"}
    assert found == {
        "/en/products/chair/": chair,
        "/pt-br/products/cadeira/": chair,
        "/en/products/lamp/": lamp,
        "/de/products/lampe/": lamp,
    }


@pytest.mark.parametrize("label", PRODUCTS)
def test_without_the_default_language_there_is_no_x_default(label):
    make_product(de="lampe", pt_br="lampada")

    found = paths(linked(served(label)))

    links = {"de": "/de/products/lampe/", "pt-BR": "/pt-br/products/lampada/"}
    assert found == dict.fromkeys(links.values(), links)


def test_the_name_without_a_language_is_the_column_of_the_default_language(monkeypatch):
    monkeypatch.setattr(ProductSitemap, "location", UrlFor("product", slug=F("slug")))
    make_product(en="lamp", de="lampe")

    assert "/de/products/lamp/" in paths(linked(served("products")))


def test_columns_and_methods_give_the_same_bytes_served_and_built():
    make_products(3)
    make_product(en="chair", de="", pt_br=None, es_419="silla")

    pages = [served("products"), served("products-by-method"), built("products"), built("products-by-method")]

    assert pages[0] == pages[1] == pages[2] == pages[3]


@pytest.mark.parametrize("label", PRODUCTS)
def test_each_address_answers_in_its_language(label):
    make_products(2)
    make_product(en="chair", de="")

    languages = answers(linked(served(label)))

    assert len(languages) == 9
    assert all(path.split("/")[1] == language for path, language in languages.items())


def test_x_default_leads_to_the_page():
    make_product(en="lamp", de="lampe")
    (href,) = {links["x-default"] for links in linked(served("products")).values()}

    response = Client().get(urlsplit(href).path, headers={"host": "example.com"}, follow=True)

    assert response.redirect_chain == [("/en/products/lamp/", 302)]
    assert response.status_code == 200


def test_all_languages_of_a_row_are_on_one_page(monkeypatch):
    monkeypatch.setattr(ProductSitemap, "limit", 8)
    monkeypatch.setattr(ProductSitemap, "fill", 1.0)
    make_products(5)

    pages = served("products")

    assert [len(clusters([page])) for page in pages] == [8, 8, 4]
    assert all(linked([page]) for page in pages)
    assert pages == built("products")


def test_links_across_pages_are_returned(monkeypatch):
    monkeypatch.setattr(ProductsByMethod, "limit", 3)
    make_products(5)

    pages = served("products-by-method")

    assert [len(clusters([page])) for page in pages] == [3] * 6 + [2]
    assert linked(pages) == linked(served("products"))


@pytest.mark.parametrize("label", PRODUCTS)
def test_more_rows_cost_no_more_queries(label):
    make_products(2)
    few = queries(lambda: served(label))
    make_products(20)

    assert queries(lambda: served(label)) == few


def test_a_video_has_the_title_of_each_language():
    product = make_product(en="lamp", de="lampe", pt_br="lampada")
    Product.objects.filter(pk=product.pk).update(film="https://cdn.example.net/lamp.mp4", name_pt_br="")

    (page,) = served("films")

    titles = {url.findtext("{*}loc"): url.findtext(f".//{VIDEO}title") for url in ElementTree.fromstring(page)}  # noqa: S314
    assert titles == {
        "https://example.com/en/products/lamp/": "Lamp lamp",
        "https://example.com/de/products/lampe/": "Lampe lampe",
        # Nothing that is required is taken from another language.
        "https://example.com/pt-br/products/lampada/": None,
    }
    assert paths(linked([page])).keys() == {"/en/products/lamp/", "/de/products/lampe/", "/pt-br/products/lampada/"}


def test_the_package_names_one_column_otherwise():
    assert build_localized_fieldname("slug", "id") == "slug_ind"
    assert FilmSitemap.videos.description.columns["pt-br"] == "name_pt_br"


@pytest.mark.parametrize("label", LEAFLETS)
def test_a_row_says_which_languages_it_has(label):
    Leaflet.objects.create(slug="map", slug_german="karte", languages="en,de")
    Leaflet.objects.create(slug="plan", slug_german="entwurf", languages="en")

    found = paths(linked(served(label)))

    both = {"en": "/en/leaflets/map/", "de": "/de/leaflets/karte/"}
    assert found == {**dict.fromkeys(both.values(), both), "/en/leaflets/plan/": {"en": "/en/leaflets/plan/"}}
    assert answers(found) == {"/en/leaflets/map/": "en", "/de/leaflets/karte/": "de", "/en/leaflets/plan/": "en"}


@pytest.mark.parametrize("label", LEAFLETS)
@pytest.mark.parametrize(
    ("fallback", "expected"),
    [
        ("", None),
        ("de", "/de/leaflets/karte/"),
        ("/choose/", "/choose/"),
        ("https://example.org/", "https://example.org/"),
    ],
)
def test_a_row_says_which_address_is_for_all_others(label, fallback, expected):
    Leaflet.objects.create(slug="map", slug_german="karte", languages="en,de", fallback=fallback)

    found = paths(linked(served(label)))

    assert {links.get("x-default") for links in found.values()} == {expected}


@pytest.mark.parametrize("label", LEAFLETS)
def test_more_leaflets_cost_no_more_queries(label):
    Leaflet.objects.create(slug="map", slug_german="karte", languages="en,de")
    few = queries(lambda: served(label))
    Leaflet.objects.bulk_create(
        Leaflet(slug=f"map-{n}", slug_german=f"karte-{n}", languages="en,de") for n in range(20)
    )

    assert queries(lambda: served(label)) == few


def test_a_language_on_another_host_is_linked_and_listed_by_the_other_site(settings):
    del settings.SITE_ID
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ORIGIN": {1: "https://example.com", 2: "https://example.de"}}
    Site.objects.update_or_create(pk=1, defaults={"domain": "example.com"})
    Site.objects.update_or_create(pk=2, defaults={"domain": "example.de"})
    Leaflet.objects.create(slug="map", slug_german="karte")
    Leaflet.objects.create(slug="plan")

    here = served("leaflets-of-two-hosts", "example.com")
    there = served("leaflets-of-two-hosts", "example.de")

    assert list(linked(here, other_hosts=("example.de",))) == [
        "https://example.com/leaflets/map/",
        "https://example.com/leaflets/plan/",
    ]
    assert list(linked(there, other_hosts=("example.com",))) == ["https://example.de/leaflets/karte/"]
    assert linked([*here, *there])["https://example.de/leaflets/karte/"] == {
        "en": "https://example.com/leaflets/map/",
        "de": "https://example.de/leaflets/karte/",
        "x-default": "https://example.com/leaflets/map/",
    }


def test_the_checks_find_nothing():
    assert complaints() == []


@pytest.mark.parametrize("section", ["The languages of a site", "A column for each language", "Other hosts"])
def test_the_guide_shows_what_runs_here(section):
    assert undocumented(section, "shop") == []
