"""Codes of languages and countries: the vectors H05 to H13 and V12 of the protocol, and the hints in errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.codes import COUNTRIES, LANGUAGES, check_country, check_hreflang, check_news_language


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("en", "en", id="H01 language"),
        pytest.param("be", "be", id="H07 Belarusian, not Belgium"),
        pytest.param("uk", "uk", id="H07 Ukrainian, not the United Kingdom"),
        pytest.param("zh-Hant-TW", "zh-Hant-TW", id="H09 script and region"),
        pytest.param("zh-hans-us", "zh-Hans-US", id="H09 canonical case"),
        pytest.param("zh-Hant", "zh-Hant", id="H09 script"),
        pytest.param("pt-br", "pt-BR", id="a language code of Django"),
        pytest.param("SR-LATN", "sr-Latn", id="upper case"),
        pytest.param("x-default", "x-default", id="H13"),
        pytest.param("X-Default", "x-default", id="H13 upper case"),
        pytest.param("en_US", "en-US", id="a locale"),
        pytest.param("zh_hans_us", "zh-Hans-US", id="a locale with a script"),
        pytest.param("x_default", "x-default", id="H13 with an underscore"),
    ],
)
def test_an_hreflang_is_accepted_in_canonical_case(code, expected):
    assert check_hreflang(code) == expected


@pytest.mark.parametrize(
    ("code", "error", "hint"),
    [
        pytest.param("en-UK", "E-HREFLANG-REGION", "en-GB", id="H05"),
        pytest.param("zh-hant-uk", "E-HREFLANG-REGION", "zh-Hant-GB", id="H05 with a script"),
        pytest.param("es-419", "E-HREFLANG-REGION", "write 'es'", id="H08"),
        pytest.param("de-EU", "E-HREFLANG-REGION", "write 'de'", id="reserved region"),
        pytest.param("en-US-x", "E-HREFLANG-REGION", "write 'en'", id="more than a region"),
        pytest.param("en-", "E-HREFLANG-REGION", "write 'en'", id="empty region"),
        pytest.param("en-US-Latn", "E-HREFLANG-REGION", "write 'en'", id="region before script"),
        pytest.param("fil", "E-HREFLANG-LANG", "two letters", id="H12 fil"),
        pytest.param("haw", "E-HREFLANG-LANG", "two letters", id="H12 haw"),
        pytest.param("gr", "E-HREFLANG-LANG", "'el'", id="a country for a language"),
        pytest.param("jp-JP", "E-HREFLANG-LANG", "'ja'", id="Japan for Japanese"),
        pytest.param("en_UK", "E-HREFLANG-REGION", "en-GB", id="H05 as a locale"),
        pytest.param("en_GB.UTF-8", "E-HREFLANG-REGION", "write 'en'", id="a locale with an encoding"),
        pytest.param("", "E-HREFLANG-LANG", "two letters", id="empty"),
        pytest.param("x-defaults", "E-HREFLANG-LANG", "two letters", id="nearly x-default"),
        pytest.param("é", "E-HREFLANG-LANG", "two letters", id="not ASCII"),
    ],
)
def test_an_invalid_hreflang_is_refused_with_a_hint(code, error, hint):
    with pytest.raises(InvalidEntry, match=error) as raised:
        check_hreflang(code)

    assert raised.value.code == error
    assert hint in str(raised.value)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", "en"),
        ("en-GB", "en"),
        ("en_GB", "en"),
        ("pt-br", "pt"),
        ("fil", "fil"),
        ("zh", "zh"),
        ("zh-CN", "zh-cn"),
        ("zh-TW", "zh-tw"),
        ("zh-hans", "zh-cn"),
        ("zh-Hant", "zh-tw"),
        ("zh-hant-hk", "zh-tw"),
    ],
)
def test_the_language_of_a_publication_is_shortened_to_the_codes_of_google_news(code, expected):
    assert check_news_language(code) == expected


@pytest.mark.parametrize(
    ("code", "hint"), [("gr", "'el'"), ("english", "two letters"), ("e", "two letters"), ("en GB", ""), ("", "")]
)
def test_an_invalid_language_is_refused(code, hint):
    with pytest.raises(InvalidEntry, match="E-NEWS-LANGUAGE") as raised:
        check_news_language(code)

    assert hint in str(raised.value)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        pytest.param("UK", "'GB'", id="V12 UK"),
        pytest.param("EU", "one by one", id="V12 EU"),
        pytest.param("IRL", "two letters", id="three letters"),
        pytest.param("XX", "two letters", id="no country"),
    ],
)
def test_an_invalid_country_is_refused_with_a_hint(code, hint):
    with pytest.raises(InvalidEntry, match="E-COUNTRY") as raised:
        check_country(code)

    assert hint in str(raised.value)


def test_a_country_is_written_in_upper_case():
    assert [check_country(code) for code in ("ie", "GB", " fr ")] == ["IE", "GB", "FR"]


def test_the_lists_are_those_of_the_standards():
    assert len(LANGUAGES) == 183
    assert len(COUNTRIES) == 249


@given(st.text(st.sampled_from("aenzhUKGB-_x419 é"), max_size=12))
def test_canonical_codes_stay_as_they_are(code):
    try:
        canonical = check_hreflang(code)
    except InvalidEntry:
        return

    assert check_hreflang(canonical) == canonical
    assert canonical.lower() == code.lower()
