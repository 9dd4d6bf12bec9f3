"""What the checks say of languages and of relations."""

from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.core.checks import run_checks
from django.db.models import F

from sitemaps_plus import Image, ModelSitemap, Related, Siblings, Sitemap, UrlFor, Video, register
from testapp.models import Leaflet, Product


@pytest.fixture(autouse=True)
def _nothing_registered(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German")]


def said() -> list[tuple[str, str]]:
    return [
        (message.id.partition(".")[2], f"{message.msg} {message.hint}")
        for message in run_checks(databases=[])
        if "sitemaps_plus." in message.id
    ]


def rows(model: Any = Product, **attributes: Any) -> None:
    register("rows", type("Rows", (ModelSitemap,), {"queryset": model.objects.all(), **attributes}))


def test_w011_x_default_has_an_effect_where_rows_link_to_each_other() -> None:
    rows(Leaflet, hreflang=Siblings("translation_key", language=F("locale")), x_default=True)

    assert said() == []


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_w018_a_language_that_search_engines_do_not_know_is_found(base: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("es-419", "Latin American Spanish"), ("dsb", "Lower Sorbian")]
    register("pages", type("Pages", (base,), {"i18n": True, "alternates": True}))

    ((id, text),) = said()

    assert id == "W018"
    assert "Pages makes URLs in languages with codes that search engines do not know" in text
    assert "no page links to them: 'es-419', 'dsb'." in text
    assert 'SITEMAPS_PLUS = {"HREFLANG": {\'es-419\': "..."}}' in text
    settings.SITEMAPS_PLUS = {"HREFLANG": {"es-419": "es", "dsb": None}}
    assert said() == []


@pytest.mark.parametrize(
    "attributes",
    [{"i18n": False}, {"alternates": False}, {"languages": ["en"]}, {"languages": lambda self, item: ["en"]}],
    ids=["no languages", "no links", "other languages", "languages of each item"],
)
def test_w018_is_silent_where_nothing_links_to_the_language(attributes: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("es-419", "Latin American Spanish")]
    base = {"i18n": True, "alternates": True, **attributes}
    register("pages", type("Pages", (Sitemap,), base))

    assert "W018" not in [id for id, _ in said()]


@pytest.mark.parametrize("value", [["es"], "es", {"es-419": "es-419"}, {"es-419": 7}, {7: "es"}, {"en": "x-default"}])
def test_e002_a_map_of_languages_that_cannot_work_is_found(value: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": value}

    ((id, text),) = said()

    assert id == "E002"
    assert 'SITEMAPS_PLUS["HREFLANG"]' in text


@pytest.mark.parametrize("value", [["es"], "es", {"de": 5}, {"de": ["es"]}, {"de": "x-default"}])
def test_e002_is_told_beside_a_section_with_languages(value: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": value}
    register("pages", type("Pages", (Sitemap,), {"i18n": True, "alternates": True}))

    assert "E002" in [id for id, _ in said()]


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
    rows(**hooks)

    found = [text for id, text in said() if id == "E019"]

    assert len(found) == 1
    assert "Rows: Product has no relation 'pictures' to many rows. It has: " in found[0]


def test_e019_is_silent_where_the_relation_exists_or_only_code_knows_the_model() -> None:
    rows(images=Related("photos", Image(loc=F("file"))))
    register(
        "unknown",
        type(
            "Unknown",
            (ModelSitemap,),
            {"get_queryset": lambda self: Product.objects.all(), "images": Related("x", Image(loc=F("file")))},
        ),
    )

    assert said() == []
