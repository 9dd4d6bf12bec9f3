"""The status page in the admin: what it says, who may see it, what its buttons do, and that it costs little."""

import re
import time
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.contrib.sites.models import Site
from django.core.files.storage import InMemoryStorage
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.http import urlencode

from factories import ProductFactory
from samples import Products, replace_section, unregister_all
from sitemaps_plus import Image, ModelSitemap, register, registry
from sitemaps_plus.admin import panels
from sitemaps_plus.admin.links import AdminUrls
from sitemaps_plus.build import build, start
from sitemaps_plus.errors import BuildNotStarted
from sitemaps_plus.models import Build, CrawlerVisit, SitemapPage
from sitemaps_plus.plan.pages import numbered
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import get_sites
from testapp.models import Product

pytestmark = pytest.mark.django_db

STATUS = "/admin/sitemaps_plus/sitemappage/"
HISTORY = "/admin/sitemaps_plus/build/"
SECTION = f"{STATUS}1/products/"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class WellFormed(HTMLParser):
    """Fails where an element is not closed, or something is styled or scripted in place."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert len(given) == len(attributes), f"<{tag}> has an attribute twice"
        assert not any(name == "style" or name.startswith("on") for name in given), f"<{tag}> has {given}"
        assert tag != "style"
        assert tag != "script" or given.get("src", "").startswith("/")
        assert not given.get("href", "").startswith("javascript:")
        self.tags.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


class Broken(Products):
    """Its first row has an address that no page can list."""

    def location(self, item):
        return "https://elsewhere.example/" if item.slug == "product-1" else f"/{item.slug}/"


@pytest.fixture(autouse=True)
def _project(settings):
    settings.ROOT_URLCONF = "testapp.urls_admin"
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("products", Products)
    for number in range(1, 26):
        ProductFactory(slug=f"product-{number}", name=f"Product {number}")


@pytest.fixture
def started(monkeypatch):
    """What was started, without a process."""
    calls = []
    monkeypatch.setattr(start, "start", lambda labels, **given: calls.append((labels, given)))
    return calls


def user(*permissions):
    made = User.objects.create_user(f"user{User.objects.count()}", is_staff=True)
    made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return made


def client_of(someone, **given):
    client = Client(**given)
    client.force_login(someone)
    return client


@pytest.fixture
def boss():
    return client_of(User.objects.create_superuser("boss"))


def page(client, address=STATUS):
    """Return the text of a page, which is well-formed and works under a strict policy."""
    response = client.get(address)
    assert response.status_code == 200
    text = response.content.decode()
    parser = WellFormed()
    parser.feed(text)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    return text


def tags(client, address=STATUS):
    """Return the elements of a page, each with its attributes."""
    parser = WellFormed()
    parser.feed(page(client, address))
    return parser.tags


def words(html):
    """Return what is read of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def running(**given):
    now = timezone.now()
    values = {"lease": "site 1", "holder": "process 7 on far", "started_at": now, "progress": "products: 2 / 8"}
    return Build.objects.create(site=1, expires_at=now + timedelta(minutes=5), **{**values, **given})


def test_the_index_of_the_admin_leads_to_the_status_page(boss):
    text = page(boss, "/admin/")

    assert re.search(rf'<a href="{STATUS}"[^>]*>Status</a>', text)
    assert ">Sitemaps<" in re.sub(r"\s*\n\s*", "", text)


def test_who_is_not_logged_in_is_asked_to(client):
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


def test_who_may_only_see_gets_no_buttons(started):
    build()
    client = client_of(user("view_sitemappage"))

    for address in (STATUS, SECTION):
        forms = [given.get("action") for tag, given in tags(client, address) if tag == "form"]
        assert not {action for action in forms if action} & {f"{STATUS}build/", f"{STATUS}warm/"}
    for name in ("build", "warm"):
        assert client.post(f"{STATUS}{name}/", {"site": 1}).status_code == 403
    assert started == []


def test_who_may_build_gets_buttons_that_start_builds(started):
    client = client_of(user("view_sitemappage", "build_sitemappage"))
    assert "Build what changed" in page(client)

    response = client.post(f"{STATUS}build/", {"site": 1})

    assert response.headers["Location"] == STATUS
    ((labels, given),) = started
    assert (labels, given["site"].domain, given["started_by"]) == ([], "example.com", "user0 (admin)")
    assert not given["full"]
    assert "A build of example.com was started." in page(client)
    (entry,) = LogEntry.objects.all()
    assert (entry.user.username, entry.object_repr) == ("user0", "example.com")
    assert "was started" in entry.change_message


def test_one_section_is_built_from_its_page(boss, started):
    assert "Build this section" in page(boss, SECTION)

    response = boss.post(f"{STATUS}build/", {"site": 1, "label": "products", "full": "1", "from": "section"})

    assert response.headers["Location"] == SECTION
    ((labels, given),) = started
    assert (labels, given["full"]) == (["products"], True)
    assert "A build of every page of products of example.com was started." in page(boss, SECTION)


def test_the_cache_is_filled_where_processes_share_it(boss, started, monkeypatch):
    boss.post(f"{STATUS}warm/", {"site": 1})
    assert started == []
    assert "Set CACHE to one that all processes share" in page(boss)

    monkeypatch.setattr("sitemaps_plus.admin.status_page.is_for_one_process", lambda: False)
    boss.post(f"{STATUS}warm/", {"site": 1})

    ((labels, given),) = started
    assert (labels, given["warm_cache"]) == ([], True)


@pytest.mark.parametrize("given", [{"site": 7}, {"site": ""}, {}, {"site": 1, "label": "others"}])
def test_what_does_not_exist_is_not_built(boss, started, given):
    assert boss.post(f"{STATUS}build/", given).status_code == 404
    assert started == []


@pytest.mark.parametrize("name", ["build", "warm"])
def test_a_link_alone_starts_nothing(boss, started, name):
    assert boss.get(f"{STATUS}{name}/").status_code == 405
    forged = client_of(User.objects.get(), enforce_csrf_checks=True)
    assert forged.post(f"{STATUS}{name}/", {"site": 1}).status_code == 403
    assert started == []


def test_each_form_has_the_token_that_is_asked_for(started):
    client = client_of(User.objects.create_superuser("boss"), enforce_csrf_checks=True)
    for address in (STATUS, SECTION):
        forms = re.findall(r'<form method="post".*?</form>', page(client, address).partition("<main")[2], re.DOTALL)
        assert forms
        assert all("csrfmiddlewaretoken" in form for form in forms)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', forms[0])[1]

    client.post(f"{STATUS}build/", {"site": 1, "csrfmiddlewaretoken": token})

    assert len(started) == 1


def test_a_build_that_cannot_start_says_why(boss, monkeypatch):
    def refuse(*args, **given):
        raise BuildNotStarted("The system is out of processes.")

    monkeypatch.setattr(start, "start", refuse)

    boss.post(f"{STATUS}build/", {"site": 1})

    assert "The system is out of processes." in page(boss)
    assert not LogEntry.objects.exists()


def test_a_build_that_was_started_is_waited_for_and_missed(boss, started, clock):
    boss.post(f"{STATUS}build/", {"site": 1})
    text = page(boss)
    assert "A build is starting." in text
    assert "Build what changed" not in text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in text

    clock.pass_(minutes=2)

    assert "The build that you started has not begun." in page(boss)
    assert "has not begun" not in page(boss)


def test_a_build_that_was_started_and_has_ended_is_not_waited_for(boss, started):
    boss.post(f"{STATUS}build/", {"site": 1})
    # Somebody else's, that was faster.
    running(lease=None, ended_at=timezone.now(), result="done", started_by="ada (admin)")
    assert "is starting" in page(boss)
    running(lease=None, ended_at=timezone.now(), result="done", started_by="boss (admin)")

    text = page(boss)

    assert "is starting" not in text
    assert "Build what changed" in text


def test_a_running_build_shows_how_far_it_is(boss, started):
    known = running(started_by="cron")

    text = page(boss)

    assert "A build is running." in text
    assert "Started by cron" in text
    assert re.search(r'<progress[^>]*max="8" value="2"', text)
    assert "http-equiv" in text
    assert "Build what changed" not in text
    said = boss.get(f"{STATUS}progress/").json()
    assert said["builds"] == [{"site": 1, "build": known.pk, "text": "products: 2 / 8", "done": 2, "known": 8}]
    assert f'data-state="{said["state"]}"' in text
    assert "A build is running." in page(boss, SECTION)


def test_what_a_script_asks_for_differs_when_a_build_begins_or_ends(boss):
    states = [boss.get(f"{STATUS}progress/").json()["state"]]
    known = running()
    states.append(boss.get(f"{STATUS}progress/").json()["state"])
    Build.objects.filter(pk=known.pk).update(lease=None, ended_at=timezone.now(), result="done")
    states.append(boss.get(f"{STATUS}progress/").json()["state"])

    assert len(set(states)) == 3


def test_no_second_build_is_started_beside_one_that_runs(boss, started):
    running()

    boss.post(f"{STATUS}build/", {"site": 1})

    assert started == []
    assert "Another build of example.com is running: process 7 on far." in page(boss)


def test_three_things_that_are_broken_are_named_with_what_to_do(boss, monkeypatch):
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

    said = words(page(boss))

    before_tables = said.partition("Sections of")[0]
    assert "cannot be read: OSError: the disk is gone" in before_tables
    assert "Check STORAGES" in before_tables
    assert "example.com: rows" in before_tables
    assert "1 row is left out." in before_tables
    assert "elsewhere.example" in before_tables
    assert "Correct the rows" in before_tables
    assert "example.com: gone" in before_tables
    assert "allow-shrink" in before_tables


def test_without_a_problem_the_page_says_so(boss):
    build()

    assert "No problems found." in page(boss)


def test_a_row_left_out_leads_to_its_object_where_the_admin_has_it(monkeypatch):
    register("rows", Broken)
    build()
    row = Product.objects.get(slug="product-1")
    link = f'<a href="/desk/testapp/product/{row.pk}/change/">{row.pk}</a>'
    somebody = User.objects.create_superuser("boss")

    assert link in page(client_of(somebody), "/desk/sitemaps_plus/sitemappage/")
    assert link in page(client_of(somebody), "/desk/sitemaps_plus/sitemappage/1/rows/")
    assert link in page(client_of(somebody), "/desk/sitemaps_plus/sitemappage/1/rows/1/")
    # Neither where its model is not registered, nor for who may not see it.
    assert "testapp/product" not in page(client_of(somebody))
    text = page(client_of(user("view_sitemappage")), "/desk/sitemaps_plus/sitemappage/")
    assert "testapp/product" not in text
    assert f">{row.pk}" in re.sub(r"\s", "", text)


def test_a_row_with_a_key_of_its_own_leads_to_a_list_of_it(monkeypatch):
    class BySlug(Broken):
        key = "slug"

    register("rows", BySlug)
    build()

    text = page(client_of(User.objects.create_superuser("boss")), "/desk/sitemaps_plus/sitemappage/")

    assert '<a href="/desk/testapp/product/?slug=product-1">product-1</a>' in text


def test_another_admin_site_works_and_links_to_itself():
    build()
    client = client_of(User.objects.create_superuser("boss"))

    for address in ("/desk/", *(f"/desk/sitemaps_plus/sitemappage/{rest}" for rest in ("", "1/products/"))):
        text = page(client, address)
        assert '"/admin/' not in text
    assert 'href="/desk/sitemaps_plus/sitemappage/1/products/1/"' in text


def test_who_may_not_see_the_history_gets_no_links_to_it():
    build()
    (known,) = Build.objects.all()
    one = f"{HISTORY}{known.pk}/change/"

    assert HISTORY not in page(client_of(user("view_sitemappage")))
    text = page(client_of(user("view_sitemappage", "view_build")))
    assert one in text
    assert f'<a href="{HISTORY}">All builds</a>' in text


def test_an_admin_site_without_the_history_has_no_links_to_it(rf):
    request = rf.get("/")
    request.user = User.objects.create_superuser("boss")
    urls = AdminUrls(admin.AdminSite(name="desk"), request)

    assert urls.make_url("history", 1) == ""
    assert urls.make_url("history") == ""


def test_the_page_of_a_section_lists_its_pages(boss):
    build()

    said = words(page(boss, SECTION))

    assert "URLs: 25, pages: 3" in said
    assert "10 of 10" in said
    assert "5 of 10" in said
    assert "Rows are read as columns." in said


def test_many_pages_are_shown_some_at_a_time(boss, monkeypatch):
    build()
    monkeypatch.setattr("sitemaps_plus.admin.status_page.PAGES_SHOWN", 2)

    assert f"{SECTION}3/" not in page(boss, SECTION)
    assert f"{SECTION}3/" in page(boss, f"{SECTION}?p=2")
    assert f"{SECTION}3/" in page(boss, f"{SECTION}?p=99")


def test_the_page_of_a_page_says_where_it_is(boss):
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
    assert "No numbers yet." in page(boss)


def test_a_class_that_raises_is_shown_with_its_error(boss):
    class Wrong(ModelSitemap):
        queryset = Product.objects.all()

        def items(self):
            raise ZeroDivisionError("by nothing")

    register("wrong", Wrong)

    assert "ZeroDivisionError: by nothing" in page(boss)
    assert "ZeroDivisionError: by nothing" in page(boss, f"{STATUS}1/wrong/")
    assert boss.get(f"{STATUS}1/wrong/1/").status_code == 404


def test_a_class_that_cannot_be_made_is_shown_with_its_error(boss):
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

    assert "1 page is stale" in page(boss)
    said = words(page(boss, SECTION)).partition("Built")[2]
    assert (said.count("stale"), said.count("current")) == (1, 2)


def test_without_the_urls_of_the_sitemaps_nothing_is_offered_to_be_looked_at(boss, settings):
    build()
    settings.ROOT_URLCONF = "testapp.urls_admin_alone"

    assert "Live sitemap" not in page(boss, SECTION)
    assert "Live URL" not in page(boss, f"{SECTION}1/")


def test_without_an_origin_or_a_class_the_page_opens(boss, settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "nonsense"}
    unregister_all()

    said = words(page(boss))

    assert "Correct the site or the setting ORIGIN." in said
    assert "No sitemap is registered." in said


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


def test_it_reads_from_right_to_left_and_in_other_languages(boss):
    build()

    response = boss.get(STATUS, headers={"Accept-Language": "ar"})

    assert 'dir="rtl"' in response.content.decode()
    with translation.override("de"):
        assert panels.number(1234567) == "1.234.567"


def test_the_history_is_read_and_not_changed(boss):
    register("rows", Broken)
    build(started_by="ada (admin)")
    (known,) = Build.objects.all()

    assert "ada (admin)" in page(boss, HISTORY)
    said = words(page(boss, f"{HISTORY}{known.pk}/change/"))
    assert "URLs: 25, pages: 3, rendered: 3, rows left out: 0" in said
    assert "example.com" in said
    assert 'name="_save"' not in page(boss, f"{HISTORY}{known.pk}/change/")
    assert boss.post(f"{HISTORY}{known.pk}/change/", {"holder": "me"}).status_code == 403
    assert boss.post(f"{HISTORY}{known.pk}/delete/", {"post": "yes"}).status_code == 403
    assert boss.get(f"{HISTORY}add/").status_code == 403
    assert f"{HISTORY}{known.pk}/change/" in page(boss)


def test_a_failed_build_is_explained_in_the_history(boss):
    known = running(lease=None, result="failed", ended_at=timezone.now(), errors=["index: <b>no room</b>"])
    known.sections = [{"label": "products", "site": "example.com", "error": "SitemapError: held"}]
    known.labels = ["products"]
    known.save()

    text = page(boss, f"{HISTORY}{known.pk}/change/")

    assert "index: &lt;b&gt;no room&lt;/b&gt;" in text
    assert "SitemapError: held" in text


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


# Find a URL


def find(client, url):
    return words(page(client, f"{STATUS}?{urlencode({'find': url})}").partition("<main")[2])


@pytest.mark.parametrize("url", ["https://example.com/product-15/", "/product-15/"])
def test_a_url_is_found_with_its_page_and_row(boss, url):
    # Keys are no amounts: "5,001" would be another one.
    last = Product.objects.order_by("pk").last().pk
    Product.objects.filter(slug="product-15").update(id=last + 5000)
    build()
    row = Product.objects.get(slug="product-15")

    text = find(boss, url)

    assert "https://example.com/product-15/" in text
    assert re.search(r"products ?, page 3 ?: listed\.", text)
    assert "Page built: just now" in text
    assert str(row.pk) in text


def test_a_url_that_is_left_out_says_why(boss):
    replace_section("products", Broken)
    build()

    text = find(boss, "/product-1/")

    assert "listed." not in text
    assert "products" in text


def test_a_url_of_nothing_says_what_was_looked_at(boss):
    build()

    text = find(boss, "/product-999/")

    assert "Searched sections" in text
    assert "example.com products" in text


@pytest.mark.parametrize("url", ["https://other.example/", "x" * 5000, "\x00<script>", "http://[", "  "])
def test_what_is_no_url_here_is_told_and_nothing_breaks(boss, url):
    text = page(boss, f"{STATUS}?{urlencode({'find': url})}")

    assert "<script>" not in text


# Entries


def test_a_page_shows_its_entries_by_fifty_with_their_rows(boss, settings):
    replace_section("products", type("Large", (Products,), {"limit": 100, "images": [Image(loc="/a.jpg")]}))
    for number in range(26, 66):
        ProductFactory(slug=f"product-{number}", name=f"Product {number}")
    build()

    first = page(boss, f"{SECTION}1/")
    assert "https://example.com/product-50/" in first
    assert "https://example.com/product-51/" not in first
    assert first.count('<img class="sitemaps-thumbnail" src="https://example.com/a.jpg"') == 50
    (more,) = re.findall(r'href="(\?after=[^"]+)"', first)
    second = page(boss, f"{SECTION}1/{more}")
    assert "https://example.com/product-51/" in second
    assert "https://example.com/product-65/" in second
    assert "after=" not in second
    assert "Back to the first" in second


def test_a_page_shows_its_own_entries_and_no_others(boss):
    build()

    shown = re.findall(r'<a href="https://example.com/product-(\d+)/"', page(boss, f"{SECTION}2/"))

    assert shown == [str(number) for number in range(11, 21)]


def test_a_row_that_is_left_out_stands_among_the_entries_with_its_reason(boss):
    replace_section("products", Broken)
    build()

    text = words(page(boss, f"{SECTION}1/"))

    assert "left out location: " in text
    assert "https://example.com/product-2/" in text


def test_a_place_that_is_none_is_told(boss):
    build()

    assert "errornote" in page(boss, f"{SECTION}1/?after=nonsense")


def test_code_that_raises_while_entries_are_read_is_told(boss):
    build()

    def fail(self, item):
        raise SystemError("no")

    replace_section("products", type("Worse", (Products,), {"location": fail}))

    assert "SystemError: no" in page(boss, f"{SECTION}1/")


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


def test_without_counting_there_is_no_column(boss, settings):
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "CRAWLER_VISITS": False}
    build()

    assert "Last visits" not in page(boss)


# Outside a transaction, which a server would give up for the missing table.
@pytest.mark.django_db(transaction=True)
def test_the_page_says_which_tables_are_missing(boss, monkeypatch):
    monkeypatch.setattr(SitemapPage._meta, "db_table", "not_migrated")

    assert "Tables are missing in the database: not_migrated. Run migrate." in words(page(boss)).replace(" .", ".")


@pytest.mark.parametrize("site_id", [None, 1])
def test_of_another_site_the_address_is_whole(boss, settings, site_id):
    settings.SITEMAPS_PLUS, settings.SITE_ID = {}, site_id
    Site.objects.filter(pk=1).update(domain="testserver")
    Site.objects.create(pk=2, domain="b.example")
    Site.objects.clear_cache()
    build()

    assert 'href="/sitemap-products-1.xml"' in page(boss, f"{SECTION}1/")
    assert 'href="https://b.example/sitemap-products-1.xml"' in page(boss, f"{STATUS}2/products/1/").partition("<dl")[2]
    assert 'href="/sitemap-products-1.xml"' not in page(boss, f"{STATUS}2/products/1/")


def test_a_url_that_nobody_lists_is_told_in_a_sentence(boss):
    build()

    assert "No sitemap lists this URL" in find(boss, "/nothing/like/it/")
