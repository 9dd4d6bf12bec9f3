import os
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from built import BuiltSet
from samples import DAY, Products, make_products
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.stores.files import get_store
from sitemaps_plus.stores.staging import Staging, stage
from testapp.models import Product

NAME = "sitemap-products-1.xml.gz"
PREFIXED = f"waiting/example.com/products/{NAME}"


PLACES = ["path", "prefix on a disk", "prefix in memory"]


@pytest.fixture(params=["default", *PLACES])
def place(request: pytest.FixtureRequest, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let pages wait in each of the places where they may."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    kind: str = request.param
    if kind == "path":
        settings.SITEMAPS_PLUS = {"STAGING": tmp_path / "staging"}
    elif kind != "default":
        settings.SITEMAPS_PLUS = {"STAGING": "waiting/"}
    if kind == "prefix on a disk":
        BuiltSet(settings, tmp_path)
    return kind


def left(tmp_path: Path) -> list[str]:
    """Return the files that wait somewhere."""
    folders = (tmp_path / "tmp", tmp_path / "staging", tmp_path / "files" / "waiting")
    found = [path.name for folder in folders for path in folder.rglob("*") if path.is_file()]
    return found + [PREFIXED][: get_store().has(PREFIXED)]


def test_a_page_can_be_written_read_and_removed(place: str, tmp_path: Path) -> None:
    with stage("example.com", "products") as staging:
        staging.write(NAME, b"old")
        staging.write(NAME, b"new")

        assert staging.read(NAME) == b"new"
        assert left(tmp_path) != []
        assert staging.is_local is not place.startswith("prefix")
        staging.remove(NAME)
        staging.remove(NAME)
        with pytest.raises(FileNotFoundError):
            staging.read(NAME)


@pytest.mark.usefixtures("place")
def test_what_is_left_goes_also_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with stage("example.com", "products") as staging:
            staging.write(NAME, b"data")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert left(tmp_path) == []


@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.usefixtures("place")
def test_what_a_killed_build_has_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    with stage("example.com", "products") as staging:
        pass
    if staging.is_local:
        Path(staging.path).mkdir(parents=True)
    for name in (NAME, "sitemap-products-99.xml.gz"):
        staging.write(name, b"of a killed build")

    with stage("example.com", "products") as again:
        assert again == staging
        with pytest.raises(FileNotFoundError):
            again.read("sitemap-products-99.xml.gz")

    assert left(tmp_path) == []


@pytest.mark.usefixtures("place")
def test_sections_and_sites_do_not_meet() -> None:
    with (
        stage("example.com", "products") as one,
        stage("example.com", "more") as two,
        stage("example.org", "products") as three,
    ):
        for staging in (one, two, three):
            staging.write(NAME, staging.path.encode())

        assert [staging.read(NAME) for staging in (one, two, three)] == [
            staging.path.encode() for staging in (one, two, three)
        ]


def test_only_the_own_corner_of_a_directory_is_cleared(settings: Any, tmp_path: Path) -> None:
    settings.SITEMAPS_PLUS = {"STAGING": str(tmp_path)}
    stranger = tmp_path / "example.com" / "notes.txt"
    stranger.parent.mkdir()
    stranger.write_text("mine")

    with stage("example.com", "products"):
        pass

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [stranger]


# Through a build


@pytest.fixture
def products() -> None:
    register("products", Products)
    make_products(25)


@pytest.mark.django_db
@pytest.mark.usefixtures("place", "products")
def test_a_build_publishes_what_waited_and_leaves_nothing(tmp_path: Path) -> None:
    assert build().is_complete
    Product.objects.filter(slug="product-5").update(slug="new", updated_at=DAY + timedelta(days=9))

    assert build().is_complete

    assert left(tmp_path) == []
    assert get_store().list("waiting/example.com/products") == set()
    assert len(get_store().list("example.com") or ()) == 3 + 4 + 1


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda data: data[:-10],
    "another bit": lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
    "empty": lambda data: b"",
}


@pytest.mark.django_db
@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.usefixtures("place", "products")
def test_a_page_that_is_spoiled_while_it_waits_is_not_published_nor_is_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    assert build().is_complete
    Product.objects.update(updated_at=DAY + timedelta(days=9))
    before = {name: get_store().read(f"example.com/{name}") for name in get_store().list("example.com") or ()}
    write = Staging.write

    def spoil(self: Staging, name: str, data: bytes) -> None:
        # Published last.
        write(self, name, SPOILED[how](data) if name == NAME else data)

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "write", spoil)
        result = build()

    error = str(result.sections[0].error)
    assert "Page 1 of the sitemap 'products' was damaged or lost in" in error
    assert "set STAGING" in error
    assert {name: get_store().read(f"example.com/{name}") for name in before} == before
    assert left(tmp_path) == []
    assert build().is_complete


@pytest.mark.django_db
@pytest.mark.usefixtures("place", "products")
def test_a_page_that_is_lost_while_it_waits_is_not_published_nor_is_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Staging.write
    monkeypatch.setattr(Staging, "write", lambda self, name, data: None if name == NAME else write(self, name, data))

    result = build()

    assert "Page 1 of the sitemap 'products' was damaged or lost in" in str(result.sections[0].error)
    assert result.errors == []
    assert get_store().list("example.com") == set()


@pytest.mark.django_db
@pytest.mark.usefixtures("products")
def test_a_place_that_cannot_be_written_to_fails_the_section_and_says_where(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    settings.SITEMAPS_PLUS = {"STAGING": tmp_path / "file"}

    result = build()

    assert str(tmp_path / "file") in str(result.sections[0].error)
    assert not result.is_complete


@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.usefixtures("place")
def test_other_files_in_the_same_place_stay(tmp_path: Path) -> None:
    with stage("example.com", "products") as staging:
        pass
    strangers = ["photo.jpg", "sitemap-products.xml", "sitemap-more-1.xml.gz", ".htaccess"]
    if staging.is_local:
        Path(staging.path).mkdir(parents=True)
    for name in strangers:
        staging.write(name, b"mine")

    with stage("example.com", "products") as again:
        again.write(NAME, b"data")

    assert [staging.read(name) for name in strangers] == [b"mine"] * len(strangers)
    with pytest.raises(FileNotFoundError):
        staging.read(NAME)


@pytest.mark.parametrize("place", ["default"], indirect=True)
@pytest.mark.usefixtures("place")
def test_what_killed_builds_have_left_among_temporary_files_goes_a_day_later(tmp_path: Path) -> None:
    old, new, other = (tmp_path / "tmp" / name for name in ("sitemaps_plus-old", "sitemaps_plus-new", "other-old"))
    for folder in (old, new, other):
        folder.mkdir()
        (folder / NAME).write_bytes(b"data")
    for folder in (old, other):
        os.utime(folder, (time.time() - 90_000,) * 2)

    with stage("example.com", "products"):
        pass

    assert sorted(path.name for path in (tmp_path / "tmp").iterdir()) == [other.name, new.name]
