from django.contrib import sitemaps
from django.db.models import F, Q

from magazine.models import Article
from sitemaps_plus import ModelSitemap, Related, UrlFor, Video, register


@register("articles")
class ArticleSitemap(ModelSitemap):
    queryset = Article.objects.all()
    location = UrlFor("article", slug=Related("translations", F("slug"), language=F("language_code")))
    lastmod = F("updated_at")
    i18n = True
    alternates = True
    x_default = True
    languages = Related("translations", F("language_code"))


@register("articles-by-method")
class ArticlesByMethod(sitemaps.Sitemap):
    i18n = True
    alternates = True
    x_default = True

    def items(self):
        return Article.objects.prefetch_related("translations").order_by("pk")

    def lastmod(self, article):
        return article.updated_at

    def get_languages_for_item(self, article):
        return [translation.language_code for translation in article.translations.all()]


def translated(column):
    return Related("translations", F(column), language=F("language_code"), filter=Q(is_ready=True))


@register("films")
class FilmSitemap(ModelSitemap):
    queryset = Article.objects.exclude(film="")
    location = UrlFor("article", slug=translated("slug"))
    i18n = True
    alternates = True
    videos = Video(
        thumbnail_loc="/static/film.jpg",
        title=translated("title"),
        description=translated("title"),
        content_loc=F("film"),
    )
