"""Many rows at once: the same bytes, reports and dates as row by row, whatever the rows hold."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.utils.translation import get_language
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from samples import SITE, make_products, render_page, section_of
from sitemaps_plus import Image, ModelSitemap, NewsSitemap, PerLanguage, Related, UrlFor
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import Section, neutral
from sitemaps_plus.plan.seen import SeenRows
from sitemaps_plus.protocol.entries import Block
from sitemaps_plus.protocol.limits import Limits
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.writer import Tally, write_urlset
from sitemaps_plus.render import object_path
from sitemaps_plus.render.bulk.blocks import compile_blocks
from sitemaps_plus.render.renderer import Renderer
from sitemaps_plus.render.row_path import read_blocks, read_groups, read_rows
from testapp.models import Article, Leaflet, Photo, Product, Reading
from xml_checks import locs, validate

pytestmark = [pytest.mark.django_db, pytest.mark.urls("testapp.urls_blocks")]


LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Portuguese")]
SLUG = F("slug")
OF_LANGUAGE = PerLanguage({"en": "slug", "de": "slug_de", "pt-br": "slug_pt_br"})
WORDS = st.sampled_from(["a", "b", "x-1", "tea", "2026", "7"])
# What a text column of all databases holds: no NUL, no lone surrogates.
HOSTILE = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12) | st.sampled_from(
    [
        "",
        ".",
        "..",
        "a/b",
        "a b",
        "ä",
        "100%",
        "%41",
        "q?x",
        "#a",
        "o'brien&co",
        "<a>",
        "a\nb",
        "\n",
        "//",
        "silent",
        "A",
        " /tea",
        "/tea \t",
        "\n/a\n",
        "https://example.com/a ",
        "tea ",
    ]
)
TEXTS = WORDS | HOSTILE
MOMENTS = st.sampled_from(
    [
        None,
        datetime(2026, 2, 28, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2024, 2, 29, tzinfo=UTC),
        datetime(1989, 12, 31, tzinfo=UTC),
        datetime(987, 6, 5, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
        datetime(2026, 4, 30, 12, 0, 0, 5, tzinfo=UTC),
    ]
) | st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


def sitemap(**attributes: Any) -> Any:
    return type("Made", (ModelSitemap,), {"queryset": Leaflet.objects.all(), "lastmod": F("updated_at"), **attributes})


LINKED = {"i18n": True, "alternates": True, "x_default": True}
SITEMAPS = {
    "text": sitemap(location=UrlFor("str", value=SLUG)),
    "slug": sitemap(location=UrlFor("slug", value=SLUG), changefreq="weekly", priority=0.5),
    "path": sitemap(location=UrlFor("path", value=SLUG), lastmod=date(2026, 1, 1)),
    "key": sitemap(location=UrlFor("int", value=F("pk")), lastmod=None),
    "narrow": sitemap(location=UrlFor("four", value=F("pk"))),
    "own converter": sitemap(location=UrlFor("loud", value=SLUG), changefreq=F("locale"), priority=F("fallback")),
    "two": sitemap(location=UrlFor("two", first=SLUG, second=F("pk"))),
    "constant": sitemap(location=UrlFor("two", first=SLUG, second=7), lastmod=F("updated_at") - timedelta(days=1)),
    "bare": sitemap(location=UrlFor("bare", value=SLUG)),
    "computed": sitemap(location=UrlFor("str", value=Concat(SLUG, Value("-"), "locale"))),
    "expression": sitemap(location=UrlFor("words", value=SLUG)),
    "column": sitemap(location=SLUG),
    "path column": sitemap(location=Concat(Value("/"), SLUG, Value("/"), output_field=CharField())),
    "languages": sitemap(location=UrlFor("str", value=SLUG), i18n=True, alternates=True, x_default=True),
    "per language": sitemap(location=UrlFor("str", value=OF_LANGUAGE), i18n=True, alternates=True, x_default="de"),
    "variant": sitemap(location=UrlFor("str", value=SLUG), languages=["en-gb", "de"], **LINKED),
    "no default": sitemap(location=UrlFor("str", value=SLUG), languages=["de", "pt-br"], **LINKED),
    "unlinked": sitemap(location=UrlFor("bare", value=OF_LANGUAGE), i18n=True),
    "images": sitemap(location=UrlFor("str", value=SLUG), images=[Image(loc=F("fallback"))], i18n=True),
}


class ByMethod(ModelSitemap):
    queryset = Leaflet.objects.all()

    def location(self, item: Leaflet) -> Any:
        if item.slug == "silent":
            raise LookupError("no address")
        return {"x-1": None, "7": 7, "tea": f"{SITE.origin}/tea/"}.get(item.slug, f"/{get_language()}/{item.slug}")

    def lastmod(self, item: Leaflet) -> Any:
        moment = item.updated_at
        if item.slug_de == "a":
            raise LookupError("no date")
        return {
            "b": moment and moment.replace(tzinfo=None),
            "x-1": "2026-01-01",
            "tea": moment and moment.date(),
            "7": moment and 1 < moment.year < 9999 and moment.astimezone(timezone(timedelta(hours=5, minutes=30))),
        }.get(item.slug_de or "", moment)

    def changefreq(self, item: Leaflet) -> Any:
        return {"daily": "daily", "often": ["often"]}.get(item.locale)

    def priority(self, item: Leaflet) -> Any:
        return {"0.5": 0.5, "2": Decimal(2), "/a.jpg": {}}.get(item.fallback)


class OfDjango(contrib.Sitemap):
    def items(self) -> Any:
        return Leaflet.objects.order_by("pk")

    location, lastmod = ByMethod.location, ByMethod.lastmod
    changefreq, priority = ByMethod.changefreq, ByMethod.priority


def method(base: Any = ByMethod, **attributes: Any) -> Any:
    return type("Made", (base,), attributes)


def images(self: Any, item: Leaflet) -> Any:
    if item.locale == "often":
        raise LookupError("no images")
    return [Image(loc=item.fallback)] if item.fallback else None


OBJECTS = {
    "methods": ByMethod,
    "one method": method(location=UrlFor("str", value=SLUG), lastmod=F("updated_at"), priority=0.3),
    "languages": method(i18n=True, alternates=True, x_default=True),
    "default language": method(i18n=True, alternates=True, x_default="pt-br", languages=["de", "pt-br"]),
    "variant": method(languages=["de", "en-gb"], **LINKED),
    "no links": method(i18n=True, lastmod=date(2026, 1, 1)),
    "images": method(images=images),
    "images in languages": method(images=images, i18n=True),
    "django": OfDjango,
    "django in languages": method(OfDjango, i18n=True, alternates=True, x_default=True),
    "list": method(OfDjango, items=lambda self: list(Leaflet.objects.order_by("-pk"))),
    "any host": method(cross_submission="both are verified"),
}


def rendered(section: Section, read: Any, limits: Limits | None = None, page: Any = None) -> Any:
    """Return what a page comes to: its bytes, or the error, with all that was noticed on the way."""
    report, tally = Report(section.label), Tally()
    if page is None:
        (page,) = refresh(section, force=True).pages
    with neutral():
        cleaner = section.cleaner(report)
        pieces = write_urlset(
            read(section, page, cleaner), prefixes=section.prefixes, limits=limits, report=report, tally=tally
        )
        try:
            document = b"".join(pieces)
        except Exception as error:
            return str(error), getattr(error, "split_at", None)
    said = sorted((one.key, one.hook, one.code, one.reason) for one in report.problems)
    counts = (report.left_out, report.dropped, report.warned, tally.urls, tally.bytes)
    return document, said, counts, cleaner.newest.value


rows = st.fixed_dictionaries(
    {
        "slug": TEXTS,
        "slug_de": st.none() | TEXTS,
        "slug_pt_br": st.none() | TEXTS,
        "locale": st.sampled_from(["", "daily", "often"]),
        "fallback": st.sampled_from(["", "0.5", "2", "/a.jpg", "javascript:x"]),
        "updated_at": MOMENTS,
    }
)


@pytest.mark.parametrize("name", SITEMAPS)
@hypothesis_settings(max_examples=25)
@given(given_rows=st.lists(rows, min_size=1, max_size=8))
@example(given_rows=[{"slug": "a", "updated_at": None}, {"slug": "a"}, {"slug": "ä", "slug_de": "a"}])
def test_a_page_is_the_same_in_blocks_and_row_by_row(name: str, given_rows: list[Any]) -> None:
    Leaflet.objects.all().delete()
    Leaflet.objects.bulk_create(Leaflet(**row) for row in given_rows)
    section = section_of(SITEMAPS[name], "leaflets")

    by_row = rendered(section, read_groups)

    assert rendered(section, read_blocks) == by_row
    if isinstance(by_row[0], bytes) and by_row[2][3]:
        validate(by_row[0])


@pytest.mark.parametrize("name", OBJECTS)
@hypothesis_settings(max_examples=25)
@given(given_rows=st.lists(rows, min_size=1, max_size=8))
@example(given_rows=[{"slug": "a", "slug_de": "a"}, {"slug": "a", "locale": "often"}, {"slug": "silent"}])
def test_a_page_is_the_same_in_blocks_and_object_by_object(name: str, given_rows: list[Any]) -> None:
    Leaflet.objects.all().delete()
    Leaflet.objects.bulk_create(Leaflet(**row) for row in given_rows)
    section = section_of(OBJECTS[name], "leaflets")

    by_object = rendered(section, object_path.read_groups)

    assert rendered(section, object_path.read_blocks) == by_object
    if isinstance(by_object[0], bytes) and by_object[2][3]:
        validate(by_object[0])


@pytest.mark.parametrize("name", [name for name in OBJECTS if name != "django in languages"])
def test_objects_come_in_blocks_too(name: str) -> None:
    Leaflet.objects.create(slug="a")
    section = section_of(OBJECTS[name], "leaflets")
    (page,) = refresh(section, force=True).pages

    with neutral():
        found = list(object_path.read_blocks(section, page, section.cleaner(Report("leaflets"))))

    assert [type(one) for one in found] == [Block]


def test_each_hook_is_asked_once_for_each_object() -> None:
    asked: list[tuple[str, int]] = []

    class Asking(ByMethod):
        def location(self, item: Leaflet) -> Any:
            asked.append(("location", item.pk))
            return super().location(item)

        def lastmod(self, item: Leaflet) -> Any:
            if isinstance(item, Leaflet):  # not what looks for a column
                asked.append(("lastmod", item.pk))
            return super().lastmod(item)

    keys = [Leaflet.objects.create(slug=slug).pk for slug in ("a", "ä", "silent", "7")]

    render_page(section_of(Asking, "leaflets"), 1, strict=False)

    assert asked == [(hook, key) for hook in ("location", "lastmod") for key in keys]


@pytest.fixture(autouse=True)
def _three_languages(settings: Any) -> None:
    settings.LANGUAGES = LANGUAGES


def blocks_of(section: Section) -> Any:
    with neutral():
        cleaner = section.cleaner(Report(section.label))
        return compile_blocks(cleaner, Renderer(section, cleaner, partial(read_rows, section)))


@pytest.mark.parametrize("name", [name for name in SITEMAPS if name != "expression"])
def test_what_is_declared_plainly_comes_in_blocks(name: str) -> None:
    assert blocks_of(section_of(SITEMAPS[name])) is not None


@pytest.mark.parametrize(
    "attributes",
    [
        {"location": UrlFor("words", value=SLUG)},
        {"location": SLUG, "i18n": True},
        {"lastmod": "no date"},
        {"changefreq": "often"},
        {"priority": 7},
        {"i18n": True, "languages": F("languages")},
        {"i18n": True, "alternates": True, "languages": ["en", "ast"]},
        {"i18n": True, "alternates": True, "x_default": F("fallback")},
        {"i18n": True, "alternates": True, "languages": ["de", "pt_BR"]},
        {"i18n": True, "alternates": True, "x_default": "/choose/"},
        {"i18n": True, "alternates": True, "x_default": True, "location": UrlFor("bare", value=SLUG)},
    ],
    ids=str,
)
def test_what_rows_have_to_tell_comes_row_by_row(attributes: Any) -> None:
    assert blocks_of(section_of(sitemap(**{"location": UrlFor("str", value=SLUG), **attributes}))) is None


def test_a_page_is_cut_in_a_block_where_it_would_be_cut_row_by_row() -> None:
    Leaflet.objects.bulk_create(Leaflet(slug=f"{'ä' * (number % 7)}-{number}") for number in range(60))
    section = section_of(SITEMAPS["text"], "leaflets")

    for size in range(1500, 3000, 97):
        limits = Limits(bytes=size, bytes_to_fill=size - 300)
        assert rendered(section, read_blocks, limits) == rendered(section, read_groups, limits)
    for urls in (1, 59, 60):
        assert rendered(section, read_blocks, Limits(urls=urls)) == rendered(section, read_groups, Limits(urls=urls))


def test_an_address_that_comes_again_in_a_later_block_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", 3)
    Leaflet.objects.bulk_create(Leaflet(slug=slug) for slug in ["a", "b", "ä", "c", "a", "d", "ä", "e", "a&b", "a&b"])
    section = section_of(SITEMAPS["text"], "leaflets")

    found = rendered(section, read_blocks)

    assert found == rendered(section, read_groups)
    assert len(locs(found[0])) == 7
    assert [code for _, _, code, _ in found[1]] == ["E-URL-REPEATED"] * 3


def unique(**attributes: Any) -> Any:
    made = {"queryset": Reading.objects.all(), "location": UrlFor("str", value=SLUG), "lastmod": F("at"), **attributes}
    return type("Made", (ModelSitemap,), made)


def make_readings(count: int = 7) -> None:
    Reading.objects.bulk_create(
        Reading(
            at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=at),
            on=date(2026, 1, 1) + timedelta(days=at),
            amount=at,
            share=at,
            took=timedelta(days=at),
            slug=f"r{at}",
        )
        for at in range(count)
    )


@pytest.mark.skipif(connection.vendor == "mysql", reason="rows are not joined there")
@pytest.mark.parametrize(
    ("made", "has_names"),
    [
        (unique(), False),
        (unique(location=UrlFor("slug", value=SLUG), queryset=Reading.objects.filter(slug__gt="r")), False),
        (unique(location=UrlFor("int", value=F("pk"))), False),
        (unique(location=UrlFor("loud", value=Value("a"))), True),
        (unique(location=UrlFor("two", first=SLUG, second=F("pk"))), True),
        (unique(i18n=True, languages=["en", "de"]), True),
        (unique(location=UrlFor("str", value=Concat(SLUG, Value("x")))), True),
        (unique(location=Concat(Value("/"), SLUG, output_field=CharField())), True),
        (unique(queryset=Leaflet.objects.all(), lastmod=F("updated_at")), True),
        (unique(queryset=Reading.objects.extra(tables=["testapp_leaflet"])), True),
    ],
    ids=range(10),
)
def test_addresses_have_no_names_where_the_database_tells_them_apart(made: Any, has_names: bool) -> None:
    make_readings(3)
    Leaflet.objects.create(slug="r0", updated_at=datetime(2026, 1, 1, tzinfo=UTC))
    section = section_of(made, "readings")

    found = [block for block in _read(section) if isinstance(block, Block)]

    assert found
    assert all(block.names != set() for block in found) == has_names


def test_an_address_of_a_related_row_has_a_name() -> None:
    (product,) = make_products(1)
    for _ in range(3):
        Photo.objects.create(product=product)
    made = unique(queryset=Photo.objects.all(), location=UrlFor("int", value=F("product__pk")), lastmod=None)
    section = section_of(made, "photos")

    found = rendered(section, read_blocks)

    assert found == rendered(section, read_groups)
    assert len(locs(found[0])) == 1


@pytest.mark.parametrize("size", [2, 2000])
def test_unique_addresses_are_the_same_row_by_row_also_where_a_page_is_cut(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", size)
    make_readings(20)
    Reading.objects.filter(slug="r11").update(slug="..")
    section = section_of(unique(), "readings")

    for limits in (None, Limits(urls=9), Limits(urls=20), *(Limits(bytes=at, bytes_to_fill=at) for at in (500, 1500))):
        assert rendered(section, read_blocks, limits) == rendered(section, read_groups, limits)


def test_the_length_of_an_address_is_that_of_its_encoded_form(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"PROFILE": "baidu"}
    room = 256 - len(f"{SITE.origin}/str//")
    values = ["x" * room, "x" * (room + 1), "ä" * (room // 6), "ä" * (room // 6 + 1), "&" * 30]
    products = make_products(len(values))
    for product, value in zip(products, values, strict=True):
        Product.objects.filter(pk=product.pk).update(name=value[:150], slug=value[150:])
    whole = Concat(F("name"), F("slug"), output_field=CharField())
    made = type("Long", (ModelSitemap,), {"queryset": Product.objects.all(), "location": UrlFor("str", value=whole)})
    section = section_of(made)

    found = rendered(section, read_blocks)

    assert found == rendered(section, read_groups)
    assert len(locs(found[0])[0]) == 256
    assert len(locs(found[0])) == 3


def test_dates_come_as_text_from_the_database_and_as_the_same_text() -> None:
    Reading.objects.bulk_create(
        Reading(
            at=datetime(2026, 1, day, 23, 59, 59, 999999, tzinfo=UTC),
            on=date(2026, 1, day),
            amount=day,
            share=day,
            took=timedelta(days=day),
            slug=f"r{day}",
        )
        for day in range(1, 29)
    )
    for lastmod in (F("at"), F("on")):
        made = sitemap(queryset=Reading.objects.all(), location=UrlFor("str", value=SLUG), lastmod=lastmod)
        section = section_of(made, "readings")

        assert rendered(section, read_blocks) == rendered(section, read_groups)
        assert list(blocks_of(section).select.values())[-1] is not lastmod


def test_without_time_zones_python_makes_the_dates(settings: Any) -> None:
    section = section_of(SITEMAPS["text"])
    settings.USE_TZ = False

    assert blocks_of(section).select["_sitemap_lastmod_0"] is section.hooks.lastmod.value


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases hold no dates that do not exist")
@pytest.mark.parametrize("stored", ["2025-13-45 99:99:99", 2025])
def test_a_value_in_place_of_a_date_leaves_its_tag_out(stored: object) -> None:
    Leaflet.objects.bulk_create(Leaflet(slug=slug, updated_at=datetime(2026, 1, 1, tzinfo=UTC)) for slug in "abc")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_leaflet SET updated_at = %s WHERE slug = 'b'", [stored])

    document = render_page(section_of(SITEMAPS["text"], "leaflets"), 1, strict=False)

    assert document.urls == 3
    assert document.report.dropped == 1
    assert [one.code for one in document.report.problems] == ["E-DATE"]


def test_related_rows_and_languages_go_together() -> None:
    for product in make_products(3):
        Photo.objects.create(product=product, file=f"{product.slug}.jpg", caption="x")
    made = type(
        "Pictures",
        (ModelSitemap,),
        {
            "queryset": Product.objects.all(),
            "location": UrlFor("str", value=SLUG),
            "images": Related("photos", Image(loc=F("file"))),
            "i18n": True,
        },
    )
    section = section_of(made)

    assert rendered(section, read_blocks) == rendered(section, read_groups)
    assert isinstance(next(iter(_read(section))), Block)


def _read(section: Section) -> Any:
    (page,) = refresh(section, force=True).pages
    with neutral():
        yield from read_blocks(section, page, section.cleaner(Report(section.label)))


def test_odd_rows_cost_one_query_more_however_many_they_are(django_assert_num_queries: Any) -> None:
    joins = connection.vendor in ("sqlite", "postgresql")
    Leaflet.objects.bulk_create(Leaflet(slug=slug) for slug in ["a", "ä", "..", "b", "&", "c/d"])
    section = section_of(SITEMAPS["text"], "leaflets")
    (page,) = refresh(section, force=True).pages

    with neutral(), django_assert_num_queries(1 + joins):
        blocks = list(read_blocks(section, page, section.cleaner(Report("leaflets"))))

    assert [block.urls for block in blocks if isinstance(block, Block)] == [4]


def slugs_in(text: bytes) -> list[str]:
    return re.findall(r"/str/([^/]*)/", text.decode())


@pytest.mark.parametrize("name", ["text", "path", "key", "two", "languages", "column"])
@hypothesis_settings(max_examples=25)
@given(given_rows=st.lists(rows, min_size=1, max_size=12), size=st.integers(1, 5))
def test_several_chunks_come_to_the_same_as_row_by_row(name: str, given_rows: list[Any], size: int) -> None:
    Leaflet.objects.all().delete()
    Leaflet.objects.bulk_create(Leaflet(**row) for row in given_rows)
    section = section_of(SITEMAPS[name], "leaflets")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sitemaps_plus.render.row_path.CHUNK", size)

        assert rendered(section, read_blocks) == rendered(section, read_groups)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases hold no other texts")
@pytest.mark.parametrize(
    "stored",
    [
        "",
        "2026-01-01T12:00:00",
        "2026-01-01 12:00",
        "2026-01-01",
        "2026-01-01 12:00:00+02:00",
        "2026-01-01 12:00:00.123456-08:00",
        "2026-01-01T12:00:00Z",
        "2026-01-01 12:00:00.5",
        "2026-01-01 12:00:00.5-08",
        "2026-01-01 12:00:00.25Z",
        "2026-01-01 12:00:00.1234567",
    ],
)
def test_a_date_that_another_program_stored_is_the_same_in_blocks(stored: str) -> None:
    Leaflet.objects.bulk_create(Leaflet(slug=slug, updated_at=datetime(2025, 1, 1, tzinfo=UTC)) for slug in "abc")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_leaflet SET updated_at = %s WHERE slug = 'b'", [stored])
    section = section_of(SITEMAPS["text"], "leaflets")

    assert rendered(section, read_blocks) == rendered(section, read_groups)


ODD_VALUES = st.fixed_dictionaries(
    {
        "slug": st.sampled_from(["a", "b", "ä", "x y", "a\nb", "\n", "", b"abc", b"a", b"", b"\xff", b"a\nb", 7, 1.5]),
        "slug_de": st.none() | st.sampled_from(["", "a", "b", "b'a'", b"a", b"\xc3", "a\x00b"]),
        "updated_at": st.none()
        | st.sampled_from(
            [
                "",
                "2026-01-01 12:00:00",
                "2026-01-01 12:00:00.5",
                "2026-01-01 12:00:00.500000",
                "2026-01-01 12:00:00.25-08",
                "2026-01-01T12:00:00.75Z",
                "1989-12-31 23:59:59.9",
            ]
        ),
    }
)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite holds any value in any column")
@pytest.mark.parametrize("size", [2, 2000])
@pytest.mark.parametrize("column", ["slug", "slug_de"])
@hypothesis_settings(max_examples=40)
@given(given_rows=st.lists(ODD_VALUES, min_size=1, max_size=8))
@example(given_rows=[{"slug": "a", "slug_de": "a", "updated_at": "2026-01-01 12:00:00.5-08"}])
@example(given_rows=[{"slug": b"abc", "slug_de": None, "updated_at": None}])
def test_values_of_any_kind_are_the_same_in_blocks_and_add_up_the_same(
    column: str, size: int, given_rows: list[Any]
) -> None:
    Leaflet.objects.all().delete()
    # The last has the newest date, which Django reads.
    newest = datetime(2026, 3, 1, tzinfo=UTC)
    stored = Leaflet.objects.bulk_create(Leaflet(slug="s", updated_at=newest) for _ in [*given_rows, None])
    with connection.cursor() as cursor:
        for leaflet, row in zip(stored, given_rows, strict=False):
            sql = "UPDATE testapp_leaflet SET slug = %s, slug_de = %s, updated_at = %s WHERE id = %s"
            cursor.execute(sql, [row["slug"], row["slug_de"], row["updated_at"], leaflet.pk])
    section = section_of(sitemap(location=UrlFor("str", value=F(column))), "leaflets")
    (page,) = refresh(section, force=True).pages

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sitemaps_plus.render.row_path.CHUNK", size)
        seen = SeenRows(section)
        by_block = rendered(section, partial(read_blocks, seen=seen), page=page)

    assert by_block == rendered(section, read_groups, page=page)
    assert seen.sums is not None
    assert seen.sums.validator(section) == page.record.validator


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases hold only valid text")
def test_text_that_is_no_utf_8_is_the_error_that_it_is_row_by_row() -> None:
    Leaflet.objects.create(slug="a")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_leaflet SET slug = CAST(x'61ff' AS TEXT)")
    section = section_of(SITEMAPS["text"], "leaflets")

    found = rendered(section, read_blocks)

    assert found == rendered(section, read_groups)
    assert "Could not decode to UTF-8" in found[0]


def test_a_row_that_is_odd_in_the_second_chunk_loses_and_repeats_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", 3)
    Leaflet.objects.bulk_create(Leaflet(slug=slug) for slug in ["a", "b", "c", "d", "..", "f", "g", "h\ni", "j", "k"])
    section = section_of(SITEMAPS["text"], "leaflets")

    found = rendered(section, read_blocks)

    assert found == rendered(section, read_groups)
    assert slugs_in(found[0]) == ["a", "b", "c", "d", "f", "g", "h%0Ai", "j", "k"]
    assert [code for _, _, code, _ in found[1]] == ["E-URL-VALUE"]


def test_rows_that_come_and_go_between_two_chunks_are_seen_as_the_key_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", 3)
    Leaflet.objects.bulk_create(Leaflet(id=at * 10, slug=f"s{at}") for at in range(1, 8))
    section = section_of(SITEMAPS["text"], "leaflets")
    blocks = _read(section)

    found = [slugs_in(next(blocks).text)]
    Leaflet.objects.filter(id__in=[10, 30, 50]).delete()
    Leaflet.objects.create(id=25, slug="before")
    Leaflet.objects.create(id=35, slug="behind")
    found += [slugs_in(block.text) for block in blocks]

    assert found == [["s1", "s2", "s3"], ["behind", "s4", "s6"], ["s7"]]


def test_rows_of_a_block_that_are_asked_for_again_are_those_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", 3)
    Leaflet.objects.bulk_create(Leaflet(id=at * 10, slug=f"s{at}") for at in range(1, 10))
    blocks = list(_read(section_of(SITEMAPS["text"], "leaflets")))
    if connection.vendor == "mysql":
        # There the rows themselves were read.
        assert [key for key, _ in blocks[1].rows()] == [40, 50, 60]
        return

    Leaflet.objects.filter(id__in=[50, 70, 80, 90]).delete()
    Leaflet.objects.filter(id=40).update(slug="..")
    Leaflet.objects.create(id=35, slug="new")

    assert [key for key, _ in blocks[0].rows()] == [10, 20, 30]
    assert [(key, len(entries)) for key, entries in blocks[1].rows()] == [(35, 1), (40, 0), (60, 1)]
    assert list(blocks[2].rows()) == []


@pytest.mark.parametrize("count", [3, 6])
def test_a_page_that_ends_with_a_chunk_costs_one_look_behind_it(
    count: int, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", 3)
    Leaflet.objects.bulk_create(Leaflet(slug=f"s{at}") for at in range(count))
    section = section_of(SITEMAPS["text"], "leaflets")
    (page,) = refresh(section, force=True).pages

    with neutral(), django_assert_num_queries(count // 3 + 1):
        list(read_blocks(section, page, section.cleaner(Report("leaflets"))))


def test_rows_that_are_none_without_asking_give_no_block() -> None:
    wanted = [Leaflet.objects.create(slug="a").pk]
    made = method(ModelSitemap, items=lambda self: Leaflet.objects.filter(pk__in=list(wanted)))
    made.location = UrlFor("str", value=SLUG)
    section = section_of(made, "leaflets")
    (page,) = refresh(section, force=True).pages
    wanted.clear()

    assert rendered(section, read_blocks, page=page) == rendered(section, read_groups, page=page)


class OfItems(contrib.Sitemap):
    i18n = alternates = True
    given: Any = ()

    def items(self) -> Any:
        return self.given

    def location(self, item: Any) -> str:
        return f"/{get_language()}/{getattr(item, 'slug', item)}/"


CODES = ["en", "de", "pt-br", "fr", "it"]


@hypothesis_settings(max_examples=20)
@given(
    slugs=st.lists(st.sampled_from(["a", "b", "c", "ä", "..", "x y"]), min_size=1, max_size=14),
    codes=st.integers(1, 5),
    limit=st.integers(1, 17),
    size=st.integers(1, 9),
    is_list=st.booleans(),
    links=st.booleans(),
)
@example(slugs=["a"] * 7, codes=5, limit=3, size=2, is_list=True, links=True)
@example(slugs=["a", "b", "c"], codes=2, limit=4, size=1, is_list=False, links=True)
def test_pages_of_pairs_are_the_same_in_blocks_and_pair_by_pair(
    slugs: list[str], codes: int, limit: int, size: int, *, is_list: bool, links: bool
) -> None:
    Leaflet.objects.all().delete()
    Leaflet.objects.bulk_create(Leaflet(slug=f"{slug}{at // 2}") for at, slug in enumerate(slugs))
    # Of neighbours that are the very same object the one way tells what is wrong once, the other for each.
    named = [f"{slug}/{at // 2}" for at, slug in enumerate(slugs)]
    given_items = named if is_list else Leaflet.objects.order_by("-pk")
    made = method(OfItems, given=given_items, languages=CODES[:codes], limit=limit, alternates=links, x_default=links)
    section = section_of(made, "leaflets")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.LANGUAGES", [(code, code) for code in CODES])
        pages = refresh(section, force=True).pages

        assert len(pages) == -(-len(slugs) * codes // limit)
        for page in pages:
            # In one go: a row whose pairs are in two chunks would be told of twice.
            by_pair = _without_reasons(rendered(section, object_path.read_groups, page=page))
            with pytest.MonkeyPatch.context() as small:
                small.setattr(object_path, "CHUNK", size)
                assert _without_reasons(rendered(section, object_path.read_blocks, page=page)) == by_pair


def _without_reasons(found: Any) -> Any:
    """Return what a page comes to but for which of its languages is told of a row that has an address in none."""
    document, said, *others = found
    return document, [one[:3] for one in said], *others


def test_rows_that_are_cut_by_position_come_as_objects_and_in_blocks() -> None:
    for number in range(3):
        Article.objects.create(title=f"a-{number}", published_at=datetime.now(UTC) - timedelta(hours=number))

    class Newest(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        location = UrlFor("str", value=F("title"))
        lastmod = F("published_at")

    section = section_of(Newest, "news")

    found = rendered(section, object_path.read_blocks)

    assert found == rendered(section, object_path.read_groups)
    assert len(locs(found[0])) == 3
    assert found[0].count(b"<lastmod>") == 3
