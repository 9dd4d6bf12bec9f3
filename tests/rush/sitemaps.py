"""A section that says when it is rendered."""

import os
import time
from pathlib import Path

from django.db.models import F

from sitemaps_plus import ModelSitemap, register
from sitemaps_plus.stores import cache
from testapp.models import Product

# No test needs longer to see that the cache is asked again.
cache.REST = 1


@register("products")
class Products(ModelSitemap):
    queryset = Product.objects.all()
    lastmod = F("updated_at")

    def location(self, item):
        if item.slug == "product-1":
            # The lines of several processes: each is written in one piece.
            with Path(os.environ["RUSH_NOTES"]).open("a") as notes:
                notes.write(f"{os.getpid()}\n")
            # All the others are waiting by then.
            time.sleep(float(os.environ["RUSH_SLOW"]))
        return f"/{item.slug}/"
