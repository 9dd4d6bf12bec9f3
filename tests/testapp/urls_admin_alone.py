"""The admin without the URLs of sitemaps_plus: a web server hands out the built files."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
