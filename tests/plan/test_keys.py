"""A key is stored and read back unchanged, and splits the rows where the database orders them."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from django.db.models import F, GeneratedField, UUIDField
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from factories import BundleFactory, ProductFactory, TokenFactory
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.plan.keys import Key, stored_field
from testapp.models import Box, Bundle, Cell, Label, Note, Number, Product, Reading, Seat, Token, Word


@pytest.mark.parametrize(
    ("model", "names", "columns"),
    [
        (Product, "pk", ("id",)),
        (Product, "slug", ("slug",)),
        (Token, "pk", ("id",)),
        (Cell, "pk", ("row", "column")),
        (Cell, ("column", "row"), ("column", "row")),
        (Seat, ("hall", "name"), ("hall", "name")),
        (Seat, ("hall", "pk"), ("hall", "id")),
        (Note, ("product", "text"), ("product_id", "text")),
        (Bundle, "pk", ("product_ptr_id",)),
        (Bundle, "slug", ("slug",)),
    ],
)
def test_a_key_names_its_columns(model, names, columns):
    key = Key.of(model, names)

    assert key.names == columns
    assert str(key) == ",".join(columns)


@pytest.mark.parametrize(
    ("model", "names", "summable"),
    [
        (Product, "pk", ("id",)),
        (Product, "slug", ()),
        (Token, "pk", ()),
        (Cell, "pk", ("row",)),
        (Seat, ("hall", "pk"), ("hall", "id")),
        (Bundle, "pk", ("product_ptr_id",)),
        (Box, "pk", ("bundle_ptr_id",)),
        (Label, "pk", ()),
    ],
)
def test_columns_of_numbers_can_be_added_up(model, names, summable):
    assert Key.of(model, names).summable == summable


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("colour", "Product has no field of this name"),
        ("tags", "Product.tags is not a column"),
        ("notes", "is not a column"),
    ],
)
def test_a_key_that_is_no_column_is_an_error(name, reason):
    with pytest.raises(InvalidSitemap, match=reason):
        Key.of(Product, name)


KEYS = [
    (Key.of(Product, "pk"), st.integers(-(2**63), 2**63 - 1)),
    (Key.of(Token, "pk"), st.uuids()),
    (Key.of(Label, "pk"), st.uuids()),
    (Key.of(Box, "pk"), st.integers(1, 2**63 - 1)),
    (Key.of(Word, "pk"), st.text(max_size=100)),
    (Key.of(Reading, "at"), st.datetimes(timezones=st.just(UTC))),
    (Key.of(Reading, "on"), st.dates()),
    (Key.of(Reading, "amount"), st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (Key.of(Reading, "share"), st.floats(allow_nan=False, allow_infinity=False)),
    (Key.of(Reading, "took"), st.timedeltas()),
]


@given(st.data(), st.sampled_from(KEYS))
def test_a_stored_key_is_read_back_unchanged(data, key_and_values):
    key, values = key_and_values
    value = (data.draw(values),)

    stored = json.loads(json.dumps(key.dump(value)))

    assert key.load(stored) == value


def test_a_key_of_several_columns_is_stored_as_a_whole():
    key = Key.of(Cell, "pk")

    assert key.load(key.dump((3, "ü"))) == (3, "ü")
    with pytest.raises(ValueError, match="shorter"):
        key.load([3])


def splits(key, rows):
    """Assert that every row of `rows` splits them where the database orders it."""
    ordered = list(rows.order_by(*key.names).values_list(*key.names))
    for index, value in enumerate(ordered):
        stored = key.load(json.loads(json.dumps(key.dump(value))))
        found = {
            name: list(rows.filter(condition).order_by(*key.names).values_list(*key.names))
            for name, condition in [
                ("before", key.before(stored)),
                ("at_or_after", key.at_or_after(stored)),
                ("after", key.after(stored)),
            ]
        }
        assert found == {
            "before": ordered[:index],
            "at_or_after": ordered[index:],
            "after": ordered[index + 1 :],
        }
    return len(ordered)


# Texts that collations order, and hold for equal, in different ways.
texts = st.text(st.sampled_from("aAbBzZéÉeßsöoÅı-_ 1９😀\u0301"), min_size=1, max_size=4)  # noqa: RUF001 - as meant
small = st.integers(-2, 2)

ROWS = {
    "integer": (Key.of(Number, "pk"), st.builds(Number, id=st.integers(-(2**63), 2**63 - 1))),
    "uuid": (Key.of(Token, "pk"), st.builds(Token, id=st.uuids())),
    "text": (Key.of(Word, "pk"), st.builds(Word, text=texts)),
    "composite": (Key.of(Cell, "pk"), st.builds(Cell, row=small, column=texts)),
    "composite turned round": (Key.of(Cell, ("column", "row")), st.builds(Cell, row=small, column=texts)),
    "several columns": (Key.of(Seat, ("hall", "name")), st.builds(Seat, hall=small, name=texts)),
}


@pytest.mark.django_db
@pytest.mark.parametrize(("key", "row"), ROWS.values(), ids=ROWS)
def test_a_key_splits_the_rows_where_the_database_orders_them(key, row):
    @hypothesis_settings(max_examples=hypothesis_settings.default.max_examples // 4)
    @given(st.lists(row, min_size=2, max_size=8))
    def of_any(rows):
        with transaction.atomic():
            model = type(rows[0])
            # Two texts may be one to the database.
            model.objects.bulk_create(rows, ignore_conflicts=True)
            assert splits(key, model.objects.all()) >= 1
            transaction.set_rollback(True)

    of_any()


@pytest.mark.django_db
@pytest.mark.parametrize("column", ["at", "on", "amount", "share", "took", "slug"])
@pytest.mark.parametrize("several", [False, True])
def test_values_of_every_kind_split_the_rows(column, several):
    for n in range(6):
        Reading.objects.create(
            at=datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(seconds=n // 2, microseconds=n % 2 * 500_000),
            on=date(2026, 1, 1) + timedelta(days=n),
            # As texts they would come in another order.
            amount=Decimal("0.5") * 4**n - 3,
            share=0.1 * 7**n - 1,
            took=timedelta(hours=n - 3, microseconds=n),
            slug=f"slug-{n}",
        )
    key = Key.of(Reading, (column, "pk") if several else column)

    assert splits(key, Reading.objects.all()) == 6


@pytest.mark.django_db
def test_a_relation_splits_the_rows_by_the_key_it_points_to():
    BundleFactory.create_batch(4)
    for token in TokenFactory.create_batch(4):
        Label.objects.create(token=token)
    Note.objects.bulk_create(Note(product=product, text="x") for product in ProductFactory.create_batch(4))

    assert splits(Key.of(Bundle, "pk"), Bundle.objects.all()) == 4
    assert splits(Key.of(Label, "pk"), Label.objects.all()) == 4
    assert splits(Key.of(Note, ("product", "pk")), Note.objects.all()) == 4


@pytest.mark.django_db
def test_a_comparison_of_several_columns_holds_in_joins_and_subqueries():
    key = Key.of(Seat, ("hall", "name"))
    for hall in (1, 2):
        for name in "abc":
            Seat.objects.create(hall=hall, name=name)
    upper = Seat.objects.filter(key.at_or_after((1, "c"))).exclude(key.at_or_after((2, "b")))

    assert [str(seat) for seat in Seat.objects.filter(pk__in=upper.values("pk")).order_by("hall", "name")] == [
        "1/c",
        "2/a",
    ]


def test_a_generated_column_holds_what_its_output_field_stores():
    output = UUIDField()
    generated = GeneratedField(expression=F("id"), output_field=output, db_persist=True)

    assert stored_field(generated) is output
