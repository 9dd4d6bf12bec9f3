"""Tests as Django's documentation shows them; each must pass after any other."""

from datetime import UTC, datetime
from unittest import mock
from urllib.request import urlopen

from django.db import connection
from django.test import LiveServerTestCase, RequestFactory, TestCase, TransactionTestCase, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from bakery.models import Bread, Shop
from sitemaps_plus.views import page

BREADS, SHOPS = "/sitemap-breads-1.xml", "/sitemap-shops-1.xml"


class SitemapTests(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.rye = Bread.objects.create(slug="rye")
        Bread.objects.create(slug="spelt", is_sold=False)
        Shop.objects.create(slug="market")

    def test_the_index_lists_both_sections(self):
        response = self.client.get("/sitemap.xml")

        self.assertEqual(response.status_code, 200)
        self.assertEqual(response.headers["Content-Type"], "application/xml; charset=utf-8")
        self.assertContains(response, BREADS)
        self.assertContains(response, SHOPS)

    def test_only_what_is_sold_is_listed(self):
        response = self.client.get(reverse("sitemaps_plus:page", args=["breads", 1, "xml"]))

        self.assertContains(response, "/breads/rye/</loc>", count=1)
        self.assertNotContains(response, "spelt")
        self.assertIn(self.rye.updated_at.date().isoformat(), response.content.decode())

    def test_a_bread_that_is_sold_again_is_listed(self):
        self.assertNotContains(self.client.get(BREADS), "spelt")
        Bread.objects.update(is_sold=True)
        self.assertContains(self.client.get(BREADS), "spelt")

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
            bread = Bread.objects.create(slug="rye")
            self.assertContains(self.client.get(BREADS), "/breads/rye/")
            bread.slug = "oat"
            bread.save()
            self.assertContains(self.client.get(BREADS), "/breads/oat/")
            Bread.objects.create(slug="wheat")
            self.assertContains(self.client.get(BREADS), "/breads/wheat/")

    def test_the_number_of_queries_does_not_depend_on_earlier_requests(self):
        Bread.objects.create(slug="rye")
        self.client.get(BREADS)
        with CaptureQueriesContext(connection) as second:
            self.client.get(BREADS)
        with self.assertNumQueries(len(second)):
            self.client.get(BREADS)


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
