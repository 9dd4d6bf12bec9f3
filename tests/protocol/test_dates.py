"""Dates: the vectors D of the protocol, and properties of any date, datetime, zone and text."""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.dates import as_datetime, format_date, newest, parse_w3c

BERLIN = ZoneInfo("Europe/Berlin")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 10, 3, 12, tzinfo=UTC)
# EmitDateTime of schemas/sm-types.xsd; parsing proves that the day exists.
EMITTED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2}))?")
OFFSETS = st.timedeltas(
    min_value=timedelta(hours=-24, microseconds=1), max_value=timedelta(hours=24, microseconds=-1)
).map(timezone)
ZONES = st.one_of(st.timezones(), OFFSETS)
VALUES = st.one_of(st.dates(), st.datetimes(timezones=st.one_of(st.none(), ZONES)), st.none())
DATE_TEXTS = st.from_regex(
    r"[0-9]{4}(-[0-9]{2}(-[0-3][0-9](T[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?(Z|[+-][0-2][0-9]:[0-6][0-9])?)?)?)?",
    fullmatch=True,
)


class NoZone(tzinfo):
    """A tzinfo without an offset, which Python treats as naive."""

    def utcoffset(self, moment: datetime | None) -> None:
        return None


def is_real(text: str) -> bool:
    """Return whether `text` is a valid date with an offset that XML allows."""
    offset = datetime.fromisoformat(text).utcoffset()
    return offset is None or abs(offset) <= timedelta(hours=14)


def emitted(value: object, **options: Any) -> tuple[str | None, list[str]]:
    """Return the text of `value` and the codes of the warnings."""
    codes: list[str] = []
    text = format_date(value, **{"tz": BERLIN, "now": NOW, **options}, warn=lambda code, _: codes.append(code))
    return text, codes


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(date(2026, 10, 1), "2026-10-01", id="D01"),
        pytest.param(datetime(2026, 10, 1, 12, 0, 0, 123456, tzinfo=UTC), "2026-10-01T12:00:00+00:00", id="D02"),
        pytest.param(datetime(2026, 7, 1, 12), "2026-07-01T12:00:00+02:00", id="D03"),
        pytest.param(
            datetime(2026, 10, 1, 12, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
            "2026-10-01T12:00:00-03:30",
            id="D07",
        ),
        pytest.param(datetime(2026, 7, 1, 12, tzinfo=NoZone()), "2026-07-01T12:00:00+02:00", id="zone without offset"),
        pytest.param(datetime(2026, 3, 29, 2, 30), "2026-03-29T02:30:00+01:00", id="hour that does not exist"),
        pytest.param(
            datetime(2026, 10, 1, 12, tzinfo=timezone(timedelta(hours=14))), "2026-10-01T12:00:00+14:00", id="+14:00"
        ),
        pytest.param(
            datetime(2026, 10, 1, 12, tzinfo=timezone(timedelta(hours=14, minutes=1))),
            "2026-09-30T21:59:00+00:00",
            id="beyond +14:00",
        ),
        pytest.param(
            datetime(2026, 10, 1, 12, tzinfo=timezone(timedelta(hours=-15))), "2026-10-02T03:00:00+00:00", id="-15:00"
        ),
        pytest.param(
            datetime(2026, 10, 1, 12, tzinfo=timezone(timedelta(seconds=3208))),
            "2026-10-01T11:06:32+00:00",
            id="seconds in the offset",
        ),
        pytest.param("2026-10-01", "2026-10-01", id="text date"),
        pytest.param("2026-10-01T12:00:00+02:00", "2026-10-01T12:00:00+02:00", id="text"),
        pytest.param("2026-10-01T12:00:00Z", "2026-10-01T12:00:00+00:00", id="text Z"),
        pytest.param("2026-10-01T12:00:00.999999999+02:00", "2026-10-01T12:00:00+02:00", id="text fraction"),
        pytest.param("2026-10-01T12:00:00+15:00", "2026-09-30T21:00:00+00:00", id="text beyond +14:00"),
    ],
)
def test_a_date_becomes_w3c_text(value: object, expected: str) -> None:
    assert emitted(value) == (expected, [])


def test_a_naive_datetime_is_always_written_with_a_zone() -> None:
    assert emitted(datetime(2026, 7, 1, 12), tz=UTC) == ("2026-07-01T12:00:00+00:00", [])  # D04


@pytest.mark.parametrize(
    ("fold", "offset"), [pytest.param(0, "+02:00", id="D05 first"), pytest.param(1, "+01:00", id="D05 second")]
)
def test_the_two_occurrences_of_a_repeated_hour_are_distinguished(fold: int, offset: str) -> None:
    value = datetime(2026, 10, 25, 2, 30, fold=fold)

    assert emitted(value, now=None)[0] == emitted(value.replace(tzinfo=BERLIN), now=None)[0]
    assert emitted(value, now=None) == (f"2026-10-25T02:30:00{offset}", [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(date(987, 6, 5), "0987-06-05", id="D09"),
        (date(1989, 12, 31), "1989-12-31"),
        (datetime(1890, 1, 1), "1889-12-31T23:06:32+00:00"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00+00:00"),
        ("1970-01-01", "1970-01-01"),
    ],
)
def test_a_date_before_1990_is_written_with_a_warning(value: object, expected: str) -> None:
    assert emitted(value) == (expected, ["W-DATE-IMPLAUSIBLE"])


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(datetime.max.replace(tzinfo=UTC), id="D10 datetime.max"),
        pytest.param(NOW + timedelta(days=1), id="D10 tomorrow"),
        datetime.max,
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-23, seconds=-1))),
        NOW + timedelta(microseconds=1),
        date.max,
        date(2026, 10, 5),
        "2026-10-03T12:00:01Z",
    ],
)
def test_a_date_in_the_future_is_left_out_with_a_warning(value: object) -> None:
    assert emitted(value) == (None, ["W-LASTMOD-FUTURE"])


@pytest.mark.parametrize(("minutes", "is_explained"), [(1, True), (60, True), (61, False)])
def test_a_method_that_returns_the_current_time_is_explained(minutes: int, is_explained: bool) -> None:
    found: list[str] = []
    format_date(NOW + timedelta(minutes=minutes), tz=UTC, now=NOW, warn=lambda _, text: found.append(text))

    (text,) = found
    assert ("a method returns the current time: it does not say when the row changed" in text) is is_explained


def test_the_current_moment_is_not_in_the_future() -> None:
    assert emitted(NOW.astimezone(BERLIN)) == ("2026-10-03T14:00:00+02:00", [])


@pytest.mark.parametrize(
    ("now", "is_future"),
    [
        (datetime(2026, 10, 3, 9, 59, 59, tzinfo=UTC), True),
        (datetime(2026, 10, 3, 10, tzinfo=UTC), False),
        (datetime.max.replace(tzinfo=UTC), False),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), True),
    ],
)
def test_a_date_is_in_the_future_until_it_has_begun_somewhere_on_earth(now: datetime, is_future: bool) -> None:
    assert (emitted(date(2026, 10, 4), now=now)[0] is None) is is_future


def test_the_future_is_decided_in_utc_and_not_by_local_time() -> None:
    # 02:30 comes twice that night: first in summer time, an hour later in winter time.
    now = datetime(2026, 10, 25, 2, 40, tzinfo=BERLIN, fold=0)

    assert emitted(datetime(2026, 10, 25, 2, 30, fold=1), now=now) == (None, ["W-LASTMOD-FUTURE"])


def test_without_now_a_date_in_the_future_is_written() -> None:
    assert emitted(datetime.max, now=None) == ("9999-12-31T23:59:59+01:00", [])


@pytest.mark.parametrize("value", [None, ""], ids=["D11 None", "D11 empty"])
def test_an_empty_date_gives_no_tag(value: object) -> None:
    assert emitted(value) == (None, [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("2026-10", None, id="D13 month"),
        pytest.param("2026", None, id="D13 year"),
        pytest.param("2026-10-01T12:00+02:00", "2026-10-01T12:00:00+02:00", id="D13 minutes"),
        pytest.param("2026-10-01T12:00Z", "2026-10-01T12:00:00+00:00", id="minutes in UTC"),
    ],
)
def test_text_that_the_schemas_reject_is_completed_or_left_out(value: str, expected: str | None) -> None:
    assert emitted(value) == (expected, ["W-DATE-XSD"])


@pytest.mark.parametrize(
    "value",
    [
        "2026-10-01T12:00:00",
        "2026-10-01+02:00",
        "-0044-03-15",
        "12026-01-01",
        "2026-10-01T24:00:00Z",
        "0000-01-01",
        "2026-10-01T12:00:00+00:53:28",
        "2026-10-01T12:00:00+0200",
        "2026-10-01 12:00:00+02:00",
        "20261001",
        "2026-10-01T12:00:60Z",
        "2026-10-01T12:00:00+24:00",
        "2026-10-01T12:00:00z",
        "2026-10-01T12Z",
        "2026-10-01T12:00.5Z",
        "2026-W40-4",
        "2026-13",
        "2026-02-30",
        "2026-10-01\n",
        " 2026-10-01",
        "٢٠٢٦-10-01",
        "yesterday",
        "\ud800",
    ],
    ids=ascii,
)
def test_any_other_text_is_refused(value: str) -> None:
    with pytest.raises(InvalidEntry, match=r"\[E-DATE\]"):
        format_date(value, tz=BERLIN)


@pytest.mark.parametrize(("value", "name"), [(1759320000, "int"), (1.5, "float"), (b"2026-10-01", "bytes")])
def test_a_value_of_another_type_is_refused_by_name(value: object, name: str) -> None:
    with pytest.raises(InvalidEntry, match=rf"\({name}\) is not a date.*\[E-DATE\]"):
        format_date(value, tz=BERLIN)


def test_a_datetime_that_can_be_written_neither_in_utc_nor_in_its_offset_is_refused() -> None:
    with pytest.raises(InvalidEntry, match=r"cannot be written in UTC.*\[E-DATE\]"):
        format_date(datetime.min, tz=BERLIN)


@pytest.mark.parametrize(
    "value",
    [
        date(2026, 10, 1),
        datetime(2026, 10, 1),
        datetime(2026, 10, 1, 23, 59, tzinfo=timezone(timedelta(hours=-23))),
        datetime(2026, 10, 1, 0, 0, 1, tzinfo=timezone(timedelta(seconds=3208))),
        "2026-10-01",
        "2026-10-01T00:00:00+08:00",
    ],
    ids=repr,
)
def test_a_profile_may_require_dates_without_a_time(value: object) -> None:
    assert format_date(value, tz=BERLIN, date_only=True) == "2026-10-01"  # D16, Baidu


@given(value=st.one_of(VALUES, DATE_TEXTS, st.text()), tz=ZONES, now=st.none() | st.datetimes(timezones=ZONES))
def test_every_written_date_is_valid_by_the_schemas(value: Any, tz: tzinfo, now: datetime | None) -> None:
    try:
        text = format_date(value, tz=tz, now=now)
        day = format_date(value, tz=tz, now=now, date_only=True)
    except InvalidEntry:
        return

    assert text is None or (EMITTED.fullmatch(text) and is_real(text))
    assert day is None or (len(day) == 10 and is_real(day))
    assert (text is None) is (day is None)


@given(value=st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=ZONES))
def test_a_written_datetime_is_the_same_moment_to_the_second(value: datetime) -> None:
    text = format_date(value, tz=BERLIN)

    assert text is not None
    assert timedelta(0) <= value - datetime.fromisoformat(text) < timedelta(seconds=1)


@given(value=st.one_of(st.dates(), st.datetimes(timezones=ZONES)))
def test_formatting_a_written_date_again_changes_nothing(value: date) -> None:
    try:
        text = format_date(value, tz=BERLIN)
    except InvalidEntry:
        return

    assert format_date(text, tz=BERLIN) == text


def test_a_date_among_datetimes_counts_as_its_midnight_in_utc() -> None:
    values = [date(2026, 10, 1), datetime(2026, 9, 30, 23, 59, tzinfo=UTC), None]

    assert newest(values, tz=BERLIN) == datetime(2026, 10, 1, tzinfo=UTC)  # D12
    assert newest(reversed(values), tz=BERLIN) == datetime(2026, 10, 1, tzinfo=UTC)


def test_a_naive_datetime_among_aware_ones_is_in_the_given_zone() -> None:
    naive, aware = datetime(2026, 7, 1, 12), datetime(2026, 7, 1, 11, tzinfo=UTC)

    assert newest([naive, aware], tz=BERLIN) == aware
    assert newest([naive, aware], tz=UTC) == naive.replace(tzinfo=UTC)


def test_the_second_occurrence_of_a_repeated_hour_is_the_newest() -> None:
    first, second = datetime(2026, 10, 25, 2, 45), datetime(2026, 10, 25, 2, 15, fold=1)

    latest = newest([first, second], tz=BERLIN)

    assert latest is not None
    assert latest.isoformat() == "2026-10-25T02:15:00+01:00"


@pytest.mark.parametrize("values", [[], [None, None]])
def test_the_newest_of_nothing_is_none(values: list[None]) -> None:
    assert newest(values, tz=BERLIN) is None


@given(st.lists(VALUES, min_size=1), ZONES)
def test_no_value_is_newer_than_the_newest(values: list[date | None], tz: tzinfo) -> None:
    latest = newest(values, tz=tz)

    moments = [as_datetime(value, tz=tz) - EPOCH for value in values if value is not None]
    assert (latest and latest - EPOCH) == max(moments, default=None)


def test_a_value_that_is_not_a_date_cannot_be_compared() -> None:
    with pytest.raises(InvalidEntry, match=r"\(str\) is not a date.*\[E-DATE\]"):
        as_datetime("2026-10-01", tz=BERLIN)


@pytest.mark.parametrize(
    "value",
    [date(2026, 10, 1), datetime(2026, 10, 1, 12, 30, tzinfo=UTC), datetime(2026, 10, 1, 12, tzinfo=BERLIN)],
)
def test_the_text_of_a_date_is_read_back(value: date) -> None:
    text = format_date(value, tz=UTC)

    assert text is not None
    assert parse_w3c(text) == value
    assert type(parse_w3c(text)) is type(value)
