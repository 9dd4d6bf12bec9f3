"""A shop of as many products as wanted."""

from django.db import models
from django.urls import reverse


class Product(models.Model):
    """One product; 1 % of the slugs are not ASCII, some are long."""

    slug = models.CharField(max_length=200, unique=True)
    updated_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        """Return the slug."""
        return self.slug

    def get_absolute_url(self) -> str:
        """Return the page of the product."""
        return reverse("product", kwargs={"slug": self.slug})
