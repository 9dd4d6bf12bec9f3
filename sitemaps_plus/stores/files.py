"""Put built files into a Storage so that a reader sees the old file or the new one, never a part of one."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, default_storage, storages

from sitemaps_plus.conf import get_settings


class FileStore:
    """A place for built files, by names such as ``example.com/sitemap-products-1.xml.gz``."""

    def __init__(self, storage: Storage, prefix: str = "") -> None:
        self.storage = storage
        self.prefix = prefix

    def publish(self, name: str, data: bytes) -> None:
        """Make `data` the content of `name`; on a file system in one step that survives a crash."""
        name = self.prefix + name
        if isinstance(self.storage, FileSystemStorage):
            _replace(self.storage, name, data)
        else:
            _save(self.storage, name, data)

    def read(self, name: str) -> bytes | None:
        """Return the content of `name`, or None where there is no such file."""
        if not self.has(name):
            return None
        with self.storage.open(self.prefix + name) as file:
            return bytes(file.read())

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        return self.storage.exists(self.prefix + name)

    def remove(self, name: str) -> None:
        """Take `name` away, if there is such a file."""
        if self.has(name):
            self.storage.delete(self.prefix + name)

    def where(self, name: str) -> str:
        """Return where `name` can be found, for people."""
        full = self.prefix + name
        return self.storage.path(full) if isinstance(self.storage, FileSystemStorage) else full


def get_store() -> FileStore:
    """Return the store of the ``STORAGE`` setting, or ``sitemaps/`` in the default storage where it is not defined."""
    alias = get_settings().STORAGE
    if alias in settings.STORAGES:
        return FileStore(storages[alias])
    return FileStore(default_storage, "sitemaps/")


def _replace(storage: FileSystemStorage, name: str, data: bytes) -> None:
    target = Path(storage.path(name))
    _make_directory(target.parent, storage.directory_permissions_mode)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(storage))
        Path(temporary).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    _sync_directory(target.parent)


def _make_directory(path: Path, mode: int | None) -> None:
    if path.is_dir():
        return
    path.mkdir(parents=True, exist_ok=True)
    if mode is not None:
        path.chmod(mode)


def _mode(storage: FileSystemStorage) -> int:
    # mkstemp lets only the owner read; a web server is another user.
    given = storage.file_permissions_mode
    return 0o644 if given is None else given


def _sync_directory(path: Path) -> None:
    # The new name is on disk only when its directory is. Some systems cannot sync a directory.
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _save(storage: Storage, name: str, data: bytes) -> None:
    if storage.get_available_name(name) == name:
        _save_as(storage, name, data)
        return
    # The storage would choose another name: it cannot overwrite. What it has goes only when it has taken the new data.
    aside = f"{name}.new"
    if storage.exists(aside):
        # Of an attempt that broke off.
        storage.delete(aside)
    _save_as(storage, aside, data)
    storage.delete(name)
    _save_as(storage, name, data)
    storage.delete(aside)


def _save_as(storage: Storage, name: str, data: bytes) -> None:
    saved = storage.save(name, ContentFile(data))
    if saved != name:
        storage.delete(saved)
        raise OSError(f"The storage kept {saved!r} in place of {name!r}; set STORAGE to one that keeps names.")
