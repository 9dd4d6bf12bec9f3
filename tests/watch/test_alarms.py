"""The alarms about sites and sections, with their remedies."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import storages
from django.db.models import F
from django.utils import formats, timezone

from built import BuiltSet
from samples import DAY, Products, nth, replace_section, unregister_all
from sitemaps_plus import register, registry
from sitemaps_plus.build import build
from sitemaps_plus.models import LEASE, RENEW_EVERY, Build, CrawlerVisit, SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.watch.alarms import Alarm, Overview, overview
from testapp.models import Product
from watched import alarms, read_site, section

pytestmark = pytest.mark.django_db(transaction=True)

LATER = DAY + timedelta(days=30)


def remedies() -> str:
    return " ".join(alarm.remedy for alarm in read_site().alarms)


def test_a_section_that_lost_its_rows_is_an_error_before_and_after_a_build(site: BuiltSet) -> None:
    build()
    Product.objects.all().delete()
    render_index_of_nothing()

    assert alarms() == [("error", "products", "The section has no URLs any more; 25 URLs are still published.")]
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


def test_rows_left_out_are_an_alarm_that_quotes_only_such_a_row(site: BuiltSet) -> None:
    build()
    warning = ["1", "location", "W-URL-FRAGMENT", "The fragment was left out."]
    part = ["2", "lastmod", "E-DATE", "No date."]
    SitemapPage.objects.filter(number=1).update(left_out=2, dropped=1, problems=[warning, part])
    assert alarms() == [("warning", "products", "2 rows are left out.")]

    SitemapPage.objects.filter(number=2).update(left_out=1, problems=[part, ["3", "location", "E-URL-DOTS", "Dots."]])

    assert alarms() == [("warning", "products", "3 rows are left out. The first: Row 3, location: Dots.")]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [("E-URL-DOTS", "Correct the rows, which"), ("ZeroDivisionError", "Correct the code of the class or the model")],
)
def test_the_remedy_names_the_code_where_that_raised(site: BuiltSet, code: str, remedy: str) -> None:
    build()
    SitemapPage.objects.filter(number=1).update(left_out=1, problems=[["1", "location", code, "No."]])

    (alarm,) = overview().sites[0].alarms

    assert alarm.text == "1 row is left out. Row 1, location: No."
    assert alarm.remedy.startswith(remedy)


def test_a_location_missing_in_one_language_is_not_quoted_as_a_row_left_out(site: BuiltSet) -> None:
    replace_section("products", type("Translated", (Products,), {"i18n": True}))
    build()
    one = ["1", "location", "E-URL-EMPTY", "Empty."]
    SitemapPage.objects.filter(number=1).update(left_out=1, dropped=1, problems=[one, one])
    assert alarms() == [("warning", "products", "1 row is left out.")]

    SitemapPage.objects.filter(number=1).update(left_out=2, dropped=0)

    assert alarms() == [("warning", "products", "2 rows are left out. The first: Row 1, location: Empty.")]


def test_a_build_that_died_is_an_error_until_the_next_one(site: BuiltSet) -> None:
    now = timezone.now()
    Build.objects.create(
        site=1, lease="site 1", holder="process 7", started_at=now, expires_at=now - timedelta(hours=1)
    )

    found = read_site()
    assert found.status.running is None
    assert [alarm.level for alarm in found.alarms] == ["error"]
    assert found.alarms[0].text.endswith(" died: process 7.")
    build()
    assert alarms() == []


def test_a_running_build_is_no_error(site: BuiltSet) -> None:
    now = timezone.now()
    running = Build.objects.create(
        site=1, lease="site 1", holder="x", started_at=now, expires_at=now + timedelta(hours=1), progress="a: 1 / 2"
    )

    assert read_site().status.running == running
    assert alarms() == []


def renewed(seconds_ago: float) -> Build:
    """Make a running build that renewed its lease so long ago."""
    now = timezone.now()
    expires_at = now + timedelta(seconds=LEASE - seconds_ago)
    return Build.objects.create(site=1, lease="site 1", holder="process 7", started_at=now, expires_at=expires_at)


def test_a_build_that_renews_its_lease_late_is_still_called_running(site: BuiltSet) -> None:
    renewed(2 * RENEW_EVERY)

    assert alarms() == []
    assert read_site().as_json()["silent_for"] is None


def test_a_build_without_a_sign_of_life_has_a_notice_that_says_when_the_next_one_takes_over(site: BuiltSet) -> None:
    silent = renewed(100)

    ((level, label, text),) = alarms()
    found = read_site().as_json()

    assert (level, label) == ("notice", "")
    assert re.match(r"No sign of life for 10[0-9] seconds of the build that began on .*: process 7\.", text)
    assert remedies().startswith("There is nothing to do: if it died, the next build takes over, from ")
    assert formats.localize(timezone.localtime(silent.expires_at + timedelta(minutes=1))) in remedies()
    assert (found["building"], found["healthy"]) == (True, True)
    assert 100 <= found["silent_for"] < 110


def test_silence_is_measured_by_the_clock_of_the_database(site: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed(0)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(hours=3))

    assert alarms() == []


def test_a_section_that_was_stale_for_days_has_an_alarm_about_cron(site: BuiltSet) -> None:
    build()
    nth(15).update(slug="new", updated_at=LATER)
    refresh(get_section("products", read_site().status.site), force=True)
    now = timezone.now()
    SitemapPage.objects.filter(number=2).update(built_at=now - timedelta(days=4), changed_at=now - timedelta(days=3))

    ((level, _, text),) = alarms()

    assert level == "warning"
    assert text.startswith("The section changed on ")
    assert "cron" in remedies()


def test_a_class_that_changed_today_does_not_say_that_its_rows_changed_long_ago(site: BuiltSet) -> None:
    build()
    SitemapPage.objects.update(changed_at=timezone.now() - timedelta(days=30))
    replace_section("products", type("Weekly", (Products,), {"changefreq": "weekly"}))

    assert (section().currency, alarms()) == ("stale", [])


def test_a_section_that_is_no_longer_registered_has_an_alarm(site: BuiltSet) -> None:
    build()
    register("other", registry["products"])
    registry.unregister("products")

    assert (
        "warning",
        "products",
        "products is no longer registered, but 25 of its URLs are still published.",
    ) in alarms()


def test_a_new_section_among_built_ones_has_an_alarm(site: BuiltSet) -> None:
    build()
    register("more", type("More", (Products,), {}))
    expected = ("never built", [("warning", "more", "This section was never built.")])

    assert (section("more").currency, alarms()) == expected
    refresh(get_section("more", read_site().status.site), force=True)
    assert (section("more").currency, alarms()) == expected


def test_a_site_without_a_host_is_an_error_and_a_project_without_sections_is_not(settings: Any, site: BuiltSet) -> None:
    unregister_all()
    settings.SITEMAPS_PLUS = {}
    Site.objects.create(domain="not a host", name="bad")

    found = overview()

    assert not found.is_healthy
    wrong, empty = found.alarms
    assert (wrong.level, "Site.domain" in wrong.text) == ("error", True)
    assert (empty.level, empty.text) == ("notice", "No Sitemap class is registered.")
    assert "sitemaps.py" in empty.remedy


@pytest.mark.parametrize("level", ["warning", "notice"])
def test_only_errors_make_it_unhealthy(level: Any) -> None:
    found = Overview(alarms=[Alarm(level, "", "a", "b")])
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


def test_files_of_which_the_database_knows_nothing_are_an_error(site: BuiltSet) -> None:
    build()
    SitemapPage.objects.all().delete()

    assert alarms() == [("error", "", "Files are published that the database knows nothing of.")]
    assert "Build again." in remedies()
    render_index_of_nothing()
    assert [text for _, _, text in alarms()] == ["Files are published that the database knows nothing of."]
    build()
    assert alarms() == []


def test_a_first_build_that_is_running_is_not_unknown_to_the_database(site: BuiltSet) -> None:
    build()
    SitemapPage.objects.all().delete()
    now = timezone.now()
    expires_at = now + timedelta(seconds=LEASE)
    Build.objects.create(site=1, lease="site 1", holder="process 7", started_at=now, expires_at=expires_at)

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
            (
                "The tables of sitemaps_plus are missing or out of date in the database 'default'.",
                "Run `manage.py migrate`.",
            )
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
