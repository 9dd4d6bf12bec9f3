"""The state of each section, and what it costs to read it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from built import BuiltSet
from clock import Clock
from samples import DAY, Products, nth, replace_section
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.render.indexes import render_index
from sitemaps_plus.watch.alarms import overview
from testapp.models import Product
from watched import alarms, read_site, section

pytestmark = pytest.mark.django_db(transaction=True)

LATER = DAY + timedelta(days=30)


def test_a_built_section_has_all_its_numbers(site: BuiltSet) -> None:
    assert build().is_complete

    found = section()

    assert (found.currency, found.pages, found.urls, found.is_estimated) == ("current", 3, 25, False)
    assert found.bytes == sum(SitemapPage.objects.values_list("bytes", flat=True)) > 0
    assert (found.path, found.decided_by) == ("row", ())
    assert found.fullest_by_urls
    assert found.fullest_by_urls == (1, 10, 10)
    assert found.fullest_by_bytes
    by_bytes = found.fullest_by_bytes
    assert 0 < by_bytes.value < by_bytes.limit * 0.001
    assert found.newest == DAY + timedelta(minutes=25)
    assert found.built_at
    assert found.outcome["written"] == 3
    assert alarms() == []
    assert read_site().status.urls == 25


def test_pages_are_live_and_nothing_is_wrong_if_nothing_is_built(site: BuiltSet) -> None:
    refresh(get_section("products", read_site().status.site), force=True)

    found = section()

    assert (found.currency, found.pages, found.urls, found.is_estimated) == ("live", 3, 25, True)
    assert alarms() == []


def test_a_page_is_stale_since_its_changed_rows_were_seen(site: BuiltSet) -> None:
    build()
    nth(15).update(slug="new", updated_at=LATER)
    assert section().currency == "current", "nobody has looked yet"

    render_index(read_site().status.site, since=timezone.now())
    found = section()

    changed_at = SitemapPage.objects.get(number=2).changed_at
    assert (found.currency, len(found.stale), found.stale_since) == ("stale", 1, changed_at)
    build()
    assert section().currency == "current"


def test_no_page_is_stale_since_before_it_was_built(site: BuiltSet) -> None:
    build()
    SitemapPage.objects.filter(number=2).update(digest="that of a file from a backup")

    found = section()

    assert (found.currency, len(found.stale), found.stale_since) == ("stale", 1, None)


def test_another_declaration_makes_all_pages_stale(site: BuiltSet) -> None:
    build()
    replace_section("products", type("Weekly", (Products,), {"changefreq": "weekly"}))

    assert (section().currency, len(section().stale), section().stale_since) == ("stale", 3, None)


def test_the_hook_that_needs_objects_is_named(site: BuiltSet) -> None:
    replace_section("products", type("Slow", (Products,), {"location": lambda self, item: f"/{item.pk}/"}))

    assert (section().path, section().decided_by) == ("object", ("location",))


def test_rows_left_out_are_named_by_key_hook_and_reason(site: BuiltSet) -> None:
    nth(15).update(slug="..")
    build()
    (product,) = Product.objects.filter(slug="..")

    found = section()

    assert (found.left_out, found.urls) == (1, 24)
    ((number, problem),) = found.problems
    assert found.outcome["problems"] == [problem.as_list()]
    assert (number, problem.key, problem.hook, problem.code) == (2, str(product.pk), "location", "E-URL-DOTS")
    ((level, label, text),) = alarms()
    assert (level, label) == ("warning", "products")
    assert "1 row is left out" in text
    assert problem.reason in text
    Product.objects.filter(slug="..").update(slug="fine", updated_at=LATER)
    build()
    assert (section().problems, alarms()) == ([], [])


def test_each_section_has_its_own_last_build(site: BuiltSet) -> None:
    register("more", type("More", (Products,), {}))
    build(["more"], started_by="cron")
    build(["products"], started_by="anna")

    assert section("more").build.started_by == "cron"  # type: ignore[union-attr]
    assert section("products").build.started_by == "anna"  # type: ignore[union-attr]


def test_the_state_costs_few_queries(site: BuiltSet) -> None:
    site.use(ORIGIN={1: "https://example.com", 2: "https://example.org", 3: "https://example.net"})
    for number in range(12):
        register(f"section-{number}-of-many", type("More", (Products,), {}))
    build()

    with CaptureQueriesContext(connection) as queries:
        found = overview()

    assert [len(one.status.sections) for one in found.sites] == [13] * 3
    assert len(queries) <= 5


def test_the_language_of_the_reader_does_not_make_sections_stale(site: BuiltSet) -> None:
    build()

    with translation.override("ar"):
        assert section().currency == "current"


def test_a_clock_that_is_ahead_makes_nothing_stale(site: BuiltSet, clock: Clock) -> None:
    build()
    clock.now += timedelta(hours=25)

    assert section().currency == "current"
