import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, InMemoryStorage, InvalidStorageError, Storage

from sitemaps_plus.errors import MissingExtra
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


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tell what was synced to the disk, directories by name, and when a file took its name."""
    done = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        found = os.fstat(handle)
        names = [path.name for path in tmp_path.rglob("*") if path.is_dir() and path.stat().st_ino == found.st_ino]
        done.append(f"sync {names[0] if names else 'file'}")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda path, target: (done.append("rename"), replace(path, target))[1])
    return done


def test_a_file_is_on_the_disk_before_it_takes_its_name(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "example").mkdir()

    FileStore(FileSystemStorage(tmp_path)).publish("example/sitemap.xml", b"data")

    assert steps == ["sync file", "rename", "sync example"]


def test_files_on_which_nothing_relies_yet_share_one_sync_of_the_directory(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "example").mkdir()
    store = FileStore(FileSystemStorage(tmp_path))

    with store.together():
        store.publish("example/sitemap-products-1.xml.gz", b"data")
        store.publish("example/sitemap-products-2.xml.gz", b"data")
    store.publish("example/sitemap.xml", b"data")

    assert steps == [*["sync file", "rename"] * 2, "sync example", "sync file", "rename", "sync example"]


def test_new_directories_are_on_the_disk_too(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "root").mkdir()

    FileStore(FileSystemStorage(tmp_path / "root"), "one/").publish("two/sitemap.xml", b"data")

    assert steps == ["sync root", "sync one", "sync file", "rename", "sync two"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_for_the_directory_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    store.publish(NAME, b"old")
    fail_for_directories(monkeypatch, number)

    with pytest.raises(OSError, match=os.strerror(number)):
        store.publish(NAME, b"new")


def test_a_system_that_cannot_sync_a_directory_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    fail_for_directories(monkeypatch, errno.EINVAL)

    store.publish(NAME, b"new")

    assert store.read(NAME) == b"new"


def fail_for_directories(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    fsync = os.fsync

    def failing(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)


def test_all_new_directories_have_the_permissions_of_the_storage(tmp_path: Path) -> None:
    storage = FileSystemStorage(tmp_path, directory_permissions_mode=0o2750)

    FileStore(storage, "one/").publish(NAME, b"data")

    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("one", "one/example.com")] == [0o2750] * 2


@pytest.fixture
def another_group(tmp_path: Path) -> int:
    """Give the directory of the storage to a group that new files do not have by themselves."""
    (tmp_path / "example.com").mkdir()
    groups = [1] if os.geteuid() == 0 else [group for group in os.getgroups() if group != os.getegid()]
    if not groups:
        pytest.skip("the user of this process is in one group alone")
    os.chown(tmp_path, -1, groups[0])
    return groups[0]


def test_a_file_has_the_group_of_the_storage(tmp_path: Path, another_group: int) -> None:
    FileStore(FileSystemStorage(tmp_path)).publish(NAME, b"data")

    assert (tmp_path / NAME).stat().st_gid == another_group


@pytest.mark.usefixtures("another_group")
def test_a_group_that_this_user_may_not_give_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    store = FileStore(FileSystemStorage(tmp_path))
    monkeypatch.setattr(os, "chown", refused)

    store.publish(NAME, b"data")

    assert store.read(NAME) == b"data"


def test_the_directory_of_a_site_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root" / "example.com").symlink_to("../elsewhere")
    store = FileStore(FileSystemStorage(tmp_path / "root"))

    for data in (b"old", b"new"):
        store.publish(NAME, data)

    assert (tmp_path / "root" / "example.com").is_symlink()
    assert file_names(tmp_path / "elsewhere") == ["sitemap-products-1.xml.gz"]
    assert store.read(NAME) == b"new"
    assert store.list("example.com") == {"sitemap-products-1.xml.gz"}


def test_a_file_that_is_a_link_is_replaced_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "example.com").mkdir()
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / NAME).symlink_to("../other")

    FileStore(FileSystemStorage(tmp_path)).publish(NAME, b"data")

    assert (tmp_path / NAME).read_bytes() == b"data"
    assert (tmp_path / "other").read_bytes() == b"other"


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    store.publish(NAME, b"old")
    monkeypatch.setattr(os, step, no_space)

    with pytest.raises(OSError, match="No space left"):
        store.publish(NAME, b"new")

    assert store.read(NAME) == b"old"
    assert file_names(tmp_path) == [NAME]


def test_a_file_that_does_not_fit_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    store.publish(NAME, b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            store.publish(NAME, bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert store.read(NAME) == b"old"
    assert file_names(tmp_path) == [NAME]


KILLED = """
import os, signal, sys

import django
from django.conf import settings
from django.core.files.storage import FileSystemStorage

settings.configure()
django.setup()
from sitemaps_plus.errors import MissingExtra
from sitemaps_plus.stores.files import FileStore

setattr(os, sys.argv[3], lambda *args: os.kill(os.getpid(), signal.SIGKILL))
FileStore(FileSystemStorage(sys.argv[1])).publish(sys.argv[2], b"new")
"""


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_a_killed_process_leaves_is_swept_and_was_never_listed(tmp_path: Path, step: str) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    store.publish(NAME, b"old")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path, NAME, step], env=environment, check=False)

    assert done.returncode == -signal.SIGKILL
    assert len(file_names(tmp_path)) == 2
    assert store.list("example.com") == {"sitemap-products-1.xml.gz"}
    assert store.read(NAME) == b"old"
    store.sweep("example.com")
    assert file_names(tmp_path) == [NAME]


@pytest.mark.parametrize("name", [".htaccess", ".sitemap", ".sitemap.conf", ".site.map.abcdefgh", "sitemap.xml.new"])
def test_what_others_have_put_there_is_not_swept(tmp_path: Path, name: str) -> None:
    store = FileStore(FileSystemStorage(tmp_path))
    store.publish(f"example.com/{name}", b"data")

    store.sweep("example.com")

    assert file_names(tmp_path) == [f"example.com/{name}"]


def test_the_names_in_a_directory_are_listed(storage: Storage) -> None:
    store = FileStore(storage, "sitemaps/")
    for name in (NAME, "example.com/sitemap.xml", "example.com/deeper/sitemap.xml", "example.org/sitemap.xml"):
        store.publish(name, b"data")

    assert store.list("example.com") == {"sitemap-products-1.xml.gz", "sitemap.xml"}
    assert store.list("example.net") == set()


def test_sweeping_a_directory_that_is_not_there_is_no_error(storage: Storage) -> None:
    FileStore(storage).sweep("example.com")

    assert FileStore(storage).list("example.com") == set()


def test_a_storage_that_cannot_list_says_so_and_is_not_swept() -> None:
    class Listless(InMemoryStorage):
        def listdir(self, path: str) -> Any:
            return Storage.listdir(self, path)

    store = FileStore(Listless())
    store.publish(NAME, b"data")

    store.sweep("example.com")

    assert store.list("example.com") is None
    assert store.read(NAME) == b"data"


@pytest.mark.parametrize("data", [b"", b"dat", b"data!", b"Data"])
def test_only_equal_bytes_are_held(storage: Storage, data: bytes) -> None:
    store = FileStore(storage)
    store.publish(NAME, b"data")

    assert store.holds(NAME, b"data")
    assert not store.holds(NAME, data)
    assert not store.holds("example.com/other", data)


class Failing(InMemoryStorage):
    """A storage whose files cannot be read, with an error of its own."""

    def _open(self, name: str, mode: str = "rb") -> File:
        raise ConnectionError("reset by peer")


def test_what_cannot_be_read_is_not_held() -> None:
    store = FileStore(Failing())
    store.publish(NAME, b"data")

    assert not store.holds(NAME, b"data")


def test_the_error_of_a_storage_counts_only_for_a_file_that_is_there() -> None:
    store = FileStore(Failing())
    store.publish(NAME, b"data")

    with pytest.raises(ConnectionError, match="reset by peer"):
        store.read(NAME)
    assert store.read("example.com/other") is None


class Refusing(InMemoryStorage):
    """A storage that cannot overwrite, as that of an FTP server."""

    def delete(self, name: str) -> None:
        assert name != NAME, "the only file is deleted"
        super().delete(name)


def test_a_storage_that_cannot_overwrite_is_refused_and_keeps_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemaps_plus.stores.files.InMemoryStorage", FileSystemStorage)
    store = FileStore(Refusing())
    store.publish(NAME, b"old")

    with pytest.raises(OSError, match=r"set STORAGE to one that overwrites"):
        store.publish(NAME, b"new")

    assert store.read(NAME) == b"old"
    assert store.list("example.com") == {"sitemap-products-1.xml.gz"}
    assert not store.can_replace()


def test_storages_that_can_replace_a_file_are_known(storage: Storage) -> None:
    assert FileStore(storage).can_replace()


def test_a_storage_that_changes_names_is_refused_and_keeps_nothing() -> None:
    storage = Renaming()

    with pytest.raises(OSError, match=r"set STORAGE to one that overwrites"):
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


def test_without_its_packages_the_storage_for_s3_names_the_extra(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = "sitemaps_plus.stores.s3.SitemapS3Storage"
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": backend}}
    monkeypatch.delitem(sys.modules, "sitemaps_plus.stores.s3", raising=False)
    monkeypatch.setitem(sys.modules, "storages.backends.s3", None)

    with pytest.raises(InvalidStorageError, match=re.escape('pip install "django-sitemaps-plus[s3]"')) as caught:
        get_store()

    assert isinstance(caught.value.__cause__, MissingExtra)


def test_without_a_storage_of_its_own_the_default_one_has_a_folder(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    settings.STORAGES = {"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}}

    get_store().publish(NAME, b"data")

    assert (tmp_path / "sitemaps" / NAME).read_bytes() == b"data"
