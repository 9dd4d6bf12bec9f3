"""Tests as Django's documentation shows them; each must pass after any other."""

import gzip
import os
from datetime import UTC, datetime
from unittest import mock, skipUnless
from urllib.parse import urlsplit
from urllib.request import urlopen
from xml.etree import ElementTree

from django.apps import apps
from django.conf import settings
from django.core.files.storage import storages
from django.core.management import call_command
from django.db import connection
from django.test import LiveServerTestCase, RequestFactory, TestCase, TransactionTestCase, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from bakery.models import Bread, Shop
from bakery.sitemaps import Breads
from sitemaps_plus import register, registry
from sitemaps_plus.errors import StrictError
from sitemaps_plus.views import page

BREADS, SHOPS = "/sitemap-breads-1.xml", "/sitemap-shops-1.xml"


def listed(response):
    """Return the addresses in a sitemap or an index."""
    return [loc.text for loc in ElementTree.fromstring(response.content).iterfind("*/{*}loc")]  # noqa: S314 - our own


class SitemapTests(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.rye = Bread.objects.create(slug="rye")
        Bread.objects.create(slug="spelt", is_sold=False)

    def test_breads_are_listed_as_long_as_they_are_sold(self):
        response = self.client.get("/sitemap-breads-1.xml")
        self.assertContains(response, "/breads/rye/</loc>", count=1)
        self.assertNotContains(response, "spelt")

        Bread.objects.update(is_sold=True)

        self.assertContains(self.client.get("/sitemap-breads-1.xml"), "/breads/spelt/")

    def test_the_index_lists_both_sections(self):
        Shop.objects.create(slug="market")

        response = self.client.get("/sitemap.xml")

        self.assertEqual(response.status_code, 200)
        self.assertEqual(response.headers["Content-Type"], "application/xml; charset=utf-8")
        self.assertContains(response, BREADS)
        self.assertContains(response, SHOPS)

    def test_the_page_has_a_name(self):
        response = self.client.get(reverse("sitemaps_plus:page", args=["breads", 1, "xml"]))

        self.assertIn(self.rye.updated_at.date().isoformat(), response.content.decode())

    def test_compressed_documents(self):
        response = self.client.get("/sitemap-breads-1.xml.gz")
        self.assertIn(b"/breads/rye/</loc>", gzip.decompress(response.content))

    def test_the_text_form(self):
        response = self.client.get("/sitemap-breads-1.txt")

        self.assertEqual(len(response.content.splitlines()), 1)

    def test_nothing_changes_for_a_crawler_that_asks_again(self):
        tag = self.client.get(BREADS).headers["ETag"]

        self.assertEqual(self.client.get(BREADS, headers={"if-none-match": tag}).status_code, 304)
        self.rye.delete()
        Bread.objects.create(slug="barley")
        self.assertEqual(self.client.get(BREADS, headers={"if-none-match": tag}).status_code, 200)

    def test_the_view_alone(self):
        request = RequestFactory().get(BREADS)

        response = page(request, "breads", "1")

        self.assertContains(response, "/breads/rye/")

    async def test_an_asynchronous_client(self):
        response = await self.async_client.get(BREADS)

        self.assertContains(response, "/breads/rye/")
        await Bread.objects.acreate(slug="oat")
        self.assertContains(await self.async_client.get(BREADS), "/breads/oat/")

    @override_settings(SITEMAPS_PLUS={"ORIGIN": "https://other.example"})
    def test_another_origin(self):
        self.assertContains(self.client.get(BREADS), "https://other.example/breads/rye/")
        with override_settings(SITEMAPS_PLUS={"ORIGIN": "https://third.example"}):
            self.assertContains(self.client.get(BREADS), "https://third.example/breads/rye/")

    def test_the_host_is_that_of_the_origin_or_the_site_or_the_request(self):
        host = {"origin": "https://bakery.example", "sites": "http://example.com", "none": "http://testserver"}

        self.assertEqual(listed(self.client.get(BREADS)), [f"{host[os.environ['BAKERY_SITE']]}/breads/rye/"])

    def test_a_crawler(self):
        headers = {"user-agent": "Googlebot/2.1"}

        self.assertContains(self.client.get(BREADS, headers=headers), "/breads/rye/")


class ChangingTests(TestCase):
    def test_a_site_without_rows_has_no_sitemap(self):
        self.assertEqual(self.client.get("/sitemap.xml").status_code, 404)
        self.assertEqual(self.client.get(BREADS).status_code, 404)

    def test_a_bread_is_created_renamed_and_deleted(self):
        bread = Bread.objects.create(slug="rye")
        self.assertContains(self.client.get("/sitemap.xml"), BREADS)
        self.assertContains(self.client.get(BREADS), "/breads/rye/")

        bread.slug = "wheat"
        bread.save()
        response = self.client.get(BREADS)
        self.assertContains(response, "/breads/wheat/")
        self.assertNotContains(response, "/breads/rye/")

        Bread.objects.update(slug="oat")
        self.assertContains(self.client.get(BREADS), "/breads/oat/")

        bread.delete()
        self.assertEqual(self.client.get(BREADS).status_code, 404)
        self.assertEqual(self.client.get("/sitemap.xml").status_code, 404)

    def test_a_shop_moves(self):
        Shop.objects.create(slug="market")
        self.assertContains(self.client.get(SHOPS), "/shops/market/")

        Shop.objects.update(slug="station")

        response = self.client.get(SHOPS)
        self.assertContains(response, "/shops/station/")
        self.assertNotContains(response, "/shops/market/")

    def test_a_row_is_seen_before_and_after_the_commit(self):
        self.client.get(BREADS)
        with self.captureOnCommitCallbacks(execute=True):
            Bread.objects.create(slug="rye")
            self.assertContains(self.client.get(BREADS), "/breads/rye/")
        Bread.objects.update(slug="oat")
        self.assertContains(self.client.get(BREADS), "/breads/oat/")

    def test_a_clock_that_stands_still(self):
        with mock.patch("django.utils.timezone.now", return_value=datetime(2031, 1, 1, tzinfo=UTC)):
            self.assertEqual(self.client.get(BREADS).status_code, 404)
            self.assertEqual(self.client.get("/sitemap.xml").status_code, 404)
            bread = Bread.objects.create(slug="rye")
            self.assertContains(self.client.get(BREADS), "/breads/rye/")
            bread.slug = "oat"
            bread.save()
            self.assertContains(self.client.get(BREADS), "/breads/oat/")
            self.assertContains(self.client.get("/sitemap.xml"), BREADS)

    def test_the_number_of_queries_does_not_depend_on_earlier_requests(self):
        Bread.objects.create(slug="rye")
        self.client.get(BREADS)
        with CaptureQueriesContext(connection) as second:
            self.client.get(BREADS)
        with self.assertNumQueries(len(second)):
            self.client.get(BREADS)


@skipUnless(apps.is_installed("django.contrib.sites"), "there is no Site")
class SiteTests(TestCase):
    def test_the_site_moves(self):
        from django.contrib.sites.models import Site

        Bread.objects.create(slug="rye")
        site = Site.objects.get_current()
        site.domain = "bakery.example"
        site.save()
        self.addCleanup(Site.objects.clear_cache)

        self.assertEqual(listed(self.client.get(BREADS)), ["http://bakery.example/breads/rye/"])


class PagesTests(TestCase):
    def test_rows_beyond_the_limit_are_on_the_next_page(self):
        Bread.objects.bulk_create(Bread(slug=f"bread-{number}") for number in range(25))

        with mock.patch.object(Breads, "limit", 10):
            pages = [urlsplit(url).path for url in listed(self.client.get("/sitemap-breads.xml"))]
            breads = [url for page in pages for url in listed(self.client.get(page))]

        self.assertGreater(len(pages), 1)
        self.assertEqual(len(breads), 25)


class StrictTests(TestCase):
    @override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, "STRICT": True})
    def test_a_bad_row_is_an_error(self):
        Bread.objects.create(slug="")

        with self.assertRaisesMessage(StrictError, "slug is ''"):
            self.client.get("/sitemap-breads-1.xml")

    def test_a_bad_row_is_left_out(self):
        Bread.objects.create(slug="")
        Bread.objects.create(slug="rye")

        self.assertEqual(len(listed(self.client.get(BREADS))), 1)


class RegisteredTests(TestCase):
    def test_a_class_of_the_test(self):
        Bread.objects.create(slug="rye")
        with registry.isolated():
            register("loaves", Breads)
            self.assertContains(self.client.get("/sitemap-loaves-1.xml"), "/breads/rye/")
        self.assertEqual(self.client.get("/sitemap-loaves-1.xml").status_code, 404)


@override_settings(
    SITEMAPS_PLUS={"ORIGIN": "https://bakery.example"},
    STORAGES={
        **settings.STORAGES,
        "sitemaps": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    },
)
class BuildTests(TestCase):
    def test_every_bread_is_in_a_file(self):
        Bread.objects.create(slug="rye")

        call_command("build_sitemaps", strict=True, verbosity=0)

        with storages["sitemaps"].open("bakery.example/sitemap-breads-1.xml.gz") as file:
            self.assertIn(b"/breads/rye/</loc>", gzip.decompress(file.read()))

    def test_a_bread_is_renamed_after_a_build(self):
        Bread.objects.create(slug="rye")
        call_command("build_sitemaps", strict=True, verbosity=0)
        Bread.objects.update(slug="oat")

        self.assertContains(self.client.get(BREADS), "/breads/oat/")

    def test_the_files_of_another_test_are_not_served(self):
        self.assertEqual(self.client.get(BREADS).status_code, 404)
        self.assertEqual(self.client.get("/sitemap.xml").status_code, 404)


@override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, "CHECK_EVERY": 0})
class UncachedTests(TransactionTestCase):
    def test_a_bread_is_renamed(self):
        bread = Bread.objects.create(slug="rye")
        self.assertContains(self.client.get("/sitemap-breads-1.xml"), "/breads/rye/")

        bread.slug = "wheat"
        bread.save()

        self.assertContains(self.client.get("/sitemap-breads-1.xml"), "/breads/wheat/")


class CommittedTests(TransactionTestCase):
    """Each test has another row with the key, the number and the time of the other's."""

    def check(self, slug):
        with mock.patch("django.utils.timezone.now", return_value=datetime(2031, 1, 1, tzinfo=UTC)):
            Bread.objects.create(pk=1, slug=slug)
            Shop.objects.create(pk=1, slug=slug)
        for address, name in ((BREADS, "breads"), (SHOPS, "shops")):
            response = self.client.get(address)
            self.assertContains(response, f"/{name}/{slug}/")
            self.assertContains(response, "<url>", count=1)
        self.assertContains(self.client.get("/sitemap.xml"), "<sitemap>", count=2)

    def test_rye(self):
        self.check("rye")

    def test_oat(self):
        self.check("oat")

    def test_nothing(self):
        self.assertEqual(self.client.get("/sitemap.xml").status_code, 404)
        self.assertEqual(self.client.get(BREADS).status_code, 404)


class ServedTests(LiveServerTestCase):
    def test_a_server(self):
        Bread.objects.create(slug="barley")
        with urlopen(f"{self.live_server_url}{BREADS}") as response:  # noqa: S310 - our own server
            self.assertIn(b"/breads/barley/</loc>", response.read())
