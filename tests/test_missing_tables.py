"""Before `migrate` has been run, all who need the tables say so, in the same words; the classic views need none."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sitemaps import GenericSitemap
from django.contrib.sites.models import Site
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import path

from admin_pages import HISTORY, STATUS, client_of
from factories import ProductFactory
from samples import Products
from sitemaps_plus import register, views
from sitemaps_plus.models import Build, CrawlerVisit, SitemapPage
from testapp.models import Product
from xml_checks import locs

# Outside a transaction, which a server would give up for the missing table.
pytestmark = pytest.mark.django_db(transaction=True)

MIGRATE = "The tables of sitemaps_plus are missing or out of date in the database 'default'. Run `manage.py migrate`."
CLASSIC = "django.contrib.sitemaps.views.sitemap"
PAGE = "/sitemap-products-1.xml"


@pytest.fixture(autouse=True)
def _products_registered(settings: Any) -> None:
    settings.ROOT_URLCONF = "testapp.urls_admin"
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("products", Products)
    ProductFactory.create(slug="a")


@contextmanager
def without(*kinds: type[Model]) -> Iterator[None]:
    """Take these tables out of the database for a while."""
    names = [(model, model._meta.db_table, f"moved_{model._meta.db_table}") for model in kinds]
    with connection.schema_editor() as editor:
        for model, name, moved in names:
            editor.alter_db_table(model, name, moved)
    try:
        yield
    finally:
        with connection.schema_editor() as editor:
            for model, name, moved in names:
                editor.alter_db_table(model, moved, name)


@pytest.fixture
def not_migrated(transactional_db: None) -> Iterator[None]:
    """Let the database have no table of this app."""
    with without(SitemapPage, Build, CrawlerVisit):
        yield


def assert_says_migrate(response: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert response.status_code == 503
    assert response.content.decode() == f"{MIGRATE}\n"
    assert response.headers["Cache-Control"] == "no-store"
    (record,) = (one for one in caplog.records if one.name == "sitemaps_plus")
    assert record.levelno == logging.ERROR
    assert record.getMessage() == f"A sitemap cannot be served: {MIGRATE}"
    assert not record.exc_info


@pytest.mark.usefixtures("not_migrated")
@pytest.mark.parametrize("given", [{"ORIGIN": "https://example.com"}, {}])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-products.xml", PAGE, f"{PAGE}.gz"])
def test_a_visitor_and_the_log_read_that_migrate_is_needed(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture, given: Any, strict: bool, address: str
) -> None:
    settings.SITEMAPS_PLUS = {**given, "STRICT": strict}
    if not given:
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]

    assert_says_migrate(client.get(address), caplog)


def test_a_column_that_an_update_brings_is_missed_as_a_table(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    rename = "ALTER TABLE sitemaps_plus_sitemappage RENAME COLUMN {} TO {}"
    with connection.cursor() as cursor:
        cursor.execute(rename.format("digest", "moved_digest"))
        try:
            assert_says_migrate(client.get(PAGE), caplog)
        finally:
            cursor.execute(rename.format("moved_digest", "digest"))


def test_the_last_version_is_served_and_the_log_says_migrate(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "CHECK_EVERY": 0}
    document = client.get(PAGE).content

    with without(SitemapPage):
        assert client.get(PAGE).content == document
    (record,) = (one for one in caplog.records if one.name == "sitemaps_plus")
    assert record.getMessage().endswith(f"its last version is served: {MIGRATE}")
    assert not record.exc_info


@pytest.mark.parametrize("given", [{"ORIGIN": "https://example.com"}, {}])
def test_an_error_in_the_code_of_the_project_stays_what_it_is(client: Client, settings: Any, given: Any) -> None:
    class Faulty(Products):
        def get_queryset(self) -> Any:
            raise ProgrammingError("no such function: shout")

    register("faulty", Faulty)
    settings.SITEMAPS_PLUS = given

    with pytest.raises(ProgrammingError, match="shout"):
        client.get("/sitemap-faulty-1.xml")


@pytest.mark.usefixtures("not_migrated")
@pytest.mark.parametrize("address", [STATUS, HISTORY])
def test_the_admin_says_that_migrate_is_needed(address: str) -> None:
    boss = client_of(User.objects.create_superuser("boss"))

    response = boss.get(address, follow=True)

    assert response.status_code == 200
    assert "Run `manage.py migrate`." in response.content.decode()


def test_the_status_page_says_so_of_the_table_of_visits() -> None:
    boss = client_of(User.objects.create_superuser("boss"))
    assert "migrate" not in boss.get(STATUS).content.decode()

    with without(CrawlerVisit):
        assert "Run `manage.py migrate`." in boss.get(STATUS, follow=True).content.decode()


@pytest.mark.usefixtures("not_migrated")
@pytest.mark.parametrize("option", [(), ("--check",), ("--dry-run",), ("--full", "products")])
def test_the_command_says_that_migrate_is_needed(option: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("build_sitemaps", *option)

    assert str(caught.value) == MIGRATE


@pytest.mark.usefixtures("not_migrated")
def test_status_and_health_say_that_migrate_is_needed(client: Client, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "HEALTH_TOKEN": "x" * 20}
    out = StringIO()

    with pytest.raises(CommandError):
        call_command("build_sitemaps", "--status", stdout=out)
    health = client.get("/sitemap-health.json", {"token": "x" * 20})

    assert "Run `manage.py migrate`." in out.getvalue()
    assert health.status_code == 503
    (alarm,) = json.loads(health.content)["alarms"]
    assert f"{alarm['text']} {alarm['remedy']}" == MIGRATE


@pytest.mark.usefixtures("not_migrated")
def test_the_classic_views_need_no_tables(rf: RequestFactory, settings: Any) -> None:
    settings.ROOT_URLCONF = type("URLconf", (), {"urlpatterns": [path("<section>.xml", views.sitemap, name=CLASSIC)]})
    Site.objects.clear_cache()
    sitemaps = {"products": GenericSitemap({"queryset": Product.objects.order_by("pk")})}
    request: HttpRequest = rf.get("/sitemap.xml", headers={"user-agent": "Googlebot/2.1"})

    with CaptureQueriesContext(connection) as queries:
        index = views.index(request, sitemaps=sitemaps).render()
        page = views.sitemap(request, sitemaps=sitemaps).render()

    assert locs(index.content) == ["http://example.com/products.xml"]
    assert locs(page.content) == ["http://example.com/products/a/"]
    assert not [query for query in queries if "sitemaps_plus" in query["sql"]]
