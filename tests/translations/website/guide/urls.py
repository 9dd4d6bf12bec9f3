from django.urls import include, path
from wagtail import urls as wagtail_urls

urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    path("", include(wagtail_urls)),
]
