"""The status page in the admin, as somebody with a browser reads and uses it."""

import re
import shutil
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

pytest.importorskip("playwright", reason="is not in this environment; tox -e browser has it")

from playwright.sync_api import expect

from bookshop.models import Event
from sitemaps_plus.models import Build

STATUS = "/admin/sitemaps_plus/sitemappage/"
HISTORY = "/admin/sitemaps_plus/build/"
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


def marked(page):
    """Mark the document, so that one that was loaded anew is told from it."""
    page.evaluate("document.documentElement.dataset.old = 'yes'")


def is_marked(page):
    return page.evaluate("document.documentElement.dataset.old === 'yes'")


def test_log_in_build_and_watch_it_finish(shop, boss, opened):
    page = opened(path="/admin/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("letmein")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("main").get_by_role("link", name="Status", exact=True).click()
    expect(row_of(page, "books")).to_contain_text("made when asked for")
    (shop / "closed").touch()  # The build waits for the test to look.

    page.get_by_role("button", name="Build what changed").click()

    expect(page.get_by_text("A build of books.example was started.")).to_be_visible()
    expect(page.get_by_text("A build is running.")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_role("button", name="Build what changed")).to_have_count(0)
    (shop / "closed").unlink()
    expect(row_of(page, "books")).to_contain_text("1,862")
    expect(row_of(page, "books")).to_contain_text("done, just now")
    expect(page.get_by_text("None: everything is as it should be.")).to_be_visible()
    expect(page.get_by_role("button", name="Build what changed")).to_be_visible()
    files = {path.name for path in (shop / "sitemaps").rglob("*.xml*")}
    assert {"sitemap.xml.gz", "sitemap-books-4.xml.gz", "sitemap-events-1.xml.gz"} <= files
    page.get_by_role("link", name="All builds").click()
    expect(page.get_by_role("row").filter(has_text="ada (admin)")).to_contain_text("done")
