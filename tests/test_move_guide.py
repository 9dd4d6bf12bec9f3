"""The guide for the move from django.contrib.sitemaps, step by step: its code runs as it is printed."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.http import HttpResponse
from django.template import RequestContext, Template
from django.test import Client
from django.urls import NoReverseMatch, path

from check_messages import texts
from samples import make_products
from sitemaps_plus import ModelSitemap, Sitemap, register, registry
from sitemaps_plus.errors import InvalidSitemap
from testapp.models import Product
from xml_checks import SITEMAP, lastmods, locs, validate

pytestmark = pytest.mark.django_db

GUIDE = (Path(__file__).parents[1] / "docs/how-to/move-from-django-contrib.md").read_text()
OLD = "django.contrib.sitemaps.views.sitemap"

Shop = dict[str, Any]
"""The namespace of a block."""


def section(heading: str) -> str:
    """Return the text from a heading to the next one."""
    (found,) = re.findall(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", GUIDE, re.S | re.M)
    return found


def blocks(heading: str, language: str = "python") -> list[str]:
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", section(heading), re.S | re.M)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without its head."""
    lines = [line.strip("|").split("|") for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> ModuleType:
    """Return ``shop.sitemaps`` of the guide's project, which has three products."""
    models, sitemaps = ModuleType("shop.models"), ModuleType("shop.sitemaps")
    models.Product = Product  # type: ignore[attr-defined]
    for name, module in (("shop", ModuleType("shop")), ("shop.models", models), ("shop.sitemaps", sitemaps)):
        monkeypatch.setitem(sys.modules, name, module)
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 0}
    Site.objects.clear_cache()
    make_products(3)
    return sitemaps


@pytest.fixture
def use(settings: Any) -> Callable[[str], None]:
    """Return a function that makes the code of a block the URLconf, beside the page of a product."""

    def use(code: str) -> None:
        detail = path("products/<slug:slug>/", lambda request, slug: HttpResponse(slug), name="product-detail")
        settings.ROOT_URLCONF = type("URLconf", (), {"urlpatterns": [*run(code)["urlpatterns"], detail]})

    return use


def run(code: str) -> Shop:
    names: Shop = {"__name__": "shop.sitemaps"}
    # The products of the tests have one date.
    exec(code.replace("reviewed_at", "updated_at"), names)  # noqa: S102 - our own documentation
    return names


def get(path: str) -> bytes:
    response = Client().get(path, headers={"host": "example.com"}, secure=True)
    assert response.status_code == 200, response.getvalue()
    return response.getvalue()


def render(text: str, rf: Any) -> str:
    return Template(text).render(RequestContext(rf.get("/robots.txt", headers={"host": "example.com"}, secure=True)))


PRODUCTS = [f"https://example.com/products/product-{number}/" for number in (1, 2, 3)]


class ProductSitemap(contrib.Sitemap):
    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def lastmod(self, product: Product) -> Any:
        return product.updated_at or None


def test_step_1_an_index_and_its_pages_stay(shop, use, rf):
    shop.ProductSitemap = ProductSitemap
    use(blocks("Step 1: keep your URL patterns")[0])

    assert locs(get("/sitemap.xml")) == ["https://example.com/sitemap-products.xml"]
    assert locs(get("/sitemap-products.xml")) == PRODUCTS
    assert render(f"{{% url '{OLD}' section='products' %}}", rf) == "/sitemap-products.xml"


def test_step_1_a_single_view_stays(shop, use, rf):
    shop.ProductSitemap = ProductSitemap
    use(blocks("Step 1: keep your URL patterns")[1])

    assert locs(get("/sitemap.xml")) == PRODUCTS
    assert render(f"{{% url '{OLD}' %}}", rf) == "/sitemap.xml"


def test_step_1_origin_has_no_effect_yet(shop, use, settings):
    shop.ProductSitemap = ProductSitemap
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://other.example"}
    use(blocks("Step 1: keep your URL patterns")[1])

    assert locs(get("/sitemap.xml")) == PRODUCTS


def test_step_1_an_index_that_lost_its_date_gets_it_back(shop, use):
    (code,) = blocks("If the index loses a date")
    shop.ProductSitemap = ProductSitemap
    use(blocks("Step 1: keep your URL patterns")[0])
    assert lastmods(get("/sitemap.xml")) == [None]

    shop.ProductSitemap = run(code)["ProductSitemap"]
    use(blocks("Step 1: keep your URL patterns")[0])

    assert lastmods(get("/sitemap.xml")) == ["2026-01-01T12:03:00+00:00"]


@pytest.mark.parametrize("number", [0, 1], ids=["class", "instance"])
def test_step_2_what_is_registered_answers_at_the_old_urls(shop, use, settings, number):
    sitemap, instance, configured, urls = blocks("Step 2: register the classes")
    run([sitemap, instance][number])
    settings.SITEMAPS_PLUS = {**run(configured)["SITEMAPS_PLUS"], "CHECK_EVERY": 0}
    use(urls)

    kinds = {"the index": "sitemapindex", "the index of the section": "sitemapindex", "the first page": "urlset"}
    table = {row[0].strip("`"): row[2] for row in rows("What answers at the old URLs")}
    assert {url: validate(get(url)).tag for url in table} == {
        url: f"{SITEMAP}{kinds[now]}" for url, now in table.items()
    }
    assert locs(get("/sitemap-products-1.xml")) == PRODUCTS
    assert texts() == []


def test_step_2_other_paths_are_redirected(shop, use):
    register("products", ProductSitemap)
    use(blocks("What answers at the old URLs")[0])

    response = Client().get("/sitemaps/products.xml", headers={"host": "example.com"})

    assert (response.status_code, response.headers["Location"]) == (301, "/sitemap-products.xml")
    assert locs(get("/sitemap-products.xml")) == ["https://example.com/sitemap-products-1.xml"]


@pytest.mark.parametrize("label", ["Products", "products-2"])
def test_step_2_some_names_of_sections_are_no_labels(label):
    with pytest.raises(InvalidSitemap, match="cannot be a label"):
        register(label, ProductSitemap)


def test_step_2_the_names_of_urls_change(shop, use, settings, rf):
    sitemap, _, configured, urls = blocks("Step 2: register the classes")
    run(sitemap)
    settings.SITEMAPS_PLUS = run(configured)["SITEMAPS_PLUS"]
    use(urls)
    heading = "Change the names in templates and code"

    for before, now in rows(heading):
        with pytest.raises(NoReverseMatch):
            render(re.findall("{%.*%}", before)[0], rf)
        get(render(now.strip("`"), rf))
    (robots,) = blocks(heading, "django")
    get(re.findall("^Sitemap: https://example.com(.*)$", render(robots, rf), re.M)[0])


def test_step_2_the_date_in_the_index_comes_with_the_first_rendering(shop, use):
    register("products", ProductSitemap)
    use(blocks("Step 2: register the classes")[-1])

    get("/sitemap-products-1.xml")

    assert lastmods(get("/sitemap.xml")) == ["2026-01-01T12:03:00+00:00"]


def test_step_2_a_class_that_needs_the_request_stays_in_a_dict(shop, use):
    class OfferSitemap(contrib.Sitemap):
        def __init__(self, request: Any) -> None:
            self.request = request

        def items(self) -> list[str]:
            return [f"/offers/{self.request.get_host()}/"]

        def location(self, item: str) -> str:
            return item

    register("products", ProductSitemap)
    shop.OfferSitemap = OfferSitemap
    (code,) = blocks("Classes that need the request")
    use(code)

    assert locs(get("/offers.xml")) == ["https://example.com/offers/example.com/"]
    assert locs(get("/sitemap-products-1.xml")) == PRODUCTS
    assert texts() == []


def step_3() -> None:
    for label in [*registry]:
        registry.unregister(label)
    run(blocks("Step 3, optional: make it faster")[0])


def test_step_3_serves_the_same_urls(shop, use):
    use(blocks("Step 2: register the classes")[-1])
    step_3()

    assert issubclass(registry["products"], ModelSitemap)
    assert locs(get("/sitemap-products-1.xml")) == PRODUCTS


def test_step_3_keeps_the_page_numbers_of_a_class_that_was_paged_by_its_key(shop, use):
    sitemap, *_, urls = blocks("Step 2: register the classes")
    run(sitemap)
    use(urls)
    get("/sitemap-products-1.xml")

    step_3()

    assert locs(get("/sitemap.xml")) == ["https://example.com/sitemap-products-1.xml"]


def test_step_3_after_step_2_retires_the_page_numbers_of_a_class_that_was_paged_by_position(shop, use):
    register("products", type("Listed", (Sitemap,), {"items": lambda self: list(Product.objects.order_by("pk"))}))
    use(blocks("Step 2: register the classes")[-1])
    get("/sitemap-products-1.xml")

    step_3()

    assert locs(get("/sitemap.xml")) == ["https://example.com/sitemap-products-2.xml"]
    assert Client().get("/sitemap-products-1.xml", headers={"host": "example.com"}, secure=True).status_code == 410
