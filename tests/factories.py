"""Rows for the tests, each valid and unlike the others; `bulk()` makes many in one query."""

import uuid
from datetime import UTC, date, datetime, timedelta

import factory

from testapp.models import Article, Bundle, Cell, Note, Product, Seat, Tag, Token, Word

DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""When the first row of each factory was changed; every later one a minute after the one before."""


class _Factory(factory.django.DjangoModelFactory):
    class Meta:
        abstract = True

    @classmethod
    def bulk(cls, size, **values):
        """Return `size` rows, made in one query."""
        return cls._meta.model.objects.bulk_create(cls.build_batch(size, **values))


class _Dated(_Factory):
    updated_at = factory.Sequence(lambda n: DAY + timedelta(minutes=n))


class ProductFactory(_Dated):
    class Meta:
        model = Product

    name = factory.Sequence(lambda n: f"Product {n}")
    slug = factory.Sequence(lambda n: f"product-{n}")
    published_on = factory.Sequence(lambda n: date(2026, 1, 1) + timedelta(days=n % 100))


class BundleFactory(ProductFactory):
    class Meta:
        model = Bundle


class TagFactory(_Factory):
    class Meta:
        model = Tag

    name = factory.Sequence(lambda n: f"tag {n}")


class NoteFactory(_Factory):
    class Meta:
        model = Note

    product = factory.SubFactory(ProductFactory)
    text = factory.Sequence(lambda n: f"note {n}")


class TokenFactory(_Dated):
    class Meta:
        model = Token

    # As random as uuid4(), and the same in every run.
    id = factory.Sequence(lambda n: uuid.uuid5(uuid.NAMESPACE_URL, str(n)))


class WordFactory(_Dated):
    class Meta:
        model = Word

    text = factory.Sequence(lambda n: f"word {n:05}")


class CellFactory(_Dated):
    class Meta:
        model = Cell

    row = factory.Sequence(lambda n: n // 4)
    column = factory.Sequence(lambda n: "abcd"[n % 4])


class SeatFactory(_Dated):
    class Meta:
        model = Seat

    hall = factory.Sequence(lambda n: n // 4)
    name = factory.Sequence(lambda n: "abcd"[n % 4])


class ArticleFactory(_Factory):
    class Meta:
        model = Article

    title = factory.Sequence(lambda n: f"Article {n}")
    published_at = factory.Sequence(lambda n: DAY + timedelta(minutes=n))
