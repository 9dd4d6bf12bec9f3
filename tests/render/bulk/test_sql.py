"""Columns as one text each: all rows of a chunk, in the order of the key, whatever the values are."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import Case, CharField, F, QuerySet, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Concat
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from samples import make_products, section_of
from sitemaps_plus import ModelSitemap
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.render.bulk.sql import Joined, JoinedRows
from testapp.models import Box, Bundle, Cell, Label, Leaflet, Number, Photo, Product, Reading, Token, Word

joining = pytest.mark.skipif(connection.vendor not in ("sqlite", "postgresql"), reason="rows are not joined there")
only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite holds any value in any column")
pytestmark = pytest.mark.django_db


def joined_rows(queryset: Any, column: Any, size: int = 3, **attributes: Any) -> JoinedRows | None:
    made = type("Made", (ModelSitemap,), {"queryset": queryset, "location": column, **attributes})
    section = section_of(made, "rows")
    (page,) = refresh(section, force=True).pages
    return JoinedRows.of(section, page, section.hooks.columns, size)


def chunks(rows: JoinedRows | None) -> Iterator[Joined]:
    assert rows is not None
    chunk = rows.read(None)
    while chunk and chunk.size:
        yield chunk
        chunk = rows.read(chunk.last)
    assert chunk is not None


def first_column(rows: JoinedRows | None) -> list[str]:
    return [text for chunk in chunks(rows) for text in chunk.columns[0]]


@joining
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 7])
def test_chunks_follow_the_key_and_hold_each_row_once(count: int) -> None:
    products = make_products(count)

    found = list(chunks(joined_rows(Product.objects.order_by("-pk"), F("slug"))))

    assert [text for chunk in found for text in chunk.columns[0]] == [product.slug for product in products]
    assert [chunk.size for chunk in found] == [3] * (count // 3) + [count % 3] * bool(count % 3)
    assert [chunk.last for chunk in found] == [(products[min(at + 2, count - 1)].pk,) for at in range(0, count, 3)]


# What a column of all databases holds, but for the end of a line.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00\n"), max_size=8)


@joining
@given(
    given_texts=st.lists(st.none() | texts | st.sampled_from(["", " ", "\r", "\x0b", "\x85", "\u2028", "%s", "\\n"]))
)
def test_values_come_as_they_are_and_none_as_an_empty_text(given_texts: list[str | None]) -> None:
    Leaflet.objects.all().delete()
    Leaflet.objects.bulk_create(Leaflet(slug="a", slug_de=text) for text in [*given_texts, "last"])

    assert first_column(joined_rows(Leaflet.objects.all(), F("slug_de"))) == [text or "" for text in given_texts] + [
        "last"
    ]


@joining
@pytest.mark.parametrize("text", ["\n", "a\nb", "a\n", "\r\n"])
def test_a_chunk_with_a_value_of_several_lines_is_not_told(text: str) -> None:
    Leaflet.objects.bulk_create(Leaflet(slug=slug) for slug in ["a", "b", "c", "d", text])
    rows = joined_rows(Leaflet.objects.all(), F("slug"))
    assert rows is not None

    first = rows.read(None)

    assert first is not None
    assert first.columns == [["a", "b", "c"]]
    assert rows.read(first.last) is None


@only_sqlite
def test_bytes_among_texts_are_left_to_python() -> None:
    Leaflet.objects.create(slug="a")
    rows = joined_rows(Leaflet.objects.all(), F("slug"))
    assert rows is not None

    for stored in (b"abc", b"\xff", b""):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE testapp_leaflet SET slug = %s", [stored])
        assert rows.read(None) is None


@only_sqlite
def test_what_stands_behind_a_nul_is_not_lost() -> None:
    Leaflet.objects.bulk_create(Leaflet(slug=slug) for slug in ["a\x00b", "\x00", "\x01\x1f", "c"])

    assert first_column(joined_rows(Leaflet.objects.all(), F("slug"))) == ["a\x00b", "\x00", "\x01\x1f", "c"]


def make_readings() -> None:
    Reading.objects.bulk_create(
        Reading(
            at=datetime(2026, 1, day, 23, 59, 59, day, tzinfo=UTC),
            on=date(2026, 1, day),
            amount=f"{day}.125",
            share=day / 7,
            took=timedelta(days=-day, microseconds=day),
            slug=f"r{day}",
        )
        for day in (5, 3, 9, 1, 8, 2, 7)
    )


def make_labels() -> None:
    for _ in range(7):
        Label.objects.create(token=Token.objects.create())


def make_boxes() -> None:
    for at in range(7):
        Box.objects.create(slug=f"b{at}")


KEYS: dict[str, Any] = {
    "number": (Number, "pk", lambda: [Number.objects.create(id=id) for id in (-(2**62), -1, 0, 1, 7, 2**62)]),
    "text": (
        Word,
        "pk",
        lambda: [Word.objects.create(text=text) for text in ["b", "B", "a b", "é", "zz", "1", "", "%s"]],
    ),
    "uuid": (Token, "pk", lambda: [Token.objects.create() for _ in range(7)]),
    "relation": (Label, "pk", make_labels),
    "child": (Bundle, "pk", make_boxes),
    "child of a child": (Box, "pk", make_boxes),
    **{name: (Reading, name, make_readings) for name in ("at", "on", "amount", "share", "took", "slug")},
}


@joining
@pytest.mark.parametrize("name", KEYS)
def test_chunks_follow_a_key_of_any_kind(name: str) -> None:
    model, key, make = KEYS[name]
    make()
    attname = section_of(type("M", (ModelSitemap,), {"queryset": model.objects.all(), "key": key})).key.names[0]
    # Each with its own place in the order of the database.
    column = {"text": F("text"), "number": F("id")}.get(name, Value("x"))

    found = list(chunks(joined_rows(model.objects.all(), column, 2, key=key)))

    keys = list(model.objects.order_by(attname).values_list(attname, flat=True))
    assert [chunk.last[0] for chunk in found] == [keys[min(at + 1, len(keys) - 1)] for at in range(0, len(keys), 2)]
    if name in ("text", "number"):
        assert [text for chunk in found for text in chunk.columns[0]] == [str(one) for one in keys]


QUERYSETS: dict[str, tuple[Any, Any]] = {
    "distinct": (Leaflet.objects.distinct(), F("slug")),
    "annotated": (
        Leaflet.objects.annotate(long=Concat("slug", Value("-%-z"))).filter(long__gt="a").exclude(long="%"),
        Concat("long", Value("%s")),
    ),
    "with per cent signs": (Leaflet.objects.exclude(slug__contains="%"), Concat(Value("100% "), "slug")),
    "with SQL": (
        Leaflet.objects.extra(where=["slug LIKE %s"], params=["%a%"]),
        RawSQL("slug || '%%' || %s", ["%"], CharField()),
    ),
    "with a column of SQL": (Leaflet.objects.extra(select={"one": "1"}), F("slug")),
    "coalesced": (Leaflet.objects.all(), Coalesce("slug_de", "slug_pt_br", Value("none"))),
    "by case": (
        Leaflet.objects.filter(slug__in=["a1", "a2", "a4", "a6"]),
        Case(When(slug="a2", then=Value("second")), When(slug="a4", then=None), default="slug"),
    ),
    "deferred": (Leaflet.objects.defer("slug").reverse(), F("slug")),
}


@joining
@pytest.mark.parametrize("name", QUERYSETS)
def test_querysets_and_expressions_give_what_they_give_row_by_row(name: str) -> None:
    Leaflet.objects.bulk_create(Leaflet(slug=f"a{at}", slug_de="de" if at % 2 else None) for at in range(8))
    queryset, column = QUERYSETS[name]

    found = first_column(joined_rows(queryset, column))

    by_row = sorted(queryset.annotate(shown=column).values_list("pk", "shown"))
    assert found == [text or "" for _, text in by_row]
    assert len(found) > 3


@joining
def test_columns_of_related_rows_are_joined_too() -> None:
    for product in make_products(4):
        Photo.objects.create(product=product)

    found = first_column(joined_rows(Photo.objects.select_related("product"), F("product__slug")))

    assert found == ["product-1", "product-2", "product-3", "product-4"]


@pytest.mark.parametrize("column", ["priority", "published_on", "updated_at", "is_active", "file"])
def test_what_is_no_text_of_the_database_is_read_row_by_row(column: str) -> None:
    make_products(1)

    assert joined_rows(Product.objects.all(), F(column)) is None


def test_rows_of_several_key_columns_are_read_row_by_row() -> None:
    Cell.objects.create(row=1, column="a")

    assert joined_rows(Cell.objects.all(), F("column")) is None


def test_rows_without_columns_are_read_row_by_row() -> None:
    make_products(1)

    assert joined_rows(Product.objects.all(), "/constant/") is None


@pytest.mark.skipif(connection.vendor != "mysql", reason="all others join")
def test_a_database_that_may_cut_what_it_joins_is_not_asked_to() -> None:
    make_products(1)

    assert joined_rows(Product.objects.all(), F("slug")) is None


class Shuffled(QuerySet[Any]):
    """As packages that rewrite names do: in an order of its own, and put right by Python afterwards."""

    extra: tuple[str, ...] = ()

    def values_list(self, *fields: Any, **options: Any) -> Any:
        return super().values_list(*sorted(fields, reverse=True), *self.extra, **options)


@joining
def test_columns_are_told_by_their_names_whatever_the_order_of_a_queryset_class() -> None:
    products = make_products(4)
    location = Concat(F("slug"), Value("/"), F("name"), output_field=CharField())

    rows = joined_rows(Shuffled(Product), location, lastmod=None, changefreq=F("name"))

    found = [column for chunk in chunks(rows) for column in zip(*chunk.columns, strict=True)]
    assert found == [(f"{product.slug}/{product.name}", product.name) for product in products]


@joining
def test_a_queryset_class_that_selects_more_is_read_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    make_products(1)
    monkeypatch.setattr(Shuffled, "extra", ("name",))

    assert joined_rows(Shuffled(Product), F("slug")) is None


def test_rows_that_no_database_has_to_be_asked_for_are_no_error() -> None:
    wanted = [product.pk for product in make_products(2)]

    class Chosen(ModelSitemap):
        location = F("slug")

        def items(self) -> Any:
            return Product.objects.filter(pk__in=list(wanted))

    section = section_of(Chosen)
    (page,) = refresh(section, force=True).pages
    wanted.clear()

    assert JoinedRows.of(section, page, section.hooks.columns, 3) is None


@only_sqlite
def test_a_chunk_is_looked_up_from_the_key_before_it_on() -> None:
    make_products(9)
    rows = joined_rows(Product.objects.all(), F("slug"))

    with CaptureQueriesContext(connection) as captured:
        list(chunks(rows))

    for query in captured.captured_queries[1:]:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN QUERY PLAN " + query["sql"])
            plan = [line[-1] for line in cursor.fetchall()]
        assert any("USING INTEGER PRIMARY KEY (rowid>?)" in step for step in plan)
        assert not any("TEMP B-TREE" in step for step in plan)


def test_the_database_of_the_queryset_is_asked(tmp_path: Path) -> None:
    connections.databases["copy"] = {**connections.databases["default"], "ENGINE": "django.db.backends.sqlite3"}
    # A file: closing a connection to a database in memory does nothing.
    connections.databases["copy"].update(NAME=tmp_path / "copy.sqlite3", OPTIONS={})
    try:
        # The test may ask the default one alone, and this one is of its own making.
        connections["copy"].ensure_connection = lambda: connections["copy"].connection or connections["copy"].connect()
        with connections["copy"].schema_editor() as editor:
            editor.create_model(Word)
        Word.objects.using("copy").bulk_create(Word(text=text) for text in "abcd")

        class Copied(ModelSitemap):
            queryset = Word.objects.using("copy")
            location = F("text")

        section = section_of(Copied)
        (page,) = refresh(section, force=True).pages

        assert first_column(JoinedRows.of(section, page, section.hooks.columns, 3)) == list("abcd")
    finally:
        connections["copy"].close()
        del connections["copy"], connections.databases["copy"]
