from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import include, path

from magazine.models import Article


def article(request, slug):
    found = get_object_or_404(Article.objects.translated(request.LANGUAGE_CODE, slug=slug))
    return HttpResponse(found.title)


urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    *i18n_patterns(path("articles/<slug:slug>/", article, name="article")),
]
