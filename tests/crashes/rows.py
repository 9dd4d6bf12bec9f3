"""Rows that come, go and change between builds."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from testapp.models import Article, Product

HOSTS = ("example.com", "example.org")

DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Table:
    """Rows that come, go and change; what each of them is now, and was ever."""

    def __init__(self, draw: random.Random, rows: int) -> None:
        self._draw = draw
        self._rows = rows
        self.now: dict[int, int] = {}
        """The version of each row that is there."""
        self.ever: dict[int, int] = {}
        self._insert(range(1000, 1000 * (rows + 1), 1000))
        self._articles = 0
        self._publish(25)

    def change(self) -> None:
        """Do what gives new pages, empties one, splits one, and changes some."""
        draw, keys = self._draw, sorted(self.now)
        kind = draw.random()
        at = draw.randrange(len(keys))
        if kind < 0.5 and len(keys) > self._rows / 2:
            # Side by side: a page may lose all of its rows.
            self._delete(keys[at : at + draw.randrange(1, self._rows // 4)])
        if kind > 0.3 and len(keys) < 2 * self._rows:
            # Behind one row, so that a page grows too large; or behind all of them.
            first = keys[at] + 1 if draw.random() < 0.8 else keys[-1] + 1000
            taken = self.ever.keys()
            self._insert([key for key in range(first, first + draw.randrange(1, 40)) if key not in taken])
        changed = draw.sample(keys, draw.choice((1, 3, 3, 10, len(keys))))
        self._update([key for key in changed if key in self.now])
        self._publish(draw.choice((0, 1, 12)))

    def on(self, host: str) -> dict[str, dict[int, int]]:
        """Return what a complete set has."""
        half = self.now if host == HOSTS[0] else {key: self.now[key] for key in self.now if is_active(key)}
        return {"rows": self.now, "media": self.now, "of-site": half}

    def _insert(self, keys: Sequence[int]) -> None:
        Product.objects.bulk_create(
            Product(
                pk=key,
                name=str(key),
                slug=f"{key}-0",
                is_active=is_active(key),
                updated_at=DAY + timedelta(seconds=len(self.ever) + number),
            )
            for number, key in enumerate(keys)
        )
        self.now.update(dict.fromkeys(keys, 0))
        self.ever.update(dict.fromkeys(keys, 0))

    def _delete(self, keys: Sequence[int]) -> None:
        # Nothing hangs on them, and the tables of what could are not there.
        Product.objects.filter(pk__in=keys)._raw_delete("default")
        for key in keys:
            del self.now[key]

    def _update(self, keys: Sequence[int]) -> None:
        products = Product.objects.in_bulk(keys)
        for key, product in products.items():
            self.now[key] = self.ever[key] = self.now[key] + 1
            product.slug, product.updated_at = f"{key}-{self.now[key]}", timezone.now()
        Product.objects.bulk_update(products.values(), ("slug", "updated_at"), batch_size=200)

    def _publish(self, count: int) -> None:
        now = timezone.now()
        # Some fall out of it.
        Article.objects.filter(pk__lte=self._articles - 60)._raw_delete("default")
        Article.objects.bulk_create(
            Article(pk=pk, title=f"Article {pk}", published_at=now)
            for pk in range(self._articles + 1, self._articles + count + 1)
        )
        self._articles += count


def is_active(key: int) -> bool:
    return key // 1000 % 2 == 0
