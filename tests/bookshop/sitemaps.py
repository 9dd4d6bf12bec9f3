"""Three sections of the bookshop."""

import os
import time
from pathlib import Path

from django.db.models import F

from bookshop.models import Author, Book, Event
from sitemaps_plus import ModelSitemap, register


class _Section(ModelSitemap):
    location = F("path")
    lastmod = F("changed_at")
    limit = 500
    fill = 1.0


class Books(_Section):
    """All books."""

    queryset = Book.objects.filter(is_listed=True).order_by("pk")


class Authors(_Section):
    """All authors."""

    queryset = Author.objects.filter(is_listed=True).order_by("pk")


class Events(_Section):
    """All readings; a build of them waits while there is a file named ``closed`` in the folder of the test."""

    queryset = Event.objects.filter(is_listed=True).order_by("pk")

    def location(self, item):
        gate, deadline = Path(os.environ["BOOKSHOP_FOLDER"]) / "closed", time.monotonic() + 20
        while gate.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return item.path


register("books", Books)
register("authors", Authors)
register("events", Events)
