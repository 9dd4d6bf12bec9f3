"""The tasks that are measured, each in a separate process."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

PAGE = 50_000
"""URLs on a page, in every project."""
HOST = "shop.example"


def nothing() -> None:
    """Do nothing in advance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of work."""

    side: Literal["plus", "contrib", "icv"]
    run: Callable[..., int]
    """Does the work and returns the number of bytes of the output."""
    warm: Callable[[], object] = nothing
    """Does the same for ten rows before the measurement, so that imports and templates do not count."""
    prepare: Callable[[], tuple[object, ...]] = tuple
    """Returns the argument for `run`, before the measurement."""
    packer: Literal["fast", "zlib"] = "fast"
    rows: tuple[int, int] = (0, 10_000_000)
    """The sizes for which it runs; larger ones would take hours or all memory."""
    peer: str = ""
    """The optional package from PyPI."""


def fetch(path: str) -> int:
    """Get a URL and return the bytes received."""
    return sum(map(len, received(path)))


def received(path: str) -> Iterator[bytes]:
    """Return the response to a URL through all of Django, piece by piece, as a server would read it."""
    from django.test import Client

    response = Client().get(path, secure=True, headers={"host": HOST, "accept-encoding": "gzip"})
    if response.status_code != 200:
        raise RuntimeError(f"{path} answers {response.status_code}")
    return iter(response)


def build(label: str, workers: int = 1) -> int:
    """Write all pages of a section as files, and its index."""
    from sitemaps_plus.build import build as build_files

    result = build_files([label], full=True, workers=workers)
    if not result.is_complete:
        raise RuntimeError(f"The build is not complete: {result}")
    return sum(file.stat().st_size for file in files(label))


def build_again(label: str, pages: int) -> int:
    """Build again; raise unless so many pages changed; return their bytes."""
    from sitemaps_plus.build import build as build_files

    before = {file: file.stat().st_mtime_ns for file in files(label)}
    result = build_files([label])
    written = [file for file in files(label) if file.stat().st_mtime_ns != before.get(file)]
    made = sum(section.rendered - section.verified for section in result.sections)
    if not result.is_complete or made != pages or len(written) != pages:
        raise RuntimeError(f"{pages} pages changed, {made} were made and {len(written)} written: {result}")
    return sum(file.stat().st_size for file in written)


def cached_page() -> tuple[()]:
    """Put page 1 of the products into the cache of this process."""
    remove("products")
    fetch("/sitemap-products-1.xml")
    return ()


def built() -> tuple[()]:
    """Build the products, unless an earlier task has done so."""
    from sitemaps_plus.build import build as build_files

    result = build_files(["products"])
    if not result.is_complete:
        raise RuntimeError(f"The build is not complete: {result}")
    return ()


def built_and_changed() -> tuple[()]:
    """Build the products, then change the date of one product in the middle of a page."""
    from datetime import timedelta

    from django.conf import settings

    from shop.models import Product

    built()
    one = Product.objects.filter(pk=settings.ROWS - min(settings.ROWS, PAGE) // 2)
    one.update(updated_at=one.get().updated_at + timedelta(seconds=1))
    return ()


def files(label: str) -> list[Path]:
    """Return the pages of a section that are built."""
    from django.conf import settings

    return list((settings.FOLDERS["sitemaps"] / HOST).glob(f"sitemap-{label}-*.xml.gz"))


def remove(label: str) -> tuple[()]:
    """Remove the pages of a section that an earlier run has built."""
    for file in files(label):
        file.unlink()
    return ()


def remove_all() -> tuple[()]:
    """Remove all built files and the records of them."""
    from django.conf import settings

    shutil.rmtree(settings.FOLDERS["sitemaps"] / HOST, ignore_errors=True)
    return ()


def first_plan() -> int:
    """Get the index of a section for the first time: all pages are divided."""
    from sitemaps_plus.models import SitemapPage

    SitemapPage.objects.filter(label="products").delete()
    return fetch("/sitemap-products.xml")


def checked_plan() -> int:
    """Get the index when the plan must be checked: every page is compared with its rows."""
    from django.conf import settings
    from django.test import override_settings

    with override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, "CHECK_EVERY": 0}):
        return fetch("/sitemap-products.xml")


def checked_page() -> int:
    """Get a page that is in the cache when it is time to ask the database whether it changed."""
    from django.conf import settings
    from django.test import override_settings

    with override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, "CHECK_EVERY": 0}):
        return fetch("/sitemap-products-1.xml")


def contrib_all() -> int:
    """Get every page from Django's own view."""
    from shop.models import Product

    pages = -(-Product.objects.count() // PAGE)
    return sum(fetch(f"/sitemap-products.xml?p={page}") for page in range(1, pages + 1))


def last_page() -> int:
    """Return the number of the last page."""
    from django.conf import settings

    return -(-settings.ROWS // PAGE)


def icv_build(model: str) -> int:
    """Write all files of a section with django-icv-sitemaps, and its index."""
    from icv_sitemaps.models.sections import SitemapSection
    from icv_sitemaps.services.generation import generate_section

    section, _ = SitemapSection.objects.get_or_create(name=model.lower(), defaults={"model_path": f"icv.{model}"})
    if not generate_section(section, force=True):
        raise RuntimeError("django-icv-sitemaps has written no URLs; its log is in SitemapGenerationLog")
    return sum(section.files.values_list("file_size_bytes", flat=True))


def lxml_document(name: str) -> bytes:
    """Return the one document that django-sitemaps makes of a class: its first page."""
    from django_sitemaps import Sitemap

    from shop import classes

    sitemap = Sitemap(build_absolute_uri=f"https://{HOST}{{}}".format)
    sitemap.add_django_sitemap(getattr(classes, name))
    document: bytes = sitemap.serialize()
    return document


def lxml_page(name: str) -> int:
    """Return the size of that document."""
    return len(lxml_document(name))


def floor(documents: list[list[bytes]]) -> int:
    """Read all rows with a raw cursor and compress the bytes of the pages: the minimum for any sitemap."""
    read_rows()
    return sum(map(pack, documents))


def warm_floor() -> None:
    """Read ten rows and compress a word."""
    read_rows(most=10)
    pack([b"sitemap"])


def read_rows(most: int = 2**62) -> None:
    """Read URL and date of every row as text."""
    from django.db import connection, transaction

    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute("SELECT slug, CAST(updated_at AS text) FROM shop_product ORDER BY id LIMIT %s", [most])
        while cursor.fetchmany(2000):
            pass


def pack(pieces: list[bytes]) -> int:
    """Return the gzip size of a document, compressed as in a build but without a digest."""
    from sitemaps_plus.stores.packing import GZIP, get_packer

    packer = get_packer()
    stream = packer.compressobj(packer.default_level, wbits=GZIP)
    return sum(len(stream.compress(piece)) for piece in pieces) + len(stream.flush())


def built_pages() -> tuple[list[list[bytes]]]:
    """Return the uncompressed bytes of each page that was built, in pieces."""
    found = files("products")
    if not found:
        raise RuntimeError("Nothing is built yet: the floor packs the bytes of the built pages, run a build first")
    return ([list(pieces(page)) for page in found],)


def pieces(page: Path) -> Iterator[bytes]:
    """Yield the text of a page in pieces as large as in a build."""
    text = gzip.decompress(page.read_bytes())
    for start in range(0, len(text), 2**18):
        yield text[start : start + 2**18]


def contrib_page(section: str, number: Callable[[], int]) -> Task:
    """Return the task of one page of Django's view."""
    return Task(
        side="contrib",
        warm=partial(fetch, f"/sitemap-few-{section}.xml"),
        run=lambda: fetch(f"/sitemap-{section}.xml?p={number()}"),
    )


def page(label: str, number: Callable[[], int]) -> Task:
    """Return the task of one page of this project, with a known plan and without built files."""
    return Task(
        side="plus",
        warm=partial(fetch, f"/sitemap-few-{label}-1.xml"),
        prepare=partial(remove, label),
        run=lambda: fetch(f"/sitemap-{label}-{number()}.xml"),
    )


def full_build(label: str, packer: Literal["fast", "zlib"], workers: int = 1) -> Task:
    """Return the task of a build of one section, with so many `workers`."""
    return Task(
        side="plus",
        packer=packer,
        warm=partial(build, f"few-{label}"),
        prepare=remove_all,
        run=partial(build, label, workers),
    )


def next_build(packer: Literal["fast", "zlib"], *, is_changed: bool) -> Task:
    """Return the task of a second build, after no product or one product has changed."""
    return Task(
        side="plus",
        packer=packer,
        warm=partial(build, "few-products"),
        prepare=built_and_changed if is_changed else built,
        run=partial(build_again, "products", 1 if is_changed else 0),
    )


def first() -> int:
    """Return the number of the first page."""
    return 1


_warm_index = partial(fetch, "/sitemap-few-products.xml")
_warm_contrib_index = partial(fetch, "/few-products.xml")
_up_to_a_million = (0, 1_000_000)
_of_many_pages = (PAGE + 1, 10_000_000)

TASKS: dict[str, Task] = {
    "index, contrib": Task(
        side="contrib", warm=_warm_contrib_index, run=partial(fetch, "/products.xml"), rows=_up_to_a_million
    ),
    "index": Task(side="plus", warm=_warm_index, run=partial(fetch, "/sitemap-products.xml")),
    "index, plan checked": Task(side="plus", warm=_warm_index, run=checked_plan),
    "index, first plan": Task(side="plus", warm=_warm_index, run=first_plan),
    "page 1, checked": replace(page("products", first), prepare=cached_page, run=checked_page),
    "page 1, contrib": contrib_page("products", first),
    "page 1, django-sitemaps": Task(
        side="contrib",
        warm=partial(lxml_page, "FewProducts"),
        run=partial(lxml_page, "ProductSitemap"),
        peer="django-sitemaps",
    ),
    "page 1, contrib class": page("objects", first),
    "page 1": page("products", first),
    "last page, contrib": replace(contrib_page("products", last_page), rows=_of_many_pages),
    "last page": replace(page("products", last_page), rows=_of_many_pages),
    "languages, contrib": replace(contrib_page("languages", first), rows=_up_to_a_million),
    "languages, contrib class": replace(page("object-languages", first), rows=_up_to_a_million),
    "languages": page("languages", first),
    "all pages, contrib, no gzip": Task(
        side="contrib", warm=partial(fetch, "/sitemap-few-products.xml"), run=contrib_all, rows=_up_to_a_million
    ),
    "build, django-icv-sitemaps": Task(
        side="icv",
        warm=partial(icv_build, "FewIcvProduct"),
        run=partial(icv_build, "IcvProduct"),
        rows=_up_to_a_million,
        peer="django-icv-sitemaps",
    ),
    "build, contrib class, fast": replace(full_build("objects", "fast"), rows=_up_to_a_million),
    "build, contrib class, fast, 2 workers": replace(full_build("objects", "fast", workers=2), rows=_up_to_a_million),
    "build, fast, 2 workers": full_build("products", "fast", workers=2),
    "build, zlib": replace(full_build("products", "zlib"), rows=_up_to_a_million),
    "build, fast": full_build("products", "fast"),
    "build, zlib, nothing changed": replace(next_build("zlib", is_changed=False), rows=_up_to_a_million),
    "build, fast, nothing changed": next_build("fast", is_changed=False),
    "build, zlib, one row changed": replace(next_build("zlib", is_changed=True), rows=_up_to_a_million),
    "build, fast, one row changed": next_build("fast", is_changed=True),
    "floor, zlib": Task(
        side="plus", packer="zlib", warm=warm_floor, prepare=built_pages, run=floor, rows=_up_to_a_million
    ),
    "floor, fast": Task(side="plus", warm=warm_floor, prepare=built_pages, run=floor),
}
"""Tasks by their names in the tables, in the order in which they run."""
