"""Several sites of wagtail, each with a tree of its own: the code of the guide, served and built."""

import io
import re
import runpy
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.core.management import call_command
from django.test import Client
from wagtail.models import Locale, Page, PageViewRestriction, Site

from clusters import complaints, undocumented
from sitemaps_plus import registry
from website.guide import settings as guide
from website.models import ArticlePage, EventIndex, ThankYouPage
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db

WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
HOSTS = {1: "a.example", 2: "b.example"}
PAGES = ["", "about/", "about/team/", "events/"]
"""The public pages of each site."""


@pytest.fixture(autouse=True)
def _trees() -> None:
    """Make the trees of two sites, each with a draft, a private page with a page below it, and a page of each type."""
    locale = Locale.objects.get_or_create(language_code="en")[0]
    root = Page.add_root(instance=Page(title="Root", slug="root", locale=locale))

    def add(parent: Page, slug: str, kind: type[Page] = ArticlePage, **fields: Any) -> Page:
        made = kind(title=slug, slug=slug, locale=locale, last_published_at=WHEN, **fields)
        return parent.add_child(instance=made)

    for pk, host in HOSTS.items():
        home = add(root, host[0])
        Site.objects.create(pk=pk, hostname=host, port=443, root_page=home, is_default_site=pk == 1)
        add(add(home, "about"), "team")
        add(home, "events", EventIndex)
        add(home, "thanks", ThankYouPage)
        add(home, "draft", live=False)
        private = add(home, "private")
        add(private, "below")
        PageViewRestriction.objects.create(page=private, restriction_type=PageViewRestriction.LOGIN)


@pytest.fixture
def use(settings: Any) -> Iterator[Any]:
    """Return a function that lets the project be the one of the guide, with one of its two classes."""
    settings.WAGTAIL_I18N_ENABLED = False
    settings.SITEMAPS_PLUS = {**guide.SITEMAPS_PLUS, "CHECK_EVERY": 0, "STRICT": True}
    settings.ROOT_URLCONF = "website.guide.urls"
    with registry.isolated():
        yield lambda name: runpy.run_path(str(Path(__file__).parent / "guide" / f"{name}.py"))


def fetch(host: str, path: str) -> bytes:
    response = Client().get(path, headers={"host": host}, secure=True)
    assert response.status_code == 200, response.getvalue()
    return response.getvalue()


def listed(host: str) -> set[str]:
    """Return the paths that the pages in the index of a site list; all of them are on its host."""
    found = [url for page in locs(fetch(host, "/sitemap.xml")) for url in locs(fetch(host, _path(page, host)))]
    return {_path(url, host).removeprefix("/") for url in found}


def built(host: str) -> set[str]:
    call_command("build_sitemaps", stdout=io.StringIO())
    # The views serve the files of a build.
    assert storages["sitemaps"].exists(f"{host}/sitemap.xml")
    return listed(host)


def _path(url: str, host: str) -> str:
    assert url.startswith(f"https://{host}/"), url
    return url.removeprefix(f"https://{host}")


@pytest.mark.parametrize("host", HOSTS.values())
def test_wagtails_class_in_the_dict_lists_the_pages_of_the_site_of_the_request(settings, host):
    settings.WAGTAIL_I18N_ENABLED = False
    settings.ROOT_URLCONF = "website.guide.urls_dict"

    document = fetch(host, "/sitemap.xml")

    assert sorted(locs(document)) == sorted(f"https://{host}/{path}" for path in [*PAGES, "events/past/"])
    assert set(lastmods(document)) == {"2026-01-02T03:04:00+00:00"}


@pytest.mark.parametrize("how", [listed, built])
@pytest.mark.parametrize("host", HOSTS.values())
def test_a_registered_class_lists_what_each_page_of_its_site_gives(use, host, how):
    use("sitemaps")

    assert how(host) == {*PAGES, "events/past/"}


@pytest.mark.parametrize("how", [listed, built])
@pytest.mark.parametrize("host", HOSTS.values())
def test_the_rows_of_a_large_tree_are_listed_by_site(use, host, how):
    use("large")

    assert how(host) == set(PAGES)


@pytest.mark.parametrize("name", ["sitemaps", "large"])
@pytest.mark.parametrize("how", [listed, built])
def test_a_page_that_is_made_private_leaves_the_sitemap_with_those_below(use, name, how):
    use(name)
    before = how("b.example")

    about = Page.objects.get(url_path="/b/about/")
    PageViewRestriction.objects.create(page=about, restriction_type=PageViewRestriction.LOGIN)

    assert before - how("b.example") == {"about/", "about/team/"}
    assert {"about/", "about/team/"} < how("a.example")


def test_a_host_that_is_no_site_gets_nothing(use):
    use("sitemaps")

    response = Client().get("/sitemap.xml", headers={"host": "c.example"}, secure=True)

    assert response.status_code == 404
    assert b"There is no site for 'c.example'" in response.getvalue()


@pytest.mark.parametrize("name", ["sitemaps", "large"])
def test_the_checks_find_nothing(use, name):
    use(name)

    assert complaints() == []


def test_the_ids_of_the_sites_can_be_printed():
    text = (Path(__file__).parents[3] / "docs/how-to/wagtail.md").read_text()
    code, shown = re.findall(r'shell -c "(.*?)"\n(.*)', text)[0]
    written = io.StringIO()

    exec(code, {"print": lambda *found: print(*found, file=written)})  # noqa: S102 - our own documentation

    assert written.getvalue().strip() == shown


def test_the_guide_shows_what_runs_here():
    assert undocumented("", "website", "wagtail.md") == []
