from wagtail.contrib.sitemaps import Sitemap
from wagtail.models import Site

from sitemaps_plus import register


@register("pages")
class PageSitemap(Sitemap):
    def get_wagtail_site(self):
        return Site.objects.get(pk=self.site.id)
