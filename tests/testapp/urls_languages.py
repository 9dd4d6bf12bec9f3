"""Pages under a prefix for each language."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def page(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(slug)


urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    *i18n_patterns(path("products/<slug:slug>/", page, name="product")),
]
