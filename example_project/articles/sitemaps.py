"""The sitemaps of the articles: all of them, and the newest for news search."""

from django.db.models import F

from articles.models import Article
from sitemaps_plus import ModelSitemap, News, NewsSitemap, UrlFor, register


@register("articles")
class ArticleSitemap(ModelSitemap):
    """Every article."""

    queryset = Article.objects.all()
    location = UrlFor("article", slug=F("slug"))
    lastmod = F("updated_at")


@register("news")
class ArticleNewsSitemap(NewsSitemap):
    """The articles of the last two days."""

    queryset = Article.objects.all()
    date_field = "published_at"
    news = News(name="The Atlas", language="en", title=F("title"), publication_date=F("published_at"))
    location = UrlFor("article", slug=F("slug"))
    lastmod = F("updated_at")
