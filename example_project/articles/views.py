"""The page of one article."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from articles.models import Article


def article(request: HttpRequest, slug: str) -> HttpResponse:
    """Show an article with the one before and the one after it."""
    found = get_object_or_404(Article, slug=slug)
    context = {
        "article": found,
        "older": Article.objects.filter(published_at__lt=found.published_at).order_by("-published_at").first(),
        "newer": Article.objects.filter(published_at__gt=found.published_at).order_by("published_at").first(),
    }
    return render(request, "articles/article.html", context)
