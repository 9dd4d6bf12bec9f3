"""Built files on a disk: their content, the files that a build touched, and a comparison with a fresh build."""

import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib import sitemaps as contrib
from django.test import override_settings

from samples import DAY, Products, make_products, paths
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.conf import get_settings
from sitemaps_plus.plan.sites import get_sites
from sitemaps_plus.serve.cached import warm
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Product
from xml_checks import locs

HOST = "example.com"


def build_and_warm() -> None:
    """Build every section of the only site, and put it into the cache, as ``build_sitemaps --warm-cache`` does."""
    result = build()
    (site,) = get_sites()
    assert warm(site, {section.label: section.numbers for section in result.sections}) == []


class BuiltSet:
    """The files of example.com, and beside them a second storage for what a fresh build makes."""

    def __init__(self, settings: Any, root: Path) -> None:
        self._settings = settings
        self.folder = root / "files" / HOST
        self._fresh = root / "fresh"
        settings.STORAGES = {
            **settings.STORAGES,
            "sitemaps": _on_disk(root / "files"),
            "fresh": _on_disk(self._fresh),
        }

    def path(self, name: str) -> Path:
        return self.folder / name

    @property
    def manifest(self) -> Path:
        return self.folder / MANIFEST

    def use(self, **values: Any) -> None:
        """Add to the settings of the package."""
        self._settings.SITEMAPS_PLUS = {**getattr(self._settings, "SITEMAPS_PLUS", {}), **values}

    def files(self) -> dict[str, bytes]:
        """Return the files that crawlers get."""
        return _files(self.folder)

    def names(self) -> set[str]:
        return set(self.files())

    def listed(self, index: str = "sitemap.xml") -> list[str]:
        return paths(locs(self.path(index).read_bytes()))

    def rows(self) -> list[str]:
        """Return the addresses on all pages that the index lists; each must be whole and valid."""
        names = [f"{path.removeprefix('/').removesuffix('.gz')}.gz" for path in self.listed()]
        return [path for name in names for path in paths(locs(gzip.decompress(self.path(name).read_bytes())))]

    @contextmanager
    def touched(self) -> Iterator[set[str]]:
        """Yield a set that afterwards has the names of all files that the block wrote, replaced or removed."""
        names: set[str] = set()
        before, at = self._stats(), self._folder_changed()
        yield names
        after = self._stats()
        names |= {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        if not names:
            # Nor was there a temporary one.
            assert self._folder_changed() == at

    def assert_as_fresh(self, *, but_indexes: bool = False) -> None:
        """Fail unless the files are the same as those of a build into an empty storage."""
        shutil.rmtree(self._fresh, ignore_errors=True)
        given = getattr(self._settings, "SITEMAPS_PLUS", {})
        with override_settings(SITEMAPS_PLUS={**given, "STORAGE": "fresh"}):
            assert build().is_complete
        fresh, found = _files(self._fresh / HOST), self.files()
        if but_indexes:
            fresh, found = _pages(fresh), _pages(found)
        assert found == fresh

    def _stats(self) -> dict[str, tuple[int, int, int]]:
        paths = self.folder.rglob("*") if self.folder.exists() else ()
        found = {path.relative_to(self.folder).as_posix(): path.stat() for path in paths if path.is_file()}
        return {name: (stat.st_mtime_ns, stat.st_ino, stat.st_size) for name, stat in found.items()}

    def _folder_changed(self) -> int:
        return self.folder.stat().st_mtime_ns if self.folder.exists() else 0


def index_names(*labels: str) -> set[str]:
    """Return the names of the indexes of the site and of sections."""
    stems = ["sitemap", *(f"sitemap-{label}" for label in labels)]
    return {f"{stem}.{form}" for stem in stems for form in ("xml", "xml.gz")}


def _on_disk(location: Path) -> dict[str, Any]:
    return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(location)}}


def _files(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not is_of_manifest(name)}


def is_of_manifest(name: str) -> bool:
    """Return whether a file is the manifest, or a note that a build has left beside it."""
    return Path(name).name.startswith("sitemaps-manifest")


def _pages(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.removesuffix(".gz")[-5].isdigit()}


def grace() -> float:
    """Return the seconds for which a retired file stays."""
    return get_settings().GRACE_PERIOD


def spaced(numbers: Any) -> None:
    """Store products whose keys are a hundred times their numbers."""
    Product.objects.bulk_create(
        Product(pk=round(100 * number), name="x", slug=f"product-{number}", updated_at=DAY) for number in numbers
    )


def spaced_products(*numbers: int) -> Any:
    """Return the products of these numbers that `spaced` has stored."""
    return Product.objects.filter(pk__in=[100 * number for number in numbers])


def page_names(*numbers: int, label: str = "products", form: str = "xml.gz") -> set[str]:
    """Return the names of the files of pages."""
    return {f"sitemap-{label}-{number}.{form}" for number in numbers}


def build_forty(settings: Any, root: Path) -> BuiltSet:
    """Return forty products on four pages, and another section beside them, both built."""
    found = BuiltSet(settings, root)
    found.use(ORIGIN="https://example.com")
    register("products", Products)
    register("more", type("More", (Products,), {"queryset": Product.objects.filter(name="none")}))
    make_products(40)
    assert build().is_complete
    return found


def built_files(folder: Path) -> dict[str, bytes]:
    """Return the files that crawlers get; the manifest is for the next build."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not is_of_manifest(name)}


def built_names(folder: Path) -> list[str]:
    """Return the names of the files that crawlers get."""
    return sorted(built_files(folder))


def listed(folder: Path, index: str = "sitemap.xml") -> list[str]:
    """Return the paths that an index lists."""
    return paths(locs((folder / index).read_bytes()))


def listed_rows(folder: Path) -> list[str]:
    """Return the addresses on all pages that the index lists; each must be whole and valid."""
    pages = [folder / f"{path.removeprefix('/').removesuffix('.gz')}.gz" for path in listed(folder)]
    return [path for page in pages for path in paths(locs(gzip.decompress(page.read_bytes())))]


class Newest(contrib.Sitemap):
    """Pages by position, the newest first, as contrib has them."""

    limit = 10
    i18n = True
    languages = ["en"]

    def items(self) -> Any:
        return Product.objects.order_by("-pk")

    def location(self, item: Product) -> str:
        return f"/{item.slug}/"

    def lastmod(self, item: Product) -> Any:
        return item.updated_at
