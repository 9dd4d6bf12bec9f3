"""The shop with both sitemaps, and a view that does nothing: what no answer can cost less than."""

from django.conf import settings
from django.contrib.sitemaps import views
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.cache import cache_page
from django.views.decorators.gzip import gzip_page

from shop import classes
from shop.urls import urlpatterns as pages

SITEMAPS = {"sitemaps": {"products": classes.ProductSitemap}, "section": "products"}
cached = cache_page(86_400, cache="contrib")


def empty(request: HttpRequest) -> HttpResponse:
    """Answer with nothing."""
    return HttpResponse()


def asking(request: HttpRequest) -> HttpResponse:
    """Answer with nothing, and ask for two values that are not there: what the cache's own client costs."""
    caches[settings.SITEMAPS_PLUS["CACHE"]].get_many(["one", "other"])
    return HttpResponse()


def reading(request: HttpRequest) -> HttpResponse:
    """Answer with nothing, and ask for as many bytes as a page has."""
    caches[settings.SITEMAPS_PLUS["CACHE"]].get_many(["one", "other", "bytes"])["bytes"]
    return HttpResponse()


urlpatterns = [
    path("empty", empty),
    path("asking", asking),
    path("reading", reading),
    path("contrib.xml", views.sitemap, SITEMAPS),
    path("contrib-cached.xml", cached(views.sitemap), SITEMAPS),
    path("contrib-packed.xml", gzip_page(cached(views.sitemap)), SITEMAPS),
    path("", include("sitemaps_plus.urls")),
    *pages,
]
