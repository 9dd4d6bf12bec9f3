"""Stories, and every kind of class that lists them: what `docs/explanation/dates.md` promises is tested on these."""

from collections.abc import Callable
from typing import Any

from django.contrib import sitemaps as contrib
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.translation import get_language

from sitemaps_plus import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap
from testapp.models import Author, Story


class Stories(ModelSitemap):
    """Stories without a date."""

    queryset = Story.objects.filter(is_listed=True)
    location = Concat(Value("/"), F("author__slug"), Value("/"), F("slug"), Value("/"), output_field=CharField())


class ByColumn(Stories):
    lastmod = F("updated_at")


class ByMethod(Stories):
    def lastmod(self, item: Story) -> Any:
        return item.updated_at


class ByEither(Stories):
    def lastmod(self, item: Story) -> Any:
        return item.published_at or item.updated_at


class ByDay(Stories):
    lastmod = F("updated_on")


class ByChanged(ByEither):
    changed = F("updated_at")


class Classic(contrib.Sitemap):
    def items(self) -> Any:
        return Story.objects.filter(is_listed=True).select_related("author").order_by("pk")


class ClassicWithDates(Classic):
    def lastmod(self, item: Story) -> Any:
        return item.updated_at


class ClassicInLanguages(ClassicWithDates):
    i18n = True
    languages = ["en", "de"]

    def location(self, item: Story) -> str:
        return f"/{get_language()}{item.get_absolute_url()}"


class Listed(Sitemap):
    def items(self) -> list[Story]:
        return list(Story.objects.filter(is_listed=True).select_related("author").order_by("pk"))


class OwnUrls(Classic):
    def get_urls(self, page: Any = 1, site: Any = None, protocol: str | None = None) -> list[dict[str, Any]]:
        urls: list[dict[str, Any]] = super().get_urls(page, site, protocol)
        return urls


class Recent(NewsSitemap):
    queryset = Stories.queryset
    location = Stories.location
    date_field = "published_at"


KINDS: dict[str, Any] = {
    "`ModelSitemap` without `lastmod`": Stories,
    "`lastmod = F(...)` of a `DateTimeField`": ByColumn,
    "`lastmod()` that only returns a `DateTimeField`": ByMethod,
    "`lastmod()` that computes, as `return a or b`": ByEither,
    "`lastmod` of a `DateField`": ByDay,
    "any of these with `changed = F(...)` of a `DateTimeField`": ByChanged,
    "Django's `Sitemap` without `lastmod`": Classic,
    "Django's `Sitemap`, `lastmod()` that only returns a `DateTimeField`": ClassicWithDates,
    "the same with `i18n = True`": ClassicInLanguages,
    "`GenericSitemap` without `date_field`": GenericSitemap({"queryset": Classic().items()}),
    "`GenericSitemap` with the `date_field` of a `DateTimeField`": GenericSitemap(
        {"queryset": Classic().items(), "date_field": "updated_at"}
    ),
    "`items()` returns a list": Listed,
    "own `get_urls()`": OwnUrls,
    "`NewsSitemap`": Recent,
}
"""By the first cell of the line of the table that is about them."""


def make_stories(count: int = 3) -> None:
    author = Author.objects.create(slug="astrid")
    now = timezone.now()
    for number in range(1, count + 1):
        Story.objects.create(author=author, slug=f"story-{number}", published_at=now)


def story_paths() -> list[str]:
    """Return the paths that are to be listed now."""
    return sorted(story.get_absolute_url() for story in Story.objects.filter(is_listed=True).select_related("author"))


def _save(slug: str) -> None:
    story = Story.objects.get(pk=_second())
    story.slug = slug
    story.save()


def _bulk_update() -> None:
    story = Story.objects.get(pk=_second())
    story.slug = "in-bulk"
    Story.objects.bulk_update([story], ["slug"])


def _save_author() -> None:
    author = Author.objects.get()
    author.slug = "selma"
    author.save()


def _second() -> int:
    return int(Story.objects.order_by("pk").values_list("pk", flat=True)[1])


CHANGES: dict[str, list[Callable[[], Any]]] = {
    "save()": [lambda: _save("saved")],
    "save() twice": [lambda: _save("saved"), lambda: _save("saved-again")],
    "update()": [lambda: Story.objects.filter(pk=_second()).update(slug="updated")],
    "bulk_update()": [_bulk_update],
    "a related row": [_save_author],
    "delete()": [lambda: Story.objects.get(pk=_second()).delete()],
    "moved out": [lambda: Story.objects.filter(pk=_second()).update(is_listed=False)],
}
"""Steps, each of which is to be seen before the next one."""
