"""Tables with a column for each language."""

from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Coalesce, NullIf, Upper
from django.utils.translation import override

from samples import listed_paths, render_page, section_of, text_of
from sitemaps_plus import Image, ModelSitemap, PerLanguage, UrlFor, Video, register
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.stores.packing import Document
from testapp.models import Leaflet
from xml_checks import validate

pytestmark = [pytest.mark.django_db, pytest.mark.urls("testapp.urls_languages")]

S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(autouse=True)
def three_languages(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Portuguese")]


class Leaflets(ModelSitemap):
    queryset = Leaflet.objects.all()
    i18n = alternates = True
    location: Any = UrlFor("product", slug=PerLanguage("slug_{}"))


def sitemap(**attributes: Any) -> Any:
    return type("Made", (Leaflets,), attributes)


def render(made: Any, label: str = "leaflets", **options: Any) -> Document:
    return render_page(section_of(made, label), 1, **options)


def links(document: Document) -> list[dict[str, str]]:
    urls = validate(text_of(document)).findall(f"{S}url")
    return [{one.attrib["hreflang"]: one.attrib["href"] for one in url.findall(f"{XHTML}link")} for url in urls]


def leaflet(**slugs: str | None) -> Leaflet:
    made: Leaflet = Leaflet.objects.create(**{f"slug_{code}": slug for code, slug in slugs.items()})
    return made


@pytest.mark.parametrize("columns", ["{}_{}", "slug_{}{", "{}}", "{}_{0}", "{}_{name}", "{{}}_{}"])
def test_a_form_has_one_place_for_the_language(columns: str) -> None:
    with pytest.raises(InvalidSitemap, match=r"put \{\} in it once"):
        PerLanguage(columns)


@pytest.mark.parametrize("columns", [{"en": 5}, {"en": None}, {5: "slug"}, {"en": Image(loc="/a.jpg")}, {"en": F}])
def test_columns_are_names_or_expressions(columns: Any) -> None:
    with pytest.raises(InvalidSitemap, match=r"PerLanguage\(\{.*\}\): give a column"):
        PerLanguage(columns)


def by_object(made: Any) -> Any:
    return type("ByObject", (made,), {"changefreq": lambda self, item: None})


@pytest.mark.parametrize("path", [lambda made: made, by_object])
def test_each_language_reads_its_own_column(path: Any) -> None:
    leaflet(en="chair", de="stuhl", pt_br="cadeira")

    document = render(path(Leaflets), strict=True)

    assert listed_paths(document) == ["/en/products/chair/", "/de/products/stuhl/", "/pt-br/products/cadeira/"]
    assert links(document)[0] == {
        "en": "https://example.com/en/products/chair/",
        "de": "https://example.com/de/products/stuhl/",
        "pt-BR": "https://example.com/pt-br/products/cadeira/",
    }


@pytest.mark.parametrize("path", [lambda made: made, by_object])
@pytest.mark.parametrize("empty", ["", None])
def test_a_row_that_is_not_translated_leaves_the_language_out_silently(path: Any, empty: str | None) -> None:
    leaflet(en="chair", de=empty, pt_br="cadeira")

    document = render(path(Leaflets), strict=True)

    assert listed_paths(document) == ["/en/products/chair/", "/pt-br/products/cadeira/"]
    assert [sorted(one) for one in links(document)] == [["en", "pt-BR"]] * 2
    assert not document.report.problems


def test_the_location_itself_may_be_a_column_of_each_language() -> None:
    leaflet(en="/chair/", de="", pt_br="/cadeira/")

    document = render(sitemap(location=PerLanguage("slug_{}")), strict=True)

    assert listed_paths(document) == ["/chair/", "/cadeira/"]


def test_a_row_without_any_translation_is_left_out_and_reported() -> None:
    row = leaflet(en="", de=None)
    leaflet(en="table")

    document = render(Leaflets)

    assert listed_paths(document) == ["/en/products/table/"]
    assert [(one.key, one.hook, one.code) for one in document.report.problems] == [
        (str(row.pk), "location", "E-URL-VALUE")
    ]


def test_columns_may_be_named_one_by_one_and_be_expressions() -> None:
    leaflet(en="chair", de="")
    falling_back = Coalesce(NullIf(F("slug_de"), Value("")), F("slug_en"))
    slug = PerLanguage({"en": "slug_en", "de": falling_back})

    document = render(sitemap(location=UrlFor("product", slug=slug), languages=["en", "de"]), strict=True)

    assert listed_paths(document) == ["/en/products/chair/", "/de/products/chair/"]


@pytest.mark.parametrize("path", [lambda made: made, by_object])
def test_only_columns_of_the_languages_of_the_section_are_read(path: Any, settings: Any) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, ("fr", "French, which has no column")]
    leaflet(en="chair", de="stuhl")

    assert listed_paths(render(path(sitemap(languages=["de"])))) == ["/de/products/stuhl/"]
    assert listed_paths(render(path(sitemap(i18n=False, alternates=False)), "english")) == ["/en/products/chair/"]


def test_values_may_hold_columns_of_each_language() -> None:
    leaflet(en="chair", de="stuhl")
    videos = Video(
        thumbnail_loc="https://example.com/t.jpg",
        title=PerLanguage({"en": Upper("slug_en"), "de": "slug_de"}),
        description=PerLanguage("slug_{}"),
        content_loc="https://example.com/v.mp4",
    )
    made = sitemap(videos=videos, images=[Image(loc=PerLanguage({"de": "fallback"}))], languages=["en", "de"])
    Leaflet.objects.update(fallback="https://example.com/de.jpg")

    document = render(made, strict=True)

    titles, pictures = (
        [url.findtext(f".//{{http://www.google.com/schemas/sitemap-{name}/1.1}}{child}") for url in root]
        for root in [validate(text_of(document)).findall(f"{S}url")]
        for name, child in (("video", "title"), ("image", "loc"))
    )
    assert titles == ["CHAIR", "stuhl"]
    assert pictures == [None, "https://example.com/de.jpg"]


def test_the_path_of_one_row_is_that_of_the_language_now_active() -> None:
    given = UrlFor("product", slug=PerLanguage("slug_{}"))

    with override("de"):
        assert given.builder()(["chair", "stuhl", None]) == "/de/products/stuhl/"
    with override("fr"), pytest.raises(ValueError, match="slug is empty in 'fr'"):
        given.builder()(["chair", "stuhl", None])


def test_it_is_registered_like_any_other() -> None:
    assert register("leaflets")(Leaflets) is Leaflets


@pytest.mark.parametrize("columns", ["slug", "", None, F("slug"), ["slug_en"]])
def test_what_names_no_columns_is_an_error(columns: Any) -> None:
    with pytest.raises(InvalidSitemap, match="PerLanguage"):
        PerLanguage(columns)


def test_equal_declarations_are_equal() -> None:
    assert PerLanguage("slug_{}") == PerLanguage("slug_{}")
    assert hash(PerLanguage({"en": "a"})) == hash(PerLanguage({"en": "b"}))
    assert PerLanguage({"en": "a"}) != PerLanguage({"en": "b"})
    assert PerLanguage("slug_{}") != "slug_{}"
    assert repr(PerLanguage("slug_{}")) == "PerLanguage('slug_{}')"
