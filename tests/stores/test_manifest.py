import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.stores.files import FileStore
from sitemaps_plus.stores.manifest import NAME, Manifest, ManifestFile, PageEntry, SectionEntry

DIGEST = "0123456789abcdef" * 4
PATH = f"example.com/{NAME}"


def page(**values: Any) -> PageEntry:
    return PageEntry(**{"digest": DIGEST, "urls": 10, "bytes": 1000, "lastmod": "2026-01-01", **values})


def full() -> Manifest:
    """Return a manifest that says something in every field."""
    shape = {"sampled": 10, "blank": 0, "directories": ["/shop/"]}
    pages = {
        7: page(formats=["xml.gz", "txt.gz"], left_out=1, dropped=2, shape=shape),
        2: page(lastmod=None, formats=[]),
    }
    return Manifest(
        origin="https://example.com",
        sections={"products": SectionEntry(pages=pages, fingerprint="rows=20", base="https://cdn.example/")},
        indexes={"sitemap": DIGEST, "sitemap-products": ""},
        retired={"sitemap-products-1.xml.gz": 1_700_000_000.5},
    )


def written(manifest: Manifest) -> dict[str, Any]:
    store = FileStore(InMemoryStorage())
    ManifestFile(store, "example.com").write(manifest)
    found: dict[str, Any] = json.loads(store.read(PATH) or b"")
    return found


def read(data: bytes) -> Manifest | None:
    store = FileStore(InMemoryStorage())
    store.publish(PATH, data)
    return ManifestFile(store, "example.com").read()


def test_what_is_written_is_read_with_the_pages_in_their_order() -> None:
    found = read(json.dumps(written(full())).encode())

    assert found == full()
    assert list(found.sections["products"].pages) == [7, 2]


def test_a_manifest_that_still_says_rows_for_the_fingerprint_is_read() -> None:
    given = written(full())
    section = given["sections"]["products"]
    section["rows"] = section.pop("fingerprint")

    assert read(json.dumps(given).encode()) == full()


def test_nothing_is_known_where_there_is_no_manifest() -> None:
    assert ManifestFile(FileStore(InMemoryStorage()), "example.com").read() is None


def _written(folder: Path) -> tuple[int, int]:
    """Return what a write changes; reading the file only changes when it was last read."""
    stat = (folder / PATH).stat()
    return stat.st_ino, stat.st_mtime_ns


def test_the_same_is_not_written_twice(tmp_path: Path) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    file = ManifestFile(store, "example.com")
    file.write(full())
    before = _written(tmp_path)

    file.write(full())
    again = ManifestFile(store, "example.com")
    manifest = again.read()
    assert manifest
    again.write(manifest)

    assert _written(tmp_path) == before
    manifest.retired.clear()
    again.write(manifest)
    assert read((tmp_path / PATH).read_bytes()) == manifest


def test_it_says_where_it_is(tmp_path: Path) -> None:
    assert ManifestFile(FileStore(FileSystemStorage(tmp_path)), "example.com").where == str(tmp_path / PATH)


def test_a_section_knows_its_urls_and_the_digests_that_are_sure() -> None:
    section = full().section("products")

    assert section.urls == 20
    assert (section.digest(7), section.digest(2), section.digest(99)) == (DIGEST, "", "")
    assert full().section("unknown").urls == 0


WRONG: dict[str, tuple[str, Any]] = {
    "format": ("format", 2),
    "origin": ("origin", None),
    "sections": ("sections", []),
    "rows": ("sections/products/fingerprint", 5),
    "base": ("sections/products/base", None),
    "pages": ("sections/products/pages", [1]),
    "number": ("sections/products/pages", {"one": {}}),
    "field": ("sections/products/pages/7/color", "red"),
    "digest": ("sections/products/pages/7/digest", DIGEST[:-1]),
    "empty digest": ("sections/products/pages/7/digest", ""),
    "urls": ("sections/products/pages/7/urls", "10"),
    "truth": ("sections/products/pages/7/urls", True),
    "bytes": ("sections/products/pages/7/bytes", None),
    "left out": ("sections/products/pages/7/left_out", 1.5),
    "dropped": ("sections/products/pages/7/dropped", []),
    "lastmod": ("sections/products/pages/7/lastmod", 20260101),
    "formats": ("sections/products/pages/7/formats", None),
    "format of a page": ("sections/products/pages/7/formats", ["html"]),
    "shape": ("sections/products/pages/7/shape", {"sampled": -1}),
    "index": ("indexes/sitemap", None),
    "retired": ("retired/sitemap-products-1.xml.gz", "yesterday"),
    "never": ("retired/sitemap-products-1.xml.gz", float("nan")),
    "a file of others": ("retired/robots.txt", 1.0),
    "a file elsewhere": ("retired/../../sitemap-products-1.xml.gz", 1.0),
    "an index": ("retired/sitemap.xml", 1.0),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_somebody_has_spoiled_is_no_manifest_and_is_logged(what: str, caplog: pytest.LogCaptureFixture) -> None:
    path, value = WRONG[what]
    data = written(full())
    # The name of a file may have slashes.
    *parents, last = path.split("/", 1) if path.startswith("retired") else path.split("/")
    inner = data
    for name in parents:
        inner = inner[name]
    inner[last] = value

    found = read(json.dumps(data).encode())

    assert found is None
    assert f"{PATH} cannot be read, so that every page is rendered" in caplog.text


@given(st.binary())
def test_whatever_lies_there_is_read_or_is_no_manifest(data: bytes) -> None:
    assert read(data) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["origin", "sections", "indexes", "retired"]), JSON))
def test_a_field_of_any_kind_is_read_or_is_no_manifest(values: dict[str, Any]) -> None:
    found = read(json.dumps({**written(full()), **values}).encode())

    # Of nothing there is no manifest.
    assert found is None or not (found.sections or found.retired) or written(found)


def test_a_manifest_that_cannot_be_read_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    store = FileStore(InMemoryStorage())
    store.publish(PATH, b"{")
    file = ManifestFile(store, "example.com")
    assert file.read() is None

    file.write(full())

    assert ManifestFile(store, "example.com").read() == full()
    assert "Expecting property name" in caplog.text
