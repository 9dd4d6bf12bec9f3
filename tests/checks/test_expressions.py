"""Messages about names that the database does not have, and about the dates of news."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import Exists, F, Max, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, Concat, Upper

from check_messages import parts, register_rows
from sitemaps_plus import (
    GenericSitemap,
    Image,
    NewsSitemap,
    PerLanguage,
    Related,
    Siblings,
    UrlFor,
    Video,
    register,
)
from testapp.models import Article, Leaflet, Note, Photo, Product, Remark, Tag

INDEX = "sitemaps_plus:section"


@pytest.fixture(autouse=True)
def _two_languages(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German")]


def problems(*ids: str) -> list[tuple[str, str, str]]:
    """Return id, text and hint of each message about expressions and news."""
    return parts(*(ids or ("E020", "W021", "E022")))


@pytest.mark.parametrize(
    ("hooks", "start", "name"),
    [
        ({"images": Image(loc=F("foto"))}, "Rows.images: Cannot", "foto"),
        ({"images": [Image(loc="/a.jpg"), Image(loc=Concat(Value("/"), F("foto")))]}, "Rows.images: Cannot", "foto"),
        ({"location": UrlFor(INDEX, label=F("slugg"))}, "Rows.location: Cannot", "slugg"),
        ({"lastmod": F("updated")}, "Rows.lastmod: Cannot", "updated"),
        ({"changed": F("updated")}, "Rows.changed: Cannot", "updated"),
        ({"languages": F("langs"), "i18n": True}, "Rows.languages: Cannot", "langs"),
        ({"x_default": F("main"), "i18n": True}, "Rows.x_default: Cannot", "main"),
        ({"videos": Video(title=F("name"), tags=[F("word")])}, "Rows.videos: Cannot", "word"),
        ({"images": Related("photos", Image(loc=F("fle")))}, "Rows.images: Related('photos'): Cannot", "fle"),
        (
            {"images": Related("photos", Image(loc=F("file")), filter=Q(good=True))},
            "Rows.images: Related('photos'): filter: Cannot",
            "good",
        ),
        (
            {"images": Related("photos", Image(loc=F("file")), order_by="-rank")},
            "Rows.images: Related('photos'): order_by: Cannot",
            "rank",
        ),
        (
            {"location": Related("translations", F("slug"), language=F("code"))},
            "Rows.location: Related('translations'): Cannot",
            "code",
        ),
    ],
    ids=[
        "image", "function", "address", "lastmod", "changed", "languages", "x-default", "list", "related", "filter",
        "order", "language",
    ],
)  # fmt: skip
def test_e020_names_hook_name_and_choices(hooks: dict[str, Any], start: str, name: str) -> None:
    register_rows(**hooks)

    ((id, text, hint),) = problems()

    assert id == "E020"
    assert text.startswith(f"{start} resolve keyword '{name}' into field. Choices are: ")
    assert "_sitemap_" not in text
    assert hint.startswith("Correct the name.")


def test_e020_the_choices_are_those_of_the_related_model() -> None:
    register_rows(images=Related("photos", Image(loc=F("fle"))))

    ((_, text, _),) = problems()

    assert "caption, file, id, position, product" in text


@pytest.mark.parametrize("wrong", [{"key": "kee"}, {"language": F("lang")}], ids=["key", "language"])
def test_e020_finds_the_columns_of_siblings(wrong: Any) -> None:
    given = {"key": "translation_key", "language": F("locale"), **wrong}
    register_rows(Leaflet, hreflang=Siblings(given["key"], language=given["language"]))

    ((id, text, _),) = problems()

    assert id == "E020"
    assert text.startswith("Rows.hreflang: Cannot resolve keyword")


def test_e020_names_the_settings_for_a_language_without_a_column(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    register_rows(Leaflet, i18n=True, location=UrlFor(INDEX, label=PerLanguage("slug_{}")))

    ((_, text, hint),) = problems()

    assert text.startswith("Rows.location: Cannot resolve keyword 'slug_fr'")
    assert hint.startswith("Add the column for 'fr'")
    assert hint.endswith("or remove that language from `languages` or LANGUAGES.")


@pytest.mark.parametrize(
    "attributes",
    [{"i18n": True, "languages": ["en", "de"]}, {"i18n": True, "languages": "en, de"}, {"i18n": False}],
    ids=["list", "text", "one"],
)
def test_e020_columns_of_languages_that_the_section_does_not_have_are_not_needed(
    attributes: Any, settings: Any
) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    register_rows(Leaflet, location=UrlFor(INDEX, label=PerLanguage("slug_{}")), **attributes)

    assert problems() == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"get_queryset": lambda self: Product.objects.annotate(foto=F("file"))},
        {"items": lambda self: Product.objects.annotate(foto=F("file"))},
        {"queryset": Product.objects.annotate(foto=F("file"))},
        {"queryset": None, "get_queryset": lambda self: Product.objects.annotate(foto=F("file"))},
    ],
    ids=["rows of a method", "items", "annotated", "no rows"],
)
def test_e020_what_a_queryset_annotates_is_known_or_not_judged(attributes: Any) -> None:
    register_rows(images=Image(loc=F("foto")), **attributes)

    assert problems() == []


@pytest.mark.parametrize("base", [contrib.GenericSitemap])
def test_e020_classes_of_django_are_looked_at_too(base: Any) -> None:
    register("rows", type("Rows", (base,), {"images": Image(loc=F("foto"))})({"queryset": Product.objects.all()}))

    ((id, _, _),) = problems()

    assert id == "E020"


def test_e020_a_relation_that_does_not_exist_is_for_another_check() -> None:
    register_rows(images=Related("pictures", Image(loc=F("fle")), filter=Q(x=1)))

    assert problems() == []
    assert [id for id, _, _ in problems("E019", "E020")] == ["E019"]


class Broken(F):
    def resolve_expression(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("only a database knows")


def test_e020_an_expression_that_raises_something_else_is_left_to_the_rows() -> None:
    register_rows(images=Image(loc=Broken("file")))

    assert problems() == []


@pytest.mark.parametrize(
    ("model", "hooks", "text", "hint"),
    [
        (
            Product,
            {"images": Image(loc=F("photos__file"))},
            "F('photos__file')",
            "Related('photos', Image(loc=F('file')",
        ),
        (Product, {"images": Image(loc=Upper("photos__file"))}, "F('photos__file')", "Related('photos'"),
        (Product, {"lastmod": F("bundle__tags__products__updated_at")}, "F('bundle__tags", "Max('bundle__tags"),
        (Tag, {"images": Image(loc=F("products__file"))}, "F('products__file')", "Related('products'"),
        (Article, {"images": Image(loc=F("remarks__text"))}, "F('remarks__text')", "Related('remarks'"),
        (Product, {"videos": Video(title=F("notes__text"))}, "F('notes__text')", "videos = Related('notes', ...)"),
    ],
    ids=["image", "function", "date", "many to many", "generic", "video"],
)
def test_w021_a_path_to_many_rows_is_found(model: Any, hooks: Any, text: str, hint: str) -> None:
    register_rows(model, **hooks)

    ((id, found, remedy),) = problems()

    assert id == "W021"
    assert f"{text}" in found
    assert "follows a relation to many rows" in found
    assert hint in remedy


@pytest.mark.parametrize(
    ("model", "hooks"),
    [
        (Note, {"images": Image(loc=F("product__file"))}),
        (Note, {"images": Image(loc=Coalesce(F("product__file"), F("product__bundle__file")))}),
        (Product, {"lastmod": Max("notes__product__updated_at")}),
        (Product, {"images": Image(loc=Subquery(Photo.objects.filter(product=OuterRef("pk")).values("file")[:1]))}),
        (Product, {"images": Related("photos", Image(loc=F("product__photos__file")))}),
        (Product, {"images": Image(loc=F("photos__file")), "queryset": Product.objects.filter(photos__position=0)}),
        (Product, {"images": Related("photos", Image(loc=F("file")), filter=Exists(Remark.objects.all()))}),
        (Leaflet, {"lastmod": F("languages__day")}),
    ],
    ids=["one", "one of one", "aggregate", "subquery", "of related", "chosen", "condition", "part of a value"],
)
def test_an_expression_with_one_value_per_row_is_not_reported(model: Any, hooks: Any) -> None:
    register_rows(model, **hooks)

    assert problems() == []


@pytest.mark.parametrize(
    ("name", "is_what"), [("published", "is not a field of Article"), ("title", "is a CharField of Article")]
)
def test_e022_a_date_field_that_has_no_dates_is_found(name: str, is_what: str) -> None:
    register_rows(Article, NewsSitemap, date_field=name)

    ((id, text, hint),) = problems()

    assert id == "E022"
    assert text == f"Rows.date_field is {name!r}, which {is_what}."
    assert hint.endswith("Fields with dates: published_at.")


@pytest.mark.parametrize("window", [2, timedelta(), timedelta(days=-2), None, "2 days"])
def test_e022_a_window_is_a_time(window: Any) -> None:
    register_rows(Article, NewsSitemap, date_field="published_at", window=window)

    ((id, text, hint),) = problems()

    assert id == "E022"
    assert text == f"Rows.window is {window!r}."
    assert "timedelta(days=2)" in hint


@pytest.mark.parametrize("name", ["published_on", "updated_at"])
def test_e022_dates_and_datetimes_are_both_good(name: str) -> None:
    register_rows(Product, NewsSitemap, date_field=name, window=timedelta(hours=1))

    assert problems() == []


@pytest.mark.parametrize("base", [contrib.GenericSitemap, GenericSitemap], ids=["contrib", "ours"])
def test_e022_rows_have_the_date_field_of_a_generic_sitemap(base: Any) -> None:
    register("products", base({"queryset": Product.objects.all(), "date_field": "updated"}))

    ((id, text, hint),) = problems()

    assert (id, text) == ("E022", "GenericSitemap.date_field is 'updated', which Product does not have.")
    assert hint.endswith("Fields with dates: updated_at, published_on.")


@pytest.mark.parametrize("name", [None, "updated_at", "newest", "get_absolute_url"])
def test_e022_a_date_field_may_be_anything_that_objects_have(name: str | None) -> None:
    rows = Product.objects.annotate(newest=F("updated_at"))
    register("products", GenericSitemap({"queryset": rows, "date_field": name}))

    assert problems() == []
