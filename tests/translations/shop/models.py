from django.db import models
from django.urls import reverse


class Product(models.Model):
    """Name and slug have a column for each language, see translation.py."""

    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=100)
    film = models.URLField(blank=True)
    updated_at = models.DateTimeField(db_index=True)

    def __str__(self):
        return self.name

    def get_absolute_url(self):
        return reverse("product", kwargs={"slug": self.slug})


class Leaflet(models.Model):
    """Columns without a package, and the languages of a row in a column of their own."""

    slug = models.SlugField(max_length=100)
    slug_german = models.SlugField(max_length=100, blank=True)
    languages = models.CharField(max_length=100, blank=True)
    fallback = models.CharField(max_length=100, blank=True)

    def __str__(self):
        return self.slug
