"""A page is read some rows at a time, and shows what its document shows."""

import gzip
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from factories import ArticleFactory, CellFactory, ProductFactory, SeatFactory, TokenFactory, WordFactory
from samples import Products, make_products, paths, render_page, section_of
from sitemaps_plus import Image, ModelSitemap, News, NewsSitemap, Related, Sitemap, UrlFor, Video
from sitemaps_plus.errors import InvalidPlace
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.watch.entries import MOST, read_entries, read_row
from testapp.models import Article, Cell, Photo, Product, Seat, Token, Word
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db

LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]


def first_page(section):
    return refresh(section).pages[0]


def read_all(section, page, count=3):
    """Return all items of a page, read a few at a time."""
    items, after = [], None
    for _ in range(1000):
        some = read_entries(section, page, after=after, count=count)
        items += some.items
        after = some.next
        if after is None:
            return items
        assert json.loads(after) is not None
    raise AssertionError("It does not end.")


def shown(section, number=1):
    return paths(locs(gzip.decompress(render_page(section, number).gzipped)))


def listed(items):
    return paths(item.loc for item in items if item.loc)


class LanguageProducts(ModelSitemap):
    queryset = Product.objects.all()
    location = UrlFor("product", slug=F("slug"))
    i18n = True
    alternates = True
    limit = 30


class MethodProducts(ModelSitemap):
    """Of objects: the location is a method."""

    queryset = Product.objects.all()
    limit = 10
    fill = 1.0

    def lastmod(self, item):
        return item.updated_at


class ListedProducts(Sitemap):
    limit = 10

    def items(self):
        return list(Product.objects.order_by("-pk"))


class OwnUrls(ContribSitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    def get_urls(self, page=1, site=None, protocol=None):
        return super().get_urls(page, site, protocol)


@pytest.mark.parametrize("sitemap", [Products, MethodProducts, ListedProducts, OwnUrls])
@pytest.mark.parametrize("count", [1, 3, 7, 10, 50])
def test_the_parts_of_a_page_together_have_the_entries_of_its_document(sitemap, count):
    make_products(25)
    section = section_of(sitemap)

    for page in refresh(section).pages:
        items = read_all(section, page, count)

        assert listed(items) == shown(section, page.number)
        document = gzip.decompress(render_page(section, page.number).gzipped)
        assert [item.lastmod for item in items] == lastmods(document)
        assert all(f"{item.xml}\n".encode() in document for item in items)


@pytest.mark.parametrize("sitemap", [Products, MethodProducts, ListedProducts])
def test_items_know_their_row(sitemap):
    products = make_products(5)
    section = section_of(sitemap)

    items = read_all(section, first_page(section))

    assert {item.key for item in items} == {product.pk for product in Product.objects.all()}
    if sitemap is not ListedProducts:
        assert [item.pk for item in items] == sorted(Product.objects.values_list("pk", flat=True))
    else:
        assert {item.pk for item in items} == {None}
    assert len(items) == len(products)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_languages_of_a_row_stay_together(settings, count):
    settings.LANGUAGES, settings.ROOT_URLCONF = LANGUAGES, "testapp.urls_languages"
    make_products(5)
    section = section_of(LanguageProducts)

    items = read_all(section, first_page(section), count)

    assert listed(items) == shown(section)
    assert [link.hreflang for link in items[0].alternates] == ["en", "de", "fr"]
    assert paths(link.href for link in items[0].alternates) == listed(items[:3])


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_pairs_by_position_are_read_in_parts(settings, count):
    settings.LANGUAGES, settings.ROOT_URLCONF = LANGUAGES, "testapp.urls_languages"
    make_products(7)

    class ContribProducts(ContribSitemap):
        i18n = True
        alternates = True
        limit = 10

        def items(self):
            return Product.objects.order_by("pk")

        def location(self, item):
            return reverse("product", kwargs={"slug": item.slug})

    section = section_of(ContribProducts)

    for page in refresh(section).pages:
        assert listed(read_all(section, page, count)) == shown(section, page.number)


@pytest.mark.parametrize(
    ("model", "factory"), [(Token, TokenFactory), (Word, WordFactory), (Cell, CellFactory), (Seat, SeatFactory)]
)
def test_keys_of_all_kinds_work_as_cursors(model, factory):
    factory.bulk(23)

    class Keyed(ModelSitemap):
        queryset = model.objects.all()
        key = ("hall", "name") if model is Seat else "pk"
        limit = 10

        def location(self, item):
            return f"/{'-'.join(map(str, item.pk if isinstance(item.pk, tuple) else (item.pk,)))}/".replace(" ", "_")

    section = section_of(Keyed)
    found = []

    for page in refresh(section).pages:
        items = read_all(section, page, 4)
        assert listed(items) == shown(section, page.number)
        found += [item.pk for item in items]

    assert sorted(found) == sorted(row.pk for row in model.objects.all())


def test_each_part_costs_two_queries(django_assert_num_queries):
    make_products(60)

    class Many(Products):
        limit = 100

    section = section_of(Many)
    page = first_page(section)
    last = json.dumps([Product.objects.order_by("pk")[49].pk])

    for after in (None, last):
        with django_assert_num_queries(2):
            read_entries(section, page, after=after, count=5)


def test_the_number_of_rows_read_at_once_is_limited():
    make_products(MOST + 5)

    class Many(Products):
        limit = 1000

    section = section_of(Many)

    assert len(read_entries(section, first_page(section), count=10_000).items) == MOST
    assert len(read_entries(section, first_page(section), count=0).items) == 1


def test_a_page_without_rows_has_no_entries():
    section = section_of(Products)

    found = read_entries(section, first_page(section))

    assert (found.items, found.next) == ([], None)


def test_rows_that_are_left_out_have_their_reason():
    make_products(3)
    bad = Product.objects.order_by("pk")[1]
    Product.objects.filter(pk=bad.pk).update(slug="..")
    section = section_of(Products)

    first, second, third = read_entries(section, first_page(section)).items

    assert (second.key, second.pk, second.loc) == (bad.pk, bad.pk, None)
    assert [problem.code for problem in second.problems] == ["E-URL-DOTS"]
    assert (first.problems, third.problems) == ((), ())


def test_rows_that_are_left_out_by_position_come_last():
    make_products(4)

    class Raising(ListedProducts):
        def location(self, item):
            return item.get_absolute_url() if item.slug != "product-2" else 1 / 0

    section = section_of(Raising)

    items = read_entries(section, first_page(section)).items

    assert listed(items) == ["/products/product-4/", "/products/product-3/", "/products/product-1/"]
    assert items[-1].loc is None
    assert items[-1].problems[0].code == "ZeroDivisionError"


def test_dropped_parts_are_reported_with_their_row():
    make_products(1)

    class Wrong(Products):
        priority = 7
        changefreq = "daily"

    section = section_of(Wrong)

    (item,) = read_entries(section, first_page(section)).items

    assert (item.priority, item.changefreq) == (None, "daily")
    assert [(problem.hook, problem.code) for problem in item.problems] == [("priority", "E-PRIORITY")]


def test_reading_a_page_logs_nothing(caplog):
    make_products(1, updated_at=timezone.now() + timedelta(days=3))
    section = section_of(Products)

    (item,) = read_entries(section, first_page(section)).items

    assert [problem.code for problem in item.problems] == ["W-LASTMOD-FUTURE"]
    assert caplog.records == []


def test_equal_urls_are_listed_once():
    make_products(3, slug="same")
    section = section_of(Products)

    items = read_entries(section, first_page(section)).items

    assert [item.loc is None for item in items] == [False, True, True]
    assert items[1].problems[0].code == "E-URL-REPEATED"


def test_media_are_shown_as_they_are_written():
    (product,) = make_products(1)
    Photo.objects.create(product=Product.objects.get(), file="a & b.jpg")

    class Pictures(Products):
        images = [Related("photos", Image(loc=F("file")))]
        videos = [
            Video(
                thumbnail_loc="/still.jpg",
                title=Concat(Value("<Film> "), F("name"), output_field=CharField()),
                description="About it",
                content_loc="/film.mp4",
            )
        ]
        news = [News(name="Times", language="en", publication_date=datetime.now(UTC), title=F("name"))]

    section = section_of(Pictures)

    (item,) = read_entries(section, first_page(section)).items

    image, video, news = item.media
    assert [one.name for one in item.media] == ["image", "video", "news"]
    assert image.loc == "https://example.com/a%20%26%20b.jpg"
    assert (video.loc, video.title) == ("https://example.com/still.jpg", f"<Film> {product.name}")
    assert ("content_loc", "https://example.com/film.mp4") in video.fields
    assert (news.loc, news.title) == ("", product.name)
    assert ("language", "en") in news.fields


def test_news_are_read_newest_first():
    ArticleFactory.bulk(5, published_at=timezone.now() - timedelta(hours=1))

    class Latest(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    section = section_of(Latest)

    items = read_all(section, first_page(section), 2)

    assert [item.pk for item in items] == list(Article.objects.order_by("-pk").values_list("pk", flat=True))


def test_a_key_of_an_earlier_page_does_not_show_that_page():
    make_products(30)
    section = section_of(Products)
    _, second, _ = refresh(section).pages
    earliest = json.dumps([Product.objects.order_by("pk")[2].pk])

    items = read_entries(section, second, after=earliest).items

    assert listed(items) == shown(section, 2)


def test_a_key_after_the_page_shows_nothing():
    make_products(30)
    section = section_of(Products)

    assert read_entries(section, first_page(section), after="[999999]").items == []


@pytest.mark.parametrize(
    "after",
    [
        "",
        "x",
        "5",
        "null",
        "{}",
        "[]",
        "[1, 2]",
        '["1"]',
        "[1.5]",
        "[true]",
        "[null]",
        '["a"]',
        "[[1]]",
        "[NaN]",
        "[Infinity]",
        "[99999999999999999999999]",
        "[" * 1500,
        "[1]" + " " * 3000,
        "[1",
        '["\\u0000"]',
        '["\\ud800"]',
        "\ud800",
        "[1]\x00",
    ],
)
def test_an_invalid_cursor_is_refused(after):
    make_products(3)
    section = section_of(Products)

    with pytest.raises(InvalidPlace, match="begin with the first rows"):
        read_entries(section, first_page(section), after=after)


@pytest.mark.parametrize("after", ["-1", "x", "[1]", "true", "1.0", "null", '"1"', "9" * 3000, "50001"])
def test_an_invalid_offset_is_refused(after):
    make_products(3)
    section = section_of(ListedProducts)

    with pytest.raises(InvalidPlace):
        read_entries(section, first_page(section), after=after)


@pytest.mark.parametrize("after", ["10", "50000"])
@pytest.mark.parametrize("sitemap", [ListedProducts, OwnUrls])
def test_an_offset_after_the_page_shows_nothing(after, sitemap):
    make_products(30)
    section = section_of(sitemap)

    found = read_entries(section, first_page(section), after=after)

    assert (found.items, found.next) == ([], None)


@pytest.mark.parametrize("after", ['["not a uuid"]', '["\\u0000"]', "[1]", '["00000000000000000000000000000000"]'])
def test_an_invalid_key_of_another_kind_is_refused(after):
    TokenFactory.bulk(3)

    class Tokens(ModelSitemap):
        queryset = Token.objects.all()
        location = Concat(Value("/t/"), F("pk"), output_field=CharField())

    section = section_of(Tokens)

    with pytest.raises(InvalidPlace):
        read_entries(section, first_page(section), after=after)


@given(st.text(max_size=60) | st.recursive(st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_cursor_breaks_a_key_that_is_text(after):
    class Words(ModelSitemap):
        queryset = Word.objects.all()
        location = Concat(Value("/w/"), F("text"), output_field=CharField())

    section = section_of(Words)
    page = first_page(section)

    with suppress(InvalidPlace):
        read_entries(section, page, after=after)


def test_one_row_is_read_by_its_key():
    make_products(5)
    section = section_of(Products)
    second = Product.objects.order_by("pk")[1]

    (item,) = read_row(section, first_page(section), (second.pk,))

    assert paths([item.loc]) == [f"/{second.slug}/"]
    second.delete()
    assert read_row(section, first_page(section), (item.pk,)) == []


def test_the_language_of_the_visitor_does_not_change_the_entries(settings):
    settings.LANGUAGES, settings.ROOT_URLCONF = LANGUAGES, "testapp.urls_languages"
    ProductFactory.bulk(1)

    class OneLanguage(ModelSitemap):
        queryset = Product.objects.all()
        location = UrlFor("product", slug=F("slug"))

    section = section_of(OneLanguage)

    with translation.override("de"):
        (item,) = read_entries(section, first_page(section)).items

    assert paths([item.loc])[0].startswith("/en/")
