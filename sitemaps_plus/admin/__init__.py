"""The status page and the list of builds in Django's admin; not imported without the admin."""

from django.contrib import admin

from sitemaps_plus.admin.builds import BuildAdmin
from sitemaps_plus.admin.status_page import StatusAdmin
from sitemaps_plus.models import Build, SitemapPage

__all__ = ["BuildAdmin", "StatusAdmin"]

admin.site.register(SitemapPage, StatusAdmin)
admin.site.register(Build, BuildAdmin)
