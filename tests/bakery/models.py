from django.db import models
from django.urls import reverse


class Bread(models.Model):
    slug = models.SlugField(unique=True)
    is_sold = models.BooleanField(default=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self):
        return self.slug

    def get_absolute_url(self):
        return reverse("bread-detail", args=[self.slug])


class Shop(models.Model):
    """Without a date: only its addresses tell that something changed."""

    slug = models.SlugField(unique=True)

    def __str__(self):
        return self.slug

    def get_absolute_url(self):
        return reverse("shop-detail", args=[self.slug])
