import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, InMemoryStorage, Storage

from sitemaps_plus.stores.files import FileStore, get_store

NAME = "example.com/sitemap-products-1.xml.gz"


def no_space(*args: Any, **kwargs: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def file_names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


class Renaming(InMemoryStorage):
    """A storage that puts a hash into every name."""

    def _save(self, name: str, content: File) -> str:
        return super()._save(f"{name}.1a2b3c", content)


class Overwriting(InMemoryStorage):
    """A storage that replaces files, as S3 does."""

    def __init__(self) -> None:
        super().__init__()
        self.deleted: list[str] = []

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name

    def _save(self, name: str, content: File) -> str:
        if self.exists(name):
            super().delete(name)
        return super()._save(name, content)

    def delete(self, name: str) -> None:
        self.deleted.append(name)
        super().delete(name)


@pytest.fixture(params=["files", "memory", "overwriting"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    made = {"files": FileSystemStorage(tmp_path), "memory": InMemoryStorage(), "overwriting": Overwriting()}
    return made[request.param]


def test_what_is_published_can_be_read_and_replaced(storage: Storage) -> None:
    store = FileStore(storage)

    assert store.read(NAME) is None
    for data in (b"old", b"new and longer", b""):
        store.publish(NAME, data)
        assert store.read(NAME) == data
    assert storage.listdir("example.com")[1] == ["sitemap-products-1.xml.gz"]


def test_a_prefix_goes_before_every_name(storage: Storage) -> None:
    store = FileStore(storage, "sitemaps/")

    store.publish(NAME, b"data")

    assert store.read(NAME) == b"data"
    assert storage.exists(f"sitemaps/{NAME}")
    assert store.where(NAME).endswith(f"sitemaps/{NAME}")
    store.remove(NAME)
    assert not storage.exists(f"sitemaps/{NAME}")


def test_removing_what_is_not_there_is_no_error(storage: Storage) -> None:
    FileStore(storage).remove(NAME)

    assert FileStore(storage).read(NAME) is None


def test_a_storage_that_overwrites_never_loses_a_file() -> None:
    storage = Overwriting()
    store = FileStore(storage)

    store.publish(NAME, b"old")
    store.publish(NAME, b"new")

    assert storage.deleted == []


def test_files_can_be_read_by_the_web_server(tmp_path: Path) -> None:
    FileStore(FileSystemStorage(tmp_path)).publish(NAME, b"data")

    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o644


def test_the_permissions_of_the_storage_are_kept(tmp_path: Path) -> None:
    storage = FileSystemStorage(tmp_path, file_permissions_mode=0o640, directory_permissions_mode=0o750)

    FileStore(storage).publish(NAME, b"data")

    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / NAME).parent.stat().st_mode) == 0o750


def test_a_file_is_on_the_disk_before_it_takes_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("fsync"), fsync(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, target: (done.append("rename"), replace(self, target))[1])

    FileStore(FileSystemStorage(tmp_path)).publish(NAME, b"data")

    assert done == ["fsync", "rename", "fsync"]


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    store.publish(NAME, b"old")
    monkeypatch.setattr(os if step == "fsync" else Path, step, no_space)

    with pytest.raises(OSError, match="No space left"):
        store.publish(NAME, b"new")

    assert store.read(NAME) == b"old"
    assert file_names(tmp_path) == [NAME]


def test_a_storage_that_cannot_overwrite_keeps_the_old_file_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = InMemoryStorage()
    store = FileStore(storage)
    store.publish(NAME, b"old")
    monkeypatch.setattr(storage, "_save", no_space)

    with pytest.raises(OSError, match="No space left"):
        store.publish(NAME, b"new")

    assert store.read(NAME) == b"old"


def test_what_an_attempt_left_behind_is_no_hindrance() -> None:
    storage = InMemoryStorage()
    store = FileStore(storage)
    for name in (NAME, f"{NAME}.new"):
        store.publish(name, b"old")

    store.publish(NAME, b"new")

    assert store.read(NAME) == b"new"
    assert storage.listdir("example.com")[1] == ["sitemap-products-1.xml.gz"]


def test_a_storage_that_changes_names_is_refused_and_keeps_nothing() -> None:
    storage = Renaming()

    with pytest.raises(OSError, match=r"set STORAGE to one that keeps names"):
        FileStore(storage).publish(NAME, b"data")

    assert storage.listdir("example.com")[1] == []


def test_the_store_is_the_storage_of_the_setting(settings: Any, tmp_path: Path) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "maps": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path)},
        },
    }
    settings.SITEMAPS_PLUS = {"STORAGE": "maps"}

    get_store().publish(NAME, b"data")

    assert (tmp_path / NAME).read_bytes() == b"data"
    assert get_store().where(NAME) == str(tmp_path / NAME)


def test_without_a_storage_of_its_own_the_default_one_has_a_folder(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    settings.STORAGES = {"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}}

    get_store().publish(NAME, b"data")

    assert (tmp_path / "sitemaps" / NAME).read_bytes() == b"data"
