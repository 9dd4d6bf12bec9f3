"""The URLs of the registered sitemaps: ``path("", include("sitemaps_plus.urls"))`` at the root of the site."""

from django.urls import path, re_path

from sitemaps_plus import views
from sitemaps_plus.protocol.names import INDEX_ALIAS, PAGE_URL, SECTION_URL, index_file

app_name = "sitemaps_plus"

urlpatterns = [
    # Most requests are for pages. Before the section's own URL: labels never end in a hyphen and digits.
    re_path(PAGE_URL, views.page, name="page"),
    re_path(SECTION_URL, views.section_index, name="section"),
    path(index_file(), views.site_index, name="index"),
    path(index_file(format="xml.gz"), views.site_index, {"extension": "xml.gz"}, name="index_gz"),
    path(INDEX_ALIAS, views.index_alias, name="index_alias"),
    path("sitemap-health.json", views.health, name="health"),
]
