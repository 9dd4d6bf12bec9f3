"""Classes with the type of their items, as a project with django-stubs writes them; mypy checks this file."""

from typing import TYPE_CHECKING

from django.db.models import F, QuerySet

from sitemaps_plus import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap
from sitemaps_plus.models import Build

if TYPE_CHECKING:
    from typing import assert_type


class Builds(ModelSitemap[Build]):
    queryset = Build.objects.order_by("pk")
    lastmod = F("started_at")
    limit = 100

    def location(self, item: Build) -> str:
        return f"/builds/{item.site}/"


class FilteredBuilds(ModelSitemap[Build]):
    def get_queryset(self) -> QuerySet[Build]:
        return Build.objects.exclude(site=1)

    def location(self, item: Build) -> str:
        return f"/builds/{item.site}/"


class NewBuilds(NewsSitemap[Build]):
    queryset = Build.objects.all()
    date_field = "started_at"

    def location(self, item: Build) -> str:
        return f"/builds/{item.site}/"


class Pages(Sitemap[str]):
    def items(self) -> list[str]:
        return ["/about/"]

    def location(self, item: str) -> str:
        return item


class UntypedBuilds(ModelSitemap):
    queryset = Build.objects.all()

    def location(self, item: Build) -> str:
        return f"/builds/{item.site}/"


GENERIC = GenericSitemap[Build]({"queryset": Build.objects.all(), "date_field": "started_at"})

if TYPE_CHECKING:
    assert_type(Builds().items().get(), Build)
    assert_type(FilteredBuilds().get_queryset().get(), Build)
    assert_type(NewBuilds().items().get(), Build)
    assert_type(GENERIC.items().get(), Build)
