"""Sitemap classes written for ``django.contrib.sitemaps``, used in every project except the declared one."""

from django.contrib.sitemaps import Sitemap
from django.urls import reverse

from shop.models import Product


class ProductSitemap(Sitemap):
    """An address by ``reverse()`` and a date."""

    fill = 1.0  # Django knows nothing of it; with it the pages are the same on all sides.

    def items(self):
        """Return all products in a stable order."""
        return Product.objects.order_by("pk")

    def lastmod(self, item):
        """Return when the product changed."""
        return item.updated_at


class LanguageSitemap(ProductSitemap):
    """The same in all languages of the site, linked to each other."""

    i18n = True
    alternates = True

    def location(self, item):
        """Return the path under the language now active."""
        return reverse("product-in-language", kwargs={"slug": item.slug})


class FewProducts(ProductSitemap):
    """Ten products, to warm up."""

    def items(self):
        """Return the first products."""
        return super().items().filter(pk__lte=10)


class FewLanguages(LanguageSitemap):
    """Ten products in all languages, to warm up."""

    def items(self):
        """Return the first products."""
        return super().items().filter(pk__lte=10)
