"""Models of every shape that a sitemap may stand on."""

import uuid

from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.utils.translation import get_language


class Product(models.Model):
    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=200, allow_unicode=True)
    is_active = models.BooleanField(default=True)
    updated_at = models.DateTimeField(null=True, db_index=True)
    published_on = models.DateField(null=True)
    priority = models.DecimalField(max_digits=3, decimal_places=2, null=True)
    file = models.FileField(upload_to="files", blank=True)

    def __str__(self):
        return self.name

    def get_absolute_url(self):
        return f"/products/{self.slug}/"


class Tag(models.Model):
    name = models.CharField(max_length=50)
    products = models.ManyToManyField(Product, related_name="tags")

    def __str__(self):
        return self.name


class Token(models.Model):
    """A UUID as primary key: rows are inserted anywhere in key order."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    updated_at = models.DateTimeField(null=True)

    def __str__(self):
        return str(self.id)


class Number(models.Model):
    """A number of 64 bits as primary key, which nothing counts up: MariaDB never forgets the highest it has seen."""

    id = models.BigIntegerField(primary_key=True)
    updated_at = models.DateTimeField(null=True)

    def __str__(self):
        return str(self.id)


class Word(models.Model):
    """A text as primary key: the collation of the database decides the order."""

    text = models.CharField(max_length=100, primary_key=True)
    updated_at = models.DateTimeField(null=True)

    def __str__(self):
        return self.text


class Cell(models.Model):
    """A composite primary key."""

    pk = models.CompositePrimaryKey("row", "column")
    row = models.IntegerField()
    column = models.CharField(max_length=20)
    updated_at = models.DateTimeField(null=True)

    def __str__(self):
        return f"{self.row}-{self.column}"


class Article(models.Model):
    title = models.CharField(max_length=200)
    published_at = models.DateTimeField(db_index=True)
    remarks = GenericRelation("testapp.Remark")

    def __str__(self):
        return self.title

    def get_absolute_url(self):
        return f"/articles/{self.pk}/"


class Seat(models.Model):
    """A number of its own, and a unique pair of columns beside it."""

    hall = models.IntegerField()
    name = models.CharField(max_length=20)
    updated_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-hall", "-name")
        constraints = (models.UniqueConstraint(fields=("hall", "name"), name="testapp_seat_of_hall"),)

    def __str__(self):
        return f"{self.hall}/{self.name}"


class Note(models.Model):
    """A related row of a product: a join to it returns a product more than once."""

    product = models.ForeignKey(Product, models.CASCADE, related_name="notes")
    text = models.CharField(max_length=50)

    def __str__(self):
        return self.text


class Bundle(Product):
    """A child of a model with a table: its primary key is a relation."""

    size = models.IntegerField(default=0)


class Remark(models.Model):
    """A related row of any model, by a generic relation."""

    # Apps without migrations, as this one, get their tables before those with them.
    content_type = models.ForeignKey(ContentType, models.CASCADE, db_constraint=False)
    object_id = models.PositiveBigIntegerField()
    about = GenericForeignKey()
    text = models.CharField(max_length=50)

    def __str__(self):
        return self.text


class Box(Bundle):
    """A child of a child: its primary key is a relation to one that is a relation."""


class Label(models.Model):
    """A relation as primary key, to a key that is no number."""

    token = models.OneToOneField(Token, models.CASCADE, primary_key=True)

    def __str__(self):
        return str(self.pk)


class Reading(models.Model):
    """Values of many kinds, each unique."""

    at = models.DateTimeField(unique=True)
    on = models.DateField(unique=True)
    amount = models.DecimalField(max_digits=12, decimal_places=3, unique=True)
    share = models.FloatField(unique=True)
    took = models.DurationField(unique=True)
    slug = models.SlugField(unique=True)

    def __str__(self):
        return self.slug


class Photo(models.Model):
    """One of many related rows of a product, with an ordering of its own."""

    product = models.ForeignKey(Product, models.CASCADE, related_name="photos")
    file = models.FileField(upload_to="photos", blank=True)
    caption = models.CharField(max_length=50, blank=True)
    position = models.IntegerField(default=0)

    class Meta:
        ordering = ("position",)

    def __str__(self):
        return self.file.name


class Translation(models.Model):
    """The texts of a product in one language."""

    product = models.ForeignKey(Product, models.CASCADE, related_name="translations")
    language_code = models.CharField(max_length=10)
    slug = models.CharField(max_length=50, blank=True)
    title = models.CharField(max_length=50, blank=True)

    def __str__(self):
        return self.slug


class Leaflet(models.Model):
    """A row for each language, and a column for each beside it."""

    translation_key = models.CharField(max_length=20, blank=True, null=True, db_index=True)  # noqa: DJ001 - both are met
    locale = models.CharField(max_length=10, blank=True)
    slug = models.CharField(max_length=50)
    slug_en = models.CharField(max_length=50, blank=True, null=True)  # noqa: DJ001
    slug_de = models.CharField(max_length=50, blank=True, null=True)  # noqa: DJ001
    slug_pt_br = models.CharField(max_length=50, blank=True, null=True)  # noqa: DJ001
    languages = models.JSONField(default=list)
    fallback = models.CharField(max_length=50, blank=True)
    updated_at = models.DateTimeField(null=True)

    def __str__(self):
        return self.slug

    def get_absolute_url(self):
        return f"/{get_language()}/{self.slug}/"


class Author(models.Model):
    """A row that others show."""

    slug = models.SlugField()

    def __str__(self):
        return self.slug


class Story(models.Model):
    """A row as a tutorial makes it: its dates move when it is saved, and its URL shows a related row."""

    author = models.ForeignKey(Author, models.CASCADE)
    slug = models.SlugField()
    is_listed = models.BooleanField(default=True)
    published_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    updated_on = models.DateField(auto_now=True)

    def __str__(self):
        return self.slug

    def get_absolute_url(self):
        return f"/{self.author.slug}/{self.slug}/"
