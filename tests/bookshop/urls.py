"""The admin, the sitemaps at the root, and what browsers ask every site for."""

from django.contrib import admin
from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("favicon.ico", lambda request: HttpResponse(status=204)),
    path("", include("sitemaps_plus.urls")),
]
