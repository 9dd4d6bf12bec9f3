"""The shop with ``django.contrib.sitemaps``, under the URLs that its documentation shows."""

from django.contrib.sitemaps import views
from django.urls import path

from shop import classes
from shop.urls import urlpatterns as pages

SITEMAPS = {
    "products": classes.ProductSitemap,
    "languages": classes.LanguageSitemap,
    "few-products": classes.FewProducts,
    "few-languages": classes.FewLanguages,
}

urlpatterns = [
    # An index of each section alone, as the other side has them.
    *(
        path(f"{label}.xml", views.index, {"sitemaps": {label: sitemap}}, name=f"index-{label}")
        for label, sitemap in SITEMAPS.items()
    ),
    path(
        "sitemap-<section>.xml",
        views.sitemap,
        {"sitemaps": SITEMAPS},
        name="django.contrib.sitemaps.views.sitemap",
    ),
    *pages,
]
