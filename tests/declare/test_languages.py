"""The languages of a project and the codes made of them; with H08, H09, H12 and H13 of the protocol."""

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path, set_script_prefix

from sitemaps_plus.declare.languages import (
    code_of,
    default_language,
    hreflang_of,
    languages_in,
    same_language,
    without_language,
    x_default_of,
)
from sitemaps_plus.errors import InvalidEntry


def page(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(slug)


class Prefixed:
    urlpatterns = i18n_patterns(path("<slug:slug>/", page))


HREFS = {"en": "https://e.com/en/a/", "pt-br": "https://e.com/pt-br/a/"}


@pytest.mark.parametrize(
    ("language", "expected"),
    [("de", "de"), ("zh-hans", "zh-Hans"), ("pt-br", "pt-BR"), ("sr-latn", "sr-Latn"), ("X-Default", "x-default")],
)
def test_a_language_has_an_hreflang_in_canonical_case(language: str, expected: str) -> None:
    assert hreflang_of(language) == expected


def test_h08_a_language_that_search_engines_do_not_know_needs_another_hreflang(settings: Any) -> None:
    with pytest.raises(InvalidEntry, match="E-HREFLANG-REGION"):
        hreflang_of("es-419")

    settings.SITEMAPS_PLUS = {"HREFLANG": {"es-419": "es", "dsb": None, "en": "en-gb"}}

    assert hreflang_of("es-419") == "es"
    assert hreflang_of("dsb") is None
    assert hreflang_of("en") == "en-GB"


@pytest.mark.parametrize("value", ["x-default", "X-Default", 5, ["es"], {"es": "es"}])
def test_a_language_can_only_be_mapped_to_a_language(value: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"HREFLANG": {"de": value}}

    with pytest.raises(InvalidEntry, match=r"HREFLANG.* for 'de'; give a code .*E-HREFLANG-LANG"):
        hreflang_of("de")


@pytest.mark.parametrize("value", [["es"], "es", 5])
def test_a_map_that_is_no_dict_maps_nothing(value: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"HREFLANG": value}

    assert hreflang_of("de") == "de"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, []),
        ("", []),
        ([], []),
        (["de", "en", "de"], ["de", "en"]),
        (["de", None, "", "en"], ["de", "en"]),
        ("de, en;fr\tes", ["de", "en", "fr", "es"]),
        (("pt-br",), ["pt-br"]),
    ],
)
def test_languages_come_as_a_list_or_as_one_text(given: Any, expected: list[str]) -> None:
    assert languages_in(given) == expected


@pytest.mark.parametrize("given", [["de", 5], [7], ["../de"], ["de/"], "de/en"])
def test_a_value_that_is_not_a_language_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="is not a language code"):
        languages_in(given)


def test_codes_are_compared_as_django_writes_them() -> None:
    assert code_of("pt_BR") == "pt-br"
    assert same_language("zh_Hans", "zh-hans")
    assert not same_language("pt", "pt-br")


@pytest.mark.parametrize("given", [None, False, "", 0])
def test_without_a_wish_there_is_no_x_default(given: Any) -> None:
    assert x_default_of(given, HREFS) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (True, "https://e.com/a/"),
        (1, "https://e.com/a/"),
        ("en", "https://e.com/en/a/"),
        ("pt_BR", "https://e.com/pt-br/a/"),
        ("fr", None),
        ("/choose/", "/choose/"),
        ("https://e.org/", "https://e.org/"),
    ],
)
def test_x_default_is_the_default_language_a_language_or_an_address(given: Any, expected: str | None) -> None:
    assert x_default_of(given, HREFS) == expected


def test_x_default_keeps_a_prefix_that_belongs_to_the_address() -> None:
    assert x_default_of(True, HREFS, strips_prefix=False) == "https://e.com/en/a/"


def test_x_default_needs_an_address_in_the_default_language() -> None:
    assert x_default_of(True, {"de": "https://e.com/de/"}) is None


@pytest.mark.parametrize(
    ("code", "languages", "expected"),
    [
        pytest.param("en", ["de", "en"], "en", id="itself"),
        pytest.param("en-us", ["de", "en"], "en", id="the language without its country"),
        pytest.param("en", ["de", "en-gb"], "en-gb", id="the language with a country"),
        pytest.param("en-us", ["en-au", "en-gb"], "en-au", id="the first with another country"),
        pytest.param("zh-tw", ["de", "zh-hant"], "zh-hant", id="the script of the country"),
        pytest.param("en-us", ["de", "fr"], None, id="nothing like it"),
        pytest.param("en-us", [], None, id="no language"),
    ],
)
def test_the_default_language_is_the_one_that_django_falls_back_to(
    code: str, languages: list[str], expected: str | None, settings: Any
) -> None:
    settings.LANGUAGES = [(language, language) for language in languages]
    settings.LANGUAGE_CODE = code

    assert default_language(languages) == expected


def test_x_default_is_in_the_variant_of_the_default_language(settings: Any) -> None:
    settings.LANGUAGES = [("de", "German"), ("en", "English")]
    settings.LANGUAGE_CODE = "en-us"

    assert x_default_of(True, {"de": "https://e.com/de/a/", "en": "https://e.com/en/a/"}) == "https://e.com/a/"
    assert x_default_of(True, {"de": "https://e.com/de/a/"}) is None


def test_django_redirects_from_x_default_to_the_variant_of_the_default_language(settings: Any) -> None:
    settings.LANGUAGES = [("de", "German"), ("en", "English")]
    settings.LANGUAGE_CODE = "en-us"
    settings.ROOT_URLCONF = Prefixed
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
    english = Client().get("/en/a/").wsgi_request.build_absolute_uri()

    x_default = x_default_of(True, {"de": english.replace("/en/", "/de/"), "en": english})

    assert str(x_default).endswith("/a/")
    assert Client().get(str(x_default), follow=True).redirect_chain == [("/en/a/", 302)]


@pytest.mark.parametrize(
    ("url", "prefix", "expected"),
    [
        ("https://e.com/en/a/", "/", "https://e.com/a/"),
        ("https://e.com/en/", "/", "https://e.com/"),
        ("https://e.com/en/en/a/", "/", "https://e.com/en/a/"),
        ("https://e.com/a/en/b/", "/", "https://e.com/a/en/b/"),
        ("https://e.com/english/", "/", "https://e.com/english/"),
        ("https://e.com/en", "/", "https://e.com/en"),
        ("https://e.com", "/", "https://e.com"),
        ("https://en/en/a/", "/", "https://en/a/"),
        ("https://e.com/?next=/en/", "/", "https://e.com/?next=/en/"),
        ("https://e.com/app/en/a/", "/app/", "https://e.com/app/a/"),
        ("https://e.com/en/app/a/", "/app/", "https://e.com/en/app/a/"),
    ],
)
def test_x_default_takes_only_the_language_prefix_off(url: str, prefix: str, expected: str) -> None:
    set_script_prefix(prefix)
    try:
        assert without_language(url, "en") == expected
    finally:
        set_script_prefix("/")
