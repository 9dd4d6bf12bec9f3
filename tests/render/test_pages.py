import gzip
import hashlib
import re
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import F, Value
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from samples import DAY, SITE, Products, make_products, paths, render_page, section_of, text_of
from sitemaps_plus import NewsSitemap, Sitemap, register
from sitemaps_plus.errors import (
    InvalidSitemap,
    PageFull,
    PageGone,
    PageNotFound,
    SitemapError,
    StrictError,
    TooManyPages,
)
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import neutral
from sitemaps_plus.plan.sites import SiteOrigin, directory
from sitemaps_plus.protocol import limits
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.protocol.limits import Profile
from sitemaps_plus.protocol.writer import IndexItem
from sitemaps_plus.render.indexes import list_pages, make_index, render_index
from sitemaps_plus.render.pages import render_planned
from sitemaps_plus.stores.packing import Document
from testapp.models import Article, Product
from xml_checks import lastmods, locs, validate

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


def test_a_page_is_gzip_without_name_and_time_and_always_the_same() -> None:
    make_products(10)

    first, second = render_page(section_of(Products), 1), render_page(section_of(Products), 1)

    assert first.gzipped == second.gzipped
    flags, mtime = struct.unpack("<BI", first.gzipped[3:8])
    assert (flags, mtime) == (0, 0)


def test_a_document_knows_its_size_its_digest_and_its_bytes() -> None:
    make_products(10)

    document = render_page(section_of(Products), 1)

    data = b"".join(document.chunks())
    assert data == gzip.decompress(document.gzipped) == text_of(document)
    assert (document.size, document.urls) == (len(data), 10)
    assert document.digest == hashlib.sha256(data).hexdigest()


def test_large_documents_unpack_in_small_pieces() -> None:
    document = make_index(IndexItem(f"https://example.com/{number}/{'x' * 500}") for number in range(5000))

    pieces = list(document.chunks())

    assert b"".join(pieces) == gzip.decompress(document.gzipped)
    assert len(pieces) > 1


def test_pages_hold_each_row_once_in_key_order() -> None:
    make_products(35)

    assert all_paths(section_of(Products)) == [f"/product-{number}/" for number in range(1, 36)]


def test_the_text_form_lists_the_same_addresses() -> None:
    make_products(12)
    section = section_of(Products)

    text = text_of(render_page(section, 2, as_text=True)).decode()

    assert text.splitlines() == locs(text_of(render_page(section, 2)))


@pytest.mark.parametrize("number", [0, 3, 999_999_999])
def test_a_number_that_never_was_is_not_found(number: int) -> None:
    make_products(12)

    with pytest.raises(PageNotFound, match="no page") as caught:
        render_page(section_of(Products), number)

    assert not isinstance(caught.value, PageGone)


def test_a_retired_number_is_gone() -> None:
    make_products(12)
    section = section_of(Products)
    refresh(section)

    refresh(section, repack=True)

    with pytest.raises(PageGone):
        render_page(section, 1)


def test_a_page_whose_rows_have_no_address_is_not_found_and_leaves_the_index() -> None:
    class Nowhere(Products):
        location = F("slug")

    register("products", Nowhere)
    register("articles", type("Others", (Products,), {}))
    make_products(3)
    assert len(locs(text_of(render_index(SITE)))) == 2

    with pytest.raises(PageNotFound, match="no URLs"):
        render_page(section_of(Nowhere), 1)

    assert locs(text_of(render_index(SITE))) == ["https://example.com/sitemap-articles-1.xml"]


@pytest.mark.usefixtures("_small_pages")
def test_a_page_that_is_too_large_is_split_on_the_way_and_no_row_is_lost() -> None:
    class Large(Products):
        limit = 50_000

    make_products(100)
    section = section_of(Large)

    pages = all_pages(section)

    assert all_paths(section) == [f"/product-{number}/" for number in range(1, 101)]
    assert max(page.size for page in pages) <= 2000
    # All but the last are filled to 90 %, less one row.
    assert min(page.size for page in pages[:-1]) > 1700


@pytest.mark.usefixtures("_small_pages")
def test_a_page_that_was_split_comes_with_its_new_plan() -> None:
    class Large(Products):
        limit = 50_000

    make_products(100)
    section = section_of(Large)
    plan = refresh(section)

    _, newer = render_planned(section, 1, plan=plan)
    _, same = render_planned(section, 1, plan=newer)

    assert len(newer.pages) == len(plan.pages) + 1
    assert same is newer


@pytest.mark.usefixtures("_small_pages")
def test_the_share_that_a_split_page_keeps_is_the_class_s_own() -> None:
    class Roomy(Products):
        limit = 50_000
        fill = 0.5

    make_products(100)

    assert 900 < render_page(section_of(Roomy), 1).size <= 1100


@pytest.mark.usefixtures("_small_pages")
def test_a_page_by_position_that_is_too_large_says_what_to_do() -> None:
    class Static(Sitemap):
        def items(self) -> list[int]:
            return list(range(100))

        def location(self, item: int) -> str:
            return f"/{item}/"

    with pytest.raises(PageFull, match="lower `limit` on Static"):
        render_page(section_of(Static), 1)


def test_a_rendering_is_recorded() -> None:
    make_products(10)
    section = section_of(Products)

    document = render_page(section, 1)

    record = SitemapPage.objects.get()
    assert (record.digest, record.urls, record.bytes) == (document.digest, 10, document.size)
    assert record.changed_at == document.changed_at == DAY + timedelta(minutes=10)


def test_the_text_form_is_not_recorded() -> None:
    make_products(10)

    render_page(section_of(Products), 1, as_text=True)

    assert SitemapPage.objects.get().digest == ""


def test_what_is_rendered_for_a_host_that_a_client_names_is_not_recorded() -> None:
    make_products(10)
    forged = SiteOrigin(id=1, origin=Origin.parse("https://forged.example"), is_configured=False)

    document = render_page(section_of(Products, site=forged), 1)

    assert locs(text_of(document))[0] == "https://forged.example/product-1/"
    assert SitemapPage.objects.get().digest == ""


def test_namespaces_are_declared_where_they_are_used() -> None:
    class Translated(Products):
        i18n = True
        alternates = True

    make_products(1)

    assert b"xmlns:xhtml" not in text_of(render_page(section_of(Products), 1))
    assert b"xmlns:xhtml" in text_of(render_page(section_of(Translated, "translated"), 1))


def test_the_index_lists_the_pages_of_all_sections_in_order() -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 30}))
    make_products(25)

    document = render_index(SITE)

    assert paths(locs(text_of(document))) == [
        "/sitemap-products-1.xml",
        "/sitemap-products-2.xml",
        "/sitemap-products-3.xml",
        "/sitemap-more-1.xml",
    ]
    assert lastmods(text_of(document))[0] == "2026-01-01T12:10:00+00:00"
    assert document.changed_at == DAY + timedelta(minutes=25)


def test_the_index_of_a_section_lists_its_pages_alone() -> None:
    register("products", Products)
    register("more", type("More", (Products,), {}))
    make_products(15)

    assert paths(locs(text_of(render_index(SITE, label="more")))) == ["/sitemap-more-1.xml", "/sitemap-more-2.xml"]


@pytest.mark.parametrize("label", [None, "products"])
def test_an_index_without_pages_is_not_found(label: str | None) -> None:
    register("products", Products)

    with pytest.raises(PageNotFound, match="no URLs at present"):
        render_index(SITE, label=label)


def test_an_unknown_section_is_not_found() -> None:
    with pytest.raises(PageNotFound, match="unknown"):
        render_index(SITE, label="unknown")


def test_the_index_of_a_news_sitemap_without_news_lists_its_first_page() -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("news", News)

    assert paths(locs(text_of(render_index(SITE)))) == ["/sitemap-news-1.xml"]
    assert locs(text_of(render_page(section_of(News, "news"), 1))) == []


@pytest.mark.parametrize("rows", [15, 150])
def test_the_index_costs_queries_by_sections_and_never_by_rows(rows: int, django_assert_num_queries: Any) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {}))
    make_products(rows)
    render_index(SITE)

    with django_assert_num_queries(2) as captured:
        render_index(SITE)

    assert not [query["sql"] for query in captured.captured_queries if "testapp_product" in query["sql"]]


def test_a_page_costs_the_same_wherever_it_lies() -> None:
    make_products(200)
    section = section_of(Products)
    costs = []
    for number in (1, 20):
        render_page(section, number)
        with CaptureQueriesContext(connection) as captured:
            render_page(section, number)
        costs.append(len(captured))

    # The plan, the rows, and whether there are more of them.
    assert costs == [2, 2]


def test_one_section_that_fails_does_not_take_the_others_from_the_index(settings: Any) -> None:
    broken = {"now": False}

    class Fragile(Products):
        def get_queryset(self) -> Any:
            if broken["now"]:
                raise RuntimeError("the rows cannot be read")
            return super().get_queryset()

    register("fragile", Fragile)
    register("products", Products)
    make_products(5)
    before = text_of(render_index(SITE))
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 0}
    broken["now"] = True

    assert text_of(render_index(SITE)) == before

    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 0, "STRICT": True}
    with pytest.raises(RuntimeError):
        render_index(SITE)


def test_pages_are_listed_under_a_given_base_and_extension(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"EXTENSION": "xml.gz"}
    make_products(5)

    (item,) = list_pages(refresh(section_of(Products)), "https://cdn.example/maps/")

    assert item == IndexItem("https://cdn.example/maps/sitemap-products-1.xml.gz", "2026-01-01T12:05:00+00:00")


def test_a_class_with_a_protocol_of_its_own_is_listed_under_it() -> None:
    class Plain(Products):
        protocol = "http"

    register("products", Plain)
    make_products(1)

    assert locs(text_of(render_index(SITE))) == ["http://example.com/sitemap-products-1.xml"]
    assert locs(text_of(render_page(section_of(Plain), 1))) == ["http://example.com/product-1/"]


def test_the_directory_is_where_the_urls_are_included() -> None:
    assert directory() == "/"


@pytest.mark.urls("testapp.urls_hostile")
def test_without_the_urls_the_directory_is_the_root() -> None:
    assert directory() == "/"


def test_rendering_is_for_everybody() -> None:
    class Local(Products):
        def location(self, item: Product) -> str:
            return f"/{translation.get_language()}/{timezone.get_current_timezone_name()}/{item.slug}/"

        def lastmod(self, item: Product) -> datetime | None:
            return item.updated_at.replace(tzinfo=None) if item.updated_at else None

    make_products(2)
    plain = text_of(render_page(section_of(Local), 1))

    with translation.override("de"), timezone.override("Asia/Tokyo"):
        assert text_of(render_page(section_of(Local), 1)) == plain
        assert (translation.get_language(), timezone.get_current_timezone_name()) == ("de", "Asia/Tokyo")
    assert paths(locs(plain))[0] == "/en/Europe/Berlin/product-1/"


def test_neutral_puts_everything_back_even_after_an_error() -> None:
    with translation.override("de"), timezone.override(UTC):
        with pytest.raises(ZeroDivisionError), neutral():
            raise ZeroDivisionError

        assert translation.get_language() == "de"
        assert timezone.get_current_timezone() is UTC


def test_a_declaration_that_cannot_work_says_so() -> None:
    class Wrong(Products):
        changed = "updated_at"

    with pytest.raises(InvalidSitemap, match=r"Wrong\.changed"):
        render_page(section_of(Wrong), 1)


def test_an_index_made_of_items_is_valid_and_always_the_same() -> None:
    items = [IndexItem("https://example.com/a.xml", "2026-01-01"), IndexItem("https://example.com/b.xml")]

    first, second = make_index(items), make_index(items)

    assert first.gzipped == second.gzipped
    assert len(validate(text_of(first))) == first.urls == 2


def test_naive_dates_get_the_zone_of_the_settings(settings: Any) -> None:
    settings.USE_TZ = False
    make_products(1, updated_at=datetime(2026, 7, 1, 12))

    document = render_page(section_of(Products), 1)

    assert lastmods(text_of(document)) == ["2026-07-01T12:00:00+02:00"]


# Through a template of the project

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
    assert (document.urls, report.left_out, report.dropped, report.warned) == (2, 1, 3, 1)
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
