"""Rows, sections and documents that several test modules start from."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db.models import CharField, F, QuerySet, Value
from django.db.models.functions import Concat
from django.db.models.signals import post_init
from django.utils import timezone

from sitemaps_plus import ModelSitemap, Sitemap, registry
from sitemaps_plus.models import CrawlerVisit
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin, Scope
from sitemaps_plus.protocol.entries import Cleaner
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.writer import Tally, write_urlset
from sitemaps_plus.render.pages import render_planned
from sitemaps_plus.render.renderer import url_info_group
from sitemaps_plus.stores.packing import Document
from sitemaps_plus.values.extensions import namespaces_of
from testapp.models import Product
from xml_checks import locs

SITE = SiteOrigin(id=1, origin=Origin.parse("https://example.com"))
DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Products(ModelSitemap):
    """Ten products on a page."""

    queryset = Product.objects.order_by("pk")
    location = Concat(Value("/"), F("slug"), Value("/"), output_field=CharField())
    lastmod = F("updated_at")
    limit = 10
    fill = 1.0


class AllProducts(ModelSitemap):
    """All products on one page, with the URLs of their own and without dates."""

    queryset = Product.objects.all()


class ListedProducts(Sitemap):
    """A list of objects: only rendering a page shows whether it changed."""

    def items(self) -> list[Product]:
        return list(Product.objects.order_by("pk"))

    def location(self, item: Product) -> str:
        return f"/{item.slug}/"


class ProductsByPosition(ContribSitemap):
    """Rows of a class of contrib with languages, which is paged by position."""

    i18n = True
    languages = ("en",)

    def items(self) -> QuerySet[Product]:
        return Product.objects.order_by("pk")

    def location(self, item: Product) -> str:
        return f"/{item.slug}/"


def make_products(count: int, *, first: int = 1, **values: Any) -> list[Product]:
    """Store `count` products, from product-1 on; each was changed a minute after the one before."""
    return Product.objects.bulk_create(
        Product(
            **{
                "name": f"Product {number}",
                "slug": f"product-{number}",
                "updated_at": DAY + timedelta(minutes=number),
                **values,
            }
        )
        for number in range(first, first + count)
    )


def nth(number: int) -> QuerySet[Product]:
    """Return the product of that number, on page (number + 9) // 10 of `Products`."""
    return Product.objects.filter(slug=f"product-{number}")


def product_paths(**filters: Any) -> list[str]:
    """Return the path of each product in the order of the key, as `Products` lists them."""
    return [f"/{slug}/" for slug in Product.objects.filter(**filters).order_by("pk").values_list("slug", flat=True)]


@contextmanager
def products_read() -> Iterator[list[Any]]:
    """Yield a list that grows by the key of each product that is made an object."""
    read: list[Any] = []

    def note(instance: Product, **kwargs: Any) -> None:
        read.append(instance.pk)

    post_init.connect(note, sender=Product)
    try:
        yield read
    finally:
        post_init.disconnect(note, sender=Product)


def replace_section(label: str, sitemap: Any) -> None:
    """Register another class under a label, in the same place: what a deploy does."""
    others = {other: registry[other] for other in registry}
    unregister_all()
    for other, known in {**others, label: sitemap}.items():
        registry.register(other, known)


def unregister_all() -> None:
    """Leave the registry empty."""
    for label in list(registry):
        registry.unregister(label)


def section_of(sitemap: Any, label: str = "products", site: SiteOrigin = SITE) -> Section:
    """Return the section of a Sitemap class, without registering it."""
    return Section(label=label, site=site, sitemap=sitemap())


def render_page(section: Section, number: int, **options: Any) -> Document:
    """Return one page."""
    document, _ = render_planned(section, number, **options)
    return document


def text_of(document: Document) -> bytes:
    """Return the uncompressed bytes of a document."""
    return gzip.decompress(document.gzipped)


def listed_paths(document: Document) -> list[str]:
    """Return the paths of the URLs of a document, in its order."""
    return paths(locs(text_of(document)))


def paths(addresses: Iterable[str]) -> list[str]:
    """Return what follows the host of example.com."""
    return [address.removeprefix("https://example.com") for address in addresses]


def made_cleaner() -> Cleaner:
    return Cleaner(
        scope=Scope(origin=Origin.parse("https://example.com")),
        tz=timezone.get_default_timezone(),
        now=timezone.now(),
        report=Report("urlset"),
    )


def written(urlset: list[dict[str, Any]]) -> bytes:
    cleaner = made_cleaner()
    groups = [group for info in urlset if (group := url_info_group(info, 1, cleaner))]
    pieces = write_urlset(
        groups, prefixes=namespaces_of(["hreflang"]), report=Report("urlset"), tally=Tally(), as_given=True
    )
    return b"".join(pieces)


def make_visit(**values: Any) -> CrawlerVisit:
    known = {"site": 1, "label": "products", "crawler": "Googlebot", "day": date(2024, 10, 4)}
    return CrawlerVisit.objects.create(**{**known, "last_at": datetime(2026, 1, 1, tzinfo=UTC), **values})
