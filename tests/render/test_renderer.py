from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.core.files.storage import InMemoryStorage
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat, Replace
from django.utils.translation import get_language

from samples import DAY, AllProducts, listed_paths, make_products, paths, render_page, section_of, text_of
from sitemaps_plus import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap, UrlFor
from sitemaps_plus.errors import PageEmpty, StrictError
from sitemaps_plus.protocol.addresses import Origin, Scope
from sitemaps_plus.protocol.entries import Cleaner, Entry, Group, Link
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.render.renderer import url_info_group
from sitemaps_plus.stores.packing import Document
from testapp.models import Article, Number, Product
from xml_checks import lastmods, locs, validate

pytestmark = pytest.mark.django_db

LANGUAGES = ["en", "de", "pt-br"]


def render(sitemap: Any, number: int = 1, **options: Any) -> Document:
    return render_page(section_of(sitemap), number, **options)


def problems(document: Document) -> list[tuple[str, str, str]]:
    return [(problem.key, problem.hook, problem.code) for problem in document.report.problems]


def links(document: Document) -> list[list[tuple[str, str]]]:
    link = "{http://www.w3.org/1999/xhtml}link"
    root = validate(text_of(document))
    return [[(one.attrib["hreflang"], *paths([one.attrib["href"]])) for one in url.findall(link)] for url in root]


def test_rows_without_a_usable_address_are_left_out_and_the_others_stay() -> None:
    class Hostile(AllProducts):
        # Longer than a column of the test models holds.
        location = Replace(F("name"), Value("LONG"), Value("x" * 3000))

    names = ["/ok/", "/ctrl\x0b/", "/LONG/", "https://elsewhere.example/", "nowhere", "", "/</loc>&'\"]]>/"]
    rows = Product.objects.bulk_create(Product(name=name, slug=str(at)) for at, name in enumerate(names))

    document = render(Hostile)

    assert listed_paths(document) == ["/ok/", "/ctrl%0B/", "/%3C/loc%3E&'%22%5D%5D%3E/"]
    assert problems(document) == [
        (str(rows[2].pk), "location", "E-URL-LENGTH"),
        (str(rows[3].pk), "location", "E-URL-HOST"),
        (str(rows[4].pk), "location", "E-URL-RELATIVE"),
        (str(rows[5].pk), "location", "E-URL-EMPTY"),
    ]
    assert document.report.left_out == 4


@pytest.mark.urls("testapp.urls_hostile")
def test_a_null_slug_leaves_its_row_out() -> None:
    class Named(AllProducts):
        location = UrlFor("slug", value=F("published_on"))

    first, second = make_products(2)
    Product.objects.filter(pk=second.pk).update(published_on=date(2026, 1, 1))

    document = render(Named)

    assert listed_paths(document) == ["/slug/2026-01-01/"]
    assert problems(document) == [(str(first.pk), "location", "E-URL-VALUE")]


def test_methods_that_raise_hurt_their_own_row_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Raising(AllProducts):
        def location(self, item: Product) -> str:
            if item.slug == "product-2":
                raise ZeroDivisionError("no address")
            return item.get_absolute_url()

        def lastmod(self, item: Product) -> datetime | None:
            return {"product-1": DAY}[item.slug]

        def priority(self, item: Product) -> Any:
            return {"product-1": 0.5, "product-3": "high"}.get(item.slug)

        changefreq = "often"

    rows = make_products(4)

    document = render(Raising)

    assert listed_paths(document) == ["/products/product-1/", "/products/product-3/", "/products/product-4/"]
    assert lastmods(text_of(document)) == ["2026-01-01T12:00:00+00:00", None, None]
    assert (str(rows[1].pk), "location", "ZeroDivisionError") in problems(document)
    assert (str(rows[2].pk), "lastmod", "KeyError") in problems(document)
    assert (str(rows[2].pk), "priority", "E-PRIORITY") in problems(document)
    assert (document.report.left_out, document.report.dropped) == (1, 6)
    # Once for each hook and code, however many rows.
    assert len(caplog.records) == 4


def number_items(self: Any) -> Any:
    return Number.objects.order_by("pk")


@pytest.mark.parametrize(
    ("base", "attributes", "advice"),
    [
        (
            ModelSitemap,
            {"get_queryset": number_items},
            'a location, as in location = UrlFor("number-detail", pk=F("pk"))',
        ),
        (
            ModelSitemap,
            {"get_queryset": number_items, "i18n": True, "languages": ["en"]},
            "a location, as in location =",
        ),
        (Sitemap, {"items": number_items}, "a method location(self, item)"),
        (contrib.Sitemap, {"items": number_items}, "a method location(self, item)"),
    ],
    ids=["model", "languages", "ours", "contrib"],
)
def test_a_row_without_any_location_says_what_to_give_the_class(base: Any, attributes: Any, advice: str) -> None:
    Number.objects.create(id=1)

    with pytest.raises(PageEmpty) as raised:
        render(type("Numbers", (base,), attributes))

    (problem,) = raised.value.report.problems  # type: ignore[attr-defined]
    assert problem.reason.startswith(
        f"Numbers has no location, and Number has no get_absolute_url(). Give Numbers {advice}"
    )
    assert problem.reason.endswith(", or give Number a get_absolute_url().")


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_an_item_that_is_no_row_needs_a_method_location(base: Any) -> None:
    with pytest.raises(PageEmpty) as raised:
        render(type("Pages", (base,), {"items": lambda self: ["/about/"]}))

    (problem,) = raised.value.report.problems  # type: ignore[attr-defined]
    assert problem.reason == (
        "Pages has no location, and str has no get_absolute_url(). "
        "Give Pages a method location(self, item) that returns the path of an item."
    )


def test_an_attribute_that_a_method_of_the_project_misses_is_reported_as_it_is() -> None:
    class Products(AllProducts):
        def location(self, item: Product) -> str:
            return item.get_absolute_url() + item.name.get_absolute_url()  # type: ignore[attr-defined, no-any-return]

    make_products(1)

    with pytest.raises(
        StrictError, match=r"location: AttributeError: 'str' object has no attribute 'get_absolute_url'"
    ):
        render(Products, strict=True)


def test_strict_refuses_the_page_instead() -> None:
    class Raising(AllProducts):
        def location(self, item: Product) -> str:
            raise ZeroDivisionError("no address")

    (row,) = make_products(1)

    with pytest.raises(
        StrictError, match=rf"row {row.pk} was left out because of its location: ZeroDivisionError: no address"
    ):
        render(Raising, strict=True)


def test_strict_is_the_setting_unless_it_is_given(settings: Any) -> None:
    class Bad(AllProducts):
        lastmod = "not a date"

    settings.SITEMAPS_PLUS = {"STRICT": True}
    make_products(1)

    with pytest.raises(StrictError):
        render(Bad)
    assert lastmods(text_of(render(Bad, strict=False))) == [None]


class Translated(AllProducts):
    i18n = True
    alternates = True
    x_default = True
    languages = LANGUAGES

    def location(self, item: Product) -> str:
        return f"/{get_language()}/{item.slug}/"


def test_spaces_around_a_location_are_removed_and_fail_no_strict_build() -> None:
    class Spaced(AllProducts):
        def location(self, item: Product) -> str:
            return f" /{item.slug}/\n"

    make_products(2)

    document = render(Spaced, strict=True)

    assert listed_paths(document) == ["/product-1/", "/product-2/"]
    assert {(hook, code) for _, hook, code in problems(document)} == {("location", "W-URL-SPACE")}
    assert (document.report.left_out, document.report.dropped, document.report.warned) == (0, 0, 2)


def test_locations_that_differ_only_in_spaces_are_listed_once() -> None:
    class Spaced(AllProducts):
        def location(self, item: Product) -> str:
            return "/same/ " if item.pk % 2 else "/same/"

    make_products(2)

    assert listed_paths(render(Spaced)) == ["/same/"]


def test_all_languages_of_a_row_stand_together_and_link_to_each_other() -> None:
    make_products(2)

    document = render(Translated)

    assert listed_paths(document) == [f"/{code}/product-{number}/" for number in (1, 2) for code in LANGUAGES]
    of_first = [("en", "/en/product-1/"), ("de", "/de/product-1/"), ("pt-BR", "/pt-br/product-1/")]
    of_first.append(("x-default", "/product-1/"))
    assert links(document)[:3] == [of_first] * 3


def test_languages_without_alternates_have_no_links() -> None:
    class Unlinked(Translated):
        alternates = False

    make_products(1)

    document = render(Unlinked)

    assert listed_paths(document) == [f"/{code}/product-1/" for code in LANGUAGES]
    assert b"xhtml" not in text_of(document)


def test_a_language_with_an_underscore_is_linked_with_a_hyphen_and_a_warning() -> None:
    class AsLocales(Translated):
        languages = ["en", "pt_BR"]

    make_products(1)

    document = render(AsLocales)

    assert [code for code, _ in links(document)[0]] == ["en", "pt-BR", "x-default"]
    assert problems(document) == [(str(Product.objects.get().pk), "alternates", "W-HREFLANG-CODE")]


def test_a_language_that_raises_is_dropped_and_the_others_stay() -> None:
    class Partly(Translated):
        def location(self, item: Product) -> str:
            if (get_language(), item.slug) == ("de", "product-1") or item.slug == "product-2":
                raise LookupError("not translated")
            return f"/{get_language()}/{item.slug}/"

    rows = make_products(3)

    document = render(Partly)

    assert listed_paths(document) == [
        "/en/product-1/",
        "/pt-br/product-1/",
        *(f"/{code}/product-3/" for code in LANGUAGES),
    ]
    assert links(document)[0] == [
        ("en", "/en/product-1/"),
        ("pt-BR", "/pt-br/product-1/"),
        ("x-default", "/product-1/"),
    ]
    assert problems(document) == [
        (str(rows[0].pk), "location", "LookupError"),
        (str(rows[1].pk), "location", "LookupError"),
    ]
    assert (document.report.left_out, document.report.dropped) == (1, 1)


def test_optional_parts_are_asked_for_once_a_row_in_the_language_of_the_site() -> None:
    asked = []

    class Dated(Translated):
        def lastmod(self, item: Product) -> datetime | None:
            if isinstance(item, Product):
                asked.append(get_language())
            return item.updated_at

    make_products(2)

    assert lastmods(text_of(render(Dated)))[0] == "2026-01-01T12:01:00+00:00"
    assert asked == ["en", "en"]


def test_a_row_may_say_which_languages_it_has() -> None:
    class OwnLanguages(Translated):
        def get_languages_for_item(self, item: Product) -> Sequence[Any]:
            if item.slug == "product-3":
                raise LookupError("no languages")
            return {
                "product-1": ["de", "de", "en"],
                "product-2": [],
                "product-4": ["pt-br\x00"],
                "product-5": [None],
                "product-6": ["../../de"],
            }.get(item.slug, ["de"])

    rows = make_products(7)

    document = render(OwnLanguages)

    assert listed_paths(document) == ["/de/product-1/", "/en/product-1/", "/de/product-7/"]
    assert problems(document) == [
        (str(rows[2].pk), "get_languages_for_item", "LookupError"),
        *((str(rows[at].pk), "get_languages_for_item", "ValueError") for at in (3, 5)),
    ]


def test_a_language_without_an_hreflang_has_a_page_and_no_link() -> None:
    class ThreeLetters(Translated):
        languages = ("en", "ast")

    make_products(1)

    document = render(ThreeLetters)

    assert listed_paths(document) == ["/en/product-1/", "/ast/product-1/"]
    assert links(document) == [[("en", "/en/product-1/"), ("x-default", "/product-1/")], []]
    assert {code for *_, code in problems(document)} == {"W-HREFLANG"}


def test_both_paths_give_the_same_bytes() -> None:
    class ByRow(AllProducts):
        location = Concat(Value("/produkte/ä "), F("slug"), Value("/"), output_field=CharField())
        lastmod = F("updated_at")
        changefreq = "weekly"
        priority = F("priority")

    class ByObject(ByRow):
        def changefreq(self, item: Product) -> str:  # type: ignore[override]
            return "weekly"

    class AllMethods(AllProducts):
        def location(self, item: Product) -> str:
            return f"/produkte/ä {item.slug}/"

        def lastmod(self, item: Product) -> datetime | None:
            return item.updated_at

        def changefreq(self, item: Product) -> str:
            return "weekly"

        def priority(self, item: Product) -> Any:
            return item.priority

    make_products(3, priority="0.70")
    Product.objects.create(name="none", slug="none")
    Product.objects.create(name="bad", slug="bad", priority="7.00")

    assert section_of(ByRow).hooks.path == "row"
    assert section_of(ByObject).hooks.path == section_of(AllMethods).hooks.path == "object"
    by_row = render(ByRow)
    assert len(locs(text_of(by_row))) == 5
    assert text_of(by_row) == text_of(render(ByObject)) == text_of(render(AllMethods))
    assert problems(by_row) == problems(render(AllMethods))


def test_both_paths_give_the_same_bytes_in_several_languages() -> None:
    class ByRow(AllProducts):
        i18n = True
        alternates = True
        x_default = True
        languages = LANGUAGES
        location = UrlForLanguage()
        lastmod = F("updated_at")

    class ByObject(Translated):
        def lastmod(self, item: Product) -> datetime | None:
            return item.updated_at

    make_products(3)

    assert section_of(ByRow).hooks.path == "row"
    assert text_of(render(ByRow)) == text_of(render(ByObject))


class UrlForLanguage:
    """A declared location that depends on the language, as ``UrlFor`` under ``i18n_patterns`` does."""

    def expressions(self) -> dict[str, Any]:
        return {"slug": F("slug")}

    def builder(self) -> Any:
        language = get_language()
        return lambda values: f"/{language}/{values[0]}/"


def test_a_file_field_gives_the_url_of_its_storage_on_every_path(monkeypatch: pytest.MonkeyPatch) -> None:
    class ByRow(AllProducts):
        location = F("file")
        cross_submission = "both hosts are verified"

    class ByObject(ByRow):
        def changefreq(self, item: Product) -> None:
            return None

    class ByPosition(ByRow, NewsSitemap):  # type: ignore[misc]
        date_field = "published_on"
        queryset = Product.objects.all()

        def items(self) -> Any:
            return self.get_queryset().order_by("pk")

    def url(name: str) -> str:
        if name == "broken":
            raise ValueError("no such file")
        return f"https://cdn.example/{name}"

    for name in ("a.pdf", "", "broken", "b.pdf"):
        Product.objects.create(name=name, slug="x", file=name)
    monkeypatch.setattr(Product._meta.get_field("file"), "storage", FakeStorage(url))

    for sitemap in (ByRow, ByObject, ByPosition):
        document = render(sitemap)
        assert locs(text_of(document)) == ["https://cdn.example/a.pdf", "https://cdn.example/b.pdf"]
        assert [code for *_, code in problems(document)] == ["E-URL-EMPTY", "ValueError"]


class FakeStorage(InMemoryStorage):
    def __init__(self, url: Any) -> None:
        super().__init__()
        self.url = url  # type: ignore[method-assign]


def test_the_class_of_another_sitemap_framework_keeps_its_meaning() -> None:
    class Contrib(contrib.Sitemap):
        changefreq = "monthly"

        def items(self) -> Any:
            return Product.objects.all()

    make_products(2)

    generic = GenericSitemap({"queryset": Product.objects.all(), "date_field": "updated_at"}, changefreq="monthly")
    assert listed_paths(render(Contrib)) == ["/products/product-1/", "/products/product-2/"]
    assert listed_paths(render(lambda: generic)) == ["/products/product-1/", "/products/product-2/"]
    assert lastmods(text_of(render(lambda: generic)))[0] == "2026-01-01T12:01:00+00:00"


def test_pairs_of_a_class_that_is_paged_by_position_get_their_links() -> None:
    class Contrib(contrib.Sitemap):
        i18n = True
        alternates = True
        x_default = True
        languages = LANGUAGES

        def items(self) -> Any:
            return Product.objects.order_by("pk")

        def location(self, item: Product) -> str:
            if get_language() == "de" and item.slug == "product-2":
                raise LookupError("not translated")
            return f"/{get_language()}/{item.slug}/"

    make_products(2)

    document = render(Contrib)

    assert listed_paths(document) == [
        *(f"/{code}/product-1/" for code in LANGUAGES),
        "/en/product-2/",
        "/pt-br/product-2/",
    ]
    assert links(document)[0] == [
        ("en", "/en/product-1/"),
        ("de", "/de/product-1/"),
        ("pt-BR", "/pt-br/product-1/"),
        ("x-default", "/product-1/"),
    ]
    assert (document.report.left_out, document.report.dropped) == (0, 1)


def test_items_that_are_no_rows_are_named_by_what_they_look_like() -> None:
    class Static(Sitemap):
        def items(self) -> list[str]:
            return ["/a/", "nowhere", "/b/"]

        def location(self, item: str) -> str:
            return item

    document = render(Static)

    assert listed_paths(document) == ["/a/", "/b/"]
    assert problems(document) == [("'nowhere'", "location", "E-URL-RELATIVE")]


def cleaner() -> Cleaner:
    return Cleaner(
        scope=Scope(origin=Origin.parse("https://example.com")),
        tz=UTC,
        now=datetime(2026, 10, 3, tzinfo=UTC),
        report=Report("products"),
    )


def test_a_dict_of_get_urls_becomes_an_entry() -> None:
    info = {
        "location": "https://example.com/a b/",
        "lastmod": DAY,
        "changefreq": "daily",
        "priority": "0.50",
        "alternates": [{"lang_code": "de", "location": "https://example.com/de/"}, {"lang_code": "en"}, {}],
    }
    made = cleaner()

    group = url_info_group(info, 5, made)

    entry = Entry(
        "https://example.com/a%20b/",
        "2026-01-01T12:00:00+00:00",
        "daily",
        "0.5",
        [Link("de", "https://example.com/de/")],
    )
    assert group == Group(5, (entry,))
    assert (made.report.dropped, made.report.warned) == (1, 1)


@pytest.mark.parametrize("info", [{}, {"location": None}, {"location": "nowhere"}, {"location": "https://a.example/"}])
def test_a_dict_of_get_urls_without_a_usable_location_is_left_out(info: dict[str, Any]) -> None:
    made = cleaner()

    assert url_info_group(info, 5, made) is None
    assert made.report.left_out == 1


def test_the_zone_of_the_visitor_does_not_reach_dates() -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        lastmod = F("published_at")

    published = datetime.now(UTC).replace(microsecond=0)
    Article.objects.create(title="x", published_at=published)

    assert lastmods(text_of(render(News))) == [published.isoformat()]
