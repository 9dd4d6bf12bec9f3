"""Free text, priorities and change frequencies: the vectors X and P of the protocol, and properties of any text."""

import decimal
import enum
import re
from decimal import Decimal
from typing import Any

import pytest
from django.utils.html import escape as django_escape
from django.utils.safestring import SafeString, mark_safe
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.text import CHANGEFREQS, check_changefreq, clean, escape, format_priority

ANY_TEXT = st.text(st.characters(exclude_categories=()))


class Frequency(enum.StrEnum):
    DAILY = "daily"


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("""Tom & Jerry <3 "x" 'y'""", "Tom &amp; Jerry &lt;3 &quot;x&quot; &#x27;y&#x27;", id="X01"),
        pytest.param("a ]]> b & <i>c</i>", "a ]]&gt; b &amp; &lt;i&gt;c&lt;/i&gt;", id="X03 without CDATA"),
    ],
)
def test_markup_is_escaped(text: str, expected: str) -> None:
    assert escape(clean(text)) == expected


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("a\x00b", "ab", id="X04 NUL"),
        pytest.param("a\x08b", "ab", id="X04 backspace"),
        pytest.param("a\x1fb", "ab", id="X04 unit separator"),
        pytest.param("\ufffea", "a", id="X06 U+FFFE"),
        pytest.param("a\uffff", "a", id="X06 U+FFFF"),
        pytest.param("a\ud800b\udfff", "ab", id="lone surrogates"),
    ],
)
def test_illegal_characters_are_removed_with_a_warning_or_raise_when_strict(text: str, kept: str) -> None:
    codes: list[str] = []

    assert clean(text, warn=lambda code, _: codes.append(code)) == kept

    assert codes == ["W-XML-CHAR"]
    with pytest.raises(InvalidEntry, match=r"U\+[0-9A-F]{4}.*\[E-XML-CHAR\]"):
        clean(text, strict=True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\U0001f600 \U0010ffff \x85 \t", id="X07"),
        pytest.param("\u200fאב e\u0301", id="X11"),
        pytest.param("\x7f\x9f\ud7ff\ue000\ufffd", id="edges of the legal ranges"),
    ],
)
def test_every_other_character_is_kept(text: str) -> None:
    codes: list[str] = []

    assert clean(text, warn=lambda code, _: codes.append(code), strict=True) == text

    assert codes == []


@pytest.mark.parametrize("text", [pytest.param("l1\r\nl2", id="X08"), "l1\rl2", "l1\nl2"])
def test_line_ends_are_normalized_as_in_a_parser(text: str) -> None:
    assert clean(text) == "l1\nl2"


def test_a_safe_string_becomes_a_plain_str_that_templates_escape() -> None:
    cleaned = clean(mark_safe("<b>"))

    assert not isinstance(cleaned, SafeString)
    assert django_escape(cleaned) == escape(cleaned) == "&lt;b&gt;"


@given(ANY_TEXT)
def test_clean_and_escaped_text_parses_back_to_itself(text: str) -> None:
    etree = pytest.importorskip("lxml.etree")
    kept = clean(text)

    parsed = etree.fromstring(f"<t>{escape(kept)}</t>".encode())

    assert (parsed.text or "") == kept


@given(ANY_TEXT)
def test_escape_writes_what_django_writes(text: str) -> None:
    kept = clean(text)

    assert escape(kept) == django_escape(kept)


@given(ANY_TEXT)
def test_clean_text_is_clean(text: str) -> None:
    kept = clean(text)

    assert clean(kept, strict=True) == kept


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(0, "0.0", id="P01 zero"),
        pytest.param(1, "1.0", id="P01 one"),
        pytest.param(0.5, "0.5", id="P01 half"),
        pytest.param(Decimal("0.30"), "0.3", id="P01 decimal"),
        pytest.param(0.1 + 0.2, "0.3", id="P02"),
        ("0.80", "0.8"),
        ("1", "1.0"),
        (0.25, "0.25"),
        (1 / 3, "0.3333"),
        (0.00005, "0.0001"),
        (1e-7, "0.0"),
        (-0.0, "0.0"),
        (1.0000000000000002, "1.0"),
        (Decimal("1E-1"), "0.1"),
        (Decimal("1E-999999"), "0.0"),
    ],
)
def test_a_priority_is_a_short_decimal(value: object, expected: str) -> None:
    assert format_priority(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        1.1,
        -0.1,
        Decimal("1.00001"),
        2,
        10**5000,
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        True,
        None,
        "",
        "0,5",
        "5e-1",
        " 0.5",
        "\u0660.\u0665",
        "high",
        [0.5],
    ],
    ids=shown,
)
def test_a_priority_is_a_number_from_0_to_1(value: object) -> None:
    with pytest.raises(InvalidEntry, match=r"priority .*\[E-PRIORITY\]"):
        format_priority(value)


def test_a_priority_does_not_depend_on_the_decimal_context_of_the_project() -> None:
    with decimal.localcontext(decimal.Context(prec=1, traps=[decimal.Inexact, decimal.FloatOperation])):
        assert format_priority(0.1234) == format_priority(Decimal("0.12341")) == "0.1234"


@given(st.one_of(st.floats(), st.decimals(), st.integers(), st.text(), st.none(), st.booleans()))
def test_a_priority_is_valid_text_or_an_invalid_entry(value: object) -> None:
    try:
        text = format_priority(value)
    except InvalidEntry:
        return

    assert re.fullmatch(r"0\.[0-9]{1,4}|1\.0", text)


@pytest.mark.parametrize("value", CHANGEFREQS)
def test_the_seven_change_frequencies_pass(value: str) -> None:
    assert check_changefreq(value) == value


def test_a_change_frequency_may_be_a_member_of_a_text_enumeration() -> None:
    assert type(check_changefreq(Frequency.DAILY)) is str


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        pytest.param("Daily", 'did you mean "daily"', id="P06 Daily"),
        pytest.param("biweekly", 'did you mean "weekly"', id="P06 biweekly"),
        (" monthly", 'did you mean "monthly"'),
        ("", "use one of always, hourly"),
        (7, "use one of always, hourly"),
        (None, "use one of always, hourly"),
        (["daily"], "use one of always, hourly"),
    ],
)
def test_any_other_change_frequency_is_refused_with_a_suggestion(value: object, hint: str) -> None:
    with pytest.raises(InvalidEntry, match=rf"{hint}.*\[E-CHANGEFREQ\]"):
        check_changefreq(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("\n\ud800", r"'\n\ud800'"), ("a" * 200, "'" + "a" * 96 + "..."), (Unprintable(), "a Unprintable")],
    ids=["escaped", "cut", "broken repr"],
)
def test_an_error_shows_a_short_and_printable_value(value: Any, expected: str) -> None:
    assert shown(value) == expected
