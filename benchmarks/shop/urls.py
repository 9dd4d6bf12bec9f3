"""Product pages, the registered sitemaps, and Django's own views under another name."""

from django.contrib.sitemaps import views as contrib
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from shop.sitemaps import ContribSitemap


def product(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with a page."""
    return HttpResponse(slug)


SITEMAPS = {"products": ContribSitemap}

urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    path("p/<str:slug>/", product, name="product"),
    path("contrib/sitemap.xml", contrib.index, {"sitemaps": SITEMAPS}),
    path(
        "contrib/sitemap-<section>.xml",
        contrib.sitemap,
        {"sitemaps": SITEMAPS},
        name="django.contrib.sitemaps.views.sitemap",
    ),
]
