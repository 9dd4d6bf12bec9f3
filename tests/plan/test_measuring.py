"""Pages are measured by statements that are compiled once, and the result is that of Django's own aggregate."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F, Q, QuerySet
from django.db.models.sql import Query
from django.utils import timezone

from factories import CellFactory, ProductFactory, SeatFactory, TokenFactory, WordFactory
from plan_samples import Cells, Seats, TenProducts, Tokens, Words
from samples import section_of
from sitemaps_plus.plan.measuring import Measuring
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.statements import AggregateStatement
from sitemaps_plus.plan.validators import count_rows, measure
from testapp.models import Product

pytestmark = pytest.mark.django_db


class Dated(TenProducts):
    """Its dates may be in the future."""

    lastmod = F("updated_at")


class ChangedByName(Dated):
    changed = F("name")


class Distinct(Dated):
    """Django needs a subquery."""

    queryset = Product.objects.distinct()


class Empty(Dated):
    """Django knows that there are no rows."""

    queryset = Product.objects.filter(pk__in=[])


class WithoutDeleted(Query):
    """A query that adds a condition when it is compiled, as packages for soft deletion do."""

    def get_compiler(self, *args, **options):
        query = self.clone()
        query.__class__ = Query
        query.add_q(~Q(name="deleted"))
        return query.get_compiler(*args, **options)


class SoftDeleted(Dated):
    """Some of its rows are hidden by the class of its query."""

    def get_queryset(self):
        return QuerySet(Product, query=WithoutDeleted(Product))


class Doubled(QuerySet):
    """Counts and adds up in its own way."""

    def aggregate(self, *args, **named):
        return {**super().aggregate(*args, **named), "rows": 2 * super().count()}

    def count(self):
        return 2 * super().count()


class OwnAggregate(Dated):
    def get_queryset(self):
        return Doubled(Product)


def measured_alike(section):
    """Assert that each page is measured as by an aggregate of its own, and return the pages."""
    pages = refresh(section, force=True).pages
    now = timezone.now()
    measuring = Measuring(section, now)
    for page in pages:
        rows = page.rows(section)
        assert measuring.measure(page) == measure(section, rows, now)
        assert measuring.count(page) == count_rows(section, rows)
    return pages


@pytest.mark.parametrize(
    ("sitemap", "make"),
    [
        (TenProducts, ProductFactory),
        (Tokens, TokenFactory),
        (Words, WordFactory),
        (Cells, CellFactory),
        (Seats, SeatFactory),
        (Dated, ProductFactory),
        (ChangedByName, ProductFactory),
        (Distinct, ProductFactory),
    ],
)
def test_a_page_is_measured_as_by_an_aggregate_of_its_own(sitemap, make):
    make.bulk(45)

    assert len(measured_alike(section_of(sitemap))) == 5


@pytest.mark.parametrize("sitemap", [Dated, ChangedByName])
def test_a_date_in_the_future_does_not_count_on_its_page(sitemap):
    ProductFactory.bulk(45)
    late = [product.pk for product in Product.objects.order_by("pk")[12:20]]
    Product.objects.filter(pk__in=late).update(updated_at=datetime.now(UTC) + timedelta(days=3))

    measured_alike(section_of(sitemap))


def test_a_section_of_which_django_knows_that_it_is_empty_is_measured():
    ProductFactory.bulk(5)

    (page,) = measured_alike(section_of(Empty))

    assert page.record.rows == 0


def test_a_statement_is_compiled_once_for_all_pages_with_the_same_bounds(monkeypatch):
    ProductFactory.bulk(90)
    section = section_of(Dated)
    refresh(section)
    compiled = []
    of = AggregateStatement.of
    monkeypatch.setattr(AggregateStatement, "of", lambda *args: compiled.append(1) or of(*args))

    assert len(refresh(section, force=True).pages) == 10

    # The first page has no start, the last one no end.
    assert len(compiled) == 3


@pytest.mark.parametrize("sitemap", [SoftDeleted, OwnAggregate])
def test_a_class_of_queries_that_is_not_django_s_own_is_asked_itself(sitemap):
    ProductFactory.bulk(30)
    Product.objects.filter(pk__in=[one.pk for one in Product.objects.order_by("pk")[3:5]]).update(name="deleted")

    pages = measured_alike(section_of(sitemap))

    assert sum(page.record.rows for page in pages) == (28 if sitemap is SoftDeleted else 60)
