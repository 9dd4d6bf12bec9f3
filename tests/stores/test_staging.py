import errno
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from built import BuiltSet
from samples import DAY, Products, make_products
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.stores import staging as module
from sitemaps_plus.stores.files import get_store
from sitemaps_plus.stores.staging import Staging, clear_staging, stage
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


# Temporary directories of dead builds

HOLDER = """
import subprocess, sys, tempfile
tempfile.tempdir = sys.argv[1]
from sitemaps_plus.conf import Settings
from sitemaps_plus.stores import staging
staging.get_settings = Settings
with staging.stage("example.com", "products") as made:
    made.write("sitemap-products-1.xml.gz", b"data")
    if sys.argv[2] == "and a process":
        subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    print(made.path, flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_build(tmp_path: Path, how: str = "alone") -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Give a process that has a staging directory, and the directory."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "tmp"), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stage_once() -> None:
    with stage("example.com", "products"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="no flock")
@pytest.mark.parametrize("place", ["default"], indirect=True)
@pytest.mark.parametrize("how", ["alone", "and a process"])
@pytest.mark.usefixtures("place")
def test_the_directory_of_a_killed_build_goes_with_the_next_build_and_not_while_it_lives(
    tmp_path: Path, how: str
) -> None:
    with another_build(tmp_path, how) as (process, folder):
        stage_once()
        assert (folder / NAME).read_bytes() == b"data"

        process.kill()
        process.wait()
        stage_once()

    assert names(tmp_path / "tmp") == []


@pytest.mark.parametrize("place", ["default"], indirect=True)
@pytest.mark.usefixtures("place")
def test_a_directory_is_never_seen_without_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    rename = Path.rename

    def meet_another_build(self: Path, target: Path) -> Path:
        if not seen:
            # Another build begins while this one has made its directory, and not used it yet.
            seen.append(self)
            stage_once()
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", meet_another_build)
    with stage("example.com", "products") as staging:
        stage_once()
        staging.write(NAME, b"data")

        assert names(tmp_path / "tmp") == [Path(staging.path).name]
    assert names(tmp_path / "tmp") == []


@pytest.mark.parametrize("place", ["default"], indirect=True)
@pytest.mark.parametrize("can_lock", [True, False])
@pytest.mark.usefixtures("place")
def test_a_directory_without_a_lock_goes_a_day_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_lock: bool
) -> None:
    if not can_lock:
        monkeypatch.setattr(module, "fcntl", None)
    kinds = ("sitemaps_plus-", ".sitemaps_plus-")
    made = [*(f"{kind}{name}" for kind in kinds for name in ("made_old", "made_new")), "other-old"]
    for folder in (tmp_path / "tmp" / name for name in made):
        folder.mkdir()
        (folder / NAME).write_bytes(b"data")
        if folder.name.endswith("old"):
            os.utime(folder, (time.time() - 90_000,) * 2)

    stage_once()

    assert names(tmp_path / "tmp") == [".sitemaps_plus-made_new", "other-old", "sitemaps_plus-made_new"]


@pytest.mark.parametrize("place", ["default"], indirect=True)
@pytest.mark.parametrize(
    "file", ["sitemaps_plus-main/src/a.py", f"sitemaps_plus-main/{NAME}", "sitemaps_plus-branch_1/a.py"]
)
@pytest.mark.usefixtures("place")
def test_an_old_directory_of_a_similar_name_or_with_other_files_stays(tmp_path: Path, file: str) -> None:
    path = tmp_path / "tmp" / file
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    os.utime(tmp_path / "tmp" / Path(file).parts[0], (time.time() - 90_000,) * 2)

    stage_once()

    assert path.read_text() == "mine"


@pytest.mark.parametrize("place", ["default"], indirect=True)
@pytest.mark.usefixtures("place")
def test_where_a_file_cannot_be_locked_the_directory_is_left_alone_for_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_handle: int, _flags: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with stage("example.com", "products") as staging:
        staging.write(NAME, b"data")

        stage_once()

        assert staging.read(NAME) == b"data"
        os.utime(staging.path, (time.time() - 90_000,) * 2)
        stage_once()
        assert names(tmp_path / "tmp") == []


# What dead builds of other sections have left below STAGING

GONE = "sitemap-gone-1.xml.gz"


@pytest.fixture
def left_behind(place: str, tmp_path: Path) -> list[Staging]:
    """Let killed builds of a section that is gone, of two sites, leave a page each."""
    found = []
    for host in ("example.com", "example.org"):
        with stage(host, "gone") as staging:
            found.append(staging)
        if staging.is_local:
            Path(staging.path).mkdir(parents=True)
        for name in (GONE, "notes.txt", NAME):
            staging.write(name, b"data")
    return found


def exists(staging: Staging, name: str) -> bool:
    try:
        return staging.read(name) == b"data"
    except FileNotFoundError:
        return False


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.usefixtures("place", "products")
def test_a_build_removes_the_pages_of_sections_of_its_site_that_are_gone(left_behind: list[Staging]) -> None:
    assert build().is_complete

    assert [exists(staging, GONE) for staging in left_behind] == [False, True]
    assert [exists(staging, name) for staging in left_behind for name in ("notes.txt", NAME)] == [True] * 4


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.usefixtures("place", "products")
def test_a_build_without_a_lease_leaves_other_sections_alone(left_behind: list[Staging]) -> None:
    # In a transaction nobody sees the lease, so a build of another section may run.
    with transaction.atomic():
        assert build().is_complete

    assert [exists(staging, GONE) for staging in left_behind] == [True, True]


def test_the_place_of_a_site_goes_when_it_is_empty(settings: Any, tmp_path: Path) -> None:
    settings.SITEMAPS_PLUS = {"STAGING": tmp_path}
    (tmp_path / "example.com" / "gone").mkdir(parents=True)
    (tmp_path / "example.com" / "gone" / GONE).write_bytes(b"data")

    clear_staging("example.com")
    clear_staging("example.com")

    assert names(tmp_path) == []
