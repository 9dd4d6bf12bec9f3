"""The same sitemap three times: as Django has it, registered as it is, and declared."""

from django.contrib import sitemaps as contrib
from django.db.models import F

from shop.models import Product
from sitemaps_plus import ModelSitemap, UrlFor, register


@register("objects")
class ContribSitemap(contrib.Sitemap):
    """A class as projects have it."""

    def items(self):
        """Return all products in a stable order."""
        return Product.objects.order_by("pk")

    def lastmod(self, item):
        """Return when the product changed."""
        return item.updated_at


@register("products")
class ProductSitemap(ModelSitemap):
    """The same, declared."""

    queryset = Product.objects.all()
    location = UrlFor("product", slug=F("slug"))
    lastmod = F("updated_at")
