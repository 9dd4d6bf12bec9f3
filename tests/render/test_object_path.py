from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.core.paginator import Paginator
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language

from samples import make_products, paths, render_page, section_of, text_of
from sitemaps_plus import ModelSitemap, NewsSitemap, Sitemap
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.render import object_path
from testapp.models import Article, Cell, Product, Tag
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db

CHUNK = 7


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_path, "CHUNK", CHUNK)


class Products(ModelSitemap):
    queryset = Product.objects.all()
    lastmod = F("updated_at")
    limit = 30
    fill = 1.0


def rendered_paths(sitemap: Any, number: int = 1) -> list[str]:
    return paths(locs(text_of(render_page(section_of(sitemap), number))))


def queries(section: Any, number: int = 1) -> list[str]:
    plan = refresh(section)
    render_page(section, number, plan=plan)
    with CaptureQueriesContext(connection) as captured:
        render_page(section, number, plan=plan)
    return [query["sql"] for query in captured]


@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 5])
def test_objects_come_in_chunks_along_the_key_each_once(count: int) -> None:
    make_products(count)

    asked = queries(section_of(Products))

    assert rendered_paths(Products) == [f"/products/product-{number}/" for number in range(1, count + 1)]
    assert len(asked) == count // CHUNK + 1
    assert not [sql for sql in asked if "OFFSET" in sql]


def test_prefetched_relations_cost_one_query_a_chunk() -> None:
    class Tagged(Products):
        queryset = Product.objects.prefetch_related("tags")

        def location(self, item: Product) -> str:
            return f"/{item.slug}/{'-'.join(sorted(tag.name for tag in item.tags.all()))}/"

    products = make_products(2 * CHUNK + 1)
    Tag.objects.create(name="a").products.set(products)
    Tag.objects.create(name="b").products.set(products)

    assert len(queries(section_of(Tagged))) == 3 * 2
    assert rendered_paths(Tagged)[-1] == f"/product-{2 * CHUNK + 1}/a-b/"


def test_related_objects_that_are_selected_cost_no_query() -> None:
    class Links(ModelSitemap):
        queryset = Product.tags.through.objects.select_related("product", "tag")

        def location(self, item: Any) -> str:
            return f"/{item.tag.name}/{item.product.slug}/"

    Tag.objects.create(name="a").products.set(make_products(3))

    assert len(queries(section_of(Links))) == 1
    assert sorted(rendered_paths(Links)) == [f"/a/product-{number}/" for number in (1, 2, 3)]


def test_a_join_to_several_rows_gives_each_object_once() -> None:
    class Tagged(Products):
        queryset = Product.objects.filter(tags__name__startswith="tag")

    class TaggedByHook(Products):
        changefreq = F("tags__name")

    products = make_products(10)
    for number in range(5):
        Tag.objects.create(name=f"tag {number}").products.set(products[number:])

    assert rendered_paths(Tagged) == rendered_paths(TaggedByHook)
    assert len(rendered_paths(Tagged)) == 10


def test_a_composite_key_gives_each_object_once() -> None:
    class Cells(ModelSitemap):
        queryset = Cell.objects.all()

        def location(self, item: Cell) -> str:
            return f"/{item.row}/{item.column}/"

    Cell.objects.bulk_create(Cell(row=row, column=column) for row in range(5) for column in "cab")

    assert rendered_paths(Cells) == [f"/{row}/{column}/" for row in range(5) for column in "abc"]


def test_a_page_of_objects_costs_the_same_wherever_it_lies() -> None:
    make_products(20 * 30)
    section = section_of(Products)

    assert len(queries(section, 1)) == len(queries(section, 20)) == 30 // CHUNK + 1


@pytest.mark.parametrize(("number", "expected"), [(1, range(10)), (2, range(10, 20)), (3, range(20, 23))])
def test_a_sequence_is_paged_by_position(number: int, expected: range) -> None:
    class Static(Sitemap):
        limit = 10

        def items(self) -> list[int]:
            return list(range(23))

        def location(self, item: int) -> str:
            return f"/{item}/"

    assert rendered_paths(Static, number) == [f"/{item}/" for item in expected]


def test_a_class_that_pages_itself_is_asked_for_its_own_urls() -> None:
    class Own(contrib.Sitemap):
        limit = 2

        def items(self) -> list[str]:
            return ["a", "b", "c"]

        def location(self, item: str) -> str:
            return f"/{item}/"

        @property
        def paginator(self) -> Any:
            return Paginator([item.upper() for item in self.items()], self.limit)

    assert rendered_paths(Own) == ["/A/", "/B/"]
    assert rendered_paths(Own, 2) == ["/C/"]
    with pytest.raises(PageNotFound):
        rendered_paths(Own, 3)


def test_one_bad_location_of_a_class_that_makes_its_urls_leaves_the_others() -> None:
    class Own(contrib.Sitemap):
        def items(self) -> list[str]:
            return ["a", "b"]

        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[dict[str, Any]]:
            base = f"{protocol}://{site.domain}"
            return [{"item": "a", "location": f"{base}/a/"}, {"item": "b", "location": "https://elsewhere.example/"}]

    document = render_page(section_of(Own), 1)

    assert paths(locs(text_of(document))) == ["/a/"]
    assert [(problem.key, problem.code) for problem in document.report.problems] == [("'b'", "E-URL-HOST")]


def test_urls_without_an_item_are_named_by_their_location() -> None:
    class Own(contrib.Sitemap):
        def items(self) -> list[str]:
            return ["a"]

        def _urls(self, page: Any, protocol: Any, domain: Any) -> list[dict[str, Any]]:
            return [
                {"location": "https://elsewhere.example/"},
                {"item": (Product(pk=5), "en"), "location": "https://elsewhere.example/5/"},
                *({"location": f"{protocol}://{domain}/{path}/"} for path in "aba"),
            ]

    report = render_page(section_of(Own), 1).report

    assert [(problem.key, problem.code) for problem in report.problems] == [
        ("'https://elsewhere.example/'", "E-URL-HOST"),
        ("5", "E-URL-HOST"),
        ("'https://example.com/a/'", "E-URL-REPEATED"),
    ]


class InTwoLanguages(contrib.Sitemap):
    i18n = True
    languages = ("en", "de")

    def items(self) -> Any:
        return Product.objects.order_by("pk")


def test_a_row_that_lists_one_of_its_languages_is_not_left_out_where_the_other_is_on_the_page() -> None:
    class OneFrontPage(InTwoLanguages):
        def location(self, item: Product) -> str:
            return "/" if get_language() == "en" else f"/{item.slug}/"

    make_products(2)

    document = render_page(section_of(OneFrontPage), 1)

    assert paths(locs(text_of(document))) == ["/", "/product-1/", "/product-2/"]
    assert (document.report.left_out, document.report.warned) == (0, 1)


class SameUrls(InTwoLanguages):
    def location(self, item: Product) -> str:
        return f"/{item.slug}/"


class SameUrlsOneByOne(SameUrls):
    def get_languages_for_item(self, item: Product) -> list[str]:
        return ["en", "de"]


class SameUrlsOfItsOwn(SameUrls):
    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[dict[str, Any]]:
        return super().get_urls(page, site, protocol)


@pytest.mark.parametrize("cls", [SameUrls, SameUrlsOneByOne, SameUrlsOfItsOwn])
@pytest.mark.parametrize("as_groups", [True, False])
def test_one_url_for_all_languages_of_a_row_leaves_no_row_out(
    cls: Any, as_groups: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if as_groups:
        monkeypatch.setattr(object_path, "compile_blocks", lambda *_args: None)
    make_products(20)

    document = render_page(section_of(cls), 1)

    assert len(locs(text_of(document))) == 20
    assert (document.report.left_out, document.report.warned) == (0, 20)


def test_a_class_whose_pages_shrink_between_plan_and_page_has_no_such_page() -> None:
    left = ["a", "b", "c"]

    class Own(contrib.Sitemap):
        limit = 2

        def items(self) -> list[str]:
            return left

        def location(self, item: str) -> str:
            return f"/{item}/"

        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[dict[str, Any]]:
            return super().get_urls(page, site, protocol)

    section = section_of(Own)
    plan = refresh(section)
    del left[1:]

    with pytest.raises(PageNotFound, match="no page 2"):
        render_page(section, 2, plan=plan)


def test_a_class_without_items_has_no_page() -> None:
    class Empty(Sitemap):
        def items(self) -> list[str]:
            return []

    with pytest.raises(PageNotFound):
        rendered_paths(Empty)


def test_a_news_sitemap_reads_no_more_than_its_window(time_of_news: Any) -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        lastmod = F("published_at")
        limit = 10

        def location(self, item: Article) -> str:
            return f"/{item.title}/"

    found = render_page(section_of(News), 1)

    assert paths(locs(text_of(found))) == [f"/{number}/" for number in range(10)]
    assert lastmods(text_of(found)) == sorted(lastmods(text_of(found)), reverse=True)
    assert rendered_paths(News, 2) == [f"/{number}/" for number in range(10, 15)]


@pytest.fixture
def time_of_news() -> None:
    from datetime import timedelta

    from django.utils import timezone

    now = timezone.now()
    Article.objects.bulk_create(
        Article(title=str(number), published_at=now - timedelta(hours=3 * number + 1)) for number in range(20)
    )
    Article.objects.filter(published_at__lt=now - timedelta(hours=45)).update(published_at=now - timedelta(days=3))
