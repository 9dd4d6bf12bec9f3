from django.db.models import F
from wagtail.models import Page

from sitemaps_plus import ModelSitemap, Siblings, UrlFor, register
from website.models import Person


@register("people")
class PersonSitemap(ModelSitemap):
    queryset = Person.objects.all()
    location = UrlFor("person", slug=F("slug"))
    hreflang = Siblings("translation_key", language=F("locale__language_code"))
    x_default = True


@register("people-by-method")
class PeopleByMethod(ModelSitemap):
    queryset = Person.objects.all()
    hreflang = Siblings("translation_key", language=F("locale__language_code"))
    x_default = True

    def location(self, person):
        return person.get_absolute_url()


@register("pages")
class PageSitemap(ModelSitemap):
    lastmod = F("last_published_at")
    hreflang = Siblings("translation_key", language=F("locale__language_code"))
    x_default = True

    def get_queryset(self):
        return Page.objects.live().public().filter(depth__gt=1, alias_of=None)

    def location(self, page):
        return page.url
