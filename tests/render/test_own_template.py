"""Pages and indexes that a template of the project renders."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import Value
from django.test import Client
from django.utils import translation

from samples import SITE, Products, make_products, paths, render_page, section_of, text_of
from sitemaps_plus import Sitemap, register
from sitemaps_plus.errors import (
    PageFull,
    PageNotFound,
    SitemapError,
    StrictError,
    TooManyPages,
)
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.protocol import limits
from sitemaps_plus.protocol.limits import Profile
from sitemaps_plus.protocol.writer import IndexItem
from sitemaps_plus.render.indexes import make_index, render_index
from sitemaps_plus.render.pages import render_planned
from sitemaps_plus.stores.packing import Document
from testapp.models import Product
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db


@pytest.fixture
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=2000))


def all_pages(section: Any) -> list[Document]:
    """Render every page, those too that a split makes on the way."""
    plan, rendered = refresh(section), {}
    while waiting := [page.number for page in plan.pages if page.number not in rendered]:
        rendered[waiting[0]], plan = render_planned(section, waiting[0], plan=plan)
    return [rendered[page.number] for page in plan.pages]


def all_paths(section: Any) -> list[str]:
    return [path for page in all_pages(section) for path in paths(locs(text_of(page)))]


OWN = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{% for url in urlset %}<url><loc>{{ url.location }}</loc><lastmod>{{ url.lastmod|date:"Y-m-d" }}</lastmod></url>
<!-- {{ url.item.name }}; {{ url.changefreq }}; {{ url.colour }}; {{ request }} -->
{% endfor %}</urlset>"""


def served(address: str, **headers: str) -> bytes:
    response = Client(headers={"host": "example.com", **headers}).get(address)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("application/xml")
    return b"".join(response) if response.streaming else response.content


def comments(document: bytes) -> list[str]:
    return re.findall("<!-- (.*) -->", document.decode())


def test_an_own_template_writes_the_served_pages_and_sees_the_objects(write_template: Any) -> None:
    register("products", type("Weekly", (Products,), {"changefreq": "weekly"}))
    make_products(12)
    write_template("sitemap.xml", OWN)

    document = served("/sitemap-products-2.xml")

    assert locs(document) == ["http://example.com/product-11/", "http://example.com/product-12/"]
    assert lastmods(document) == ["2026-01-01", "2026-01-01"]
    assert comments(document) == ["Product 11; weekly; ; ", "Product 12; weekly; ; "]
    assert served("/sitemap-products-2.xml", accept_language="de") == document
    assert locs(served("/sitemap-products.xml")) == [
        f"http://example.com/sitemap-products-{number}.xml" for number in (1, 2)
    ]


def test_an_own_template_writes_pages_by_position_with_languages(write_template: Any) -> None:
    class Static(Sitemap):
        i18n = True
        alternates = True
        languages = ["en", "de"]
        limit = 4

        def items(self) -> list[str]:
            return ["a", "b"]

        def location(self, item: str) -> str:
            return f"/{translation.get_language()}/{item}/"

    write_template(
        "sitemap.xml",
        "{% for url in urlset %}{{ url.item.0 }} {{ url.item.1 }}{% for link in url.alternates %} {{ link.lang_code }}="
        "{{ link.location }}{% endfor %}\n{% endfor %}",
    )

    lines = text_of(render_page(section_of(Static), 1)).decode().splitlines()

    links = "en=https://example.com/en/{0}/ de=https://example.com/de/{0}/"
    assert lines == [f"{item} {code} {links.format(item)}" for item in "ab" for code in ("en", "de")]


def test_what_a_class_puts_in_its_own_dicts_reaches_the_template(write_template: Any) -> None:
    class Own(contrib.Sitemap):
        def items(self) -> list[int]:
            return [1]

        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[dict[str, Any]]:
            return [{"location": "/1/", "lastmod": "2026-01-02", "colour": "red"}, {"location": None}]

    write_template("sitemap.xml", OWN)

    document = render_page(section_of(Own), 1, strict=False)

    assert paths(locs(text_of(document))) == ["/1/"]
    assert lastmods(text_of(document)) == ["2026-01-02"]
    assert comments(text_of(document)) == ["; ; red; "]
    assert (document.urls, document.report.left_out) == (1, 1)


def test_the_text_form_knows_no_template(write_template: Any) -> None:
    make_products(2)
    write_template("sitemap.xml", "{{ nothing|nonsense }}")

    assert text_of(render_page(section_of(Products), 1, as_text=True)).decode().splitlines() == [
        "https://example.com/product-1/",
        "https://example.com/product-2/",
    ]


def test_bad_rows_never_reach_a_template(write_template: Any) -> None:
    class Bad(Products):
        def location(self, item: Product) -> str | None:
            return {"product-1": None, "product-3": "/product-2/"}.get(item.slug, f"/{item.slug}/")

        def lastmod(self, item: Product) -> Any:
            return "yesterday"

    make_products(4)
    write_template("sitemap.xml", "{% for url in urlset %}{{ url.location }}{{ url.lastmod }} {% endfor %}")

    document = render_page(section_of(Bad), 1, strict=False)

    assert paths(text_of(document).decode().replace("None", "").split()) == ["/product-2/", "/product-4/"]
    report = document.report
    assert (document.urls, report.left_out, report.dropped, report.warned) == (2, 2, 3, 0)
    with pytest.raises(StrictError):
        render_page(section_of(Bad), 1, strict=True)


def test_a_page_of_bad_rows_alone_is_empty_with_a_template_too(write_template: Any) -> None:
    make_products(1)
    write_template("sitemap.xml", OWN)

    with pytest.raises(PageNotFound, match="no URLs"):
        render_page(section_of(type("Nowhere", (Products,), {"location": Value("")})), 1, strict=False)


def test_a_rendering_through_a_template_is_recorded(write_template: Any) -> None:
    make_products(10)
    section = section_of(Products)
    before = render_page(section, 1)
    recipe = SitemapPage.objects.get().recipe
    write_template("sitemap.xml", OWN)

    document = render_page(section, 1)

    record = SitemapPage.objects.get()
    assert document.digest == hashlib.sha256(text_of(document)).hexdigest() != before.digest
    assert (record.digest, record.urls, record.bytes) == (document.digest, 10, document.size)
    assert before.changed_at is not None
    # Other bytes for equal rows.
    assert record.changed_at > before.changed_at
    refresh(section, force=True)
    assert SitemapPage.objects.get().recipe != recipe


@pytest.mark.usefixtures("_small_pages")
def test_a_page_that_a_template_makes_too_large_is_split_and_no_row_is_lost(
    write_template: Any,
) -> None:
    class Large(Products):
        limit = 50_000

    make_products(100)
    write_template("sitemap.xml", OWN)
    section = section_of(Large)

    pages = all_pages(section)

    assert all_paths(section) == [f"/product-{number}/" for number in range(1, 101)]
    assert max(page.size for page in pages) <= 2000
    assert min(page.size for page in pages[:-1]) > 1600
    assert sum(page.urls for page in pages) == 100


@pytest.mark.usefixtures("_small_pages")
def test_a_template_whose_rows_grow_with_their_number_is_split_as_well(write_template: Any) -> None:
    class Large(Products):
        limit = 50_000

    make_products(40)
    write_template(
        "sitemap.xml",
        "{% for url in urlset %}{{ url.location }}{% for other in urlset %}.{% endfor %}\n{% endfor %}",
    )

    pages = all_pages(section_of(Large))

    found = [line.rstrip(".") for page in pages for line in text_of(page).decode().split()]
    assert paths(found) == [f"/product-{number}/" for number in range(1, 41)]
    assert max(page.size for page in pages) <= 2000


@pytest.mark.usefixtures("_small_pages")
@pytest.mark.parametrize("sliced", [False, True], ids=["by key", "by position"])
def test_one_row_that_a_template_makes_too_large_is_left_out_alone(write_template: Any, sliced: bool) -> None:
    class Named(Products):
        def get_queryset(self) -> Any:
            return Product.objects.order_by("pk")[: 10 if sliced else None]

    make_products(4)
    Product.objects.filter(slug="product-2").update(name="x" * 200)
    # As long as a column of every database allows, fifteen times.
    write_template("sitemap.xml", OWN.replace("{{ url.item.name }}", "{{ url.item.name }}" * 15))

    document = render_page(section_of(Named), 1, strict=False)

    assert paths(locs(text_of(document))) == ["/product-1/", "/product-3/", "/product-4/"]
    assert [(problem.hook, problem.code) for problem in document.report.problems] == [("location", "E-FILE-SIZE")]
    with pytest.raises(StrictError, match="fit on the page"):
        render_page(section_of(Named), 1, strict=True)


@pytest.mark.usefixtures("_small_pages")
def test_a_page_by_position_that_a_template_makes_too_large_says_what_to_do(
    write_template: Any,
) -> None:
    class Static(Sitemap):
        def items(self) -> list[int]:
            return list(range(100))

        def location(self, item: int) -> str:
            return f"/{item}/"

    write_template("sitemap.xml", OWN)

    with pytest.raises(PageFull, match="lower `limit` on Static"):
        render_page(section_of(Static), 1)


def test_a_page_holds_no_more_urls_with_a_template(write_template: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_urls=4))
    section = section_of(type("Large", (Products,), {"limit": 50}))
    second = make_products(10)[1]
    Product.objects.filter(pk=second.pk).delete()
    plan = refresh(section)
    second.save(force_insert=True)
    write_template("sitemap.xml", OWN)

    document, newer = render_planned(section, 1, plan=plan)

    assert document.urls == 4
    assert len(newer.pages) == len(plan.pages) + 1
    assert all_paths(section) == [f"/product-{number}/" for number in range(1, 11)]


def test_more_languages_than_a_page_holds_are_left_out(write_template: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Many(Products):
        i18n = True
        languages = ["en", "de", "fr"]

        def location(self, item: Product) -> str:
            return f"/{translation.get_language()}/{item.slug}/"

    make_products(1)
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_urls=2))
    write_template("sitemap.xml", OWN)

    with pytest.raises(PageNotFound) as caught:
        render_page(section_of(Many), 1, strict=False)
    assert caught.value.report.problems[0].code == "E-FILE-SIZE"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{% nonsense %}", "TemplateSyntaxError"),
        ("{% include 'missing.xml' %}", "TemplateDoesNotExist"),
        ("{{ urlset.0.item.explode }}", "ZeroDivisionError"),
    ],
)
def test_a_template_that_fails_is_named_with_its_section(
    write_template: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr(Product, "explode", lambda self: 1 // 0, raising=False)
    make_products(1)
    write_template("sitemap.xml", text)

    with pytest.raises(SitemapError, match=rf"sitemap\.xml.*{said}.*Correct it"):
        render_page(section_of(Products), 1)

    if said != "TemplateSyntaxError":
        with pytest.raises(
            SitemapError, match=rf"{tmp_path}/templates/sitemap\.xml\) failed for the sitemap 'products'"
        ):
            render_page(section_of(Products), 1)


def test_text_that_no_encoding_holds_names_the_template(write_template: Any) -> None:
    make_products(1)
    write_template("sitemap.xml", "{{ urlset.0.surrogate }}")

    class Own(contrib.Sitemap):
        def items(self) -> list[int]:
            return [1]

        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[dict[str, Any]]:
            return [{"location": "/1/", "surrogate": "\ud800"}]

    with pytest.raises(SitemapError, match="UnicodeEncodeError"):
        render_page(section_of(Own), 1)


def test_a_template_that_does_not_compile_leaves_the_index(write_template: Any) -> None:
    register("products", Products)
    make_products(1)
    write_template("sitemap.xml", "{% nonsense %}")

    assert locs(text_of(render_index(SITE))) == ["https://example.com/sitemap-products-1.xml"]


def test_an_own_index_is_served_for_the_site_and_its_sections(write_template: Any) -> None:
    register("products", Products)
    make_products(12)
    write_template(
        "sitemap_index.xml",
        "{% for sitemap in sitemaps %}{{ sitemap.location }} {{ sitemap.last_mod|date:'Y-m-d H:i' }}\n{% endfor %}",
    )

    site, section = served("/sitemap.xml"), served("/sitemap-products.xml")

    # In the time zone of the settings.
    assert site.decode().splitlines() == [
        "http://example.com/sitemap-products-1.xml 2026-01-01 13:10",
        "http://example.com/sitemap-products-2.xml 2026-01-01 13:12",
    ]
    assert section == site
    assert paths(locs(served("/sitemap-products-1.xml")))[0] == "http://example.com/product-1/"


def test_an_own_index_that_fails_is_named(write_template: Any) -> None:
    write_template("sitemap_index.xml", "{% include 'missing.xml' %}")

    with pytest.raises(SitemapError, match=r"sitemap_index\.xml.*failed for an index: TemplateDoesNotExist"):
        make_index([IndexItem("https://example.com/a.xml")])


def test_an_own_index_lists_no_more_than_the_protocol_allows(write_template: Any) -> None:
    write_template("sitemap_index.xml", "{{ sitemaps|length }}")

    with pytest.raises(TooManyPages):
        make_index([IndexItem("https://example.com/a.xml")] * 50_001)
