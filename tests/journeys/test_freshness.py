"""However a row changes, and whatever class lists it: the next answer and the next build show it."""

import gzip
import json
import re
import time
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import Client
from django.utils.http import http_date

from built import BuiltSet, listed_rows
from clock import Clock
from samples import SITE, paths, replace_section
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan import verification
from sitemaps_plus.plan.currency import CurrencyCheck
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.plan.validators import fingerprint_of
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.render import pages
from sitemaps_plus.serve import cached
from sitemaps_plus.serve.cached import serve
from sitemaps_plus.serve.live import Wanted
from sitemaps_plus.watch.alarms import overview
from story_kinds import CHANGES, KINDS, make_stories, story_paths
from testapp.models import Story
from xml_checks import lastmods, locs

pytestmark = [pytest.mark.django_db, pytest.mark.verifies]

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "dates.md"
PAGE = "/sitemap-stories-1.xml"

every_kind = pytest.mark.parametrize("kind", KINDS, indirect=True)
every_change = pytest.mark.parametrize("change", CHANGES)


@pytest.fixture(autouse=True)
def _small_pages_are_cheap(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # However busy the machine is that runs the tests.
    monkeypatch.setattr(verification, "CHEAP", 10.0)
    monkeypatch.setattr(verification, "SPARE", 10.0)
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "CHECK_EVERY": 0, "MAX_SHRINK": 1}


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> Any:
    register("stories", KINDS[request.param])
    make_stories()
    return KINDS[request.param]


def shown(found: list[str]) -> list[str]:
    """Return paths without languages, each once."""
    return sorted({re.sub(r"^/(en|de)(?=/.*/.)", "", path) for path in found})


def live() -> list[str]:
    return shown(paths(locs(Client(headers={"host": "example.com"}).get(PAGE).content)))


def in_files(built: BuiltSet) -> list[str]:
    return shown(listed_rows(built.folder))


@every_kind
@every_change
def test_a_change_shows_in_the_next_answer(kind: Any, change: str) -> None:
    before = live()
    for step in CHANGES[change]:
        step()

        assert live() == story_paths() != before


@every_kind
@every_change
def test_a_change_shows_in_the_next_build(kind: Any, change: str, settings: Any, tmp_path: Path) -> None:
    built = BuiltSet(settings, tmp_path)
    built.use(**settings.SITEMAPS_PLUS)
    build()
    before = in_files(built)
    for step in CHANGES[change]:
        step()
        build()

        assert in_files(built) == story_paths() != before


@every_kind
@pytest.mark.parametrize("change", ["save()", "update()", "a related row"])
def test_without_a_setting_a_small_site_shows_a_change_after_a_minute(
    kind: Any, change: str, settings: Any, clock: Clock
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    live()
    for step in CHANGES[change]:
        clock.pass_(seconds=1)
        step()
        clock.pass_(seconds=61)

        assert live() == story_paths()


@every_kind
def test_the_index_shows_when_a_page_changed_that_nobody_requested_since(
    kind: Any, clock: Clock, settings: Any
) -> None:
    client = Client(headers={"host": "example.com"})
    client.get(PAGE)
    clock.pass_(days=3)
    Story.objects.update(published_at=clock.now)
    client.get(PAGE)
    clock.pass_(minutes=5)
    client.get("/sitemap.xml")

    Story.objects.filter(slug="story-2").update(slug="updated")
    clock.pass_(minutes=5)
    index = client.get("/sitemap.xml").content

    assert lastmods(index) == [clock.now.replace(microsecond=0).isoformat()]
    assert client.get(PAGE)["Last-Modified"] == client.get("/sitemap.xml")["Last-Modified"]


# What comparing leaves as it is.


@every_kind
def test_a_page_that_is_compared_and_did_not_change_keeps_its_headers(
    kind: Any, clock: Clock, rendered: list[int]
) -> None:
    client = Client(headers={"host": "example.com"})
    before, index = client.get(PAGE), client.get("/sitemap.xml")
    rendered.clear()
    clock.pass_(minutes=5)

    now = client.get(PAGE)

    assert rendered == [1]
    assert (now.headers, now.content) == (before.headers, before.content)
    assert client.get("/sitemap.xml").content == index.content
    assert client.get(PAGE, headers={"if-none-match": before["ETag"]}).status_code == 304


@every_kind
def test_a_page_that_is_compared_and_did_not_change_keeps_its_file(
    kind: Any, settings: Any, tmp_path: Path, clock: Clock, rendered: list[int]
) -> None:
    built = BuiltSet(settings, tmp_path)
    built.use(**settings.SITEMAPS_PLUS)
    build()
    rendered.clear()
    clock.pass_(minutes=5)

    with built.touched() as touched:
        (section,) = build().sections

    assert rendered == [1]
    assert (section.written, touched) == (0, set())


@pytest.mark.parametrize("dates", [{}, {"lastmod": F("updated_at")}], ids=["undecided", "decided"])
@pytest.mark.parametrize("form", ["xml", "txt"])
def test_an_outage_of_what_a_method_asks_takes_no_page_away(
    dates: dict[str, Any], form: str, settings: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}

    def location(_self: Any, item: Story) -> str:
        if is_down:
            raise TimeoutError("the service does not answer")
        return item.get_absolute_url()

    is_down = False
    register("stories", type("Fragile", (KINDS["`ModelSitemap` without `lastmod`"],), {**dates, "location": location}))
    make_stories()
    client = Client(headers={"host": "example.com"})
    page = f"/sitemap-stories-1.{form}"
    before, index = client.get(page), client.get("/sitemap.xml")
    record = SitemapPage.objects.values("digest", "urls", "changed_at").get()

    is_down = True
    clock.pass_(hours=2)
    during = client.get(page)

    assert (during.status_code, during.content) == (200, before.content)
    assert client.get("/sitemap.xml").content == index.content
    assert SitemapPage.objects.values("digest", "urls", "changed_at").get() == record
    assert "would have 0 URLs in place of 3" in caplog.text
    assert (
        f"The first: row {Story.objects.earliest('pk').pk}, location: TimeoutError: the service does not answer"
        in caplog.text
    )
    is_down = False
    clock.pass_(minutes=5)
    assert client.get(page).content == before.content


@every_kind
def test_a_list_of_urls_that_changed_has_a_date_of_its_own(kind: Any, clock: Clock) -> None:
    client = Client(headers={"host": "example.com"})
    client.get(PAGE)
    client.get("/sitemap-stories-1.txt")
    clock.pass_(minutes=5)
    before = client.get("/sitemap-stories-1.txt")
    CHANGES["update()"][0]()
    clock.pass_(minutes=5)
    changed_at = clock.now

    now = client.get("/sitemap-stories-1.txt")
    clock.pass_(minutes=5)

    assert before.headers.get("Last-Modified") != now["Last-Modified"] == http_date(changed_at.timestamp())
    assert client.get("/sitemap-stories-1.txt").headers == now.headers


# Whatever the clock, the host and other processes do.


@every_kind
def test_a_small_page_is_compared_at_each_check_although_it_was_rendered_a_little_after_the_last_one(
    kind: Any, settings: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    render = pages._render

    def slowly(*args: Any) -> Any:
        clock.pass_(seconds=0.2)
        document = render(*args)
        clock.pass_(seconds=0.2)
        return document

    monkeypatch.setattr(pages, "_render", slowly)
    live()
    CHANGES["update()"][0]()
    clock.pass_(seconds=59.9)

    assert live() == story_paths()


@pytest.mark.parametrize("name", ["`ModelSitemap` without `lastmod`", "`lastmod = F(...)` of a `DateTimeField`"])
def test_a_page_whose_rows_had_no_url_comes_back(name: str, clock: Clock) -> None:
    def location(_self: Any, item: Story) -> str | None:
        return item.get_absolute_url() if item.slug.startswith("listed") else None

    register("stories", type("Some", (KINDS[name],), {"location": location}))
    register("others", KINDS[name])
    make_stories()
    client = Client(headers={"host": "example.com"})
    assert client.get(PAGE).status_code == 404
    client.get("/sitemap.xml")

    Story.objects.filter(slug="story-1").update(slug="listed")
    clock.pass_(minutes=5)

    assert "/sitemap-stories-1.xml" in paths(locs(client.get("/sitemap.xml").content))
    assert live() == ["/astrid/listed/"]


def test_a_page_without_urls_is_not_rendered_for_each_request(settings: Any, clock: Clock, rendered: list[int]) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    kind = KINDS["`lastmod = F(...)` of a `DateTimeField`"]
    register("stories", type("NoUrl", (kind,), {"location": lambda _self, _item: None}))
    make_stories()
    client = Client(headers={"host": "example.com"})

    for _ in range(10):
        clock.pass_(seconds=1)
        assert client.get(PAGE).status_code == 404

    assert len(rendered) == 1


@every_kind
def test_each_scheme_of_a_host_is_compared(kind: Any, clock: Clock) -> None:
    secure = SiteOrigin(id=1, origin=Origin.parse("https://example.com"))
    insecure = SiteOrigin(id=1, origin=Origin.parse("http://example.com"))
    for site in (secure, insecure):
        serve(Wanted(site=site, label="stories", number=1))
    CHANGES["update()"][0]()

    for _ in range(3):
        clock.pass_(minutes=5)
        found = [serve(Wanted(site=site, label="stories", number=1)) for site in (secure, insecure)]

    for one in found:
        document = gzip.decompress(one.gzipped).replace(b"<loc>http://", b"<loc>https://")
        assert shown(paths(locs(document))) == story_paths()


@every_kind
def test_all_of_it_works_without_time_zones(kind: Any, settings: Any, tmp_path: Path) -> None:
    settings.USE_TZ = False
    built = BuiltSet(settings, tmp_path)
    built.use(**settings.SITEMAPS_PLUS)
    Story.objects.update(published_at=datetime.now())
    for step in (lambda: None, CHANGES["update()"][0], CHANGES["delete()"][0]):
        step()
        build()
        assert in_files(built) == story_paths()
        assert live() == story_paths()
        assert overview().is_healthy


def test_a_page_that_fails_does_not_use_up_the_time_of_the_others(settings: Any, clock: Clock) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}

    def location(_self: Any, item: Story) -> str:
        if item.slug == "story-1" and is_down:
            time.sleep(0.15)
            raise TimeoutError("the service does not answer")
        return item.get_absolute_url()

    is_down = False
    kind = KINDS["`ModelSitemap` without `lastmod`"]
    register("stories", type("Fragile", (kind,), {"location": location, "limit": 1, "fill": 1.0}))
    make_stories()
    client = Client(headers={"host": "example.com"})
    for number in (1, 2, 3):
        client.get(f"/sitemap-stories-{number}.xml")
    is_down = True
    Story.objects.filter(slug="story-3").update(slug="updated")

    for _ in range(3):
        clock.pass_(minutes=5)
        cached._next_comparing.clear()
        index = client.get("/sitemap.xml").content

    assert [date is None for date in lastmods(index)] == [True, True, False]


@pytest.mark.parametrize("value", ["3600", -1, float("nan"), float("inf"), True, timedelta(hours=1)])
def test_a_max_age_that_is_no_number_of_seconds_is_refused(value: Any) -> None:
    with pytest.raises(InvalidSitemap, match=r"max_age is .*Give a number of seconds"):
        register("stories", type("Wrong", (KINDS["`ModelSitemap` without `lastmod`"],), {"max_age": value}))


def test_a_class_with_a_max_age_is_served_from_its_file_until_then(
    settings: Any, tmp_path: Path, clock: Clock, rendered: list[int]
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    BuiltSet(settings, tmp_path)
    register("stories", type("Slow", (KINDS["`ModelSitemap` without `lastmod`"],), {"max_age": 7200}))
    make_stories()
    build()
    rendered.clear()
    clock.pass_(hours=1)
    live()
    assert build().sections[0].rendered == 0
    assert rendered == []

    clock.pass_(hours=1, seconds=1)
    live()
    assert re.search(r"1 page undecided: comparing takes \S+ s, at most every 7200 s \(max_age\)", _output("--status"))

    assert rendered == [1]


# A change without a date, where a date should tell.


def test_a_build_tells_of_a_change_without_a_date(settings: Any, tmp_path: Path) -> None:
    built, out = _built_by_column(settings, tmp_path), StringIO()
    Story.objects.filter(slug__in=["story-1", "story-3"]).update(slug=Concat("slug", Value("-b")))

    call_command("build_sitemaps", stdout=out)

    assert in_files(built) == story_paths()
    assert "3 URLs on 1 page, 0 rendered, 1 verified" in out.getvalue()
    assert "2 URLs changed without updated_at: page 1. The sitemap is up to date." in out.getvalue()
    (alarm,) = overview().sites[0].alarms
    assert (alarm.level, alarm.text) == ("notice", "2 URLs changed without updated_at: page 1.")
    assert json.loads(_output("--status", "--json"))["sites"][0]["sections"][0]["unseen"] == {"1": 2}


def test_a_view_tells_of_a_change_without_a_date(settings: Any, clock: Clock) -> None:
    register("stories", KINDS["`lastmod = F(...)` of a `DateTimeField`"])
    make_stories()
    live()
    Story.objects.filter(slug="story-1").update(slug="updated")
    clock.pass_(minutes=5)
    live()

    (alarm,) = overview().sites[0].alarms

    assert alarm.text == "1 URL changed without updated_at: page 1."


def test_a_change_with_a_date_is_nothing_to_tell_of(settings: Any, tmp_path: Path, clock: Clock) -> None:
    _built_by_column(settings, tmp_path)
    live()
    clock.pass_(minutes=5)
    for story in Story.objects.all():
        story.slug += "-b"
        story.save()

    assert build().sections[0].unseen == {}
    live()
    assert overview().sites[0].alarms == []


def test_a_row_that_changes_while_its_page_is_verified_is_nothing_to_tell_of(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _built_by_column(settings, tmp_path)
    render = pages._render

    def save_first(*args: Any) -> Any:
        CHANGES["save()"][0]()
        return render(*args)

    monkeypatch.setattr(pages, "_render", save_first)

    assert build().sections[0].unseen == {}


def test_what_was_found_is_told_for_a_week(settings: Any, tmp_path: Path, clock: Clock) -> None:
    _built_by_column(settings, tmp_path)
    Story.objects.filter(slug="story-1").update(slug="updated")
    build()
    clock.pass_(days=6)
    assert len(overview().sites[0].alarms) == 1

    clock.pass_(days=2)

    assert overview().sites[0].alarms == []


def _built_by_column(settings: Any, tmp_path: Path) -> BuiltSet:
    built = BuiltSet(settings, tmp_path)
    built.use(**settings.SITEMAPS_PLUS)
    register("stories", KINDS["`lastmod = F(...)` of a `DateTimeField`"])
    make_stories()
    build()
    return built


# Undecided pages are called so.


@every_kind
def test_what_only_rendering_tells_is_called_so_by_all(kind: Any, settings: Any, tmp_path: Path) -> None:
    BuiltSet(settings, tmp_path).use(**settings.SITEMAPS_PLUS)
    build()
    is_decided = _table()[_cell(kind)][0] == "decided"

    found = json.loads(_output("--check", "--json"))
    ((section,),) = ([*site.status.sections] for site in overview().sites)

    assert (found["stale"], found["undecided"]) == (False, 0 if is_decided else 1)
    assert section.currency == ("current" if is_decided else "undecided")
    assert _output("--check").endswith(
        "0 pages or indexes are stale\n"
        + ("" if is_decided else "1 page undecided: only a build, which renders them, tells whether they changed\n")
    )
    assert ("1 page undecided: comparing takes 0." in _output("--status")) is not is_decided


def test_what_takes_long_to_compare_gets_a_notice_unless_the_class_says_how_often(settings: Any) -> None:
    register("stories", KINDS["Django's `Sitemap` without `lastmod`"])
    make_stories()
    live()
    assert overview().sites[0].alarms == []

    SitemapPage.objects.update(seconds=4.25)
    (alarm,) = overview().sites[0].alarms

    assert (alarm.level, alarm.text) == (
        "notice",
        "Only rendering tells whether 1 page changed, which takes 4.2 s each time.",
    )
    assert alarm.remedy.startswith("Set `changed` to a DateTimeField")
    replace_section("stories", type("Rare", (KINDS["Django's `Sitemap` without `lastmod`"],), {"max_age": 3600}))
    assert overview().sites[0].alarms == []


def test_a_date_decides_when_two_days_are_over(settings: Any, clock: Clock) -> None:
    register("stories", KINDS["`lastmod` of a `DateField`"])
    make_stories()
    Story.objects.update(updated_on=date(2026, 3, 14))
    clock.now = datetime(2026, 3, 15, 23, 59, tzinfo=UTC)
    live()
    assert not _is_decided()
    clock.now = datetime(2026, 3, 16, 0, 1, tzinfo=UTC)
    # Not by time alone: a second change of that day may have come since the last rendering.
    assert not _is_decided()
    live()
    assert _is_decided()

    Story.objects.filter(slug="story-1").update(updated_on=date(2026, 3, 15))
    clock.pass_(seconds=1)
    live()

    assert not _is_decided()


@pytest.mark.parametrize("field", ["created_at", "updated_at"])
def test_a_date_of_creation_decides_only_where_the_class_says_so(field: str, settings: Any) -> None:
    class Creation(KINDS["`ModelSitemap` without `lastmod`"]):  # type: ignore[misc]
        lastmod = F(field)

    register("stories", Creation)
    make_stories()
    live()
    assert _is_decided() is (field == "updated_at")

    replace_section("stories", type("Unchanging", (Creation,), {"changed": F(field)}))
    live()

    assert _is_decided()


def _is_decided() -> bool:
    section = get_section("stories", SITE)
    record = SitemapPage.objects.get()
    return CurrencyCheck(section, fingerprint_of(section)).is_decided(record)


def _output(*args: str) -> str:
    out = StringIO()
    call_command("build_sitemaps", *args, stdout=out)
    return out.getvalue()


# The documentation.


def test_the_documentation_has_a_line_for_each_kind() -> None:
    assert list(_table()) == list(KINDS)


def _cell(kind: Any) -> str:
    return next(cell for cell, one in KINDS.items() if one is kind)


def _table() -> dict[str, list[str]]:
    """Return the other cells of each line of the table of kinds."""
    section = DOCS.read_text().partition("## Which pages are decided")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {first: rest for first, *rest in cells}
