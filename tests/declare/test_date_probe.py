"""Methods that only hand out a date column, and methods that only look like it."""

import datetime

import pytest
from django.contrib import sitemaps as contrib

from sitemaps_plus import ModelSitemap, Sitemap
from sitemaps_plus.declare.date_probe import plain_column
from testapp.models import Article, Product


def sitemap(base=ModelSitemap, **attributes):
    return type("Products", (base,), {"queryset": Product.objects.all(), **attributes})()


class Helper:
    """An object that a method hook may use besides the item."""

    default = datetime.datetime(2026, 1, 1)


def method_of(code):
    return eval(f"lambda self, item: {code}")  # noqa: S307 - written below


@pytest.mark.parametrize(
    "code",
    [
        "item.updated_at",
        'getattr(item, "updated_at")',
        'getattr(item, "updated_at", None)',
        'item.updated_at if hasattr(item, "updated_at") else None',
        "item.updated_at if item.updated_at is not None else None",
    ],
)
def test_a_method_that_hands_out_a_date_column_is_seen_through(code):
    assert plain_column(sitemap(lastmod=method_of(code)), "lastmod", Product) == "updated_at"


@pytest.mark.parametrize(
    "code",
    [
        "item.updated_at or item.published_on",
        "item.published_on and item.updated_at",
        "item.updated_at if item.is_active else None",
        "item.published_on if item.updated_at is None else item.updated_at",
        "Helper.default if item.updated_at is None else item.updated_at",
        'getattr(item, "modified", item.updated_at)',
        'item.updated_at if hasattr(item, "modified") else item.published_on',
        "max(item.updated_at, Helper.default)",
        "min(Helper.default, item.updated_at)",
        "item.updated_at + datetime.timedelta(days=1)",
        "datetime.timedelta(days=1) + item.updated_at",
        "item.updated_at.date()",
        "item.updated_at == Helper.default and item.updated_at",
        "item.updated_at if item.updated_at in (Helper.default,) else None",
        "item.updated_at if str(item.updated_at) else None",
        'item.updated_at if f"{item.updated_at}" else None',
        'item.updated_at if "%s" % item.updated_at else None',
        "item.updated_at if repr(item) else None",
        "item.updated_at if item == 1 else None",
        "item.updated_at if isinstance(item, Product) else None",
        "item.updated_at if isinstance(item.updated_at, datetime.datetime) else None",
        "item.updated_at if item else None",
        'item["updated_at"]',
        "item.get_date()",
        'item.tags.latest("updated_at")',
        "Article.objects.filter(pk=item.pk).first()",
        "Article.objects.filter(title=item.name).first()",
        'item.__dict__["updated_at"]',
        'vars(item).get("updated_at")',
        "item._meta",
        "item",
        "None",
        "Helper.default",
        "1 / 0",
        "item.name",
        "item.is_active",
        "item.get_modified",
        "item.tags",
    ],
)
def test_a_method_that_does_anything_else_is_not(code):
    assert plain_column(sitemap(lastmod=method_of(code)), "lastmod", Product) is None


def _swallowed(self, item):
    try:
        return item.updated_at.date()
    except (AttributeError, TypeError):
        return item.updated_at


def _other_attribute_swallowed(self, item):
    try:
        return item.updated_at if item.is_active else None
    except TypeError:
        return item.updated_at


def _hashed(self, item):
    try:
        return {item.updated_at: None}[item.updated_at]
    except TypeError:
        return item.updated_at


def _assigned(self, item):
    item.updated_at = Helper.default
    return item.updated_at


def _without_item(self):
    return self.updated_at


@pytest.mark.parametrize("method", [_swallowed, _other_attribute_swallowed, _hashed, _assigned, _without_item])
def test_a_method_that_swallows_what_went_wrong_is_not_either(method):
    assert plain_column(sitemap(lastmod=method), "lastmod", Product) is None


def test_the_date_field_of_a_generic_sitemap_is_seen_through():
    made = contrib.GenericSitemap({"queryset": Product.objects.all(), "date_field": "updated_at"})

    assert plain_column(made, "lastmod", Product) == "updated_at"


def test_looking_at_a_method_asks_no_database():
    # Without the django_db mark every query raises; here it would be made with a probe.
    method = plain_column(sitemap(base=Sitemap, lastmod=lambda s, i: Article.objects.get(pk=i.pk)), "lastmod", Product)

    assert method is None
