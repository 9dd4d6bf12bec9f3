"""Check the built sitemaps against the protocol and the database, and show one URL of each kind."""

import multiprocessing
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.files.storage import FileSystemStorage, storages
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from articles.models import Article
from articles.sitemaps import ArticleNewsSitemap
from atlas.geonames import CREDIT
from atlas.inspection import KINDS, Page, inspect_index, inspect_page
from atlas.models import Country, Place, PlacePicture
from atlas.progress import ProgressBar
from atlas.sitemaps import PageSitemap
from videos.models import Film

_PAGE_NAME = re.compile(r"sitemap-(?P<section>.+)-\d+\.xml\.gz")
_SHOWN = {
    "A flag": ("countries", "images"),
    "Pictures of a place": ("places", "images"),
    "A video": ("videos", "videos"),
    "News": ("news", "news"),
    "Four languages": ("pages", "links"),
}
_BUILD_TIME = timedelta(minutes=10)
"""Longest time that a build may take."""


class Command(BaseCommand):
    """Read every file that the built index lists; exit with 1 if anything is wrong."""

    help = "Check the built sitemaps: each file against the protocol and its schemas, the counts against the database."

    def handle(self, *args: Any, **options: Any) -> None:
        """Inspect the files, compare the counts, and print a table and URLs to open."""
        start = time.monotonic()
        self._storage = storages["sitemaps"]
        self._origin: str = settings.SITEMAPS_PLUS["ORIGIN"]
        # Not every system allows a colon in a file name, so the folder has another character.
        self._folder = urlsplit(self._origin).netloc.replace(":", "_")
        names = self._listed()
        sections: dict[str, list[Page]] = defaultdict(list)
        for page in self._inspect(names):
            sections[_section_of(page.name)].append(page)
        faults = [f"{page.name} {fault}" for pages in sections.values() for page in pages for fault in page.faults]
        faults += [*_miscounts(sections), *_strange_news(self._built_at("sitemap-news-1.xml.gz"), sections)]
        self._print_table(sections)
        if faults:
            raise CommandError("The sitemaps are not right:\n  " + "\n  ".join(faults))
        self.stdout.write(
            f"\nAll {len(names)} files unpack, are valid by the schemas and keep the limits of the protocol. "
            "No section lists a URL twice,\nand each lists as many URLs, images, videos, news and links "
            f"as the database makes. {time.monotonic() - start:.1f} s\n\n"
        )
        self._print_excerpts(sections)
        self._print_what_to_open(names)

    def _listed(self) -> list[str]:
        """Return the names of the files that the index lists, each with .gz."""
        document = self._read("sitemap.xml")
        if document is None:
            raise CommandError(f"There is no {self._where('sitemap.xml')}: run build_sitemaps first.")
        try:
            addresses = inspect_index("sitemap.xml", document)
        except ValueError as error:
            raise CommandError(f"The index is not right: {error}") from error
        strangers = [address for address in addresses if not address.startswith(f"{self._origin}/sitemap-")]
        if strangers:
            raise CommandError(f"The index lists {strangers[0]}, which is not of {self._origin}: build once more.")
        return [address.rpartition("/")[2].removesuffix(".gz") + ".gz" for address in addresses]

    def _inspect(self, names: Sequence[str]) -> Iterator[Page]:
        """Yield the contents of each file, in the order of `names`, using all cores."""
        spawn = multiprocessing.get_context("spawn")
        workers = min(os.cpu_count() or 1, 4)
        with (
            ProcessPoolExecutor(workers, mp_context=spawn) as pool,
            ProgressBar("files", len(names), sys.stderr) as bar,
        ):
            waiting = []
            for name in names:
                packed = self._read(name)
                waiting.append((name, pool.submit(inspect_page, name, packed) if packed is not None else None))
            for name, future in waiting:
                yield future.result() if future else Page(name=name, faults=("is in the index and not in the storage",))
                bar.advance(1)

    def _read(self, name: str) -> bytes | None:
        name = f"{self._folder}/{name}"
        if not self._storage.exists(name):
            return None
        with self._storage.open(name) as file:
            return bytes(file.read())

    def _built_at(self, name: str) -> datetime | None:
        name = f"{self._folder}/{name}"
        return self._storage.get_modified_time(name) if self._storage.exists(name) else None

    def _where(self, name: str) -> str:
        name = f"{self._folder}/{name}"
        return self._storage.path(name) if isinstance(self._storage, FileSystemStorage) else name

    def _print_table(self, sections: dict[str, list[Page]]) -> None:
        rows: list[tuple[str, ...]] = [("section", "pages", "URLs", *KINDS, "bytes", "largest page")]
        everything = [page for pages in sections.values() for page in pages]
        for section, pages in (*sections.items(), ("all", everything)):
            sizes = [page.size for page in pages]
            numbers = (len(pages), *_counts(pages).values(), sum(sizes), max(sizes))
            rows.append((section, *(f"{number:,}" for number in numbers)))
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        for section, *cells in rows:
            line = [section.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))]
            self.stdout.write("  ".join(line))

    def _print_excerpts(self, sections: dict[str, list[Page]]) -> None:
        for title, (section, kind) in _SHOWN.items():
            page = next((page for page in sections.get(section, ()) if kind in page.excerpts), None)
            if page is not None:
                address = f"{self._origin}/{page.name.removesuffix('.gz')}"
                self.stdout.write(f"{title}, from {address}\n{page.excerpts[kind]}\n\n")

    def _print_what_to_open(self, names: Sequence[str]) -> None:
        page = next((name for name in names if name.startswith("sitemap-places-")), names[0])
        self.stdout.write(f"The index:     {self._where('sitemap.xml')}\n")
        self.stdout.write(f"A page of it:  {self._where(page)}\n\n")
        self.stdout.write("Run `make serve` and open\n")
        for address in ("/", "/sitemap.xml", f"/{page.removesuffix('.gz')}", "/admin/sitemaps_plus/sitemappage/"):
            self.stdout.write(f"  {self._origin}{address}\n")
        self.stdout.write(f"\n{CREDIT}")


def _section_of(name: str) -> str:
    found = _PAGE_NAME.fullmatch(name)
    return found["section"] if found else name


def _counts(pages: Sequence[Page]) -> dict[str, int]:
    """Return the number of URLs, and of each kind of content."""
    kinds = {kind: sum(page.counts.get(kind, 0) for page in pages) for kind in KINDS}
    return {"URLs": sum(page.urls for page in pages), **kinds}


def _expected() -> dict[str, dict[str, int]]:
    """Return the expected counts of each section except news, whose count depends on the time."""
    films = Film.objects.count()
    # No URL can be made of a place without a slug, so that a build leaves it out.
    pictures = PlacePicture.objects.exclude(place__slug="")
    return {
        "countries": _of_languages(Country.objects.count(), images=Country.objects.exclude(flag="").count()),
        "places": _of_languages(Place.objects.exclude(slug="").count(), images=pictures.count()),
        "pages": _of_languages(len(PageSitemap().items())),
        "articles": {"URLs": Article.objects.count()},
        "videos": {"URLs": films, "videos": films},
    }


def _of_languages(rows: int, images: int = 0) -> dict[str, int]:
    languages = len(settings.LANGUAGES)
    # Each language links to all of them, itself included, and to x-default.
    return {"URLs": rows * languages, "images": images * languages, "links": rows * languages * (languages + 1)}


def _miscounts(sections: Mapping[str, list[Page]]) -> Iterator[str]:
    for section, expected in _expected().items():
        for kind, count in _counts(sections.get(section, [])).items():
            if count != expected.get(kind, 0):
                yield f"{section}: {count:,} {kind} are listed, but the database makes {expected.get(kind, 0):,}"
    for section, pages in sections.items():
        different = len(frozenset().union(*(page.digests for page in pages)))
        within_pages = sum(len(page.digests) for page in pages)
        if different < within_pages:
            yield f"{section}: {within_pages - different:,} URLs are on two pages"


def _strange_news(built_at: datetime | None, sections: Mapping[str, list[Page]]) -> Iterator[str]:
    counts = _counts(sections.get("news", []))
    # An article may become too old between the build and now; none is added.
    fewest = _news_since(timezone.now())
    most = _news_since(built_at - _BUILD_TIME) if built_at else 0
    for kind in ("URLs", "news"):
        if not fewest <= counts[kind] <= most:
            yield f"news: {counts[kind]:,} {kind} are listed, but the database makes {fewest:,} to {most:,}"


def _news_since(now: datetime) -> int:
    return Article.objects.filter(published_at__gt=now - ArticleNewsSitemap.window).count()
