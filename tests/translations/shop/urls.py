from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import include, path

from shop.models import Leaflet, Product


def product(request, slug):
    return HttpResponse(get_object_or_404(Product, slug=slug).name)


def leaflet(request, slug):
    column = "slug_german" if request.LANGUAGE_CODE == "de" else "slug"
    return HttpResponse(get_object_or_404(Leaflet, **{column: slug}).slug)


def text(request):
    return HttpResponse(request.path)


urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    *i18n_patterns(
        path("about/", text, name="about"),
        path("contact/", text, name="contact"),
        path("products/<slug:slug>/", product, name="product"),
        path("leaflets/<slug:slug>/", leaflet, name="leaflet"),
    ),
]
