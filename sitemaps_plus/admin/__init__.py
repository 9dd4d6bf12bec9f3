"""Show how the sitemaps are in Django's admin, and start builds there; without the admin nobody imports this."""

from django.contrib import admin

from sitemaps_plus.admin.builds import BuildAdmin
from sitemaps_plus.admin.status_page import StatusAdmin
from sitemaps_plus.models import Build, SitemapPage

__all__ = ["BuildAdmin", "StatusAdmin"]

admin.site.register(SitemapPage, StatusAdmin)
admin.site.register(Build, BuildAdmin)
