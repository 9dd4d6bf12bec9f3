import datetime

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from sitemaps_plus import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap, UrlFor
from sitemaps_plus.declare.hooks import overrides_languages, read_hook, read_hooks
from sitemaps_plus.errors import InvalidSitemap
from testapp.models import Product


def sitemap(base=ModelSitemap, **attributes):
    return type("Products", (base,), {"queryset": Product.objects.all(), **attributes})()


VISIBLE = ("location", "lastmod", "changefreq", "priority")


def value_of(made, name, item=None, **columns):
    """Return what a hook gives for a row with these values of its columns."""
    hook = read_hook(made, name)
    given = [columns[str(index)] for index in range(len(hook.columns))]
    return hook.getter({alias: index for index, alias in enumerate(hook.columns)})(given, item)


@pytest.mark.parametrize("name", VISIBLE)
def test_an_attribute_is_a_constant(name):
    made = sitemap(**{name: "/the same/"})

    assert read_hook(made, name).kind == "constant"
    assert value_of(made, name) == "/the same/"


@pytest.mark.parametrize("name", [*VISIBLE, "changed"])
@pytest.mark.parametrize("expression", [F("name"), Concat(Value("/"), "slug")])
def test_an_expression_is_one_column_of_the_row(name, expression):
    made = sitemap(**{name: expression})

    assert read_hook(made, name).kind == "expression"
    assert list(read_hook(made, name).columns.values()) == [expression]
    assert value_of(made, name, **{"0": "from the row"}) == "from the row"


@pytest.mark.parametrize("name", VISIBLE)
def test_a_method_is_called_with_the_object(name):
    made = sitemap(**{name: lambda self, item: f"{type(self).__name__} {item}"})

    assert read_hook(made, name).kind == "method"
    assert value_of(made, name, item="one") == "Products one"


@pytest.mark.parametrize("name", ["lastmod", "changefreq", "priority", "changed"])
def test_a_hook_that_is_not_there_gives_nothing(name):
    assert read_hook(sitemap(), name).kind == "missing"
    assert value_of(sitemap(), name) is None


def test_a_property_of_the_class_is_a_constant_of_the_instance():
    made = sitemap(changefreq=property(lambda self: "daily"), changed=property(lambda self: F("updated_at")))

    assert value_of(made, "changefreq") == "daily"
    assert read_hooks(made).changed.kind == "expression"


def test_a_class_cannot_tell_what_a_property_gives():
    made = type(sitemap(changefreq=property(lambda self: "daily"), changed=property(lambda self: F("updated_at"))))

    assert read_hooks(made).changefreq.kind == "missing"
    assert read_hooks(made).changed.kind == "missing"


def test_a_declared_value_gets_its_columns_in_order():
    made = sitemap(location=UrlFor("two", year=F("year"), value=F("slug")))
    hook = read_hook(made, "location")

    assert hook.kind == "declared"
    assert list(hook.columns.values()) == [F("year"), F("slug")]


def test_columns_have_names_of_their_own_whatever_the_parts_are_called():
    made = sitemap(location=UrlFor("x", slug=F("a"), slug_=F("b"), a__b=F("c"), _a_b=F("d")), lastmod=F("updated_at"))

    columns = read_hooks(made).columns

    assert list(columns.values()) == [F("a"), F("b"), F("c"), F("d"), F("updated_at")]
    assert not any("__" in alias for alias in columns)


def test_columns_can_be_selected():
    location = Concat(Value("/"), "slug", output_field=CharField())
    made = sitemap(location=location, lastmod=F("updated_at"), priority=F("priority"))

    assert "_sitemap_priority_0" in str(Product.objects.annotate(**read_hooks(made).columns).query)


@pytest.mark.parametrize(
    ("attributes", "decided_by"),
    [
        ({}, ("get_absolute_url",)),
        ({"priority": lambda self, item: 1}, ("get_absolute_url", "priority")),
        ({"location": F("slug")}, ()),
        ({"location": "/constant/", "lastmod": F("updated_at"), "priority": 0.5}, ()),
        ({"location": F("slug"), "lastmod": lambda self, item: None}, ("lastmod",)),
        ({"location": F("slug"), "changefreq": lambda self, item: None}, ("changefreq",)),
        (
            {"location": F("slug"), "priority": lambda self, item: 1, "changefreq": lambda self, item: None},
            ("changefreq", "priority"),
        ),
        ({"location": F("slug"), "i18n": True}, ()),
        ({"location": F("slug"), "get_languages_for_item": lambda self, item: ["en"]}, ()),
        ({"location": F("slug"), "i18n": True, "get_languages_for_item": lambda s, i: []}, ("get_languages_for_item",)),
        ({"location": F("slug"), "changed": F("updated_at")}, ()),
    ],
)
def test_methods_decide_that_objects_are_read(attributes, decided_by):
    hooks = read_hooks(sitemap(**attributes))

    assert hooks.decided_by == decided_by
    assert hooks.path == ("object" if decided_by else "row")


@pytest.mark.parametrize(
    "base", [pytest.param(contrib.Sitemap, id="contrib"), Sitemap, GenericSitemap, ModelSitemap, NewsSitemap]
)
def test_no_class_of_ours_or_djangos_overrides_languages(base):
    assert not overrides_languages(base)
    assert not overrides_languages(type("Own", (base,), {}))
    assert overrides_languages(type("Own", (base,), {"get_languages_for_item": lambda self, item: ["en"]}))


def test_a_contrib_class_is_read_by_the_same_rule():
    class Pages(contrib.Sitemap):
        priority = 0.5

    hooks = read_hooks(Pages())

    assert (hooks.priority.kind, hooks.location.kind, hooks.changed.kind) == ("constant", "method", "missing")
    assert hooks.decided_by == ("get_absolute_url",)


@pytest.mark.parametrize(
    ("changed", "remedy"),
    [
        ("modified", r"Products\.changed must be an ORM expression such as F\('modified'\)"),
        (datetime.date(2026, 1, 1), r"Products\.changed must be an ORM expression such as F\('updated_at'\)"),
        (lambda self, item: item.updated_at, r"Products\.changed must be an ORM expression"),
        (UrlFor("x", slug=F("slug")), r"Products\.changed must be an ORM expression"),
    ],
)
def test_changed_must_be_an_expression(changed, remedy):
    with pytest.raises(InvalidSitemap, match=remedy):
        read_hooks(sitemap(changed=changed))


def test_a_class_in_place_of_an_instance_is_named_with_its_remedy():
    with pytest.raises(InvalidSitemap, match=r"Products\.lastmod is the class F; give an instance: F\(\.\.\.\)\."):
        read_hooks(sitemap(lastmod=F))
