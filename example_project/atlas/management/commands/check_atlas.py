"""Check the built sitemaps against the protocol and the database, and say what to open."""

import multiprocessing
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.files.storage import FileSystemStorage, storages
from django.core.management.base import BaseCommand, CommandError

from articles.models import Article
from atlas.geonames import CREDIT
from atlas.inspection import Page, inspect_index, inspect_page
from atlas.models import Country, Place
from atlas.progress import ProgressBar
from atlas.sitemaps import PageSitemap

_PAGE_NAME = re.compile(r"sitemap-(?P<section>.+)-\d+\.xml\.gz")


class Command(BaseCommand):
    """Read every file that the built index lists; exit status 1 when anything is wrong."""

    help = "Check the built sitemaps: each file against the protocol and its schemas, the counts against the database."

    def handle(self, *args: Any, **options: Any) -> None:
        """Inspect the files, compare the counts, print a table and what to open."""
        start = time.monotonic()
        self._storage = storages["sitemaps"]
        self._origin: str = settings.SITEMAPS_PLUS["ORIGIN"]
        # A colon is no part of a file name everywhere, so the folder of a host has another character there.
        self._folder = urlsplit(self._origin).netloc.replace(":", "_")
        names = self._listed()
        sections: dict[str, list[Page]] = defaultdict(list)
        for page in self._inspect(names):
            sections[_section_of(page.name)].append(page)
        faults = [f"{page.name} {fault}" for pages in sections.values() for page in pages for fault in page.faults]
        faults += _miscounts(sections)
        self._print_table(sections)
        if faults:
            raise CommandError("The sitemaps are not right:\n  " + "\n  ".join(faults))
        self.stdout.write(
            f"\nAll {len(names)} files unpack, are valid by the schemas and keep the limits of the protocol. "
            "No section lists a URL twice,\nand each lists as many as the database makes "
            f"(not compared: the news, which move with the clock). {time.monotonic() - start:.1f} s\n\n"
        )
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
        """Yield what each file holds, in the order of `names`, on all cores."""
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

    def _where(self, name: str) -> str:
        name = f"{self._folder}/{name}"
        return self._storage.path(name) if isinstance(self._storage, FileSystemStorage) else name

    def _print_table(self, sections: dict[str, list[Page]]) -> None:
        rows: list[tuple[str, ...]] = [("section", "pages", "URLs", "bytes", "smallest page", "largest page")]
        everything = [page for pages in sections.values() for page in pages]
        for section, pages in (*sections.items(), ("all", everything)):
            sizes = [page.size for page in pages]
            numbers = (len(pages), sum(page.urls for page in pages), sum(sizes), min(sizes), max(sizes))
            rows.append((section, *(f"{number:,}" for number in numbers)))
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        for section, *cells in rows:
            line = [section.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))]
            self.stdout.write("  ".join(line))

    def _print_what_to_open(self, names: Sequence[str]) -> None:
        page = next((name for name in names if name.startswith("sitemap-places-")), names[0])
        self.stdout.write(f"The index:     {self._where('sitemap.xml')}\n")
        self.stdout.write(f"A page of it:  {self._where(page)}\n\n")
        self.stdout.write("Run `make serve` and open\n")
        for address in ("/", "/sitemap.xml", f"/{page.removesuffix('.gz')}"):
            self.stdout.write(f"  {self._origin}{address}\n")
        self.stdout.write(f"\n{CREDIT}")


def _section_of(name: str) -> str:
    found = _PAGE_NAME.fullmatch(name)
    return found["section"] if found else name


def _miscounts(sections: dict[str, list[Page]]) -> Iterator[str]:
    languages = len(settings.LANGUAGES)
    # Not the news: an article may leave its two days between the build and this moment.
    expected = {
        "countries": Country.objects.count() * languages,
        "places": Place.objects.count() * languages,
        "pages": len(PageSitemap().items()) * languages,
        "articles": Article.objects.count(),
    }
    for section, count in expected.items():
        urls = sum(page.urls for page in sections.get(section, ()))
        if urls != count:
            yield f"{section}: {urls:,} URLs are listed, but the database makes {count:,}"
    for section, pages in sections.items():
        different = len(frozenset().union(*(page.digests for page in pages)))
        within_pages = sum(len(page.digests) for page in pages)
        if different < within_pages:
            yield f"{section}: {within_pages - different:,} URLs are on two pages"
