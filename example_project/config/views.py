"""Views that belong to no app."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def robots(request: HttpRequest) -> HttpResponse:
    """Return robots.txt, which tells crawlers where the sitemap index is."""
    context = {"origin": settings.SITEMAPS_PLUS["ORIGIN"]}
    return render(request, "robots.txt", context, content_type="text/plain; charset=utf-8")
