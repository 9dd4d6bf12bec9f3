"""The admin, and a second one without other apps; after them the URLs of sitemaps_plus."""

from django.contrib import admin
from django.urls import include, path

from sitemaps_plus.admin import BuildAdmin, StatusAdmin
from sitemaps_plus.models import Build, SitemapPage
from testapp.models import Product

own_site = admin.AdminSite(name="desk")
own_site.register(SitemapPage, StatusAdmin)
own_site.register(Build, BuildAdmin)
own_site.register(Product)

urlpatterns = [
    path("admin/", admin.site.urls),
    path("desk/", own_site.urls),
    path("", include("sitemaps_plus.urls")),
]
