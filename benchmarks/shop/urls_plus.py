"""The shop with the sitemaps of this project."""

from django.urls import include, path

from shop.urls import urlpatterns as pages

urlpatterns = [path("", include("sitemaps_plus.urls")), *pages]
