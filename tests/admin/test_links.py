"""Links of the status page: to rows, to builds, to its own views and to the sitemaps."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.sites.models import Site

from admin_pages import HISTORY, SECTION, STATUS, Broken, client_of, page, user
from sitemaps_plus import register
from sitemaps_plus.admin.links import AdminUrls
from sitemaps_plus.build import build
from sitemaps_plus.models import Build
from testapp.models import Product

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def test_a_row_left_out_links_to_its_object_if_the_admin_has_it(monkeypatch):
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


def test_a_row_with_another_key_links_to_a_filtered_list(monkeypatch):
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


def test_a_user_who_may_not_see_the_history_gets_no_links_to_it():
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


def test_there_are_no_live_urls_without_the_urls_of_the_sitemaps(boss, settings):
    build()
    settings.ROOT_URLCONF = "testapp.urls_admin_alone"

    assert "Live sitemap" not in page(boss, SECTION)
    assert "Live URL" not in page(boss, f"{SECTION}1/")


@pytest.mark.parametrize("site_id", [None, 1])
def test_the_live_url_of_another_site_is_absolute(boss, settings, site_id):
    settings.SITEMAPS_PLUS, settings.SITE_ID = {}, site_id
    Site.objects.filter(pk=1).update(domain="testserver")
    Site.objects.create(pk=2, domain="b.example")
    Site.objects.clear_cache()
    build()

    assert 'href="/sitemap-products-1.xml"' in page(boss, f"{SECTION}1/")
    assert 'href="https://b.example/sitemap-products-1.xml"' in page(boss, f"{STATUS}2/products/1/").partition("<dl")[2]
    assert 'href="/sitemap-products-1.xml"' not in page(boss, f"{STATUS}2/products/1/")
