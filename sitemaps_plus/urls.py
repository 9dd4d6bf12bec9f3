"""The URLs of the registered sitemaps: ``path("", include("sitemaps_plus.urls"))`` at the root of the site."""

from django.urls import path, re_path

from sitemaps_plus import views

app_name = "sitemaps_plus"

_LABEL = r"(?P<label>[a-z0-9]+(?:[-_][a-z0-9]+)*?)"

urlpatterns = [
    path("sitemap.xml", views.site_index, name="index"),
    path("sitemap.xml.gz", views.site_index, {"extension": "xml.gz"}, name="index_gz"),
    path("sitemap_index.xml", views.site_index, name="index_alias"),
    path("sitemap-health.json", views.health, name="health"),
    # Before the section's own URL: labels never end in a hyphen and digits.
    re_path(rf"^sitemap-{_LABEL}-(?P<number>[0-9]{{1,9}})\.(?P<extension>xml|xml\.gz|txt)$", views.page, name="page"),
    re_path(rf"^sitemap-{_LABEL}\.(?P<extension>xml|xml\.gz)$", views.section_index, name="section"),
]
