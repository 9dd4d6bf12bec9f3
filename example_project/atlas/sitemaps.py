"""The sitemaps of the atlas: rows of the database in four languages, and one class of Django."""

from collections.abc import Sequence

from django.contrib import sitemaps as contrib
from django.db.models import F
from django.urls import reverse

from atlas.models import Country, Place
from sitemaps_plus import Image, ModelSitemap, Related, UrlFor, register


@register("countries")
class CountrySitemap(ModelSitemap):
    """The pages of the countries in each language, with flags."""

    queryset = Country.objects.all()
    location = UrlFor("country", code=F("code"))
    lastmod = F("updated_at")
    images = Image(loc=F("flag"))
    i18n = True
    alternates = True
    x_default = True


@register("places")
class PlaceSitemap(ModelSitemap):
    """The pages of the places in each language, with maps: 939,632 URLs when all places are loaded."""

    queryset = Place.objects.all()
    location = UrlFor("place", pk=F("pk"), slug=F("slug"))
    lastmod = F("updated_at")
    images = Related("pictures", Image(loc=F("file")), order_by="position")
    i18n = True
    alternates = True
    x_default = True


@register("pages")
class PageSitemap(contrib.Sitemap):
    """A class written for ``django.contrib.sitemaps``, registered unchanged."""

    i18n = True
    alternates = True
    x_default = True

    def items(self) -> Sequence[str]:
        """Return the names of the views."""
        return ["home", "about"]

    def location(self, item: str) -> str:
        """Return the path of a view."""
        return reverse(item)
