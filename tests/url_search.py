"""Sections for the search for a URL, and short names for what its tests do."""

from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db.models import F

from sitemaps_plus import (
    ModelSitemap,
    UrlFor,
)
from sitemaps_plus.watch.find import find_url
from testapp import urls_head
from testapp.models import Product

LANGUAGES = [("en", "English"), ("de", "German")]
HOST = "https://example.com"


class UrlProducts(ModelSitemap):
    queryset = Product.objects.filter(is_active=True)
    location = UrlFor("product", slug=F("slug"))
    lastmod = F("updated_at")
    limit = 10
    fill = 1.0


class AllLanguages(UrlProducts):
    i18n = True
    alternates = True


class AbsoluteProducts(ModelSitemap):
    """Products with the URLs of get_absolute_url()."""

    queryset = Product.objects.filter(is_active=True)
    limit = 10
    fill = 1.0


class MethodProducts(AbsoluteProducts):
    def location(self, item):
        return f"/shop/{item.slug}/?a=1&b='2'"


def found(url, **options):
    """Return the only match of a search."""
    (match,) = find_url(url, **options).matches
    return match


def of(slug):
    """Return the product with a slug."""
    return Product.objects.get(slug=slug)


def put(data, number=1, label="products"):
    """Replace a built file."""
    name = f"example.com/sitemap-{label}-{number}.xml.gz"
    storages["sitemaps"].delete(name)
    storages["sitemaps"].save(name, ContentFile(data))


def use_unprefixed(settings):
    """Use a URLconf that has a view for the paths of get_absolute_url()."""
    settings.ROOT_URLCONF = urls_head.Unprefixed
