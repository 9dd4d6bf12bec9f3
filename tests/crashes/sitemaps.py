"""Small pages of each kind; an address tells the row, and which version of it."""

from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from sitemaps_plus import Image, ModelSitemap, NewsSitemap, register
from testapp.models import Article, Product


@register("rows")
class Rows(ModelSitemap):
    queryset = Product.objects.all()
    location = Concat(Value("/rows/"), F("slug"), Value("/"), output_field=CharField())
    lastmod = F("updated_at")
    limit = 20


@register("media")
class Media(Rows):
    location = Concat(Value("/media/"), F("slug"), Value("/"), output_field=CharField())
    images = [Image(loc=Concat(Value("/"), F("slug"), Value(".jpg"), output_field=CharField()))]
    limit = 30
    fill = 1.0


@register("of-site")
class OfSite(ModelSitemap):
    """A method for each row, and half of the rows on one of the sites."""

    lastmod = F("updated_at")
    limit = 25

    def get_queryset(self):
        products = Product.objects.all()
        return products if self.site.domain == "example.com" else products.filter(is_active=True)

    def location(self, item):
        return f"/of-site/{item.slug}/"


@register("news")
class News(NewsSitemap):
    """A window: pages by position, the newest first."""

    queryset = Article.objects.all()
    date_field = "published_at"
    limit = 10

    def location(self, item):
        return f"/news/{item.pk}-0/"
