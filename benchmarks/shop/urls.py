"""The pages of the shop, the same on every side."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import path


def product(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with a page."""
    return HttpResponse(slug)


urlpatterns = [
    path("p/<str:slug>/", product, name="product"),
    *i18n_patterns(path("p/<str:slug>/", product, name="product-in-language")),
]
