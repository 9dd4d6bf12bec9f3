"""The URLs of the example project: sitemaps at the root, pages below their language, the rest in English only."""

from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path
from django.views.static import serve

from config.views import robots

urlpatterns = [
    path("admin/", admin.site.urls),
    path("robots.txt", robots),
    path("articles/", include("articles.urls")),
    path("videos/", include("videos.urls")),
    # For the demo on your own machine; a live site lets a web server serve these files.
    path("media/<path:path>", serve, {"document_root": settings.MEDIA_ROOT}),
    path("", include("sitemaps_plus.urls")),
    *i18n_patterns(path("", include("atlas.urls")), prefix_default_language=True),
]
