"""The status page in the admin: its texts, its permissions, its views and its costs."""

import re
import time
from datetime import timedelta

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import InMemoryStorage
from django.urls import reverse
from django.utils import timezone, translation

from admin_pages import HISTORY, SECTION, STATUS, Broken, client_of, page, running, tags, user, words
from samples import Products, replace_section, unregister_all
from sitemaps_plus import ModelSitemap, register, registry
from sitemaps_plus.admin import numbers
from sitemaps_plus.build import build
from sitemaps_plus.models import Build, CrawlerVisit, SitemapPage
from sitemaps_plus.plan.pages import numbered
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import get_sites
from testapp.models import Product

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def test_the_index_of_the_admin_leads_to_the_status_page(boss):
    text = page(boss, "/admin/")

    assert re.search(rf'<a href="{STATUS}"[^>]*>Status</a>', text)
    assert ">Sitemaps<" in re.sub(r"\s*\n\s*", "", text)


def test_anonymous_users_are_sent_to_the_login(client):
    for address in (STATUS, SECTION, f"{SECTION}1/", f"{STATUS}progress/"):
        assert client.get(address).status_code == 302
    assert client.post(f"{STATUS}build/").status_code == 302


def test_without_permission_nothing_is_shown_or_started(started):
    build()
    client = client_of(user())

    for address in (STATUS, SECTION, f"{SECTION}1/", f"{STATUS}progress/", HISTORY):
        assert client.get(address).status_code == 403
    for name in ("build", "warm"):
        assert client.post(f"{STATUS}{name}/", {"site": 1}).status_code == 403
    assert started == []


def test_a_user_who_may_only_view_gets_no_buttons(started):
    build()
    client = client_of(user("view_sitemappage"))

    for address in (STATUS, SECTION):
        forms = [given.get("action") for tag, given in tags(client, address) if tag == "form"]
        assert not {action for action in forms if action} & {f"{STATUS}build/", f"{STATUS}warm/"}
    for name in ("build", "warm"):
        assert client.post(f"{STATUS}{name}/", {"site": 1}).status_code == 403
    assert started == []


def test_a_running_build_shows_its_progress(boss, started):
    known = running(started_by="cron")

    text = page(boss)

    assert "A build is running." in text
    assert "Started by cron" in text
    assert re.search(r'<progress[^>]*max="8" value="2"', text)
    assert "http-equiv" in text
    assert "Build what changed" not in text
    progress = boss.get(f"{STATUS}progress/").json()
    assert progress["builds"] == [{"site": 1, "build": known.pk, "text": "products: 2 / 8", "done": 2, "known": 8}]
    assert f'data-state="{progress["state"]}"' in text
    assert "A build is running." in page(boss, SECTION)


def test_a_build_without_a_sign_of_life_is_not_called_running(boss, started):
    running(expires_at=timezone.now() + timedelta(seconds=150))

    text = page(boss)

    assert "A build is running." not in text
    assert re.search(r"<strong>No sign of life for 15\d seconds of the build that began on .*: process 7 on far", text)
    assert "There is nothing to do: if it died, the next build takes over, from " in text
    assert re.search(r"no sign of life for 15\d seconds", page(boss, HISTORY))
    boss.post(f"{STATUS}build/", {"site": 1})
    assert started == []
    assert "No build of example.com can start yet. No sign of life for 15" in page(boss)


def test_the_state_for_the_script_changes_when_a_build_begins_falls_silent_or_ends(boss):
    states = [boss.get(f"{STATUS}progress/").json()["state"]]
    known = running()
    states.append(boss.get(f"{STATUS}progress/").json()["state"])
    Build.objects.filter(pk=known.pk).update(expires_at=timezone.now() + timedelta(seconds=100))
    states.append(boss.get(f"{STATUS}progress/").json()["state"])
    Build.objects.filter(pk=known.pk).update(lease=None, ended_at=timezone.now(), result="done")
    states.append(boss.get(f"{STATUS}progress/").json()["state"])

    assert len(set(states)) == 4


def test_three_problems_are_shown_with_their_remedies(boss, monkeypatch):
    register("rows", Broken)
    register("gone", Products)
    build()
    monkeypatch.setattr(Products, "queryset", Product.objects.none())
    monkeypatch.setattr(Broken, "queryset", Product.objects.order_by("pk"))
    build(["gone"])

    def fail(*args):
        raise OSError("the disk is gone")

    monkeypatch.setattr(InMemoryStorage, "_open", fail)
    monkeypatch.setattr(InMemoryStorage, "exists", fail)

    text = words(page(boss))

    before_tables = text.partition("Sections of")[0]
    assert "cannot be read: OSError: the disk is gone" in before_tables
    assert "Check STORAGES" in before_tables
    assert "example.com: rows" in before_tables
    assert "1 row is left out." in before_tables
    assert "elsewhere.example" in before_tables
    assert "Correct the rows" in before_tables
    assert "example.com: gone" in before_tables
    assert "allow-shrink" in before_tables


def test_the_page_says_that_there_are_no_problems(boss):
    build()

    assert "No problems found." in page(boss)


def test_the_page_of_a_section_lists_its_pages(boss):
    build()

    text = words(page(boss, SECTION))

    assert "URLs 25 Left out 0" in text
    assert "URLs (at most 10)" in text
    assert "Speed fast" in text


def test_a_slow_section_names_the_method_and_says_what_is_faster(boss):
    replace_section("products", Broken)

    assert "slow: location()" in words(page(boss))
    assert "slow: location() The method is called with an object for each row." in words(page(boss, SECTION))


def test_the_columns_that_ask_for_action_come_first(boss):
    build()

    heads = re.findall(r'<th scope="col">([^<]*)</th>', page(boss).partition("Sections of")[2])

    assert heads[:4] == ["Section", "Problems", "Left out", "State"]


def test_a_row_left_out_leads_to_the_rows_of_its_section(boss):
    register("rows", Broken)
    build()

    assert f'<a href="{STATUS}1/rows/#left-out">1</a>' in page(boss)
    assert 'id="left-out"' in page(boss, f"{STATUS}1/rows/")


def test_a_site_that_was_never_built_says_how_it_is_served_and_how_to_build(boss):
    text = words(page(boss))

    assert "1 section is not counted yet" in text
    assert "No build yet: pages are rendered on request" in text
    assert "run build_sitemaps" in text
    assert "Last build:" not in text
    assert "0 URLs" not in text
    build()
    text = words(page(boss))
    assert "No build yet" not in text
    assert "25 URLs in 1 section. Last build: done , just now ." in text


def test_the_pages_of_a_site_without_builds_are_rendered_on_request(boss):
    refresh(get_section("products", _site(1)), force=True)

    text = words(page(boss, SECTION))

    assert "never built" not in text
    assert text.count("on request") == 1 + 3


def test_addresses_are_shown_with_characters_and_linked_as_they_are_encoded(boss, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://xn--bcher-kva.example"}
    Product.objects.filter(slug="product-1").update(slug="größe")
    build()

    assert "xn--" not in words(page(boss)).replace("Products", "")
    text = page(boss, f"{SECTION}1/")
    assert (
        '<a href="https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe/" dir="ltr">https://bücher.example/größe/</a>' in text
    )
    assert ">https://bücher.example/sitemap-products-1.xml</a>" in text
    assert "<li>bücher.example</li>" in text


def test_many_pages_are_shown_in_parts(boss, monkeypatch):
    build()
    monkeypatch.setattr("sitemaps_plus.admin.status_page.PAGES_SHOWN", 2)

    assert f"{SECTION}3/" not in page(boss, SECTION)
    assert f"{SECTION}3/" in page(boss, f"{SECTION}?p=2")
    assert f"{SECTION}3/" in page(boss, f"{SECTION}?p=99")


def test_a_page_shows_its_urls_and_its_file(boss):
    build()

    text = page(boss, f"{SECTION}2/")

    assert 'href="/sitemap-products-2.xml"' in text
    assert 'href="https://example.com/sitemap-products-2.xml"' in text
    assert "example.com/sitemap-products-2.xml.gz" in text


def test_what_does_not_exist_is_not_found(boss):
    for address in (f"{STATUS}9/products/", f"{STATUS}1/others/", f"{STATUS}9/products/1/", f"{SECTION}77/"):
        assert boss.get(address).status_code == 404
    assert boss.get(f"{STATUS}add/").status_code == 404


def test_a_section_that_was_never_built_is_shown(boss):
    assert "This section has no pages yet" in page(boss, SECTION)
    assert "No numbers yet." not in page(boss)


def test_a_class_that_raises_is_shown_with_its_error(boss):
    class Wrong(ModelSitemap):
        queryset = Product.objects.all()

        def items(self):
            raise ZeroDivisionError("by nothing")

    register("wrong", Wrong)

    assert "ZeroDivisionError: by nothing" in page(boss)
    assert "ZeroDivisionError: by nothing" in page(boss, f"{STATUS}1/wrong/")
    assert boss.get(f"{STATUS}1/wrong/1/").status_code == 404


def test_a_class_that_cannot_be_instantiated_is_shown_with_its_error(boss):
    class Unmade(Products):
        def __init__(self):
            raise ZeroDivisionError("never")

    register("unmade", Unmade)

    assert "ZeroDivisionError: never" in page(boss)
    assert "This section has no pages yet" in page(boss, f"{STATUS}1/unmade/")
    assert boss.get(f"{STATUS}1/unmade/1/").status_code == 404


def test_a_page_whose_rows_changed_is_stale(boss):
    build()
    Product.objects.filter(slug="product-15").update(updated_at=timezone.now())
    refresh(get_section("products", _site(1)), force=True)

    assert "1 stale" in page(boss)
    text = words(page(boss, SECTION)).partition("Built")[2]
    assert (text.count("stale"), text.count("current")) == (1, 2)


def test_the_page_opens_without_an_origin_or_a_class(boss, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "nonsense"}
    unregister_all()

    text = words(page(boss))

    assert "Correct the site or the setting ORIGIN." in text
    assert "No Sitemap class is registered." in text
    assert "No problems found." not in text


def test_a_project_without_registered_classes_has_no_problem(boss):
    unregister_all()

    shown = page(boss)

    assert "No problems found." in shown
    assert [given["class"] for tag, given in tags(boss) if tag == "li" and "class" in given] == ["sitemaps-notice"]
    assert "No Sitemap class is registered. Register one in the sitemaps.py" in words(shown)
    assert "Build what changed" not in shown


def test_texts_of_the_project_are_escaped(boss):
    register("rows", Broken)
    build()
    SitemapPage.objects.filter(label="rows").update(
        left_out=1, problems=[["<i>1</i>", "location", "E-X", "<script>alert(1)</script>"]]
    )

    for address in (STATUS, f"{STATUS}1/rows/", f"{STATUS}1/rows/1/"):
        text = page(boss, address)
        assert "&lt;script&gt;alert(1)" in text
        assert "<i>1" not in text


def test_the_page_follows_the_direction_and_number_format_of_the_language(boss):
    build()

    response = boss.get(STATUS, headers={"Accept-Language": "ar"})

    assert 'dir="rtl"' in response.content.decode()
    with translation.override("de"):
        assert numbers.number(1234567) == "1.234.567"


def test_a_large_installation_opens_in_few_queries(boss, settings, django_assert_max_num_queries, capsys):
    labels = [f"section{letter}" for letter in "abcdefghijkl"]
    for label in labels:
        register(label, Products)
    registry.unregister("products")
    settings.SITEMAPS_PLUS = {}
    Site.objects.bulk_create(Site(id=number, domain=f"shop{number}.example", name="") for number in (2, 3))
    _many_pages(labels)
    _many_builds(labels)
    boss.get(STATUS)

    with django_assert_max_num_queries(14) as queries:
        began = time.perf_counter()
        text = page(boss)
        took = time.perf_counter() - began
    with capsys.disabled():
        print(f"\n12 sections, 3 sites, 500 pages, 200 builds: {len(queries)} queries, {took * 1000:.0f} ms")

    assert text.count("<tr") > 36
    with django_assert_max_num_queries(14):
        page(boss, reverse("admin:sitemaps_plus_sitemappage_section", args=[1, labels[0]]))


def _many_pages(labels):
    now = timezone.now()
    places = [(site, label) for site in (1, 2, 3) for label in labels]
    known = {}
    for site, label in places:
        section = get_section(label, _site(site))
        assert not numbered(section).exists()
        known[site, label] = (section.layout, section.recipe, section.base)
    SitemapPage.objects.bulk_create(
        SitemapPage(
            site=site,
            label=label,
            number=number,
            rank=number,
            start=None if number == 1 else [number * 10],
            start_digest=f"{site}{label}{number}",
            layout=known[site, label][0],
            recipe=known[site, label][1],
            origin=known[site, label][2],
            rows=10,
            urls=10,
            bytes=1_000 + number,
            digest="d",
            built_digest="d",
            built_at=now,
            changed_at=now,
            checked_at=now,
            left_out=1,
            problems=[["17", "location", "E-HOST", "another host"]],
        )
        for place, (site, label) in enumerate(places)
        for number in range(1, 15 if place < 32 else 14)
    )
    assert SitemapPage.objects.count() == 500


def _many_builds(labels):
    now = timezone.now()
    counts = {"pages": 14, "rendered": 3, "skipped": 11, "written": 1, "urls": 140, "bytes": 14_000, "left_out": 1}
    Build.objects.bulk_create(
        Build(
            site=1 + number % 3,
            holder="process 1 on here",
            started_at=now - timedelta(minutes=201 - number),
            ended_at=now - timedelta(minutes=200 - number),
            expires_at=now,
            result="done",
            sections=[{"label": label, "site": "shop.example", **counts, "error": None} for label in labels],
            **{**counts, "urls": 1680 + number},
        )
        for number in range(200)
    )


def _site(number):
    return next(site for site in get_sites() if site.id == number)


# Visits


def test_the_last_visits_of_crawlers_are_shown(boss):
    build()
    CrawlerVisit.objects.create(
        site=1, label="products", crawler="Googlebot", day=timezone.now().date(), count_200=3, last_at=timezone.now()
    )

    text = words(page(boss))

    assert "Googlebot: just now" in text
    assert "Visits to the index: none counted" in text
    assert "never visited" not in text


def test_there_is_no_column_of_visits_without_counting(boss, settings):
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "CRAWLER_VISITS": False}
    build()

    assert "Last visits" not in page(boss)
