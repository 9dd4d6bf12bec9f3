"""Sections of all kinds, and some that end the process that renders them."""

import os
import signal
import time
from pathlib import Path

from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.utils.translation import get_language

from crew.models import Heavy
from sitemaps_plus import ModelSitemap, NewsSitemap, Sitemap, register
from sitemaps_plus.protocol import entries
from sitemaps_plus.protocol.limits import Profile
from testapp.models import Article, Product

if "CREW_BYTES" in os.environ:
    entries.PROFILES["default"] = Profile(max_bytes=int(os.environ["CREW_BYTES"]))


def _note():
    """Tell the test which process this is."""
    Path(os.environ["CREW_FILES"]).with_name(f"pid-{os.getpid()}").touch()


@register("rows")
class Rows(ModelSitemap):
    queryset = Product.objects.all()
    location = Concat(Value("/"), F("slug"), Value("/"), output_field=CharField())
    lastmod = F("updated_at")
    limit = 10
    fill = 1.0


@register("large")
class Large(Rows):
    limit = 50


@register("objects")
class Objects(Rows):
    def location(self, item):
        _note()
        return f"/{item.slug}/"


@register("site-rows")
class OfSite(Objects):
    def get_queryset(self):
        products = Product.objects.all()
        return products if self.site.domain == "example.com" else products.filter(slug__startswith="product-1")


@register("languages")
class Languages(Rows):
    i18n = True
    alternates = True
    languages = ["en", "de"]

    def location(self, item):
        return f"/{get_language()}/{item.slug}/"


@register("plain")
class Plain(Sitemap):
    limit = 10

    def items(self):
        return list(range(25))

    def location(self, item):
        return f"/{item}/"


@register("news")
class News(NewsSitemap):
    queryset = Article.objects.all()
    date_field = "published_at"
    limit = 2


@register("one")
class One(Rows):
    limit = 1000


@register("bad")
class Bad(Rows):
    priority = F("priority")

    def location(self, item):
        return None if item.slug.endswith("5") else f"/{item.slug}/"


@register("deadly")
class Deadly(Rows):
    def location(self, item):
        if item.slug == "product-15":
            os.kill(os.getpid(), signal.SIGKILL)
        return f"/{item.slug}/"


@register("heavy")
class HeavyRows(Objects):
    queryset = Heavy.objects.all()


@register("slow")
class Slow(Rows):
    def location(self, item):
        _note()
        time.sleep(60)
        return f"/{item.slug}/"
