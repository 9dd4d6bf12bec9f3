"""The sitemaps twice: without and with ``cache_page``."""

from django.urls import include, path, re_path
from django.views.decorators.cache import cache_page

from sitemaps_plus import views

EXTENSION = r"(?P<extension>xml|xml\.gz|txt)"

urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    path("cached/sitemap.xml", cache_page(60)(views.site_index)),
    re_path(rf"^cached/sitemap-(?P<label>products)-(?P<number>[0-9]+)\.{EXTENSION}$", cache_page(60)(views.page)),
    re_path(rf"^cached/sitemap-(?P<label>products)\.{EXTENSION}$", cache_page(60)(views.section_index)),
]
