"""Pages of a key: where they are cut, when they are split, and which numbers they get."""

import pytest

from factories import (
    NoteFactory,
    ProductFactory,
    SeatFactory,
    TagFactory,
)
from plan_samples import Seats, TenProducts, all_keys, keys_on, locs, numbers, sizes
from samples import render_page, section_of
from sitemaps_plus import ModelSitemap
from sitemaps_plus.errors import PageGone, PageNotFound, TooManyPages
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.pages import stored_plan
from sitemaps_plus.plan.planner import MOST_PARTS, refresh
from sitemaps_plus.protocol.limits import PROFILES, Profile
from testapp.models import Product, Tag

# The first cut.


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "pages"), [(0, [0]), (1, [1]), (10, [10]), (11, [9, 2]), (19, [9, 10]), (20, [9, 9, 2]), (25, [9, 9, 7])]
)
def test_new_pages_are_filled_to_nine_tenths_and_what_fits_one_page_stays_one(rows, pages):
    ProductFactory.bulk(rows)

    plan = refresh(section_of(TenProducts))

    assert sizes(plan) == pages
    assert numbers(plan) == list(range(1, len(pages) + 1))


@pytest.mark.django_db
@pytest.mark.parametrize(("rows", "pages"), [(10, [10]), (11, [10, 1]), (20, [10, 10]), (25, [10, 10, 5])])
def test_pages_of_a_section_that_only_grows_are_filled_up(rows, pages):
    ProductFactory.bulk(rows)
    section = section_of(TenProducts)
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
    section = section_of(TenProducts)

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

    class InLanguages(TenProducts):
        i18n = True

    assert sizes(refresh(section_of(InLanguages))) == [2, 2, 3]


@pytest.mark.django_db
def test_a_row_with_more_languages_than_the_limit_has_a_page_of_its_own(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    ProductFactory.bulk(2)

    class InLanguages(TenProducts):
        i18n = True
        limit = 2

    assert sizes(refresh(section_of(InLanguages))) == [1, 1]


# Splits, empty pages, repacking.


@pytest.mark.django_db
def test_a_page_that_overflows_keeps_its_lower_part_and_its_number():
    ProductFactory.bulk(27)
    section = section_of(TenProducts)
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
    section = section_of(TenProducts)
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
    section = section_of(TenProducts)
    plan = refresh(section)
    assert (numbers(plan), plan.listed) == ([1], [])

    ProductFactory.create()

    assert [page.number for page in refresh(section, force=True).listed] == [1]


@pytest.mark.django_db
def test_repacking_divides_a_section_again_under_new_numbers_and_retires_the_old_ones():
    ProductFactory.bulk(20)
    section = section_of(TenProducts)
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
def test_another_layout_divides_a_section_again_under_new_numbers(change, settings):
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
def test_a_split_measures_only_the_parts(django_assert_num_queries):
    ProductFactory.bulk(45)
    section = section_of(TenProducts)
    plan = refresh(section)
    key = keys_on(section, plan.pages[1])[5]

    with django_assert_num_queries(100, exact=False) as captured:
        plan = refresh(section, split={2: key})

    # And one that counts the rows that fitted.
    measured = [query for query in captured if "COUNT(*)" in query["sql"] and "SUM" in query["sql"]]
    moved = [query for query in captured if query["sql"].startswith("UPDATE") and "CASE" in query["sql"]]
    assert (len(measured), len(moved)) == (2, 1)
    assert numbers(plan) == [1, 2, 6, 3, 4, 5]
    assert sizes(plan) == [9, 5, 4, 9, 9, 9]


@pytest.mark.django_db
def test_the_rest_of_a_full_page_is_cut_into_parts_with_as_many_rows_as_fitted():
    ProductFactory.bulk(48)
    section = section_of(TenProducts)
    section.sitemap.limit = 50
    keys = all_keys(section)

    plan = refresh(section, split={1: keys[9]} if refresh(section) else {})

    assert sizes(plan) == [9, 9, 9, 9, 9, 3]
    assert numbers(plan) == [1, 2, 3, 4, 5, 6]


@pytest.mark.django_db
def test_several_full_pages_are_split_at_once():
    ProductFactory.bulk(30)
    section = section_of(TenProducts)
    starts = [keys_on(section, page) for page in refresh(section).pages]

    plan = refresh(section, split={1: starts[0][4], 3: starts[2][5]})

    assert numbers(plan) == [1, 5, 6, 2, 3, 7, 4]
    assert sizes(plan) == [4, 4, 1, 9, 5, 4, 3]


@pytest.mark.django_db
def test_a_first_row_that_is_much_larger_than_the_others_makes_few_small_pages():
    ProductFactory.bulk(400)
    section = section_of(TenProducts)
    section.sitemap.limit = 500
    refresh(section)

    plan = refresh(section, split={1: all_keys(section)[1]})

    assert sizes(plan) == [1] * (MOST_PARTS - 1) + [400 - MOST_PARTS + 1]


@pytest.mark.django_db
def test_a_split_that_another_process_has_made_already_changes_nothing():
    ProductFactory.bulk(9)
    section = section_of(TenProducts)
    refresh(section)
    key = all_keys(section)[5]

    assert numbers(refresh(section, split={1: key})) == [1, 2]
    assert numbers(refresh(section, split={1: key})) == [1, 2]
    assert numbers(refresh(section, split={2: key})) == [1, 2]


@pytest.mark.django_db
def test_a_page_too_large_in_bytes_is_split_until_each_part_fits(monkeypatch):
    profile = Profile(max_bytes=1_000)
    monkeypatch.setitem(PROFILES, "default", profile)
    ProductFactory.bulk(40)
    section = section_of(TenProducts)
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

    class Joined(TenProducts):
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
    assert sizes(refresh(section_of(TenProducts))) == [9, 9, 10]

    ProductFactory.bulk(1)
    with pytest.raises(TooManyPages, match=r"'products' needs more than 3 pages.*Raise its `limit`"):
        refresh(section_of(TenProducts), repack=True)
    with pytest.raises(TooManyPages):
        refresh(section_of(TenProducts), force=True)

    # Nothing was stored of it.
    assert numbers(stored_plan(section_of(TenProducts))) == [1, 2, 3]
    assert SitemapPage.objects.count() == 3
