"""Messages about languages and relations."""

from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import F

from check_messages import only_text, register_rows, texts
from sitemaps_plus import Image, ModelSitemap, Related, Siblings, Sitemap, UrlFor, Video, register
from testapp.models import Leaflet, Product


@pytest.fixture(autouse=True)
def _two_languages(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German")]


def test_w011_x_default_has_an_effect_where_rows_link_to_each_other() -> None:
    register_rows(Leaflet, hreflang=Siblings("translation_key", language=F("locale")), x_default=True)

    assert texts() == []


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_w018_a_language_that_search_engines_do_not_know_is_found(base: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("es-419", "Latin American Spanish"), ("dsb", "Lower Sorbian")]
    register("pages", type("Pages", (base,), {"i18n": True, "alternates": True}))

    ((id, text),) = texts()

    assert id == "W018"
    assert "Pages has languages whose codes search engines do not know" in text
    assert "so no hreflang link is written for them: 'es-419', 'dsb'." in text
    assert 'Map each code in SITEMAPS_PLUS["HREFLANG"]' in text
    settings.SITEMAPS_PLUS = {"HREFLANG": {"es-419": "es", "dsb": None}}
    assert texts() == []


@pytest.mark.parametrize(
    "attributes",
    [{"i18n": False}, {"alternates": False}, {"languages": ["en"]}, {"languages": lambda self, item: ["en"]}],
    ids=["no languages", "no links", "other languages", "languages of each item"],
)
def test_w018_is_silent_where_nothing_links_to_the_language(attributes: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("es-419", "Latin American Spanish")]
    base = {"i18n": True, "alternates": True, **attributes}
    register("pages", type("Pages", (Sitemap,), base))

    assert "W018" not in [id for id, _ in texts()]


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_w027_an_x_default_without_a_language_for_everybody_else_is_found(base: Any, settings: Any) -> None:
    settings.LANGUAGES = [("fr", "French"), ("de", "German")]
    settings.LANGUAGE_CODE = "en-us"
    register("pages", type("Pages", (base,), {"i18n": True, "alternates": True, "x_default": True}))

    id, text = only_text()

    assert id == "W027"
    assert "Pages.x_default has no effect: its URLs are in 'fr', 'de', and LANGUAGE_CODE is 'en-us'." in text
    assert 'x_default = "fr".' in text
    settings.LANGUAGE_CODE = "de"
    assert texts() == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"i18n": False, "alternates": False},
        {"alternates": False},
        {"x_default": False},
        {"x_default": "de"},
        {"x_default": lambda self, item: True},
        {"languages": ["en", "de"]},
        {"languages": lambda self, item: ["en"]},
    ],
    ids=["no languages", "no links", "not wanted", "a language", "a method", "a variant", "languages of each item"],
)
def test_w027_is_silent_where_a_language_is_for_everybody_else(attributes: Any, settings: Any) -> None:
    settings.LANGUAGES = [("fr", "French"), ("de", "German"), ("en", "English")]
    settings.LANGUAGE_CODE = "en-us"
    base = {"i18n": True, "alternates": True, "x_default": True, "languages": ["fr", "de"], **attributes}
    register("pages", type("Pages", (Sitemap,), base))

    assert "W027" not in [id for id, _ in texts()]


@pytest.mark.parametrize("value", [["es"], "es", {"es-419": "es-419"}, {"es-419": 7}, {7: "es"}, {"en": "x-default"}])
def test_e002_a_map_of_languages_that_cannot_work_is_found(value: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": value}

    ((id, text),) = texts()

    assert id == "E002"
    assert 'SITEMAPS_PLUS["HREFLANG"]' in text


@pytest.mark.parametrize("value", [["es"], "es", {"de": 5}, {"de": ["es"]}, {"de": "x-default"}])
def test_e002_is_reported_with_a_section_in_several_languages(value: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": value}
    register("pages", type("Pages", (Sitemap,), {"i18n": True, "alternates": True}))

    assert "E002" in [id for id, _ in texts()]


@pytest.mark.parametrize(
    "hooks",
    [
        {"images": Related("pictures", Image(loc=F("file")))},
        {"images": [Image(loc=F("file")), Related("pictures", Image(loc=F("file")))]},
        {"location": UrlFor("sitemaps_plus:section", label=Related("pictures", F("file"), language=F("file")))},
        {"videos": Video(title=F("name"), tags=Related("pictures", F("file")))},
    ],
    ids=["alone", "in a list", "in an address", "in a value"],
)
def test_e019_a_relation_that_does_not_exist_is_found(hooks: Any) -> None:
    register_rows(**hooks)

    found = [text for id, text in texts() if id == "E019"]

    assert len(found) == 1
    assert "Rows: Product has no relation 'pictures' to many rows. It has: " in found[0]


def test_e019_is_silent_where_the_relation_exists_or_only_code_knows_the_model() -> None:
    register_rows(images=Related("photos", Image(loc=F("file"))))
    register(
        "unknown",
        type(
            "Unknown",
            (ModelSitemap,),
            {"get_queryset": lambda self: Product.objects.all(), "images": Related("x", Image(loc=F("file")))},
        ),
    )

    assert texts() == []


@pytest.mark.parametrize("name", ["alternates", "x_default"])
@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_w011_alternates_need_i18n(base, name):
    register("pages", type("Pages", (base,), {name: True}))

    id, text = only_text()

    assert id == "W011"
    assert f"Pages.{name} has no effect" in text
    assert "Set i18n = True on Pages" in text
