"""Make invented articles, the same ones each time within a day."""

from datetime import datetime, timedelta

import factory
import factory.random
from django.utils import timezone
from django.utils.text import slugify

from articles.models import Article

SEED = "atlas"

HOURS_BETWEEN = 6
"""Hours between two articles, so that the two days of the news sitemap always contain some."""


class ArticleFactory(factory.django.DjangoModelFactory[Article]):
    """An article, published some hours earlier than the one created before it, and before today (UTC)."""

    class Meta:
        model = Article

    title = factory.Transformer(factory.Faker("sentence", nb_words=6), transform=lambda text: text.rstrip("."))
    slug = factory.LazyAttributeSequence(lambda article, n: f"{slugify(article.title)}-{n}")
    body = factory.Transformer(factory.Faker("paragraphs", nb=4), transform="\n\n".join)
    published_at = factory.Sequence(lambda n: _midnight() - (n + 1) * timedelta(hours=HOURS_BETWEEN))
    updated_at = factory.LazyAttribute(lambda article: article.published_at + timedelta(minutes=5))


def make_articles(count: int) -> list[Article]:
    """Replace all articles by `count` invented ones."""
    factory.random.reseed_random(SEED)
    ArticleFactory.reset_sequence(0)
    Article.objects.all().delete()
    return Article.objects.bulk_create(ArticleFactory.build_batch(count))


def _midnight() -> datetime:
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
