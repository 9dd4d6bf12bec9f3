"""Pages partition the rows, whatever happens to the rows, and a number never comes to mean other rows."""

import itertools
import uuid
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.contrib import sitemaps as contrib
from django.core.paginator import Paginator
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import xml_checks
from databases import read_only
from factories import (
    ArticleFactory,
    CellFactory,
    NoteFactory,
    ProductFactory,
    SeatFactory,
    TagFactory,
    TokenFactory,
    WordFactory,
)
from samples import render_page, section_of, text_of
from sitemaps_plus import ModelSitemap, NewsSitemap
from sitemaps_plus.errors import PageGone, PageNotFound, TooManyPages
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan import planner
from sitemaps_plus.plan.pages import stored_plan
from sitemaps_plus.plan.planner import record_rendering, refresh
from sitemaps_plus.protocol.limits import PROFILES, Profile
from testapp.models import Article, Cell, Number, Product, Seat, Tag, Token, Word


class Products(ModelSitemap):
    queryset = Product.objects.all()
    limit = 10


class Unlike(ModelSitemap):
    """Pages by a key of another kind."""

    limit = 10


class Tokens(Unlike):
    queryset = Token.objects.all()


class Numbers(Unlike):
    queryset = Number.objects.all()


class Words(Unlike):
    queryset = Word.objects.all()


class Cells(Unlike):
    queryset = Cell.objects.all()


class Seats(Unlike):
    queryset = Seat.objects.all()
    key = ("hall", "name")


def sizes(plan):
    return [page.record.rows for page in plan.pages]


def numbers(plan):
    return [page.number for page in plan.pages]


def keys_on(section, page):
    names = section.key.names
    return list(page.rows(section).order_by(*names).values_list(*names))


def all_keys(section):
    names = section.key.names
    return list(section.queryset().order_by(*names).values_list(*names))


def locs(document):
    return xml_checks.locs(text_of(document))


@contextmanager
def undone():
    """Take back what an example does to the database."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# The rule itself: any sequence of changes, on keys of every kind.

TEXTS = [
    "".join(letters)
    for size in (1, 2, 3)
    for letters in itertools.product(["a", "A", "b", "é", "É", "e", "ß", "z", " ", "-"], repeat=size)
]
"""Texts that collations order, and hold for equal, in different ways; some end in spaces."""


def make_number(n):
    # Some are negative, most beyond 32 bits.
    return Number(id=(n - 200) * 2**54 + n)


def make_token(n):
    return Token(id=uuid.uuid5(uuid.NAMESPACE_URL, str(n)))


def make_word(n):
    return Word(text=TEXTS[n * 7 % len(TEXTS)])


def make_cell(n):
    return Cell(row=n % 5 - 2, column=TEXTS[n * 7 % len(TEXTS)])


def make_seat(n):
    return Seat(hall=n % 5 - 2, name=TEXTS[n * 7 % len(TEXTS)])


KINDS = [
    pytest.param(Numbers, make_number, id="integer"),
    pytest.param(Tokens, make_token, id="uuid"),
    pytest.param(Words, make_word, id="text"),
    pytest.param(Cells, make_cell, id="composite"),
    pytest.param(Seats, make_seat, id="several-columns"),
]

some = st.lists(st.integers(0, 400), min_size=1, max_size=25)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), some),
        st.tuples(st.just("delete"), some),
        st.tuples(st.just("refresh"), st.none()),
        st.tuples(st.just("split"), st.integers(0, 400)),
        st.tuples(st.sampled_from(["empty", "repack"]), st.none()),
        st.tuples(st.just("limit"), st.sampled_from([1, 2, 5, 10])),
    ),
    min_size=4,
    max_size=20,
)


class Witness:
    """Watches a section while it changes, and knows what may never happen."""

    def __init__(self, section, make):
        self.section = section
        self.make = make
        self.issued = 0
        self.seen = {}
        """By key: the number it was last on, and the highest number issued by then."""
        self.retired = set()
        self.plan = self.refresh()

    def insert(self, some):
        rows = [self.make(n) for n in some]
        # Two texts may be one to the database.
        type(rows[0]).objects.bulk_create(rows, ignore_conflicts=True)

    def delete(self, some):
        keys = all_keys(self.section)
        for n in {n % len(keys) for n in some if keys}:
            self.section.queryset().filter(**dict(zip(self.section.key.names, keys[n], strict=True))).delete()

    def empty(self, _):
        self.section.queryset().delete()

    def refresh(self, _=None, **how):
        self.plan = refresh(self.section, **(how or {"force": True}))
        assert all(rows <= self.section.rows_limit for rows in sizes(self.plan) if "split" not in how)
        self.count_numbers()
        return self.plan

    def repack(self, _):
        self.refresh(repack=True)
        self.seen.clear()

    def limit(self, limit):
        if limit != self.section.sitemap.limit:
            self.section.sitemap.limit = limit
            # No force: another layout is reason enough.
            self.refresh(force=False)
            self.seen.clear()

    def split(self, n):
        keys = all_keys(self.section)
        if keys:
            key = keys[n % len(keys)]
            (number,) = (page.number for page in self.plan.pages if key in keys_on(self.section, page))
            self.refresh(split=(number, key))
            assert [key] in [keys_on(self.section, page)[:1] for page in self.plan.pages]

    def count_numbers(self):
        fresh = sorted(set(numbers(self.plan)) - set(range(1, self.issued + 1)))
        assert fresh == list(range(self.issued + 1, self.issued + 1 + len(fresh)))
        self.issued += len(fresh)
        retired = set(SitemapPage.objects.filter(retired_at__isnull=False).values_list("number", flat=True))
        assert retired >= self.retired
        assert retired | set(numbers(self.plan)) == set(range(1, self.issued + 1))
        assert retired.isdisjoint(numbers(self.plan))
        self.retired = retired

    def look(self):
        """Every row is on one page, in the order of the pages, and on the number it was on or on a later one."""
        on_pages = [(key, page.number) for page in self.plan.pages for key in keys_on(self.section, page)]
        assert [key for key, _ in on_pages] == all_keys(self.section)
        for key, number in on_pages:
            before, issued = self.seen.get(key, (number, 0))
            assert number == before or number > issued
            self.seen[key] = (number, self.issued)


@pytest.mark.django_db
@pytest.mark.parametrize(("sitemap", "make"), KINDS)
def test_pages_partition_the_rows_under_any_changes(sitemap, make):
    @hypothesis_settings(max_examples=hypothesis_settings.default.max_examples * 3 // 5)
    @given(changes, st.sampled_from([0.5, 0.9, 1.0]))
    def under(changes, fill):
        with undone():
            section = section_of(sitemap)
            section.sitemap.fill = fill
            witness = Witness(section, make)
            for name, argument in changes:
                getattr(witness, name)(argument)
                witness.look()
            witness.refresh()
            witness.look()

    under()


# The first cut.


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "pages"), [(0, [0]), (1, [1]), (10, [10]), (11, [9, 2]), (19, [9, 10]), (20, [9, 9, 2]), (25, [9, 9, 7])]
)
def test_new_pages_are_filled_to_nine_tenths_and_what_fits_one_page_stays_one(rows, pages):
    ProductFactory.bulk(rows)

    plan = refresh(section_of(Products))

    assert sizes(plan) == pages
    assert numbers(plan) == list(range(1, len(pages) + 1))


@pytest.mark.django_db
@pytest.mark.parametrize(("rows", "pages"), [(10, [10]), (11, [10, 1]), (20, [10, 10]), (25, [10, 10, 5])])
def test_pages_of_a_section_that_only_grows_are_filled_up(rows, pages):
    ProductFactory.bulk(rows)
    section = section_of(Products)
    section.sitemap.fill = 1.0

    assert sizes(refresh(section)) == pages


@pytest.mark.django_db
def test_fifty_thousand_rows_are_one_page_and_one_more_makes_two():
    class Tags(ModelSitemap):
        queryset = Tag.objects.all()
        fill = 1.0

    section = section_of(Tags)
    Tag.objects.bulk_create(Tag(name="x") for _ in range(50_000))
    assert sizes(refresh(section)) == [50_000]

    Tag.objects.create(name="one more")

    assert sizes(refresh(section, force=True)) == [50_000, 1]
    assert sizes(refresh(section, repack=True)) == [50_000, 1]


@pytest.mark.django_db
def test_the_first_cut_costs_one_small_query_a_boundary(django_assert_num_queries):
    ProductFactory.bulk(45)
    section = section_of(Products)

    with django_assert_num_queries(100, exact=False) as captured:
        plan = refresh(section)

    boundaries = [query for query in captured if "OFFSET" in query["sql"]]
    assert sizes(plan) == [9, 9, 9, 9, 9]
    # One that finds nothing, and one that asks whether the last two pages fit one.
    assert len(boundaries) == 4 + 2


@pytest.mark.django_db
def test_rows_in_several_languages_share_the_limit(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    ProductFactory.bulk(7)

    class InLanguages(Products):
        i18n = True

    assert sizes(refresh(section_of(InLanguages))) == [2, 2, 3]


@pytest.mark.django_db
def test_a_row_with_more_languages_than_the_limit_has_a_page_of_its_own(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    ProductFactory.bulk(2)

    class InLanguages(Products):
        i18n = True
        limit = 2

    assert sizes(refresh(section_of(InLanguages))) == [1, 1]


# Splits, empty pages, repacking.


@pytest.mark.django_db
def test_a_page_that_overflows_keeps_its_lower_part_and_its_number():
    ProductFactory.bulk(27)
    section = section_of(Products)
    before = refresh(section)
    lowest = before.pages[0].rows(section).order_by("pk").first().pk

    ProductFactory.bulk(2, id=None)
    Product.objects.bulk_create(ProductFactory.build(id=lowest - n) for n in (1, 2))
    after = refresh(section, force=True)

    assert numbers(before) == [1, 2, 3]
    assert numbers(after) == [1, 4, 2, 3, 5]
    assert sizes(after) == [9, 2, 9, 9, 2]
    assert keys_on(section, after.pages[0])[0] == (lowest - 2,)


@pytest.mark.django_db
def test_a_page_without_rows_leaves_the_index_and_comes_back_under_its_number():
    ProductFactory.bulk(20)
    section = section_of(Products)
    middle = refresh(section).pages[1]
    kept = list(middle.rows(section))
    middle.rows(section).delete()

    plan = refresh(section, force=True)
    assert [page.number for page in plan.listed] == [1, 3]
    with pytest.raises(PageNotFound, match="no URLs at present") as caught:
        plan.find(2)
    assert not isinstance(caught.value, PageGone)

    Product.objects.bulk_create(kept)
    assert [page.number for page in refresh(section, force=True).listed] == [1, 2, 3]


@pytest.mark.django_db
def test_an_empty_section_has_one_page_that_no_index_lists():
    section = section_of(Products)
    plan = refresh(section)
    assert (numbers(plan), plan.listed) == ([1], [])

    ProductFactory.create()

    assert [page.number for page in refresh(section, force=True).listed] == [1]


@pytest.mark.django_db
def test_repacking_cuts_anew_under_new_numbers_and_retires_the_old_ones():
    ProductFactory.bulk(20)
    section = section_of(Products)
    refresh(section)
    Product.objects.filter(pk__in=[product.pk for product in Product.objects.order_by("pk")[3:14]]).delete()
    assert sizes(refresh(section, force=True)) == [3, 4, 2]

    plan = refresh(section, repack=True)

    assert (numbers(plan), sizes(plan)) == ([4], [9])
    for number in (1, 2, 3):
        with pytest.raises(PageGone, match=f"Page {number} of the sitemap 'products' is gone"):
            plan.find(number)
    for number in (5, 2**31, 10**30):
        with pytest.raises(PageNotFound, match="has no page"):
            plan.find(number)


@pytest.mark.django_db
@pytest.mark.parametrize("change", ["limit", "key", "languages"])
def test_another_layout_cuts_anew_under_new_numbers(change, settings):
    settings.LANGUAGES = [("en", "English")]

    class Changing(Seats):
        i18n = True

    SeatFactory.bulk(20)
    assert numbers(refresh(section_of(Changing))) == [1, 2, 3]

    if change == "limit":
        Changing.limit = 20
    elif change == "key":
        Changing.key = "pk"
    else:
        settings.LANGUAGES = [("en", "English"), ("de", "German")]
    section = section_of(Changing)
    plan = refresh(section)

    assert min(numbers(plan)) == 4
    assert [key for page in plan.pages for key in keys_on(section, page)] == all_keys(section)
    with pytest.raises(PageGone):
        plan.find(1)


@pytest.mark.django_db
def test_a_split_measures_only_the_two_halves(django_assert_num_queries):
    ProductFactory.bulk(45)
    section = section_of(Products)
    plan = refresh(section)
    key = keys_on(section, plan.pages[1])[5]

    with django_assert_num_queries(100, exact=False) as captured:
        plan = refresh(section, split=(2, key))

    measured = [query for query in captured if "COUNT(*)" in query["sql"]]
    moved = [query for query in captured if query["sql"].startswith("UPDATE") and "CASE" in query["sql"]]
    assert (len(measured), len(moved)) == (2, 1)
    assert numbers(plan) == [1, 2, 6, 3, 4, 5]
    assert sizes(plan) == [9, 5, 4, 9, 9, 9]


@pytest.mark.django_db
def test_a_split_that_another_process_has_made_already_changes_nothing():
    ProductFactory.bulk(9)
    section = section_of(Products)
    refresh(section)
    key = all_keys(section)[5]

    assert numbers(refresh(section, split=(1, key))) == [1, 2]
    assert numbers(refresh(section, split=(1, key))) == [1, 2]
    assert numbers(refresh(section, split=(2, key))) == [1, 2]


@pytest.mark.django_db
def test_a_page_too_large_in_bytes_is_split_until_each_part_fits(monkeypatch):
    profile = Profile(max_bytes=1_000)
    monkeypatch.setitem(PROFILES, "default", profile)
    ProductFactory.bulk(40)
    section = section_of(Products)
    section.sitemap.limit = 50

    found, done = [], set()
    while waiting := [number for number in numbers(refresh(section)) if number not in done]:
        for number in waiting:
            document = render_page(section, number)
            assert document.size <= 1_000
            done.add(number)
            found += locs(document)

    assert sorted(found) == sorted(f"https://example.com{p.get_absolute_url()}" for p in Product.objects.all())
    assert 4 <= len(done) <= 6
    assert all(page.record.bytes <= 900 for page in refresh(section).pages)


# Which querysets are paged by key, and what is done with them.


@pytest.mark.django_db
@pytest.mark.parametrize(
    "ordered",
    [
        Product.objects.order_by("name"),
        Product.objects.order_by("-pk"),
        Product.objects.order_by("?"),
        Product.objects.order_by("pk").reverse(),
        Product.objects.extra(order_by=["-id"]),
    ],
    ids=["name", "descending", "random", "reversed", "extra"],
)
def test_the_order_of_the_queryset_is_replaced(ordered):
    ProductFactory.bulk(25)
    section = section_of(ModelSitemap)
    section.sitemap.queryset, section.sitemap.limit = ordered, 10

    plan = refresh(section)

    assert [key for page in plan.pages for key in keys_on(section, page)] == [
        (pk,) for pk in sorted(Product.objects.values_list("pk", flat=True))
    ]
    assert sizes(plan) == [9, 9, 7]


@pytest.mark.django_db
def test_rows_that_a_join_repeats_are_on_one_page_once():
    products = ProductFactory.create_batch(12)
    tags = TagFactory.create_batch(3)
    for product in products:
        product.tags.set(tags)
        NoteFactory.create_batch(2, product=product)

    class Joined(Products):
        queryset = Product.objects.filter(tags__name__startswith="tag", notes__text__startswith="note")

    section = section_of(Joined)
    plan = refresh(section)

    assert sizes(plan) == [9, 3]
    assert [key for page in plan.pages for key in keys_on(section, page)] == [(p.pk,) for p in products]


# More pages than an index may list.


@pytest.mark.django_db
def test_as_many_pages_as_an_index_lists_are_fine_and_one_more_is_an_error(monkeypatch):
    monkeypatch.setattr("sitemaps_plus.plan.planner.MAX_URLS", 3)
    ProductFactory.bulk(28)
    assert sizes(refresh(section_of(Products))) == [9, 9, 10]

    ProductFactory.bulk(1)
    with pytest.raises(TooManyPages, match=r"'products' needs more than 3 pages.*Raise its `limit`"):
        refresh(section_of(Products), repack=True)
    with pytest.raises(TooManyPages):
        refresh(section_of(Products), force=True)

    # Nothing was stored of it.
    assert numbers(stored_plan(section_of(Products))) == [1, 2, 3]
    assert SitemapPage.objects.count() == 3


@pytest.mark.django_db
def test_pages_by_position_are_no_more_than_an_index_lists(monkeypatch):
    monkeypatch.setattr("sitemaps_plus.plan.planner.MAX_URLS", 2)
    Names.names = ["x"] * 21

    with pytest.raises(TooManyPages):
        refresh(section_of(Names))


# Pages by position.


class Names(contrib.Sitemap):
    names = ()
    limit = 10

    def items(self):
        return self.names

    def location(self, item):
        return f"/{item}/"


class Paginated(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    @property
    def paginator(self):
        return Paginator(self._items(), 4)


class PairsOfItems(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    def _items(self):
        return [*self.items(), *self.items()]


class OwnUrls(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    def get_urls(self, page=1, site=None, protocol=None):
        return super().get_urls(page, site, protocol)


class OwnInnerUrls(contrib.Sitemap):
    limit = 10

    def items(self):
        return Product.objects.order_by("pk")

    def _urls(self, page, protocol, domain):
        return super()._urls(page, protocol, domain)


def by_position(**attributes):
    return type("ByPosition", (contrib.Sitemap,), {"limit": 10, **attributes})


POSITIONS = {
    "sliced": lambda self: Product.objects.order_by("pk")[:23],
    "union": lambda self: Product.objects.filter(pk__gt=0).union(Product.objects.filter(pk__lte=0)).order_by("id"),
    "raw": lambda self: Product.objects.raw("SELECT * FROM testapp_product ORDER BY id"),
    "values": lambda self: Product.objects.order_by("pk").values(),
    "list": lambda self: list(Product.objects.order_by("pk")),
    "generator": lambda self: (product for product in Product.objects.order_by("pk")),
}


@pytest.mark.django_db
@pytest.mark.parametrize("items", POSITIONS.values(), ids=POSITIONS)
def test_what_has_no_key_is_paged_by_position_and_never_filled_to_less(items):
    ProductFactory.bulk(23)
    location = lambda self, item: f"/{item['slug'] if isinstance(item, dict) else item.slug}/"  # noqa: E731
    section = section_of(by_position(items=items, location=location))

    plan = refresh(section)

    assert section.paged_by == "position"
    assert sizes(plan) == [10, 10, 3]
    found = [loc for page in plan.pages for loc in locs(render_page(section, page.number))]
    assert found == [f"https://example.com/{p.slug}/" for p in Product.objects.order_by("pk")]


@pytest.mark.django_db
@pytest.mark.skipif(
    "__import__('django.db').db.connection.vendor != 'postgresql'", reason="DISTINCT ON is PostgreSQL's alone"
)
def test_distinct_on_fields_is_paged_by_position():
    ProductFactory.bulk(12)
    section = section_of(by_position(items=lambda self: Product.objects.order_by("slug").distinct("slug")))

    assert (section.paged_by, sizes(refresh(section))) == ("position", [10, 2])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sitemap", "pages", "urls"), [(Paginated, 6, 23), (PairsOfItems, 5, 46), (OwnUrls, 3, 23), (OwnInnerUrls, 3, 23)]
)
def test_a_class_that_pages_itself_keeps_doing_so(sitemap, pages, urls):
    ProductFactory.bulk(23)
    section = section_of(sitemap)

    plan = refresh(section)

    assert numbers(plan) == list(range(1, pages + 1))
    found = [loc for page in plan.pages for loc in locs(render_page(section, page.number))]
    assert len(set(found)) == 23
    # A repeated URL is left out of a page, not of the others.
    assert len(found) <= urls


@pytest.mark.django_db
def test_a_contrib_class_with_languages_is_paged_by_pairs(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    ProductFactory.bulk(12)
    section = section_of(by_position(items=lambda self: Product.objects.order_by("pk"), i18n=True))

    assert (section.paged_by, sizes(refresh(section))) == ("position", [10, 10, 4])


@pytest.mark.django_db
def test_positions_that_come_back_are_the_same_pages_again():
    section = section_of(Names)
    Names.names = [f"name-{n}" for n in range(25)]
    assert numbers(refresh(section)) == [1, 2, 3]

    Names.names = Names.names[:5]
    plan = refresh(section, force=True)
    assert (numbers(plan), sizes(plan)) == ([1], [5])
    with pytest.raises(PageNotFound) as caught:
        plan.find(3)
    assert not isinstance(caught.value, PageGone)

    Names.names = [f"name-{n}" for n in range(25)]
    assert sizes(refresh(section, force=True)) == [10, 10, 5]
    assert numbers(refresh(section)) == [1, 2, 3]
    assert SitemapPage.objects.count() == 3


@pytest.mark.django_db
def test_a_sequence_without_items_has_one_page_that_no_index_lists():
    Names.names = []

    plan = refresh(section_of(Names))

    assert (sizes(plan), plan.listed) == ([0], [])


@pytest.mark.django_db
def test_a_paginator_of_no_pages_is_an_empty_section():
    class NoPages(Paginated):
        @property
        def paginator(self):
            return Paginator([], 4, allow_empty_first_page=False)

    plan = refresh(section_of(NoPages))

    assert (numbers(plan), plan.listed) == ([1], [])
    assert numbers(refresh(section_of(NoPages))) == [1]


@pytest.mark.django_db
def test_a_section_may_turn_from_key_to_position_and_back():
    ProductFactory.bulk(25)
    keyed = section_of(Products)
    sliced = section_of(by_position(items=lambda self: Product.objects.order_by("pk")[:25]))
    assert numbers(refresh(keyed)) == [1, 2, 3]
    assert sizes(refresh(sliced)) == [10, 10, 5]
    Product.objects.filter(pk__gt=all_keys(keyed)[11][0]).delete()
    assert sizes(refresh(sliced, force=True)) == [10, 2]

    plan = refresh(keyed)

    # Number 3 was retired by then.
    assert (numbers(plan), sizes(plan)) == ([4, 5], [9, 3])
    for number in (1, 2, 3):
        with pytest.raises(PageGone):
            plan.find(number)


@pytest.mark.django_db
def test_the_first_page_of_a_news_sitemap_is_listed_even_when_it_is_empty():
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"
        limit = 3

    section = section_of(News)
    plan = refresh(section)
    assert [page.number for page in plan.listed] == [1]
    assert plan.find(1).number == 1

    now = timezone.now()
    for minutes in (1, 2, 3, 4):
        ArticleFactory(published_at=now - timedelta(minutes=minutes))
    ArticleFactory(published_at=now - timedelta(days=3))

    plan = refresh(section, force=True)
    assert (section.paged_by, sizes(plan)) == ("position", [3, 1])
    newest = Article.objects.order_by("-published_at").first()
    assert locs(render_page(section, 1))[0] == f"https://example.com{newest.get_absolute_url()}"


# When the database is asked.


@pytest.mark.django_db
def test_the_database_is_asked_once_a_period(clock, django_assert_num_queries):
    ProductFactory.bulk(25)
    section = section_of(Products)
    assert sizes(refresh(section)) == [9, 9, 7]
    ProductFactory.bulk(1)

    clock.pass_(seconds=59)
    with django_assert_num_queries(1):
        assert sizes(refresh(section)) == [9, 9, 7]

    clock.pass_(seconds=2)
    # The plan, a transaction of two, the lock, the plan again, three pages, the highest number, what differs of two.
    with django_assert_num_queries(11):
        assert sizes(refresh(section)) == [9, 9, 8]
    with django_assert_num_queries(1):
        refresh(section)


@pytest.mark.django_db
def test_a_check_in_the_future_does_not_stop_all_others(clock):
    section = section_of(Products)
    refresh(section)
    ProductFactory.bulk(3)
    SitemapPage.objects.update(checked_at=clock.now + timedelta(days=365))

    assert sizes(refresh(section)) == [3]


@pytest.mark.django_db
def test_the_period_is_a_setting(clock, settings):
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 5}
    section = section_of(Products)
    refresh(section)
    ProductFactory.bulk(3)

    clock.pass_(seconds=4)
    assert sizes(refresh(section)) == [0]
    clock.pass_(seconds=2)
    assert sizes(refresh(section)) == [3]


@pytest.mark.django_db
def test_the_stored_plan_asks_nothing_of_the_section(django_assert_num_queries):
    ProductFactory.bulk(25)
    refresh(section_of(Products))

    class Broken(Products):
        def get_queryset(self):
            raise RuntimeError("the shop is closed")

    with django_assert_num_queries(1):
        assert [page.number for page in stored_plan(section_of(Broken)).listed] == [1, 2, 3]


@pytest.mark.django_db
def test_the_record_that_only_holds_the_lock_is_no_page():
    section = section_of(Products)
    SitemapPage.objects.create(site=section.site.id, label=section.label, number=1)
    ProductFactory.bulk(3)

    assert stored_plan(section).pages == []
    with pytest.raises(PageNotFound, match="has no page 1"):
        stored_plan(section).find(1)
    assert (numbers(refresh(section)), sizes(refresh(section))) == ([1], [3])


def lose(section):
    raise OperationalError("deadlock")


@pytest.mark.django_db
def test_a_planner_that_loses_a_deadlock_tries_again(monkeypatch, caplog):
    ProductFactory.bulk(12)
    section = section_of(Products)
    attempts = iter([lose, planner._lock])
    monkeypatch.setattr(planner, "_lock", lambda section: next(attempts)(section))

    assert numbers(refresh(section)) == [1, 2]

    assert numbers(stored_plan(section)) == [1, 2]
    assert not caplog.records


@pytest.mark.django_db
def test_a_planner_that_cannot_store_its_plan_takes_the_one_of_another(monkeypatch, caplog):
    ProductFactory.bulk(12)
    section = section_of(Products)

    def another_was_first(section):
        with monkeypatch.context() as as_it_is:
            as_it_is.setattr(planner, "_make_lock", make_lock)
            as_it_is.setattr(planner, "_lock", lock)
            refresh(section)

    make_lock, lock = planner._make_lock, planner._lock
    monkeypatch.setattr(planner, "_make_lock", another_was_first)
    monkeypatch.setattr(planner, "_lock", lose)
    with CaptureQueriesContext(connection) as captured:
        plan = refresh(section)

    assert (numbers(plan), sizes(plan)) == ([1, 2], [9, 3])
    assert len([query for query in captured if "COUNT(*)" in query["sql"]]) == 2
    assert "cannot be stored: deadlock" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_where_the_database_refuses_writes_the_plan_is_made_in_memory(caplog):
    ProductFactory.bulk(25)
    section = section_of(Products)
    with read_only():
        plan = refresh(section)
        assert (numbers(plan), sizes(plan)) == ([1, 2, 3], [9, 9, 7])
        assert len(locs(render_page(section, 3))) == 7
    assert SitemapPage.objects.exclude(layout="").count() == 0
    assert "the plan of its pages cannot be stored" in caplog.text

    refresh(section)
    ProductFactory.bulk(5)
    with read_only():
        plan = refresh(section, force=True)
        assert (numbers(plan), sizes(plan)) == ([1, 2, 3, 4], [9, 9, 9, 3])
    assert numbers(stored_plan(section)) == [1, 2, 3]


# What a rendering finds.


@pytest.mark.django_db
def test_a_rendering_is_kept_beside_the_plan():
    ProductFactory.bulk(3)
    section = section_of(Products)

    document = render_page(section, 1)

    record = refresh(section).pages[0].record
    assert (record.digest, record.urls, record.bytes) == (document.digest, 3, document.size)
    assert record.origin == "https://example.com"


@pytest.mark.django_db
def test_a_rendering_does_not_undo_what_another_process_has_written_meanwhile(clock):
    ProductFactory.bulk(3)
    section = section_of(Products)
    page = refresh(section).pages[0]
    later = clock.now + timedelta(days=1)
    SitemapPage.objects.update(changed_at=later)

    record_rendering(section, page, digest="new", urls=3, size=300, newest=clock.now)

    stored = SitemapPage.objects.get()
    assert (stored.digest, stored.changed_at) == ("new", later)


@pytest.mark.django_db
def test_a_rendering_of_rows_that_have_changed_since_is_not_kept():
    ProductFactory.bulk(3)
    section = section_of(Products)
    page = refresh(section).pages[0]
    ProductFactory.bulk(1)
    refresh(section, force=True)

    record_rendering(section, page, digest="old", urls=3, size=300, newest=None)

    assert SitemapPage.objects.get().digest == ""


# The plans of the database.


@pytest.mark.django_db
@pytest.mark.skipif("__import__('django.db').db.connection.vendor != 'sqlite'", reason="the words are SQLite's")
@pytest.mark.parametrize(
    ("sitemap", "make"),
    [
        (Products, ProductFactory),
        (Tokens, TokenFactory),
        (Words, WordFactory),
        (Cells, CellFactory),
        (Seats, SeatFactory),
    ],
)
def test_every_query_of_a_plan_uses_the_index_of_the_key(sitemap, make, django_assert_num_queries):
    make.bulk(30)
    section = section_of(sitemap)
    with django_assert_num_queries(100, exact=False) as captured:
        refresh(section)

    table = section.key.fields[0].model._meta.db_table
    queries = [query["sql"] for query in captured if query["sql"].startswith("SELECT") and table in query["sql"]]
    assert len(queries) >= 6
    for sql in queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            steps = [row[3] for row in cursor.fetchall()]
        # Without a lower bound the rows are read in the order of the key until the page is full; nothing is sorted.
        verb = "SEARCH" if "WHERE" in sql else "SCAN"
        assert [step.split()[0] for step in steps] == [verb], (sql, steps)


@pytest.mark.django_db
def test_a_key_of_several_columns_does_not_read_all_rows_that_share_the_first():
    SeatFactory.bulk(40)
    Seat.objects.bulk_create(SeatFactory.build(hall=77, name=f"{n:09}") for n in range(400))
    section = section_of(Seats)
    page = refresh(section).pages[30]
    assert page.start[0] == page.end[0] == 77

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
    formats = {"mysql": "JSON"}
    explained = page.rows(section).values("hall", "name").explain(format=formats.get(connection.vendor))

    both_columns = {
        "sqlite": "(hall,name)>(?,?)",
        "postgresql": "ROW(hall, (name)::text) >= ROW(",
        "mysql": '"used_key_parts": ["hall", "name"]',
    }
    assert both_columns[connection.vendor] in explained.replace("\\", "")
