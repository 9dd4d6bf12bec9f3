"""The URLs of the test project: those of sitemaps_plus, at the root."""

from django.urls import include, path

urlpatterns = [path("", include("sitemaps_plus.urls"))]
