"""Rows that come, go and change between builds, and meanwhile."""

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import connections
from django.utils import timezone

from testapp.models import Article, Product

HOSTS = ("example.com", "example.org")

DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Table:
    """Rows that come, go and change; what each of them is now, and was ever."""

    def __init__(self, draw: random.Random, rows: int) -> None:
        self._draw = draw
        self._rows = rows
        self.lock = threading.Lock()
        """To be held by who changes rows, and by who needs them to stand still."""
        self.now: dict[int, int] = {}
        """The version of each row that is there."""
        self.ever: dict[int, int] = {}
        self.active: set[int] = set()
        """The rows that one of the sites has."""
        self._marks = 0
        self._moved: dict[int, int] = {}
        """After which mark a row last came or went; and below, became active or ceased to be."""
        self._turned: dict[int, int] = {}
        self.articles: dict[int, int] = {}
        self._gone: list[list[Product]] = []
        self.insert(range(1000, 1000 * (rows + 1), 1000))
        self._publish(25)

    def mark(self) -> int:
        """Return a number for this moment."""
        with self.lock:
            self._marks += 1
            return self._marks

    def steady(self, host: str, since: int) -> dict[str, set[int]]:
        """Return the rows of a complete set that were there all the time since a mark, but for news."""
        there = {key for key in self.now if self._moved.get(key, -1) < since}
        found = dict.fromkeys(self.on(host).keys() - {"news"}, there)
        turned = {key for key, mark in self._turned.items() if mark >= since} if host == HOSTS[1] else set()
        return {**found, "of-site": found["of-site"] & self.on(host)["of-site"].keys() - turned}

    def change(self) -> None:
        """Do what gives new pages, empties one, splits one, and changes some."""
        draw, keys = self._draw, sorted(self.now)
        kind = draw.random()
        at = draw.randrange(len(keys))
        if kind < 0.5 and len(keys) > self._rows / 2:
            # Side by side: a page may lose all of its rows.
            self.delete(keys[at : at + draw.randrange(1, self._rows // 4)])
        if kind > 0.3 and len(keys) < 2 * self._rows:
            # After one row, so that a page grows too large; or after all of them.
            first = keys[at] + 1 if draw.random() < 0.8 else keys[-1] + 1000
            self.insert(range(first, first + draw.randrange(1, 40)))
        changed = draw.sample(keys, draw.choice((1, 3, 3, 10, len(keys))))
        self.update([key for key in changed if key in self.now])
        self._publish(draw.choice((0, 1, 12)))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change rows all the time, on a connection of its own."""
        stop, errors = threading.Event(), []

        def work() -> None:
            try:
                while not stop.wait(self._draw.uniform(0, 0.03)):
                    with self.lock:
                        self._move()
            except Exception as error:
                errors.append(error)
            finally:
                connections.close_all()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        if errors:
            raise errors[0]

    def on(self, host: str) -> dict[str, dict[int, int]]:
        """Return what a complete set has."""
        half = self.now if host == HOSTS[0] else {key: self.now[key] for key in self.now if key in self.active}
        return {"rows": self.now, "media": self.now, "of-site": half, "news": self.articles}

    def copy(self) -> "Table":
        """Return a table that knows the same rows, for another database that has them."""
        copied = object.__new__(Table)
        copied.__dict__.update(self.__dict__)
        copied.lock = threading.Lock()
        for name in ("now", "ever", "active", "articles", "_moved", "_turned", "_gone"):
            setattr(copied, name, getattr(self, name).copy())
        return copied

    def insert(self, keys: Sequence[int]) -> None:
        """Insert the rows of those keys that never had one."""
        keys = [key for key in keys if key not in self.ever]
        products = [
            Product(
                pk=key,
                name=str(key),
                slug=f"{key}-0",
                is_active=is_active(key),
                # Sums of dates must not be the same by chance.
                updated_at=DAY + timedelta(seconds=len(self.ever) + number, microseconds=self._draw.randrange(10**6)),
            )
            for number, key in enumerate(keys)
        ]
        Product.objects.bulk_create(products)
        self._came(products)
        self.ever.update(dict.fromkeys(keys, 0))

    def delete(self, keys: Sequence[int]) -> None:
        # Nothing hangs on them, and the tables of what could are not there.
        Product.objects.filter(pk__in=keys)._raw_delete("default")
        for key in keys:
            del self.now[key]
        self.active.difference_update(keys)
        self._moved.update(dict.fromkeys(keys, self._marks))

    def update(self, keys: Sequence[int]) -> None:
        products = Product.objects.in_bulk(keys)
        for key, product in products.items():
            self.now[key] = self.ever[key] = self.now[key] + 1
            product.slug, product.updated_at = f"{key}-{self.now[key]}", timezone.now()
        Product.objects.bulk_update(products.values(), ("slug", "updated_at"), batch_size=200)

    def _came(self, products: Sequence[Product]) -> None:
        self.now.update({product.pk: int(product.slug.partition("-")[2]) for product in products})
        self.active.update(product.pk for product in products if product.is_active)
        self._moved.update({product.pk: self._marks for product in products})

    def _move(self) -> None:
        """Do one small thing."""
        draw, keys = self._draw, sorted(self.now)
        at = draw.randrange(len(keys))
        some = keys[at : at + draw.choice((1, 3, 3, 10, self._rows // 4))]
        kinds = {self._take: 3, self._bring: 3, self._turn: 2, self.update: 2, self._grow: 1}
        draw.choices(list(kinds), list(kinds.values()))[0](some)
        if draw.random() < 0.1:
            self._publish(draw.choice((1, 4)))

    def _take(self, keys: Sequence[int]) -> None:
        """Delete rows, most of which come back."""
        if len(self.now) - len(keys) > self._rows / 2:
            self._gone.append(list(Product.objects.filter(pk__in=keys)))
            self.delete(keys)

    def _bring(self, _keys: Sequence[int]) -> None:
        """Insert rows again as they were."""
        if self._gone:
            products = self._gone.pop(self._draw.randrange(len(self._gone)))
            Product.objects.bulk_create(products)
            self._came(products)

    def _turn(self, keys: Sequence[int]) -> None:
        """Take rows out of the sections of active ones, or back into them; no date moves."""
        is_on = self._draw.random() < 0.5
        Product.objects.filter(pk__in=keys).update(is_active=is_on)
        self._turned.update(dict.fromkeys(keys, self._marks))
        if is_on:
            self.active.update(keys)
        else:
            self.active.difference_update(keys)

    def _grow(self, keys: Sequence[int]) -> None:
        if len(self.now) < 2 * self._rows:
            first = keys[0] + 1 if self._draw.random() < 0.8 else max(self.ever) + 1000
            self.insert(range(first, first + self._draw.randrange(1, 30)))

    def _publish(self, count: int) -> None:
        now, last = timezone.now(), max(self.articles, default=0)
        # Some fall out of it.
        Article.objects.filter(pk__lte=last - 60)._raw_delete("default")
        Article.objects.bulk_create(
            Article(pk=pk, title=f"Article {pk}", published_at=now) for pk in range(last + 1, last + count + 1)
        )
        self.articles = dict.fromkeys(range(max(1, last - 59), last + count + 1), 0)


def is_active(key: int) -> bool:
    return key // 1000 % 2 == 0
