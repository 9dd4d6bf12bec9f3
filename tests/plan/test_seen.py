"""What rendering adds up of the rows that it reads is what the database measures."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import CharField, F, QuerySet, Value
from django.db.models.functions import Concat, Length
from django.db.models.query import ModelIterable
from django.utils import timezone
from django.utils.translation import get_language

from factories import DAY, TagFactory
from samples import make_products, section_of
from sitemaps_plus import Image, ModelSitemap
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import neutral
from sitemaps_plus.plan.seen import SeenRows
from sitemaps_plus.plan.validators import measure
from sitemaps_plus.protocol.entries import Block
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.render import object_path, row_path
from sitemaps_plus.render.renderer import CHUNK
from testapp.models import Product

pytestmark = pytest.mark.django_db


class ByRow(ModelSitemap):
    """Texts that the database joins."""

    queryset = Product.objects.all()
    location = Concat(Value("/"), F("slug"), output_field=CharField())
    lastmod = F("updated_at")
    limit = 20
    fill = 1.0


class ByRowWithImages(ByRow):
    """Rows that are read one by one."""

    images = (Image(loc=Concat(Value("/"), F("name"), Value(".png"), output_field=CharField())),)


class ByRowTold(ByRow):
    """What tells of changes is no date that is shown."""

    lastmod = F("published_on")
    changed = Length("name")


class ByDay(ByRow):
    """A date that has settled."""

    lastmod = F("published_on")


class ByWord(ByRow):
    """A key that is no number."""

    key = "slug"


class ByObject(ByRow):
    """Objects."""

    def location(self, item: Product) -> str:
        return f"/{item.slug}"


class OfContrib(contrib.Sitemap):
    """A class that was written for Django."""

    limit = 20

    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def location(self, item: Product) -> str:
        return f"/{item.slug}"

    def lastmod(self, item: Product) -> Any:
        return item.updated_at


class ByPosition(OfContrib):
    """The same in two languages: pages by position, and items on the boundary of two pages."""

    i18n = True
    languages = ("en", "de")
    limit = 15

    def location(self, item: Product) -> str:
        return f"/{get_language()}/{item.slug}"


class ByPositionWithGroups(ByPosition):
    """Items that are made one by one."""

    alternates = True


KINDS = [
    ByRow,
    ByRowWithImages,
    ByRowTold,
    ByDay,
    ByWord,
    ByObject,
    OfContrib,
    ByPosition,
    ByPositionWithGroups,
]


@pytest.fixture
def products() -> list[Product]:
    products = make_products(60)
    Product.objects.update(published_on=date(2026, 1, 1))
    return products


def rows_seen(section: Any, read: Any) -> str:
    seen = SeenRows(section)
    with neutral():
        for page in refresh(section, force=True).pages:
            for block in read(section, page, section.cleaner(Report("products")), seen):
                if isinstance(block, Block):
                    list(block.rows())
    assert seen.sums is not None
    return seen.sums.validator(section)


@pytest.mark.parametrize("chunk", [7, CHUNK])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_add_up_to_what_the_database_measures(
    products: list[Product], monkeypatch: pytest.MonkeyPatch, kind: Any, chunk: int
) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", chunk)
    monkeypatch.setattr("sitemaps_plus.render.object_path.CHUNK", chunk)
    Product.objects.filter(pk__gt=products[40].pk).update(updated_at=None, published_on=None)
    section = section_of(kind)
    path = row_path if section.reads_values else object_path
    measured = measure(section, section.queryset(), timezone.now()).validator

    assert rows_seen(section, path.read_blocks) == measured
    assert rows_seen(section, path.read_groups) == measured

    Product.objects.all().delete()
    nothing = measure(section, section.queryset(), timezone.now()).validator
    assert rows_seen(section, path.read_blocks) == rows_seen(section, path.read_groups) == nothing


@pytest.mark.parametrize("microsecond", [0, 1, 499_999, 500_000, 999_499, 999_500, 999_924, 999_999])
@pytest.mark.parametrize("day", [DAY, datetime(1990, 1, 1, tzinfo=UTC), datetime(2020, 2, 29, 23, 59, 59, tzinfo=UTC)])
def test_parts_of_a_second_add_up_to_what_the_database_measures(day: datetime, microsecond: int) -> None:
    make_products(5, updated_at=day.replace(microsecond=microsecond))
    section = section_of(ByRow)
    (page,), seen = refresh(section, force=True).pages, SeenRows(section)

    with neutral():
        blocks = list(row_path.read_blocks(section, page, section.cleaner(Report("products")), seen))

    assert all(isinstance(block, Block) for block in blocks)
    assert seen.sums is not None
    assert seen.sums.validator(section) == measure(section, section.queryset(), timezone.now()).validator


def tagged() -> None:
    tags = TagFactory.create_batch(3)
    for product in Product.objects.all():
        product.tags.set(tags)


class Tagged(ByRow):
    """Each row is in the join three times."""

    queryset = Product.objects.filter(tags__name__startswith="tag")


class TaggedObjects(Tagged):
    """The same as objects."""

    def location(self, item: Product) -> str:
        return f"/{item.slug}"


class TaggedImages(Tagged):
    """A column that repeats rows, too."""

    images = (Image(loc=Concat(Value("/"), F("tags__name"), output_field=CharField())),)


@pytest.mark.parametrize("kind", [Tagged, TaggedObjects, TaggedImages])
def test_rows_that_a_join_repeats_count_once(
    products: list[Product], monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    monkeypatch.setattr("sitemaps_plus.render.row_path.CHUNK", 7)
    monkeypatch.setattr("sitemaps_plus.render.object_path.CHUNK", 7)
    tagged()
    section = section_of(kind)
    path = row_path if section.reads_values else object_path

    assert rows_seen(section, path.read_blocks) == measure(section, section.queryset(), timezone.now()).validator


def seen_of(**attributes: Any) -> SeenRows:
    return SeenRows(section_of(type("Given", (ByRow,), attributes)))


def test_rows_are_added_up_by_the_database_alone_where_nothing_else_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen_of().is_exact
    assert not seen_of(lastmod=None).is_exact
    # Only the database knows which of two texts is the last.
    assert not seen_of(changed=F("name")).is_exact
    # Several dates for a row.
    assert not seen_of(changed=F("notes__id")).is_exact

    # The same, under the name of an annotation.
    noted = Product.objects.annotate(noted=F("notes__id"), updated=F("updated_at"))
    assert not seen_of(queryset=noted, changed=F("noted")).is_exact
    assert not seen_of(queryset=noted, changed=F("updated")).is_exact
    assert seen_of(queryset=noted).is_exact

    monkeypatch.setattr(Product._meta.pk, "from_db_value", lambda value, *_: value, raising=False)
    assert not seen_of().is_exact


def test_rows_whose_values_are_no_numbers_after_all_are_not_added_up(products: list[Product]) -> None:
    seen = seen_of()
    seen.add_records([(1, "/a", 5)])
    assert seen.sums is not None

    seen.add_records([("one", "/b", 5)])

    assert seen.sums is None


def test_items_that_their_order_repeats_are_not_added_up() -> None:
    class Ordered(ByPosition):
        def items(self) -> Any:
            return Product.objects.order_by("notes__text", "pk")

    assert SeenRows(section_of(ByPosition)).is_exact
    assert not SeenRows(section_of(Ordered)).is_exact


class OtherObjects(ModelIterable):
    """Gives the objects of a second query, as managers do that look for the class of each row."""

    def __iter__(self) -> Any:
        for item in super().__iter__():
            yield Product._base_manager.get(pk=item.pk)


class OtherSet(QuerySet):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._iterable_class = OtherObjects


@pytest.mark.parametrize("kind", [OfContrib, ByPosition])
def test_objects_that_are_not_those_of_the_query_are_listed_all_the_same(products: list[Product], kind: type) -> None:
    section = section_of(type("Given", (kind,), {"items": lambda self: OtherSet(Product).order_by("pk")}))
    seen = SeenRows(section)
    with neutral():
        page = refresh(section, force=True).pages[0]
        found = list(object_path.read_groups(section, page, section.cleaner(Report("products")), seen))

    assert found
    assert seen.sums is None
