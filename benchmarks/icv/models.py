"""The shop's products as django-icv-sitemaps wants to have them: models with its mixin."""

from icv_sitemaps.mixins import SitemapMixin

from shop.models import Product


class IcvProduct(SitemapMixin, Product):
    """All products, with location and date alone, as on the other sides."""

    sitemap_section_name = "products"
    sitemap_changefreq = ""
    sitemap_priority = None

    class Meta:
        proxy = True


class FewIcvProduct(IcvProduct):
    """Ten of them, to warm up."""

    class Meta:
        proxy = True

    @classmethod
    def get_sitemap_queryset(cls):
        """Return the first products."""
        return cls.objects.filter(pk__lte=10)
