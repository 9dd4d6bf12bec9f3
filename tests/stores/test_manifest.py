import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.protocol.shapes import Shape
from sitemaps_plus.stores.files import FileStore
from sitemaps_plus.stores.manifest import NAME, Manifest, ManifestFile, PageEntry, SectionEntry

DIGEST = "0123456789abcdef" * 4
PATH = f"example.com/{NAME}"


def page(**values: Any) -> PageEntry:
    return PageEntry(**{"digest": DIGEST, "urls": 10, "bytes": 1000, "lastmod": "2026-01-01", **values})


def full() -> Manifest:
    """Return a manifest that says something in every field."""
    shape = Shape(sampled=10, directories=("/shop/",))
    pages = {
        7: page(formats=("xml.gz", "txt.gz"), left_out=1, dropped=2, shape=shape),
        2: page(lastmod=None, formats=(), start=DIGEST, is_recovered=True),
        9: page(raised=3, shape=shape),
    }
    return Manifest(
        origin="https://example.com",
        sections={
            "products": SectionEntry(pages=pages, fingerprint="rows=20", base="https://cdn.example/", lost=4),
            # Called like what a page has.
            "digest": SectionEntry(pages={1: page(lastmod='a "date"')}),
            "urls": SectionEntry(),
        },
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
    assert list(found.sections["products"].pages) == [7, 2, 9]
    assert found.sections["products"].pages[9].shape is found.sections["products"].pages[7].shape


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

    assert section.urls == 30
    assert (section.digest(7), section.digest(2), section.digest(99)) == (DIGEST, "", "")
    assert full().section("unknown").urls == 0


WRONG: dict[str, tuple[str, Any]] = {
    "format": ("format", 1),
    "build": ("build", None),
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
    "shape": ("sections/products/pages/7/shape", 2),
    "shape that is none": ("sections/products/shapes", [{"sampled": -1}]),
    "start": ("sections/products/pages/7/start", "0"),
    "recovered": ("sections/products/pages/7/is_recovered", 1),
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


# Notes


def noted(manifest: Manifest, *labels: str) -> FileStore:
    """Store a manifest, and then what became of some of its sections, as a build that goes on does."""
    store = FileStore(InMemoryStorage())
    file = ManifestFile(store, "example.com")
    file.write(manifest)
    # The first one still goes into the file: nothing is left out of it.
    file.write_section(manifest, "urls")
    for number, label in enumerate(labels):
        manifest.sections[label] = SectionEntry(pages={number: page(urls=number)}, base="https://example.com/")
        manifest.indexes[f"sitemap-{label}"] = DIGEST[::-1]
        file.write_section(manifest, label)
    return store


def names(store: FileStore) -> set[str]:
    return store.list("example.com") or set()


def test_what_became_of_a_section_is_stored_in_a_note_and_read_with_the_file() -> None:
    manifest = full()
    store = noted(manifest)
    whole = store.read(PATH)
    file = ManifestFile(store, "example.com")
    assert file.read() == replace(manifest, indexes={"sitemap": "", "sitemap-products": ""})

    store = noted(manifest, "new", "products", "new")

    assert names(store) == {NAME, "sitemaps-manifest-1.json", "sitemaps-manifest-2.json"}
    # What is in the file does not grow with the number of sections that change.
    assert len(store.read(PATH) or b"") == len(whole or b"")
    found = ManifestFile(store, "example.com").read()
    assert found
    assert found.sections == manifest.sections
    # A build broke off, perhaps while it replaced this one.
    assert found.indexes == {**manifest.indexes, "sitemap": ""}


def test_files_that_a_section_retires_are_in_its_note() -> None:
    manifest = full()
    store = FileStore(InMemoryStorage())
    file = ManifestFile(store, "example.com")
    file.write_section(manifest, "products")
    manifest.retired |= {"sitemap-products-5.xml.gz": 5.0, "sitemap-products-6.xml.gz": 6.0}
    del manifest.indexes["sitemap-products"]

    file.write_section(manifest, "products", ["sitemap-products-5.xml.gz"])

    found = ManifestFile(store, "example.com").read()
    assert found
    assert found.retired == {**full().retired, "sitemap-products-5.xml.gz": 5.0}
    assert "sitemap-products" not in found.indexes


def test_a_section_that_is_not_known_has_no_note() -> None:
    store = noted(full())
    file = ManifestFile(store, "example.com")
    file.write_section(full(), "products")

    file.write_section(full(), "unknown")

    assert names(store) == {NAME}


def test_the_same_note_is_not_written_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(InMemoryStorage())
    file = ManifestFile(store, "example.com")
    for _ in range(2):
        file.write_section(full(), "products")
    monkeypatch.setattr(FileStore, "publish", lambda *_: pytest.fail("the same again"))

    file.write_section(full(), "products")


def test_notes_do_not_count_after_the_whole_was_written_and_are_removed() -> None:
    manifest = full()
    store = noted(manifest, "new", "products")
    store.publish("example.com/sitemaps-manifest-7.json", b"of a build long ago")
    store.publish("example.com/sitemaps-manifest-more.json", b"not ours")
    file = ManifestFile(store, "example.com")
    found = file.read()
    assert found

    file.write(full())

    assert ManifestFile(store, "example.com").read() == full()
    file.remove_notes(names(store))
    assert names(store) == {NAME, "sitemaps-manifest-more.json"}


def test_notes_of_another_build_do_not_count() -> None:
    store = noted(full(), "new", "products", "more")
    file = ManifestFile(store, "example.com")
    file.write_section(full(), "products")

    file.write_section(full(), "products")

    assert ManifestFile(store, "example.com").read() == replace(full(), indexes={"sitemap": "", "sitemap-products": ""})


def test_a_storage_that_cannot_list_is_cleared_of_notes_that_were_read() -> None:
    store = noted(full(), "new", "products")
    file = ManifestFile(store, "example.com")
    file.read()
    file.write(full())

    file.remove_notes(())

    assert names(store) == {NAME}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"build":null}'])
def test_a_note_that_cannot_be_read_makes_the_manifest_unknown(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    store = noted(full(), "new", "products")
    if data == b"{}":
        note = json.loads(store.read("example.com/sitemaps-manifest-2.json") or b"")
        data = json.dumps({**note, "section": {}}).encode()
    store.publish("example.com/sitemaps-manifest-2.json", data)

    found = ManifestFile(store, "example.com").read()

    if data == b'{"build":null}':
        # Of another build.
        assert found
    else:
        assert found is None
        assert "cannot be read" in caplog.text


def test_a_note_that_could_not_be_written_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = full()
    store = FileStore(InMemoryStorage())
    file = ManifestFile(store, "example.com")
    file.write_section(manifest, "products")

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "publish", fail)
        with pytest.raises(OSError, match="full"):
            file.write_section(manifest, "urls")
    manifest.sections["products"].fingerprint = "rows=30"
    file.write_section(manifest, "products")

    found = ManifestFile(store, "example.com").read()
    assert found
    assert found.sections == manifest.sections


def test_a_reader_sees_a_whole_manifest_while_a_build_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(InMemoryStorage())
    other = "f" * 64
    manifest = Manifest(
        origin="https://example.com", sections={label: SectionEntry(pages={1: page()}) for label in "ab"}
    )
    ManifestFile(store, "example.com").write(manifest)
    build = ManifestFile(store, "example.com")
    build.read()
    build.write_section(manifest, "a")
    for label in "ab":
        manifest.sections[label] = SectionEntry(pages={1: page(digest=other)})
        build.write_section(manifest, label)
    read, ends = store.read, iter([True])

    def read_while_the_build_ends(path: str) -> bytes | None:
        data = read(path)
        if next(ends, False):
            build.write(manifest)
            build.remove_notes(())
        return data

    monkeypatch.setattr(store, "read", read_while_the_build_ends)
    found = ManifestFile(store, "example.com").read()

    assert found is not None
    assert {label: section.digest(1) for label, section in found.sections.items()} == {"a": other, "b": other}
