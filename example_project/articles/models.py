"""Articles, in English only."""

from django.db import models
from django.urls import reverse


class Article(models.Model):
    """One article."""

    title = models.CharField(max_length=200)
    slug = models.SlugField(max_length=200, unique=True)
    body = models.TextField()
    published_at = models.DateTimeField(db_index=True)
    updated_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """Return the path of the article's page."""
        return reverse("article", kwargs={"slug": self.slug})
