"""The search for a URL in built files, and the comparison of a row with its built file."""

import gzip
from datetime import timedelta

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from own_templates import put_template
from samples import DAY, Products, make_products
from sitemaps_plus import (
    Alternate,
    Sitemap,
    register,
)
from sitemaps_plus.build import build
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.section_search import Verdict
from testapp.models import Product
from url_search import (
    HOST,
    MethodProducts,
    UrlProducts,
    found,
    of,
    put,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]

CORRUPT = {
    "empty": b"",
    "no gzip": b"no gzip",
    "a part": gzip.compress(b"<urlset>" * 1000)[:40],
    "trailing data": gzip.compress(b"x") + b"y",
}


def test_a_built_row_is_current():
    register("products", UrlProducts)
    make_products(15)
    build()

    match = found("/en/products/product-12/")

    assert (match.verdict, match.number, match.is_current) == (Verdict.LISTED, 2, True)
    assert match.built_at is not None
    assert "has its current entry" in str(match.reason)


def test_a_row_changed_after_the_build_is_not_current():
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


def test_locations_that_are_methods_cannot_be_searched_without_a_build():
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


@pytest.mark.parametrize("data", CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_file_is_reported(data):
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


def test_a_missing_file_is_reported():
    register("products", UrlProducts)
    make_products(3)
    build()
    storages["sitemaps"].delete("example.com/sitemap-products-1.xml.gz")

    assert found("/en/products/product-1/").verdict == Verdict.NOT_BUILT


def test_a_broken_manifest_counts_as_no_build():
    register("products", UrlProducts)
    make_products(3)
    build()
    storages["sitemaps"].delete(f"example.com/{MANIFEST}")
    storages["sitemaps"].save(f"example.com/{MANIFEST}", ContentFile(b"{"))

    assert found("/en/products/product-1/").verdict == Verdict.LISTED
    assert found("/en/products/product-1/").is_current is None


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


def test_a_row_of_a_computed_location_that_is_gone_is_in_the_file_only():
    register("products", Products)
    make_products(3)
    build()
    of("product-2").delete()

    assert found("/product-2/").verdict == Verdict.GONE


def test_the_search_is_incomplete_if_a_file_cannot_be_read():
    register("products", UrlProducts)
    make_products(3)
    build()
    put(b"no gzip")

    finding = find_url("/en/products/product-9/")

    assert [match.verdict for match in finding.matches] == [Verdict.NO_ROW]
    assert not finding.is_complete


def test_a_url_across_two_pieces_of_a_file_is_found():
    register("products", type("Many", (MethodProducts,), {"limit": 5000}))
    make_products(3000)
    build()
    numbers = range(1, 3000, 97)

    finding = [find_url(f"/shop/product-{number}/?a=1&b='2'").matches for number in numbers]

    assert all(len(matches) == 1 for matches in finding)


def test_a_query_string_that_a_built_file_does_not_have_is_ignored():
    class Paths(MethodProducts):
        def location(self, item):
            return f"/shop/{item.slug}/"

    register("products", Paths)
    make_products(12)
    build()

    match = found("/shop/product-11/?utm_source=x")

    assert (match.verdict, match.number) == (Verdict.LISTED, 2)
    assert str(match.reason).startswith(
        f"The query string was ignored, as the URL is {HOST}/shop/product-11/. The built file lists it."
    )
