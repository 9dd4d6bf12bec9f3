"""The state of each section, and the alarms about it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import storages
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from built import BuiltSet
from clock import Clock
from samples import DAY, Products, make_products, nth, replace_section, unregister_all
from sitemaps_plus import register, registry
from sitemaps_plus.build import build
from sitemaps_plus.models import Build, CrawlerVisit, SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.render.indexes import render_index
from sitemaps_plus.watch.alarms import Alarm, Overview, SiteOverview, overview
from sitemaps_plus.watch.status import SectionStatus
from testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

LATER = DAY + timedelta(days=30)


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    """Twenty-five products on three pages, not built yet."""
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com", STRICT=False)
    register("products", Products)
    make_products(25)
    return found


def read_site() -> SiteOverview:
    (found,) = overview().sites
    return found


def section(label: str = "products") -> SectionStatus:
    return next(one for one in read_site().status.sections if one.label == label)


def alarms() -> list[tuple[str, str, str]]:
    return [(alarm.level, alarm.label, alarm.text) for alarm in read_site().alarms]


# Facts


def test_a_built_section_has_all_its_numbers(site: BuiltSet) -> None:
    assert build().is_complete

    found = section()

    assert (found.currency, found.pages, found.urls, found.is_estimated) == ("current", 3, 25, False)
    assert found.bytes == sum(SitemapPage.objects.values_list("bytes", flat=True)) > 0
    assert (found.path, found.decided_by) == ("row", "")
    assert found.fullest_by_urls
    assert (found.fullest_by_urls.number, found.fullest_by_urls.value, found.fullest_by_urls.share) == (1, 10, 1.0)
    assert found.fullest_by_bytes
    assert 0 < found.fullest_by_bytes.share < 0.001
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
    assert (found.currency, found.stale_pages, found.stale_since) == ("stale", 1, changed_at)
    build()
    assert section().currency == "current"


def test_another_declaration_makes_all_pages_stale(site: BuiltSet) -> None:
    build()
    replace_section("products", type("Weekly", (Products,), {"changefreq": "weekly"}))

    assert (section().currency, section().stale_pages) == ("stale", 3)


def test_the_hook_that_needs_objects_is_named(site: BuiltSet) -> None:
    replace_section("products", type("Slow", (Products,), {"location": lambda self, item: f"/{item.pk}/"}))

    assert (section().path, section().decided_by) == ("object", "location")


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


# Alarms


def remedies() -> str:
    return " ".join(alarm.remedy for alarm in read_site().alarms)


def test_a_section_that_lost_its_rows_is_an_error_before_and_after_a_build(site: BuiltSet) -> None:
    build()
    Product.objects.all().delete()
    render_index_of_nothing()

    assert alarms() == [("error", "products", "The section lost all of its rows; 25 URLs are still published.")]
    assert "--allow-shrink" in remedies()
    build()
    assert alarms() == [("error", "products", "The section lost all of its 25 URLs.")]
    assert "--allow-shrink" in remedies()
    assert build(allow_shrink=True).is_complete
    assert alarms() == []


def render_index_of_nothing() -> None:
    refresh(get_section("products", read_site().status.site), force=True)


def test_a_section_that_failed_has_an_alarm_with_the_error(site: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    build()
    replace_section("products", type("Strict", (Products,), {"location": F("name")}))

    build(strict=True)

    ((level, label, text),) = alarms()[:1]
    assert (level, label) == ("error", "products")
    assert text.startswith("The last build of this section failed: StrictError")


def fail(*_args: Any) -> Any:
    raise RuntimeError("no rows today")


def test_a_class_that_cannot_be_used_does_not_affect_the_others(site: BuiltSet) -> None:
    register("bad", type("Bad", (Products,), {"items": fail}))

    found = {one.label: one for one in read_site().status.sections}

    assert found["bad"].error == "RuntimeError: no rows today"
    assert found["products"].error == ""
    assert [label for _, label, _ in alarms()] == ["bad"]


def test_a_storage_that_fails_has_an_alarm_with_a_remedy(site: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    build()

    def fail(*_args: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(storages["sitemaps"]), "listdir", fail)

    ((level, label, text),) = alarms()
    assert (level, label) == ("error", "")
    assert "cannot be read: PermissionError" in text
    assert "STORAGES" in remedies()


def test_the_files_of_another_origin_are_an_error(site: BuiltSet) -> None:
    build()
    site.use(ORIGIN="http://example.com")

    assert any("is that of https://example.com" in text for _, _, text in alarms())


def test_a_removed_file_is_an_error(site: BuiltSet) -> None:
    build()
    site.path("sitemap-products-2.xml.gz").unlink()

    assert alarms() == [("error", "products", "The file of 1 published page is missing.")]


def test_a_build_that_died_is_an_error_until_the_next_one(site: BuiltSet) -> None:
    now = timezone.now()
    Build.objects.create(
        site=1, lease="site 1", holder="process 7", started_at=now, expires_at=now - timedelta(hours=1)
    )

    found = read_site()
    assert found.status.running is None
    assert [alarm.level for alarm in found.alarms] == ["error"]
    assert "A build died: process 7" in found.alarms[0].text
    build()
    assert alarms() == []


def test_a_running_build_is_no_error(site: BuiltSet) -> None:
    now = timezone.now()
    running = Build.objects.create(
        site=1, lease="site 1", holder="x", started_at=now, expires_at=now + timedelta(hours=1), progress="a: 1 / 2"
    )

    assert read_site().status.running == running
    assert alarms() == []


def test_a_section_that_was_stale_for_days_has_an_alarm_about_cron(site: BuiltSet) -> None:
    build()
    nth(15).update(slug="new", updated_at=LATER)
    refresh(get_section("products", read_site().status.site), force=True)
    SitemapPage.objects.filter(number=2).update(changed_at=timezone.now() - timedelta(days=3))

    ((level, _, text),) = alarms()

    assert level == "warning"
    assert text.startswith("The section changed on ")
    assert "cron" in remedies()


def test_a_section_that_is_no_longer_registered_has_an_alarm(site: BuiltSet) -> None:
    build()
    register("other", registry["products"])
    registry.unregister("products")

    assert (
        "warning",
        "products",
        "products is no longer registered, but 25 URLs of it are still published.",
    ) in alarms()


def test_a_new_section_among_built_ones_has_an_alarm(site: BuiltSet) -> None:
    build()
    register("more", type("More", (Products,), {}))
    expected = ("never built", [("warning", "more", "This section was never built.")])

    assert (section("more").currency, alarms()) == expected
    refresh(get_section("more", read_site().status.site), force=True)
    assert (section("more").currency, alarms()) == expected


def test_the_error_is_that_there_is_no_section_or_site(settings: Any, site: BuiltSet) -> None:
    unregister_all()
    settings.SITEMAPS_PLUS = {}
    Site.objects.create(domain="not a host", name="bad")

    found = overview()

    assert not found.is_healthy
    assert [alarm.text for alarm in found.alarms][-1] == "No sitemap is registered."
    assert "Site.domain" in found.alarms[0].text


def test_warnings_do_not_make_it_unhealthy() -> None:
    found = Overview(alarms=[Alarm("warning", "", "a", "b")])
    assert found.is_healthy
    found.alarms.append(Alarm("error", "", "a", "b"))
    assert not found.is_healthy


def test_the_overview_is_available_as_json(site: BuiltSet) -> None:
    nth(3).update(slug="..")
    build(started_by="cron")

    found = json.loads(json.dumps(overview().as_json()))

    assert found["healthy"] is True
    (one,) = found["sites"]
    assert (one["site"], one["urls"], one["building"], one["last_build"]["started_by"]) == (
        "example.com",
        24,
        False,
        "cron",
    )
    assert one["sections"][0]["state"] == "current"
    assert one["alarms"][0]["label"] == "products"


def test_the_language_of_the_reader_does_not_make_sections_stale(site: BuiltSet) -> None:
    build()

    with translation.override("ar"):
        assert section().currency == "current"


def test_a_clock_that_is_ahead_makes_nothing_stale(site: BuiltSet, clock: Clock) -> None:
    build()
    clock.now += timedelta(hours=25)

    assert section().currency == "current"


def test_a_class_that_raises_has_not_lost_its_rows(site: BuiltSet) -> None:
    build()
    replace_section("products", type("Bad", (Products,), {"items": fail}))

    assert alarms() == [("error", "products", "RuntimeError: no rows today")]


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-products.xml.gz"])
def test_a_removed_index_is_an_error(site: BuiltSet, name: str) -> None:
    build()
    site.path(name).unlink()

    assert alarms() == [("error", "", f"Indexes are missing: {name}")]
    build()
    assert alarms() == []


@pytest.mark.parametrize("text", [None, "{"])
def test_a_lost_manifest_is_reported_as_such(site: BuiltSet, text: str | None) -> None:
    build()
    site.manifest.unlink()
    if text:
        site.manifest.write_text(text)

    assert alarms() == [("error", "", "The manifest of the built files is missing or cannot be read.")]
    build()
    assert alarms() == []


def test_an_error_outside_of_the_sections_is_that_of_the_last_build(
    site: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: Any) -> Any:
        raise ConnectionError("the bucket is away")

    with monkeypatch.context() as patch:
        patch.setattr(type(storages["sitemaps"]), "listdir", fail)
        build()

    assert ("error", "", "The last build failed: site example.com: ConnectionError: the bucket is away") in alarms()


@pytest.mark.parametrize("model", [Build, CrawlerVisit])
def test_missing_tables_have_an_alarm_that_says_to_run_migrate(
    site: BuiltSet, monkeypatch: pytest.MonkeyPatch, model: Any
) -> None:
    monkeypatch.setattr(model._meta, "db_table", "not_migrated")

    found = overview()

    if model is Build:
        assert [(one.text, one.remedy) for one in found.alarms] == [
            ("Tables are missing in the database: not_migrated.", "Run migrate.")
        ]
    else:
        assert found.is_healthy


def test_two_sites_with_one_host_are_an_error(site: BuiltSet) -> None:
    site.use(ORIGIN={1: "https://example.com", 2: "https://EXAMPLE.com"})

    found = overview()

    assert len(found.sites) == 1
    assert "have the same host" in found.alarms[0].text


def test_one_site_can_be_read_although_others_are_invalid(settings: Any, site: BuiltSet) -> None:
    settings.SITEMAPS_PLUS = {}
    Site.objects.create(domain="not a host", name="bad")

    assert len(overview().alarms) == 1
    assert overview(["example.com"]).alarms == []
