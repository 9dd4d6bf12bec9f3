from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.errors import InvalidEntry, StrictError
from sitemaps_plus.protocol.addresses import Origin, Scope
from sitemaps_plus.protocol.entries import Cleaner, Link, Newest
from sitemaps_plus.protocol.limits import PROFILES
from sitemaps_plus.protocol.reports import Report

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 10, 3, 12, tzinfo=UTC)


class Hostile:
    """A value that raises an error whenever it is used."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise RuntimeError("not printable")

    __repr__ = __str__


def cleaner(**options: Any) -> Cleaner:
    options.setdefault("report", Report("products"))
    return Cleaner(scope=Scope(origin=Origin.parse("https://example.com")), tz=BERLIN, now=NOW, **options)


def problems(made: Cleaner) -> list[tuple[str, str, str]]:
    return [(problem.key, problem.hook, problem.code) for problem in made.report.problems]


def test_a_path_becomes_an_address_of_the_site() -> None:
    assert cleaner().loc(1, "/naïve café/") == "https://example.com/na%C3%AFve%20caf%C3%A9/"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "E-URL-EMPTY"),
        ("", "E-URL-EMPTY"),
        ("about/", "E-URL-RELATIVE"),
        ("https://example.net/", "E-URL-HOST"),
        ("http://example.com/", "E-URL-SCHEME"),
        ("https://example.com:8443/", "E-URL-PORT"),
        (f"/{'x' * 3000}", "E-URL-LENGTH"),
        ("/\ud800", "E-URL-CHARS"),
    ],
)
def test_a_location_that_breaks_a_rule_raises_its_code(value: Any, code: str) -> None:
    with pytest.raises(InvalidEntry) as caught:
        cleaner().loc(1, value)

    assert caught.value.code == code


def test_a_fragment_of_a_location_is_removed_with_a_warning() -> None:
    made = cleaner()

    assert made.loc(7, "/a#top") == "https://example.com/a"
    assert problems(made) == [("7", "location", "W-URL-FRAGMENT")]


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_its_own_limit_for_the_length_of_urls(name: str) -> None:
    made = cleaner(profile=PROFILES[name])
    longest = PROFILES[name].max_loc - len("https://example.com/")

    assert len(made.loc(1, f"/{'x' * longest}")) == PROFILES[name].max_loc
    with pytest.raises(InvalidEntry, match="E-URL-LENGTH"):
        made.loc(1, f"/{'x' * (longest + 1)}")


@pytest.mark.parametrize(
    ("hook", "value", "code"),
    [
        ("lastmod", "yesterday", "E-DATE"),
        ("lastmod", 20261001, "E-DATE"),
        ("lastmod", b"2026-10-01", "E-DATE"),
        ("priority", 1.5, "E-PRIORITY"),
        ("priority", float("nan"), "E-PRIORITY"),
        ("priority", "0,5", "E-PRIORITY"),
        ("priority", [], "TypeError"),
        ("changefreq", "Daily", "E-CHANGEFREQ"),
        ("changefreq", "</changefreq>", "E-CHANGEFREQ"),
        ("changefreq", 1, "E-CHANGEFREQ"),
        ("changefreq", Hostile(), "RuntimeError"),
        ("priority", Hostile(), "RuntimeError"),
        ("lastmod", Hostile(), "RuntimeError"),
    ],
)
def test_an_invalid_optional_part_is_dropped_and_the_row_stays(hook: str, value: Any, code: str) -> None:
    made = cleaner()

    assert getattr(made, hook)(5, value) is None
    assert problems(made) == [("5", hook, code)]
    assert (made.report.dropped, made.report.left_out) == (1, 0)


@pytest.mark.parametrize("hook", ["lastmod", "changefreq", "priority"])
@pytest.mark.parametrize("value", [None, ""])
def test_an_empty_value_is_omitted_without_a_problem(hook: str, value: Any) -> None:
    made = cleaner()

    assert getattr(made, hook)(5, value) is None
    assert problems(made) == []


def test_strict_makes_a_part_that_is_dropped_an_error() -> None:
    with pytest.raises(StrictError, match=r"lastmod of row 5 was dropped.*E-DATE"):
        cleaner(report=Report("products", strict=True)).lastmod(5, "yesterday")


def test_a_date_in_the_future_is_omitted_with_a_warning_even_under_strict() -> None:
    made = cleaner(report=Report("products", strict=True))

    assert made.lastmod(5, datetime(2026, 10, 4, tzinfo=UTC)) is None
    assert problems(made) == [("5", "lastmod", "W-LASTMOD-FUTURE")]
    assert made.newest.value is None


def test_values_become_protocol_text() -> None:
    made = cleaner()

    assert made.lastmod(1, date(2026, 10, 1)) == "2026-10-01"
    assert made.lastmod(1, datetime(2026, 7, 1, 12)) == "2026-07-01T12:00:00+02:00"
    assert made.priority(1, 1) == "1.0"
    assert made.changefreq(1, "weekly") == "weekly"


def test_a_profile_may_require_lastmods_without_a_time() -> None:
    made = cleaner(profile=PROFILES["baidu"])

    assert made.lastmod(1, datetime(2026, 7, 1, 12, tzinfo=UTC)) == "2026-07-01"


def test_the_newest_lastmod_is_remembered_whatever_its_type() -> None:
    made = cleaner()

    for value in (date(2026, 9, 30), datetime(2026, 9, 30, 23, 59, tzinfo=UTC), "2026-10-01", None, "nonsense"):
        made.lastmod(1, value)

    assert made.newest.value == datetime(2026, 10, 1, tzinfo=UTC)


@given(st.lists(st.dates() | st.datetimes(timezones=st.just(UTC)), min_size=1))
def test_newest_is_the_maximum_of_dates_and_datetimes(values: list[date]) -> None:
    newest = Newest()
    for value in [*values, values[-1]]:
        newest.see(value, UTC)

    assert newest.value == max(
        value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
        for value in values
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("de", "de"),
        ("pt-BR", "pt-BR"),
        ("pt-br", "pt-BR"),
        ("zh-Hans", "zh-Hans"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("x-default", "x-default"),
        ("X-Default", "x-default"),
    ],
)
def test_a_link_names_a_language_in_canonical_case(code: str, expected: str) -> None:
    assert cleaner().links(1, [(code, "/a b/")]) == [Link(expected, "https://example.com/a%20b/")]


def test_a_link_may_lead_to_another_host() -> None:
    assert cleaner().links(1, [("de", "https://example.de/")]) == [Link("de", "https://example.de/")]


@pytest.mark.parametrize("code", ["", "fil", "en-UK-x", "e", "en_UK", "de\n", 'de"', "de\x00", "\ud800", None])
def test_a_link_with_an_invalid_language_is_dropped_and_the_others_stay(code: Any) -> None:
    made = cleaner()

    assert made.links(1, [(code, "/"), ("de", "/de/")]) == [Link("de", "https://example.com/de/")]
    assert problems(made) == [("1", "alternates", "W-HREFLANG")]
    assert (made.report.dropped, made.report.warned) == (0, 1)


def test_a_language_with_an_underscore_is_linked_with_a_hyphen_and_a_warning() -> None:
    made = cleaner()

    assert made.links(1, [("en_GB", "/")]) == [Link("en-GB", "https://example.com/")]
    assert problems(made) == [("1", "alternates", "W-HREFLANG-CODE")]
    assert (made.report.dropped, made.report.warned) == (0, 1)


def test_a_language_may_have_another_hreflang_or_none() -> None:
    made = cleaner(hreflang={"es-419": "es", "gsw": None, "de": "de"}.__getitem__)

    found = made.links(1, [("es-419", "/es/"), ("gsw", "/gsw/"), ("de", "/de/")])

    assert [link.hreflang for link in found] == ["es", "de"]
    assert not made.report.problems


def test_the_first_of_two_urls_for_one_hreflang_is_linked() -> None:
    made = cleaner()

    assert made.links(1, [("de", "/a/"), ("DE", "/b/"), ("De", "/a/")]) == [Link("de", "https://example.com/a/")]
    assert problems(made) == [("1", "alternates", "E-HREFLANG-REPEATED")]


@pytest.mark.parametrize("href", [None, "relative/", "javascript:alert(1)", f"/{'x' * 3000}", Hostile()])
def test_a_link_with_an_invalid_url_is_dropped(href: Any) -> None:
    made = cleaner()

    assert made.links(1, [("de", href)]) == []
    assert (made.report.dropped, made.report.left_out) == (1, 0)
