"""Dates as the database writes them: Python's calendar says which of them exist."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Now
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.render.bulk.columns import Moments, read_dates
from sitemaps_plus.render.bulk.sql import as_text
from testapp.models import Leaflet, Product

only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite holds any text in a column of dates")
only_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="what PostgreSQL alone has")
only_mysql = pytest.mark.skipif(connection.vendor != "mysql", reason="what MariaDB and MySQL alone have")

CENTURIES = (1900, 2000, 2100, 2200, 2300, 2400, 9900)
YEARS = (1, 987, 1000, 1899, 1989, *range(1990, 2030), 2096, 9999, *CENTURIES)
BROKEN = [
    "",
    " ",
    "2026",
    "2026-1-1",
    "2026-01-1",
    "2026-01-011",
    "2026/01/01",
    "-026-01-01",
    "2026-01-0x",
    "infinity",
    "\u0662\u0660\u0662\u0666-01-01",
    "2026-01-0\u00b9",
    "2026-01-01 ",
    "2026-01-01 12:00:0",
    "2026-01-01 12:00:00.",
    "2026-01-01 12:00:00.1234567",
    "2026-01-01 12:00:00,5",
    "2026-01-01 12:00:00.5-08",
    "2026-01-01 12:00:00.5Z",
    "2026-01-01 12:00:00+00",
    "2026-01-01T12:00:00",
    "2026-01-01 12:00:00Z",
    "2026-01-01 12:00:00+02:00",
    "2026-01-01 12:00:\uff10\uff10",
    "2026-01-01 12-00-00",
]
dates = st.dates(date(1990, 1, 1))
moments = st.datetimes(datetime(1990, 1, 1))


def odd_lines(texts: list[str], *, is_date: bool) -> list[int]:
    """Return the numbers of the texts that are not written as dates, or as datetimes."""
    kind = date if is_date else datetime
    return [at for at, text in enumerate(texts) if not is_plain(read_dates([text], kind))]


def is_plain(found: Moments | None) -> bool:
    """Return whether all dates were read, none of which is before 1990."""
    return found is not None and all(one.year >= 1990 for one in found.dates)


def is_known(text: str) -> bool:
    """Return whether Python has the date and it is not before 1990."""
    try:
        return " 24:" not in text and datetime.fromisoformat(text).year >= 1990
    except ValueError:
        return False


def test_of_all_days_that_digits_can_write_those_of_the_calendar_are_dates() -> None:
    texts = [f"{year:04}-{month:02}-{day:02}" for year in YEARS for month in range(100) for day in range(100)]

    odd = odd_lines(texts, is_date=True)

    assert odd == [at for at, text in enumerate(texts) if not is_known(text)]


def test_every_year_has_its_own_end_of_february() -> None:
    texts = [f"{year:04}-02-{day}" for year in range(10_000) for day in (28, 29, 30)]

    odd = odd_lines(texts, is_date=True)

    assert odd == [at for at, text in enumerate(texts) if not is_known(text)]


def test_of_all_times_that_digits_can_write_those_of_the_clock_are_times() -> None:
    clock = [0, 1, 9, 10, 19, 20, 22, 23, 24, 25, 29, 30, 49, 50, 58, 59, 60, 61, 69, 70, 99]
    texts = [f"2024-02-29 {hour:02}:{minute:02}:{second:02}" for hour in clock for minute in clock for second in clock]

    odd = odd_lines(texts, is_date=False)

    assert odd == [at for at, text in enumerate(texts) if not is_known(text)]


@given(found=st.lists(moments, min_size=1, max_size=50))
def test_datetimes_are_written_as_python_writes_them(found: list[datetime]) -> None:
    texts = [one.isoformat(" ") for one in found]

    assert read_dates(texts, datetime) == (
        [one.isoformat("T", "seconds") for one in found],
        found,
        max(found),
    )
    assert odd_lines(texts, is_date=False) == []


@given(found=st.lists(dates, min_size=1, max_size=50))
def test_dates_stay_as_they_are(found: list[date]) -> None:
    texts = [one.isoformat() for one in found]

    assert read_dates(texts, date) == (texts, found, max(found))
    assert odd_lines(texts, is_date=True) == []


@given(found=st.lists(moments, max_size=20), odd=st.sampled_from(BROKEN) | st.text("0123456789-: \n", max_size=20))
def test_one_odd_text_among_many_is_found_at_its_place(found: list[datetime], odd: str) -> None:
    for is_date in (False, True):
        texts = [one.isoformat(" ", "seconds")[: 10 if is_date else 19] for one in found]
        at = len(texts) // 2
        texts.insert(at, odd)
        is_odd = len(odd) != (10 if is_date else 19) or "\n" in odd or not is_known(odd) or odd[10:11] not in ("", " ")

        assert odd_lines(texts, is_date=is_date) == [at] * is_odd
        assert is_plain(read_dates(texts, date if is_date else datetime)) == (not is_odd)


@pytest.mark.parametrize("odd", BROKEN)
def test_what_has_not_the_shape_of_a_date_is_none(odd: str) -> None:
    for is_date in (False, True):
        good = "2026-01-01" if is_date else "2026-01-01 12:00:00"

        assert read_dates([odd], date if is_date else datetime) is None
        assert odd_lines([good, odd, good, odd], is_date=is_date) == [1, 3]


@pytest.mark.parametrize("part", ["", ".5", ".12", ".123", ".1234", ".12345", ".123456"])
def test_parts_of_a_second_are_read_and_not_written(part: str) -> None:
    text = f"2026-01-01 12:00:00{part}"

    assert read_dates([text], datetime) == (
        ["2026-01-01T12:00:00"],
        [datetime.fromisoformat(text)],
        datetime.fromisoformat(text),
    )


MOMENTS = [
    None,
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(987, 6, 5, 4, 3, 2, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2000, 2, 29, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
    datetime(2026, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]


def texts_of(rows: QuerySet[Any], column: str) -> list[str | None]:
    found = as_text(F(column), rows.query, rows.db)
    assert found is not None
    expression, _ = found
    return list(rows.annotate(shown=expression).order_by("pk").values_list("shown", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("style", ["ISO", "German", "SQL, MDY"])
def test_every_database_gives_a_datetime_in_utc(style: str) -> None:
    Leaflet.objects.bulk_create(Leaflet(slug="a", updated_at=moment) for moment in MOMENTS)

    with date_style(style):
        found = texts_of(Leaflet.objects.all(), "updated_at")

    assert [text and text[:19] for text in found] == [moment and moment.isoformat(" ")[:19] for moment in MOMENTS]
    assert [text and datetime.fromisoformat(text).replace(tzinfo=UTC) for text in found] == MOMENTS


@pytest.mark.django_db
@pytest.mark.parametrize("style", ["ISO", "German", "SQL, MDY"])
def test_every_database_gives_a_date(style: str) -> None:
    days = [moment and moment.date() for moment in MOMENTS]
    Product.objects.bulk_create(Product(name="a", slug="a", published_on=day) for day in days)

    with date_style(style):
        found = texts_of(Product.objects.all(), "published_on")

    assert found == [day and day.isoformat() for day in days]


@contextmanager
def date_style(style: str) -> Iterator[None]:
    """Have PostgreSQL write dates in another way."""
    _set_style(style)
    yield
    _set_style("ISO")


def _set_style(style: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET DateStyle TO {style}")


@only_postgresql
@pytest.mark.django_db
@pytest.mark.parametrize("style", ["ISO", "German"])
@pytest.mark.parametrize("odd", ["infinity", "-infinity", "0044-03-15 BC", "12345-01-01"])
def test_what_python_has_no_date_for_is_none_on_postgresql(style: str, odd: str) -> None:
    leaflet = Leaflet.objects.create(slug="a")
    product = Product.objects.create(slug="a")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_leaflet SET updated_at = %s WHERE id = %s", [odd, leaflet.pk])
        cursor.execute("UPDATE testapp_product SET published_on = %s WHERE id = %s", [odd, product.pk])

    with date_style(style):
        (moment,) = texts_of(Leaflet.objects.all(), "updated_at")
        (day,) = texts_of(Product.objects.all(), "published_on")

    assert not moment or odd_lines([moment], is_date=False) == [0]
    assert not day or odd_lines([day], is_date=True) == [0]


@only_mysql
@pytest.mark.django_db
def test_a_zero_date_is_no_date_as_it_is_to_the_driver() -> None:
    leaflet = Leaflet.objects.create(slug="a", updated_at=MOMENTS[-1])
    product = Product.objects.create(slug="a", published_on=date(2026, 1, 1))
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@SESSION.sql_mode")
        (mode,) = cursor.fetchone()
        cursor.execute("SET SESSION sql_mode = ''")
        cursor.execute("UPDATE testapp_leaflet SET updated_at = '0000-00-00'")
        cursor.execute("UPDATE testapp_product SET published_on = '0000-00-00'")
        cursor.execute("SET SESSION sql_mode = %s", [mode])
    leaflet.refresh_from_db()
    product.refresh_from_db()

    assert leaflet.updated_at is product.published_on is None
    assert texts_of(Leaflet.objects.all(), "updated_at") == texts_of(Product.objects.all(), "published_on") == [None]


@only_sqlite
@pytest.mark.django_db
@pytest.mark.parametrize("stored", BROKEN)
def test_what_another_program_wrote_comes_as_it_is(stored: str) -> None:
    Leaflet.objects.create(slug="a")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_leaflet SET updated_at = %s", [stored])

    assert list(map(str, texts_of(Leaflet.objects.all(), "updated_at"))) == [stored]


@pytest.mark.django_db
@pytest.mark.parametrize("expression", [F("slug"), Now(), Coalesce("updated_at", Now())], ids=repr)
def test_only_a_column_of_dates_is_given_as_text(expression: Any) -> None:
    rows = Leaflet.objects.all()

    assert as_text(expression, rows.query, rows.db) is None


@pytest.mark.django_db
def test_a_connection_in_another_zone_gives_dates_but_no_datetimes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "timezone_name", "Europe/Berlin")
    rows = Product.objects.all()

    assert as_text(F("updated_at"), rows.query, rows.db) is None
    assert as_text(F("published_on"), rows.query, rows.db) is not None
