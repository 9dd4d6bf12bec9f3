"""Rows that go, come or change while a build renders their page, and are as before when the next one looks."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat, Length

from built import BuiltSet
from samples import DAY
from sitemaps_plus import ModelSitemap, register
from sitemaps_plus.build import build
from sitemaps_plus.build.due import examine
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import get_sites
from testapp.models import Product

pytestmark = pytest.mark.django_db

PAGE = 20


class ByRow(ModelSitemap):
    """Read as plain values."""

    queryset = Product.objects.order_by("pk")
    location = Concat(Value("/"), F("slug"), Value("/"), output_field=CharField())
    lastmod = F("updated_at")
    limit = PAGE
    fill = 1.0


class ByObject(ModelSitemap):
    """Read as objects, because a method is called for each."""

    queryset = Product.objects.order_by("pk")
    lastmod = F("updated_at")
    limit = PAGE
    fill = 1.0

    def location(self, item: Product) -> str:
        return f"/{item.slug}/"


class ByPosition(contrib.Sitemap):
    """A class of Django with languages."""

    i18n = True
    languages = ("en",)
    limit = PAGE
    protocol = "https"

    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def location(self, item: Product) -> str:
        return f"/{item.slug}/"

    def lastmod(self, item: Product) -> Any:
        return item.updated_at


class ByPositionWithDates(ByPosition):
    """A date moves with each change."""

    def lastmod(self, item: Product) -> Any:
        return item.published_on


def told_by(cls: type, changed: Any) -> type:
    return type(cls.__name__, (cls,), {"changed": changed})


KINDS = [
    *(pytest.param(cls, id=f"{cls.__name__}-datetime") for cls in (ByRow, ByObject, ByPosition)),
    *(pytest.param(told_by(cls, F("published_on")), id=f"{cls.__name__}-date") for cls in (ByRow, ByObject)),
    pytest.param(ByPositionWithDates, id="ByPosition-date"),
    # Only classes of ours can be told of changes by a number.
    *(pytest.param(told_by(cls, Length("slug")), id=f"{cls.__name__}-integer") for cls in (ByRow, ByObject)),
]


def product(number: int) -> Product:
    return Product(
        pk=number,
        name="x",
        slug=f"product-{number}",
        updated_at=DAY + timedelta(minutes=number),
        published_on=date(2020, 1, 1) + timedelta(days=number),
    )


def insert(*numbers: int) -> None:
    Product.objects.bulk_create(map(product, numbers))


def delete(*numbers: int) -> None:
    Product.objects.filter(pk__in=numbers).delete()


def change(*numbers: int) -> None:
    week = timedelta(days=7, minutes=7)
    for found in map(product, numbers):
        found.slug += "-changed"
        found.updated_at, found.published_on = found.updated_at + week, found.published_on + week
        found.save()


def restore(*numbers: int) -> None:
    for found in map(product, numbers):
        found.save()


@contextmanager
def when_rows_are_read(do: Callable[[], None]) -> Iterator[None]:
    """Do something after the first query that reads what is on a page."""
    is_done = False

    def after(execute: Any, sql: str, *rest: Any) -> Any:
        nonlocal is_done
        found = execute(sql, *rest)
        if not is_done and re.match(r"(SELECT|WITH) .*\bslug\b", sql):
            is_done = True
            do()
        return found

    with connection.execute_wrapper(after):
        yield
    if not is_done:
        raise LookupError("nobody has read rows")


def assert_current(site: BuiltSet) -> None:
    """Fail unless the pages show each row once."""
    assert sorted(site.rows()) == sorted(f"/{slug}/" for slug in Product.objects.values_list("slug", flat=True))
    assert list(examine()) == []


WHAT = [
    pytest.param(delete, insert, (50, 51, 52), id="go-and-come"),
    pytest.param(insert, delete, (61, 62), id="come-and-go"),
    pytest.param(change, restore, (50, 59), id="change-and-back"),
]


@pytest.mark.parametrize(("first", "then", "numbers"), WHAT)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_as_before_after_a_page_was_rendered_without_them_are_noticed(
    site: BuiltSet, kind: type, first: Any, then: Any, numbers: tuple[int, ...]
) -> None:
    register("rows", kind)
    # Room at the end: the third page is not full.
    insert(*range(1, 61 if first is not insert else 56))
    build()

    with when_rows_are_read(lambda: first(*numbers)):
        build(full=True)
    then(*numbers)

    assert list(examine()) != []
    assert build().is_complete
    assert_current(site)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_moved_while_their_page_was_rendered_need_one_more_build(site: BuiltSet, kind: type) -> None:
    register("rows", kind)
    insert(*range(1, 61))
    build()

    with when_rows_are_read(lambda: (delete(50), change(45), insert(70))):
        build(full=True)

    assert build().is_complete
    assert_current(site)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_build_of_rows_that_stand_still_is_current(site: BuiltSet, kind: type) -> None:
    register("rows", kind)
    insert(*range(1, 61))
    build()

    assert build(full=True).is_complete

    assert_current(site)
    with site.touched() as touched:
        build()
    assert touched == set()


@pytest.mark.parametrize("goes", [False, True], ids=["the rows stay", "the rows go and come back"])
@pytest.mark.parametrize("kind", [ByRow, ByObject])
def test_a_page_that_another_process_splits_while_it_is_rendered_is_rendered_again(
    site: BuiltSet, kind: type, goes: bool
) -> None:
    register("rows", kind)
    insert(*range(1, 41))
    build()
    (origin,) = get_sites()

    def split() -> None:
        if goes:
            # The upper half of the page is then as empty as its rendering will show it.
            delete(*range(12, 21))
        refresh(get_section("rows", origin), split={1: (11,)})

    with when_rows_are_read(split):
        assert build(full=True).is_complete
    # Nothing is lost, although the build knows nothing of the new page.
    assert {f"/{slug}/" for slug in Product.objects.values_list("slug", flat=True)} <= set(site.rows())
    if goes:
        insert(*range(12, 21))

    assert list(examine()) != []
    assert build().is_complete
    assert_current(site)


@pytest.mark.parametrize("how", [{}, {"full": True}, {"repack": True}], ids=["first", "full", "repack"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_build_that_renders_all_pages_is_current_although_dates_have_fractions(
    site: BuiltSet, kind: type, how: dict[str, bool]
) -> None:
    register("rows", kind)
    products = [product(number) for number in range(1, 91)]
    for one in products:
        one.updated_at += timedelta(microseconds=123_456 + one.pk)
    Product.objects.bulk_create(products[:60])
    if how:
        build()
        Product.objects.bulk_create(products[60:])

    assert build(**how).is_complete

    assert_current(site)
    with site.touched() as touched:
        assert sum(section.rendered for section in build().sections) == 0
    assert touched == set()
