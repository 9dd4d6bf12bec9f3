from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import include, path
from wagtail import urls as wagtail_urls

from website.models import Person


def person(request, slug):
    return HttpResponse(get_object_or_404(Person, slug=slug, locale__language_code=request.LANGUAGE_CODE).slug)


urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    *i18n_patterns(path("people/<slug:slug>/", person, name="person"), path("", include(wagtail_urls))),
]
