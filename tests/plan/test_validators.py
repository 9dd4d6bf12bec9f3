"""A page's validator moves with every change of its rows and with nothing else; its date only ever goes forward."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.db import connection
from django.db.models import Case, CharField, Count, DateTimeField, F, Max, Value, When
from django.db.models.functions import Cast, Coalesce, Greatest, Length, TruncDate
from django.utils import timezone

from factories import DAY, BundleFactory, CellFactory, NoteFactory, ProductFactory, TagFactory, TokenFactory
from samples import render_page, section_of
from sitemaps_plus import GenericSitemap, ModelSitemap
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.validators import measure
from testapp.models import Bundle, Cell, Number, Product, Token

pytestmark = pytest.mark.django_db


class DatedProducts(ModelSitemap):
    queryset = Product.objects.all()
    lastmod = F("updated_at")


def validator(sitemap):
    section = section_of(sitemap)
    return measure(section, section.queryset(), timezone.now()).validator


def changed_at(section):
    (page,) = refresh(section, force=True).pages
    return page.record.changed_at


# What moves the validator.


def touch(products):
    Product.objects.filter(pk=products[0].pk).update(updated_at=DAY + timedelta(microseconds=1))


def swap_two(products):
    # Count, newest and sum of the keys stay as they are, and so would a sum of whole seconds.
    Product.objects.filter(pk=products[0].pk).update(updated_at=products[0].updated_at + timedelta(microseconds=1))
    Product.objects.filter(pk=products[1].pk).update(updated_at=products[1].updated_at - timedelta(microseconds=2))


def add_in_bulk(products):
    ProductFactory.bulk(2)


def delete(products):
    products[1].delete()


def change_by_sql(products):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_product SET updated_at = '2020-01-01 00:00:00' WHERE id = %s", [products[1].pk])


def commit_late(products):
    # The row was stamped long before those that are there already.
    ProductFactory.create(updated_at=DAY - timedelta(days=30))


def replace(products):
    products[1].delete()
    ProductFactory.create(updated_at=products[1].updated_at)


def forget_the_date(products):
    Product.objects.filter(pk=products[1].pk).update(updated_at=None)


def get_a_first_date(products):
    Product.objects.filter(updated_at=None).update(updated_at=DAY - timedelta(days=1))


def go_out_of_sight(products):
    Product.objects.filter(pk=products[0].pk).update(is_active=False)


CHANGES = [
    touch,
    swap_two,
    add_in_bulk,
    delete,
    change_by_sql,
    commit_late,
    replace,
    forget_the_date,
    get_a_first_date,
]


@pytest.mark.parametrize("change", [*CHANGES, go_out_of_sight])
def test_every_change_of_the_rows_moves_the_validator(change):
    class Active(DatedProducts):
        queryset = Product.objects.filter(is_active=True)

    products = ProductFactory.create_batch(5)
    ProductFactory.create(updated_at=None)
    before = validator(Active)

    change(products)

    assert validator(Active) != before


def test_the_validator_of_unchanged_rows_stays():
    ProductFactory.bulk(5)
    ProductFactory.create(updated_at=None)
    before = validator(DatedProducts)

    Product.objects.update(name="another name, which `changed` knows nothing of")

    assert validator(DatedProducts) == before


def test_a_change_of_another_page_does_not_move_the_validator():
    ProductFactory.bulk(25)

    class Small(DatedProducts):
        limit = 10

    before = [page.record.validator for page in refresh(section_of(Small)).pages]
    Product.objects.filter(pk=Product.objects.order_by("pk")[12].pk).update(updated_at=DAY)

    after = [page.record.validator for page in refresh(section_of(Small), force=True).pages]

    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]


def test_keys_and_numbers_beyond_the_sums_of_the_database_are_added_up_exactly():
    class Numbered(ModelSitemap):
        queryset = Number.objects.all()
        changed = F("id")

    for n in range(1, 9):
        Number.objects.create(id=2**62 + 2**33 * n)
        Number.objects.create(id=-(2**62) - n)
    before = validator(Numbered)
    Number.objects.filter(id=2**62 + 2**33).update(id=2**62 + 2**33 + 1)
    assert validator(Numbered) != before

    Number.objects.filter(id=2**62 + 2**33 + 1).update(id=2**62 + 2**33)
    assert validator(Numbered) == before


@pytest.mark.parametrize("distance", [2**31, 2**32, 2**40, 2**62])
def test_a_row_replaced_by_one_whose_key_is_far_away_moves_the_validator(distance):
    class Numbered(ModelSitemap):
        queryset = Number.objects.all()

    Number.objects.bulk_create(Number(id=number) for number in range(1, 9))
    before = validator(Numbered)
    Number.objects.filter(id=5).update(id=5 + distance)

    assert validator(Numbered) != before


@pytest.mark.parametrize("column", ["row", "column"])
def test_every_column_of_a_key_counts_that_can_be_added_up(column):
    class Cells(ModelSitemap):
        queryset = Cell.objects.all()

    CellFactory.bulk(6)
    before = validator(Cells)
    first = Cell.objects.order_by("pk").first()
    Cell.objects.filter(pk=first.pk).update(**{column: 77})

    assert (validator(Cells) != before) is (column == "row")


def test_a_key_that_is_a_relation_is_added_up():
    class Bundles(ModelSitemap):
        queryset = Bundle.objects.all()
        lastmod = F("updated_at")

    bundles = BundleFactory.create_batch(3)
    before = validator(Bundles)
    bundles[0].delete()
    BundleFactory.create(updated_at=bundles[0].updated_at)

    assert validator(Bundles) != before


def test_without_a_sum_of_keys_the_dates_tell():
    class Tokens(ModelSitemap):
        queryset = Token.objects.all()
        changed = F("updated_at")

    TokenFactory.bulk(4)
    before = validator(Tokens)
    Token.objects.filter(pk=Token.objects.first().pk).update(updated_at=DAY - timedelta(days=1))

    assert validator(Tokens) != before


# MariaDB would take the bare value for a text.
_DAY = Cast(Value(DAY), DateTimeField())
EXPRESSIONS = {
    "a datetime": F("updated_at"),
    "a date": F("published_on"),
    "the first of two": Coalesce(F("updated_at"), Cast("published_on", DateTimeField()), output_field=DateTimeField()),
    "the later of two": Greatest(Coalesce("updated_at", _DAY), _DAY),
    "a case": Case(When(is_active=True, then=F("updated_at")), default=_DAY, output_field=DateTimeField()),
    "a date of a datetime": TruncDate("updated_at", tzinfo=UTC),
    "a number": Length("name"),
    "a text": Cast("updated_at", CharField()),
    "a name that is in the way": F("priority"),
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_changed_may_be_any_expression(expression, django_assert_num_queries):
    class Expressed(ModelSitemap):
        queryset = Product.objects.all()
        changed = expression

    products = ProductFactory.create_batch(5, priority=0.5)
    ProductFactory.create(updated_at=None, published_on=None, priority=None)
    before = validator(Expressed)

    with django_assert_num_queries(1):
        assert validator(Expressed) == before

    Product.objects.filter(pk=products[-1].pk).update(
        updated_at=DAY + timedelta(days=40), published_on=date(2027, 1, 1), name="longer" * 10, priority=0.75
    )
    assert validator(Expressed) != before


def test_dates_are_added_up_too():
    class ByDate(ModelSitemap):
        queryset = Product.objects.all()
        changed = F("published_on")

    products = ProductFactory.create_batch(3)
    before = validator(ByDate)
    Product.objects.filter(pk=products[0].pk).update(published_on=date(1999, 1, 1))

    assert validator(ByDate) != before


@pytest.mark.parametrize("day", [DAY, DAY.replace(year=1999), DAY.replace(year=1969), DAY.replace(year=9999)])
@pytest.mark.parametrize("microsecond", [0, 1, 499_999, 999_998])
def test_a_microsecond_counts_at_any_time(day, microsecond):
    ProductFactory.bulk(3, updated_at=DAY.replace(year=9999, microsecond=999_999))
    product = ProductFactory.create(updated_at=day.replace(microsecond=microsecond))
    before = validator(DatedProducts)

    Product.objects.filter(pk=product.pk).update(updated_at=day.replace(microsecond=microsecond + 1))

    assert validator(DatedProducts) != before


ODD_TEXTS = [
    "2026-01-02",
    "2026-01-02 03:04",
    "2026-01-02T03:04:05",
    "2026-01-02 03:04:05.5",
    "2026-01-02 03:04:05+00:00",
]


@pytest.mark.skipif("__import__('django.db').db.connection.vendor != 'sqlite'", reason="others have no texts for dates")
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_dates_that_others_wrote_in_their_own_form_count(text):
    def write(value):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE testapp_product SET updated_at = %s WHERE id = %s", [value, product.pk])

    ProductFactory.bulk(2)
    product = ProductFactory.create(updated_at=DAY)
    write(text)
    before = validator(DatedProducts)
    assert validator(DatedProducts) == before

    write(text.replace("2026-01-02", "2026-01-03"))
    assert validator(DatedProducts) != before


def test_a_validator_of_long_texts_fits_its_column():
    class Long(ModelSitemap):
        queryset = Product.objects.all()
        changed = F("name")

    ProductFactory.create(name="z" * 200, slug="a")
    found = validator(Long)
    ProductFactory.create(name="zz" + "ö" * 190, slug="b")

    assert validator(Long) != found
    assert refresh(section_of(Long)).pages[0].record.pk


# What it costs.

QUERYSETS = {
    "filtered": lambda: Product.objects.filter(is_active=True),
    "annotated": lambda: Product.objects.annotate(length=Length("name")).filter(length__gt=1),
    "grouped": lambda: Product.objects.annotate(tagged=Count("tags")).filter(tagged__gte=1),
    "distinct": lambda: Product.objects.filter(tags__name__startswith="tag").distinct(),
    "joined": lambda: Product.objects.filter(tags__name__startswith="tag"),
    "joined twice": lambda: Product.objects.filter(tags__name__startswith="tag", notes__text__startswith="note"),
    "selecting": lambda: Product.objects.prefetch_related("tags").only("name").defer("slug"),
}


@pytest.mark.parametrize("rows", QUERYSETS.values(), ids=QUERYSETS)
@pytest.mark.parametrize("pages", [1, 3])
def test_a_page_is_measured_by_one_query_whatever_the_queryset(rows, pages, django_assert_num_queries):
    class Given(DatedProducts):
        limit = 50 if pages == 1 else 8

        def get_queryset(self):
            return rows()

    tags = TagFactory.create_batch(3)
    for product in ProductFactory.create_batch(20):
        product.tags.set(tags)
        NoteFactory.create_batch(2, product=product)
    section = section_of(Given)
    plan = refresh(section)

    for page in plan.pages:
        with django_assert_num_queries(1):
            found = measure(section, page.rows(section), timezone.now())
        assert found.rows == page.rows(section).count() == page.record.rows

    assert [page.record.rows for page in plan.pages] == ([20] if pages == 1 else [7, 7, 6])


def test_rows_that_only_differ_in_their_key_have_different_validators(django_assert_num_queries):
    class Joined(DatedProducts):
        queryset = Product.objects.annotate(tag=F("tags__name")).filter(tag__startswith="tag").distinct()

    tags = TagFactory.create_batch(3)
    for product in ProductFactory.create_batch(2):
        product.tags.set(tags)
    section = section_of(Joined)

    with django_assert_num_queries(1) as captured:
        found = measure(section, section.queryset(), timezone.now())

    assert found.rows == 2
    assert "slug" not in captured[0]["sql"]


def test_no_rows_at_all_cost_no_query(django_assert_num_queries):
    class Nothing(DatedProducts):
        queryset = Product.objects.none()

    section = section_of(Nothing)

    with django_assert_num_queries(0):
        found = measure(section, section.queryset(), timezone.now())

    assert (found.rows, found.newest) == (0, None)


def test_changed_over_a_relation_does_not_disturb_the_pages():
    class OverTags(DatedProducts):
        queryset = Product.objects.all()
        changed = Max("notes__text")
        limit = 10

    for product in ProductFactory.create_batch(12):
        NoteFactory.create_batch(2, product=product)
    section = section_of(OverTags)
    before = refresh(section)
    NoteFactory.create(product=Product.objects.first(), text="zzz")
    after = refresh(section, force=True)

    assert [page.record.rows for page in after.pages] == [9, 3]
    assert before.pages[0].record.validator != after.pages[0].record.validator


def test_a_join_in_changed_itself_does_not_disturb_the_pages():
    class OverTags(DatedProducts):
        queryset = Product.objects.all()
        changed = F("notes__id")
        limit = 10

    for product in ProductFactory.create_batch(12):
        NoteFactory.create_batch(2, product=product)
    section = section_of(OverTags)
    refresh(section)
    plan = refresh(section, force=True)

    assert [page.number for page in plan.pages] == [1, 2]
    assert sum(page.rows(section).count() for page in plan.pages) == 12


# When a page changed.


def test_a_new_page_changed_when_its_newest_row_did(clock):
    ProductFactory.create(updated_at=None)
    ProductFactory.create(updated_at=DAY)
    ProductFactory.create(updated_at=DAY - timedelta(days=2))
    ProductFactory.create(updated_at=clock.now + timedelta(days=2))

    assert changed_at(section_of(DatedProducts)) == DAY


def test_rows_without_dates_give_no_date_until_they_are_seen_to_change(clock):
    ProductFactory.bulk(2, updated_at=None)
    section = section_of(DatedProducts)
    assert changed_at(section) is None

    clock.pass_(minutes=5)
    ProductFactory.bulk(1, updated_at=None)

    assert changed_at(section) == clock.now


def test_the_date_moves_when_the_rows_do_and_never_back(clock):
    products = ProductFactory.create_batch(3, updated_at=DAY)
    section = section_of(DatedProducts)
    assert changed_at(section) == DAY

    clock.pass_(minutes=5)
    assert changed_at(section) == DAY

    products[0].delete()
    seen = clock.now
    assert changed_at(section) == seen

    clock.pass_(minutes=5)
    assert changed_at(section) == seen


def test_a_date_that_lay_in_the_future_counts_once_it_has_come(clock):
    ahead = clock.now + timedelta(minutes=10)
    ProductFactory.create(updated_at=DAY)
    ProductFactory.create(updated_at=ahead)
    section = section_of(DatedProducts)
    assert changed_at(section) == DAY

    clock.pass_(minutes=11)

    assert changed_at(section) == ahead


def test_a_date_is_its_midnight_in_utc_and_never_ahead(clock, settings):
    class ByDate(ModelSitemap):
        queryset = Product.objects.all()
        lastmod = F("published_on")

    # In Berlin the third has begun already.
    clock.now = datetime(2026, 10, 2, 22, 30, tzinfo=UTC)
    ProductFactory.create(published_on=date(2026, 10, 1))
    ProductFactory.create(published_on=date(2026, 10, 3))
    section = section_of(ByDate)
    assert changed_at(section) == datetime(2026, 10, 1, tzinfo=UTC)

    # The page shows the third, which has begun where it is latest.
    render_page(section, 1)
    assert SitemapPage.objects.get().changed_at == clock.now


def test_the_dates_of_a_method_are_known_when_a_page_is_rendered():
    class ByMethod(ModelSitemap):
        queryset = Product.objects.all()

        def lastmod(self, item):
            return item.updated_at

    ProductFactory.create(updated_at=DAY)
    section = section_of(ByMethod)

    document = render_page(section, 1)

    assert document.changed_at == SitemapPage.objects.get().changed_at == DAY


def test_bytes_that_differ_under_an_equal_validator_move_the_date(clock):
    class ByMethod(ModelSitemap):
        queryset = Product.objects.all()

        def location(self, item):
            return f"/{item.name}/"

    ProductFactory.create(name="old")
    section = section_of(ByMethod)
    first = render_page(section, 1)
    assert render_page(section, 1).digest == first.digest
    assert SitemapPage.objects.get().changed_at is None

    clock.pass_(seconds=30)
    Product.objects.update(name="new")
    assert render_page(section, 1).digest != first.digest

    assert SitemapPage.objects.get().changed_at == clock.now


def test_one_change_is_counted_once(clock):
    product = ProductFactory.create(updated_at=DAY)
    section = section_of(DatedProducts)
    render_page(section, 1)

    clock.pass_(minutes=5)
    Product.objects.filter(pk=product.pk).update(updated_at=DAY + timedelta(days=1), slug="another")
    seen = changed_at(section)
    clock.pass_(seconds=5)
    render_page(section, 1)

    assert SitemapPage.objects.get().changed_at == seen


def test_another_recipe_is_no_change_of_the_rows(clock):
    class Hourly(DatedProducts):
        changefreq = "hourly"

    ProductFactory.create(updated_at=DAY)
    assert changed_at(section_of(DatedProducts)) == DAY

    clock.pass_(minutes=5)
    assert changed_at(section_of(Hourly)) == DAY


@pytest.mark.parametrize("generic", [GenericSitemap, ContribGenericSitemap], ids=["ours", "contrib"])
def test_the_date_field_of_a_generic_sitemap_is_its_lastmod(generic):
    ProductFactory.create(updated_at=DAY)
    made = generic({"queryset": Product.objects.all(), "date_field": "updated_at"})
    section = section_of(lambda: made)
    assert changed_at(section) == DAY
    before = refresh(section).pages[0].record.validator

    Product.objects.update(updated_at=DAY - timedelta(days=1))

    assert refresh(section, force=True).pages[0].record.validator != before


@pytest.mark.skipif(
    "__import__('django.db').db.connection.vendor == 'postgresql'", reason="keeps the zone it began with"
)
def test_without_time_zones_dates_are_kept_as_the_project_keeps_them(settings):
    settings.USE_TZ = False

    class ByMethod(DatedProducts):
        def lastmod(self, item):
            return item.published_on

    noon = datetime(2026, 1, 1, 12)
    ProductFactory.create(updated_at=noon, published_on=date(2026, 1, 2))
    section = section_of(DatedProducts)
    assert changed_at(section) == noon
    render_page(section, 1)

    Product.objects.update(updated_at=noon + timedelta(days=1))
    assert changed_at(section) > noon + timedelta(days=1)

    render_page(section_of(ByMethod, label="others"), 1)
    assert SitemapPage.objects.get(label="others").changed_at == datetime(2026, 1, 2, 1)
