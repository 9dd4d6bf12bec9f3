"""The sitemaps of this project: Django's classes registered as they are, and the same declared."""

from django.db.models import F

from shop import classes
from shop.models import Product
from sitemaps_plus import ModelSitemap, UrlFor, register

register("objects", classes.ProductSitemap)
register("object-languages", classes.LanguageSitemap)
register("few-objects", classes.FewProducts)
register("few-object-languages", classes.FewLanguages)


@register("products")
class ProductSitemap(ModelSitemap):
    """``classes.ProductSitemap``, declared."""

    queryset = Product.objects.all()
    location = UrlFor("product", slug=F("slug"))
    lastmod = F("updated_at")
    fill = 1.0


@register("languages")
class LanguageSitemap(ProductSitemap):
    """``classes.LanguageSitemap``, declared."""

    location = UrlFor("product-in-language", slug=F("slug"))
    i18n = True
    alternates = True


@register("few-products")
class FewProducts(ProductSitemap):
    """Ten products, to warm up."""

    queryset = Product.objects.filter(pk__lte=10)


@register("few-languages")
class FewLanguages(LanguageSitemap):
    """Ten products in all languages, to warm up."""

    queryset = Product.objects.filter(pk__lte=10)
