"""The status page in the admin, as a person with a browser uses it."""

import re
import shutil
from datetime import timedelta

import pytest
from django.utils import timezone

pytest.importorskip("playwright", reason="is not in this environment; tox -e browser has it")

from playwright.sync_api import expect

from bookshop.models import Author, Book, Event
from sitemaps_plus.build import build
from sitemaps_plus.models import Build, SitemapPage

# On a busy machine a build process takes seconds to begin.
expect.set_options(timeout=30_000)

STATUS = "/admin/sitemaps_plus/sitemappage/"
HISTORY = "/admin/sitemaps_plus/build/"
WIDE = {"width": 1280, "height": 800}
TELEPHONE = {"width": 390, "height": 844}
ADDRESSES = {
    "status": STATUS,
    "section": f"{STATUS}0/books/",
    "page": f"{STATUS}0/books/2/",
    "history": HISTORY,
}


def row_of(page, label):
    """Return the row of a section in the table of its site."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=label, exact=True))


def problems(page):
    return page.get_by_role("region", name="Problems").get_by_role("listitem")


def mark(page):
    """Mark the document, so that a reload can be noticed."""
    page.evaluate("document.documentElement.dataset.mark = 'here'")


def is_marked(page):
    return page.evaluate("document.documentElement.dataset.mark === 'here'")


def reach(page, control):
    """Press Tab until a control has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if control.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("the control cannot be reached with the keyboard")


def outline(element):
    """Return the style of the focus indicator."""
    return element.evaluate("element => getComputedStyle(element).outlineStyle")


def overflow(page):
    """Return how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def move_away(*numbers, host="https://tickets.example"):
    """Give events a URL that a sitemap of the shop cannot list."""
    for number in numbers:
        moved = {"path": f"{host}/readings/{number}/", "changed_at": timezone.now()}
        Event.objects.filter(name=f"Event {number}").update(**moved)


def running(**given):
    now = timezone.now()
    values = {"lease": "site 0", "holder": "process 7 on web2", "started_at": now, "progress": "books: 1 / 6"}
    return Build.objects.create(site=0, expires_at=now + timedelta(minutes=5), **{**values, **given})


def end(one):
    Build.objects.filter(pk=one.pk).update(lease=None, ended_at=timezone.now(), result="done")


def test_log_in_build_and_watch_it_finish(shop, boss, opened):
    page = opened(path="/admin/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("letmein")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("main").get_by_role("link", name="Status", exact=True).click()
    expect(row_of(page, "books")).to_contain_text("on request")
    (shop / "closed").touch()  # The build waits for the test to look.

    page.get_by_role("button", name="Build what changed").click()

    expect(page.get_by_text("A build of books.example was started.")).to_be_visible()
    expect(page.get_by_text("A build is running.")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_role("button", name="Build what changed")).to_have_count(0)
    (shop / "closed").unlink()
    expect(row_of(page, "books")).to_contain_text("1,862")
    expect(row_of(page, "books")).to_contain_text("just now")
    expect(page.get_by_text("No problems found.")).to_be_visible()
    expect(page.get_by_role("button", name="Build what changed")).to_be_visible()
    files = {path.name for path in (shop / "sitemaps").rglob("*.xml*")}
    assert {"sitemap.xml.gz", "sitemap-books-4.xml.gz", "sitemap-events-1.xml.gz"} <= files
    page.get_by_role("link", name="All builds").click()
    expect(page.get_by_role("row").filter(has_text="ada (admin)")).to_contain_text("done")


def test_a_build_from_elsewhere_is_shown_without_a_reload(built, boss, opened):
    elsewhere = running(started_by="cron")
    page = opened(boss)
    bar = page.get_by_role("progressbar")
    expect(page.get_by_text("Started by cron.")).to_be_visible()
    expect(bar).to_have_js_property("value", 1)
    mark(page)

    Build.objects.filter(pk=elsewhere.pk).update(progress="books: 4 / 6")

    expect(bar).to_have_js_property("value", 4)
    expect(page.get_by_text("books: 4 / 6")).to_be_visible()
    assert is_marked(page)
    end(elsewhere)
    expect(page.get_by_role("button", name="Build what changed")).to_be_visible()
    assert not is_marked(page)


def test_three_problems_are_seen_at_a_glance(built, boss, opened):
    move_away(1)
    Author.objects.update(is_listed=False)
    build()
    shutil.rmtree(built / "sitemaps")
    (built / "sitemaps").write_text("A file where a folder should be.")

    page = opened(boss)

    storage = problems(page).filter(has_text="The storage of the built files cannot be read")
    lost = problems(page).filter(has=page.get_by_role("link", name="books.example: authors"))
    row = problems(page).filter(has=page.get_by_role("link", name="books.example: events"))
    for problem in (storage, lost, row):
        expect(problem).to_be_in_viewport(ratio=1)
    expect(storage).to_contain_text("Check STORAGES")
    expect(lost).to_contain_text("--allow-shrink")
    expect(row).to_contain_text("tickets.example")
    expect(row).to_contain_text("Correct the rows")
    expect(problems(page)).to_have_count(3)
    # A row that is left out links to the form that corrects it.
    page.get_by_role("region", name="Rows left out").get_by_role("rowheader").get_by_role("link").click()
    expect(page.get_by_label("Path:")).to_have_value("https://tickets.example/readings/1/")


def test_a_build_that_cannot_write_shows_its_error(shop, boss, opened):
    (shop / "sitemaps").write_text("A file where a folder should be.")
    page = opened(boss)

    page.get_by_role("button", name="Build what changed").click()

    expect(problems(page).first).to_contain_text(re.compile("Not a directory|File exists"))
    expect(problems(page).first).to_be_in_viewport(ratio=1)


def test_a_section_links_to_its_pages_and_back(built, boss, opened):
    page = opened(boss)

    row_of(page, "books").get_by_role("link", name="books", exact=True).click()
    table = page.get_by_role("region", name="Pages")
    expect(table.get_by_role("row")).to_have_count(1 + 4)
    expect(table.get_by_role("row").nth(4)).to_contain_text("362")
    table.get_by_role("link", name="4", exact=True).click()

    expect(page.get_by_role("heading", name="Page 4 of books")).to_be_visible()
    expect(page.get_by_role("link", name="https://books.example/sitemap-books-4.xml")).to_be_visible()
    expect(page.get_by_text(str(built / "sitemaps" / "books.example" / "sitemap-books-4.xml.gz"))).to_be_visible()
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Sitemap status").click()
    expect(row_of(page, "books")).to_be_visible()


def test_a_url_is_found_and_links_to_its_page_and_its_entry(built, boss, opened):
    path = Book.objects.order_by("pk")[700].path
    page = opened(boss)

    page.get_by_role("searchbox", name="Find a URL").fill(f"https://books.example{path}")
    page.keyboard.press("Enter")
    found = page.get_by_role("region", name=f"https://books.example{path}")
    expect(found).to_contain_text("listed")
    expect(found).to_contain_text("just now")
    found.get_by_role("link", name="page 2").click()

    expect(page.get_by_role("heading", name="Page 2 of books")).to_be_visible()
    for _ in range(4):
        page.get_by_role("link", name="Next entries").click()
    expect(page.get_by_role("link", name=f"https://books.example{path}", exact=True)).to_be_visible()
    page.get_by_role("link", name="Back to the first").click()
    expect(page.get_by_role("link", name=f"https://books.example{path}", exact=True)).to_have_count(0)


def test_one_section_is_built_from_its_page(shop, boss, opened):
    page = opened(boss, ADDRESSES["section"])

    page.get_by_role("button", name="Build this section").click()

    expect(page.get_by_role("link", name="4", exact=True)).to_be_visible()
    assert not list((shop / "sitemaps").rglob("sitemap-authors-*"))


def test_a_build_is_started_with_only_the_keyboard(built, boss, opened):
    page = opened(boss)
    # The keyboard also scrolls a table that is wider than the window.
    table = page.get_by_role("region", name="Sections of books.example")
    reach(page, table)
    assert outline(table) != "none"
    page.reload()
    button = page.get_by_role("button", name="Build what changed")
    assert outline(button) == "none"

    reach(page, button)

    assert outline(button) != "none"
    page.keyboard.press("Enter")
    expect(page.get_by_text("A build of books.example was started.")).to_be_visible()
    expect(page.get_by_role("button", name="Build what changed")).to_be_visible()


@pytest.mark.parametrize("locale", ["en", "ar", "he"])
def test_a_narrow_window_is_scrolled_in_one_direction_only(built, boss, opened, locale):
    move_away(1, 2, 3, host="https://a-very-long-name-of-a-host-that-nothing-breaks.example")
    build()
    page = opened(boss, viewport={"width": 360, "height": 740}, locale=locale)

    for address in (*ADDRESSES.values(), f"{STATUS}0/events/", f"{STATUS}0/events/1/"):
        page.goto(address)
        # Django's own lists may be wider.
        if address != HISTORY:
            assert overflow(page) == 0, address
        assert page.evaluate("document.dir || document.documentElement.dir") == ("ltr" if locale == "en" else "rtl")


def test_a_row_is_a_card_on_a_narrow_screen_and_nothing_is_cut_off(built, boss, opened):
    move_away(1)
    build()
    page = opened(boss, viewport=TELEPHONE)

    for address in (STATUS, ADDRESSES["section"], f"{STATUS}0/events/", ADDRESSES["page"]):
        page.goto(address)
        for table in page.locator(".sitemaps-wide").all():
            assert table.evaluate("element => element.scrollWidth - element.clientWidth") <= 0, address
        for cell in page.locator(".sitemaps-wide td").all()[:30]:
            assert cell.evaluate("element => element.scrollWidth - element.clientWidth") <= 0, cell.inner_html()
    page.goto(STATUS)
    card = row_of(page, "events")
    labels = card.get_by_role("cell").evaluate_all(
        "cells => cells.map(cell => getComputedStyle(cell, '::before').content)"
    )
    assert labels[:3] == ['"Problems"', '"Left out"', '"State"']
    # Below each other on a card, and beside each other on a wide screen.
    assert lines_of(card.get_by_role("cell")) > 3
    assert lines_of(row_of(opened(boss), "events").get_by_role("cell")) == 1


def lines_of(cells):
    """Return how many lines some elements stand on."""
    return len({round(cell.bounding_box()["y"]) for cell in cells.all()})


def test_the_list_of_builds_shows_the_results_on_a_narrow_screen(built, boss, opened):
    page = opened(boss, HISTORY, viewport=TELEPHONE)

    for name in ("Started at", "Result"):
        expect(page.get_by_role("columnheader", name=name)).to_be_in_viewport(ratio=1)


def test_a_date_is_never_broken_and_languages_stay_on_one_line(built, boss, opened):
    page = opened(boss, ADDRESSES["page"], viewport={**WIDE, "width": 800})
    # A shop has no languages: those of one row, and a URL that leaves them no room.
    languages = page.locator(".sitemaps-languages").first
    languages.evaluate(
        "element => { element.innerHTML = '<bdi>en</bdi> <bdi>de</bdi> <bdi>x-default</bdi>'.repeat(3) }"
    )
    page.locator(".sitemaps-wide td a").first.evaluate("element => { element.textContent = '/a/b/'.repeat(40) }")

    assert lines_of(languages.locator("bdi")) == 1
    dates = page.locator(".sitemaps-wide time, .sitemaps-facts time")
    assert dates.count() == 52
    assert {date.evaluate("element => element.getClientRects().length") for date in dates.all()[:5]} == {1}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_are_no_accessibility_problems(built, boss, opened, axe, scheme):
    move_away(1, 2, 3)
    Author.objects.update(is_listed=False)
    build()
    page = opened(boss, color_scheme=scheme)

    more = {"left out": f"{STATUS}0/events/", "entries": f"{STATUS}0/events/1/", "finding": f"{STATUS}?find=/books/1/"}
    for name, address in {**ADDRESSES, **more}.items():
        page.goto(address)
        page.evaluate(axe)
        found = page.evaluate("axe.run()")
        assert len(found["passes"]) > 20
        assert [(name, one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []
    running()
    page.goto(STATUS)
    page.evaluate(axe)
    assert page.evaluate("axe.run()")["violations"] == []


def test_dark_is_dark(built, boss, opened):
    def brightness(page, selector):
        colour = page.locator(selector).first.evaluate("element => getComputedStyle(element).color")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    assert brightness(opened(boss, color_scheme="light"), ".sitemaps-wide td") < 90
    assert brightness(opened(boss, color_scheme="dark"), ".sitemaps-wide td") > 165


def test_it_works_without_javascript(shop, boss, opened):
    page = opened(boss, java_script_enabled=False)
    (shop / "closed").touch()  # The build waits for the test to look.

    page.get_by_role("button", name="Build what changed").click()

    expect(page.get_by_text("A build of books.example was started.")).to_be_visible()
    expect(page.get_by_text(re.compile("A build is (running|starting)."))).to_be_visible()
    (shop / "closed").unlink()
    # The page reloads itself every five seconds.
    expect(row_of(page, "books")).to_contain_text("1,862")
    expect(page.get_by_role("button", name="Build what changed")).to_be_visible(timeout=20_000)


def test_a_user_who_may_only_view_has_no_buttons(built, reader, opened):
    page = opened(reader)
    buttons = page.get_by_role("button", name=re.compile("^Build"))

    expect(row_of(page, "books")).to_be_visible()
    expect(buttons).to_have_count(0)
    expect(page.get_by_role("link", name="All builds")).to_have_count(0)
    page.goto(ADDRESSES["section"])
    expect(page.get_by_role("region", name="Pages")).to_be_visible()
    expect(buttons).to_have_count(0)


PICTURES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {**TELEPHONE, "height": 1640}},
}


@pytest.mark.django_db(transaction=True, reset_sequences=True)
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_for_the_documentation(built, boss, opened, screenshots, name):
    """Take the pictures of the documentation; CONTRIBUTING.md says how."""
    Author.objects.update(is_listed=False)
    move_away(17)
    build()
    SitemapPage.objects.exclude(label="books").update(changed_at=timezone.now() - timedelta(hours=2))
    _a_month_of_builds()

    page = opened(boss, **PICTURES[name])
    picture = screenshots / f"status-{name}.png"
    is_wide = name != "narrow"
    if is_wide:
        page.get_by_role("button", name="Toggle navigation").click()
    page.screenshot(path=picture, full_page=is_wide)

    assert 0 < picture.stat().st_size < 150_000


def _a_month_of_builds():
    """Add thirty nightly builds, during which the shop grew, before the existing one."""
    last = Build.objects.latest("pk")
    Build.objects.all().delete()
    for ago in range(30, -1, -1):
        began = last.started_at - timedelta(days=ago, hours=2)
        share = 1 - ago / 150 + (ago % 3) / 200 if ago else 1
        counts = {"urls": int(last.urls * share), "bytes": int(last.bytes * share)}
        given = {"started_at": began, "ended_at": began + timedelta(seconds=3 + ago % 5), "expires_at": began}
        sections, result = ([], "done") if ago else (last.sections, last.result)
        Build.objects.create(
            holder="process 412 on web1", started_by="cron", result=result, sections=sections, **counts, **given
        )
