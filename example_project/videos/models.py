"""Films, in English only."""

from django.db import models
from django.urls import reverse

from atlas.models import Country


class Film(models.Model):
    """A tour of the largest places of a country; the player draws it from their positions."""

    slug = models.SlugField(max_length=110, unique=True)
    country = models.OneToOneField(Country, models.CASCADE, related_name="film")
    title = models.CharField(max_length=120)
    summary = models.TextField()
    thumbnail = models.FileField(upload_to="videos")
    duration = models.DurationField()
    published_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """Return the path of the page that shows the film."""
        return reverse("video", kwargs={"slug": self.slug})
