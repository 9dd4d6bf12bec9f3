from django.contrib import sitemaps as contrib
from django.db.models import F

from bakery.models import Bread, Shop
from sitemaps_plus import ModelSitemap, UrlFor, register


@register("breads")
class Breads(ModelSitemap):
    queryset = Bread.objects.filter(is_sold=True)
    location = UrlFor("bread-detail", slug=F("slug"))
    lastmod = F("updated_at")


@register("shops")
class Shops(contrib.Sitemap):
    def items(self):
        return Shop.objects.order_by("slug")
