"""Books, authors and readings."""

from django.db import models


class _Row(models.Model):
    name = models.CharField(max_length=100)
    path = models.CharField(max_length=200)
    changed_at = models.DateTimeField()
    is_listed = models.BooleanField(default=True)

    class Meta:
        abstract = True

    def __str__(self):
        return self.name


class Book(_Row):
    """A book."""


class Author(_Row):
    """An author."""


class Event(_Row):
    """A reading; some are elsewhere and have a URL on another host."""
