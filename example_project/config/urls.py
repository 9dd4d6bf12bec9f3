"""The URLs of the example project: sitemaps at the root, pages below their language, articles in English only."""

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from config.views import robots

urlpatterns = [
    path("robots.txt", robots),
    path("articles/", include("articles.urls")),
    path("", include("sitemaps_plus.urls")),
    *i18n_patterns(path("", include("atlas.urls")), prefix_default_language=True),
]
