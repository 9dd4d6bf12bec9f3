from django.db import models
from django.http import HttpResponse
from django.urls import reverse
from wagtail.fields import RichTextField
from wagtail.models import Page, TranslatableMixin
from wagtail.snippets.models import register_snippet


class ArticlePage(Page):
    """A page of the tree; each language has a tree of its own."""

    text = RichTextField(blank=True)

    def serve(self, request, *args, **kwargs):
        return HttpResponse(self.title)


@register_snippet
class Person(TranslatableMixin):
    """A row for each language outside of the tree."""

    slug = models.SlugField(max_length=100)

    class Meta(TranslatableMixin.Meta):
        pass

    def __str__(self):
        return self.slug

    def get_absolute_url(self):
        return reverse("person", kwargs={"slug": self.slug})


class EventIndex(Page):
    def get_sitemap_urls(self, request=None):
        past = {"location": f"{self.get_full_url(request)}past/", "lastmod": self.last_published_at}
        return [*super().get_sitemap_urls(request), past]


class ThankYouPage(Page):
    def get_sitemap_urls(self, request=None):
        return []
