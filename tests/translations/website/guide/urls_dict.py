from django.urls import include, path
from wagtail import urls as wagtail_urls
from wagtail.contrib.sitemaps import Sitemap

from sitemaps_plus.views import sitemap

urlpatterns = [
    path("sitemap.xml", sitemap, {"sitemaps": {"pages": Sitemap}}),
    path("", include(wagtail_urls)),
]
