from typing import Any

import pytest
from django.db import connection
from django.db.models import CharField, Count, F, Value
from django.db.models.functions import Cast, Concat
from django.test.utils import CaptureQueriesContext

from samples import make_products, paths, render_page, section_of, text_of
from sitemaps_plus import ModelSitemap
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.render import renderer, row_path
from testapp.models import Cell, Product, Tag, Token, Word
from xml_checks import locs

pytestmark = pytest.mark.django_db

CHUNK = 7


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_path, "CHUNK", CHUNK)


def as_path(expression: Any) -> Concat:
    return Concat(Value("/"), Cast(expression, CharField()), output_field=CharField())


class Products(ModelSitemap):
    queryset = Product.objects.all()
    location = as_path(F("slug"))
    lastmod = F("updated_at")
    limit = 30
    fill = 1.0


def rendered_paths(sitemap: Any, number: int = 1) -> list[str]:
    return paths(locs(text_of(render_page(section_of(sitemap), number))))


def test_a_chunk_is_bounded_and_no_more_than_two_thousand_rows() -> None:
    assert renderer.CHUNK == 2000


@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 5])
def test_rows_come_in_chunks_along_the_key_each_once(count: int, django_assert_num_queries: Any) -> None:
    make_products(count)
    section = section_of(Products)
    plan = refresh(section)
    render_page(section, 1, plan=plan)

    with django_assert_num_queries(count // CHUNK + 1):
        document = render_page(section, 1, plan=plan)

    assert paths(locs(text_of(document))) == [f"/product-{number}" for number in range(1, count + 1)]


def test_no_query_has_an_offset() -> None:
    make_products(70)
    section = section_of(Products)
    plan = refresh(section)

    with CaptureQueriesContext(connection) as captured:
        render_page(section, 2, plan=plan)

    assert not [query["sql"] for query in captured if "OFFSET" in query["sql"]]


def test_rows_are_plain_values(monkeypatch: pytest.MonkeyPatch) -> None:
    make_products(3)
    monkeypatch.setattr(Product, "from_db", None)

    assert len(rendered_paths(Products)) == 3


def test_the_ordering_of_the_queryset_and_its_relations_are_not_read() -> None:
    class Ordered(Products):
        queryset = Product.objects.order_by("-name").prefetch_related("tags").only("name")

    make_products(3)

    assert rendered_paths(Ordered) == ["/product-1", "/product-2", "/product-3"]


def test_a_join_to_several_rows_gives_each_row_once() -> None:
    class Tagged(Products):
        queryset = Product.objects.filter(tags__name__startswith="tag")

    class TagInLastmod(Products):
        # A join that only a hook makes.
        location = Concat(as_path(F("slug")), Value("?"), Value(""), output_field=CharField())
        changefreq = F("tags__name")

    products = make_products(10)
    for number in range(5):
        Tag.objects.create(name=f"tag {number}").products.set(products[number:])

    assert rendered_paths(Tagged) == [f"/product-{number}" for number in range(1, 11)]
    assert rendered_paths(TagInLastmod) == [f"/product-{number}?" for number in range(1, 11)]


@pytest.mark.parametrize(
    ("model", "columns", "made"),
    [
        (Token, F("id"), [{} for _ in range(20)]),
        (Word, F("text"), [{"text": text} for text in ("a", "B", "c", "ö", "Z", "1", "_", "é", "zz", "aa", "Ab")]),
        (
            Cell,
            Concat(Cast(F("row"), CharField()), Value("-"), F("column"), output_field=CharField()),
            [{"row": row, "column": column} for row in range(5) for column in "cab"],
        ),
    ],
    ids=["uuid", "text", "composite"],
)
def test_any_key_gives_each_row_once(model: Any, columns: Any, made: list[dict[str, Any]]) -> None:
    class Rows(ModelSitemap):
        queryset = model.objects.all()
        location = as_path(columns)

    model.objects.bulk_create(model(**values) for values in made)

    found = rendered_paths(Rows)

    assert len(found) == len(set(found)) == len(made)


def test_annotations_and_aggregates_of_the_queryset_can_be_shown() -> None:
    class Counted(Products):
        queryset = Product.objects.annotate(tag_count=Count("tags"))
        location = Concat(as_path(F("slug")), Value("?tags="), Cast(F("tag_count"), CharField()),
                          output_field=CharField())  # fmt: skip

    products = make_products(9)
    Tag.objects.create(name="a").products.set(products[:1])

    assert rendered_paths(Counted)[:2] == ["/product-1?tags=1", "/product-2?tags=0"]
    assert len(rendered_paths(Counted)) == 9


def test_a_page_costs_the_same_wherever_it_lies(django_assert_num_queries: Any) -> None:
    make_products(20 * 30)
    section = section_of(Products)
    plan = refresh(section)
    assert len(plan.pages) == 20

    costs = []
    for number in (1, 20):
        with CaptureQueriesContext(connection) as captured:
            render_page(section, number)
        costs.append(len(captured))

    assert costs[0] == costs[1]
