from django.db.models.functions import Coalesce
from wagtail.models import Page, Site

from sitemaps_plus import ModelSitemap, register
from website.models import ThankYouPage


@register("pages")
class PageSitemap(ModelSitemap):
    lastmod = Coalesce("last_published_at", "latest_revision_created_at")

    def get_queryset(self):
        home = Site.objects.get(pk=self.site.id).root_page
        pages = Page.objects.descendant_of(home, inclusive=True).live().public()
        return pages.not_type(ThankYouPage).specific()

    def location(self, page):
        return page.full_url
