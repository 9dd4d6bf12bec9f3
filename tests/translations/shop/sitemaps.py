from django.conf import settings
from django.contrib import sitemaps
from django.db.models import Case, CharField, F, Value, When
from django.db.models.functions import Concat
from django.urls import reverse
from modeltranslation.utils import build_localized_fieldname

from shop.models import Leaflet, Product
from sitemaps_plus import ModelSitemap, PerLanguage, Sitemap, UrlFor, Video, register


@register("views")
class ViewSitemap(Sitemap):
    i18n = True
    alternates = True
    x_default = True

    def items(self):
        return ["about", "contact"]

    def location(self, name):
        return reverse(name)


@register("products")
class ProductSitemap(ModelSitemap):
    queryset = Product.objects.all()
    location = UrlFor("product", slug=PerLanguage("slug_{}"))
    lastmod = F("updated_at")
    i18n = True
    alternates = True
    x_default = True


@register("products-by-method")
class ProductsByMethod(sitemaps.Sitemap):
    i18n = True
    alternates = True
    x_default = True

    def items(self):
        return Product.objects.order_by("pk")

    def lastmod(self, product):
        return product.updated_at

    def get_languages_for_item(self, product):
        codes = [code for code, name in settings.LANGUAGES]
        return [code for code in codes if getattr(product, build_localized_fieldname("slug", code))]


@register("films")
class FilmSitemap(ModelSitemap):
    queryset = Product.objects.exclude(film="")
    location = UrlFor("product", slug=PerLanguage("slug_{}"))
    i18n = True
    alternates = True
    videos = Video(
        thumbnail_loc="/static/film.jpg",
        title=PerLanguage("name_{}"),
        description=PerLanguage({code: build_localized_fieldname("name", code) for code, name in settings.LANGUAGES}),
        content_loc=F("film"),
    )


@register("leaflets")
class LeafletSitemap(ModelSitemap):
    queryset = Leaflet.objects.all()
    location = UrlFor("leaflet", slug=PerLanguage({"en": F("slug"), "de": F("slug_german")}))
    i18n = True
    alternates = True
    languages = F("languages")
    x_default = F("fallback")


@register("leaflets-by-method")
class LeafletsByMethod(ModelSitemap):
    queryset = Leaflet.objects.all()
    location = UrlFor("leaflet", slug=PerLanguage({"en": F("slug"), "de": F("slug_german")}))
    i18n = True
    alternates = True

    def languages(self, leaflet):
        return ["en", "de"] if "de" in leaflet.languages else ["en"]

    def x_default(self, leaflet):
        return leaflet.fallback or None


def leaflet_on(host, column):
    address = Concat(Value(f"https://{host}/leaflets/"), F(column), Value("/"), output_field=CharField())
    return Case(When(**{f"{column}__gt": ""}, then=address))


@register("leaflets-of-two-hosts")
class LeafletsOfTwoHosts(ModelSitemap):
    queryset = Leaflet.objects.all()
    location = PerLanguage({"en": leaflet_on("example.com", "slug"), "de": leaflet_on("example.de", "slug_german")})
    i18n = True
    alternates = True
    x_default = "en"
