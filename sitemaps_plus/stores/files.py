"""Store built files so that a reader gets the old file or the new one, never a part."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, InMemoryStorage, Storage, default_storage, storages

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import SitemapError

# Other files that begin with a dot are not ours, for example .htaccess.
_TEMPORARY = re.compile(r"\.sitemap.*\.[a-z0-9_]{8}")

_PROBE = "sitemap.xml"


class FileStore:
    """Built files in a Django storage, by paths such as ``example.com/sitemap-products-1.xml.gz``."""

    def __init__(self, storage: Storage, prefix: str = "") -> None:
        self.storage = storage
        self.prefix = prefix
        self._unsynced: set[str] | None = None
        """Directories to be synced when a block of `together` ends."""

    def publish(self, name: str, data: bytes) -> None:
        """Make `data` the content of `name`: on a file system in one step that survives a crash.

        Any other storage has to overwrite; raise OSError where it gives the file another name.
        """
        name = self.prefix + name
        if isinstance(self.storage, FileSystemStorage):
            self._sync(_replace(self.storage, name, data))
        else:
            _save(self.storage, name, data)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let files that are published in the block survive a crash only after it, if nothing relies on them before.

        Each of them is whole or not there, whenever the machine goes down.
        """
        self._unsynced = set()
        try:
            yield
        finally:
            folders, self._unsynced = self._unsynced, None
            for folder in folders:
                _sync_directory(folder)

    def read(self, name: str) -> bytes | None:
        """Return the content of `name`, or None where there is no such file."""
        return _read(self.storage, self.prefix + name)

    def holds(self, name: str, data: bytes) -> bool:
        """Return whether the content of `name` is exactly `data`; False where it cannot be read."""
        try:
            return _read(self.storage, self.prefix + name) == data
        except Exception:  # each storage has errors of its own
            return False

    def can_replace(self) -> bool:
        """Return whether the storage overwrites files; does not contact a server."""
        if isinstance(self.storage, FileSystemStorage | InMemoryStorage):
            return True
        probe: Any = copy(self.storage)
        probe.exists = lambda name: name == _PROBE
        return bool(probe.get_available_name(_PROBE) == _PROBE)

    def require_replacing(self) -> None:
        """Raise SitemapError if the storage cannot overwrite files, before anything is written to it."""
        if not self.can_replace():
            raise SitemapError(
                f"The storage of built files, {type(self.storage).__name__}, cannot overwrite a file, so no build can "
                "replace its files. Set STORAGE to one that overwrites, for S3 with file_overwrite, for Azure with "
                "overwrite_files."
            )

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        return self.storage.exists(self.prefix + name)

    def is_empty(self) -> bool:
        """Return whether there is no file of any site yet; False where the storage cannot tell."""
        try:
            return not any(self.storage.listdir(self.prefix))
        except FileNotFoundError:
            return True
        except Exception:  # each storage has errors of its own, and a build reports them
            return False

    def list(self, directory: str) -> set[str] | None:
        """Return the names of the files in a directory, without unfinished ones.

        None where the storage cannot tell, nothing where there is no such directory.
        """
        names = self._names(directory)
        if names is None:
            return None
        return {name for name in names if not name.startswith(".")}

    def directories(self, directory: str) -> set[str]:
        """Return the names of the directories in a directory; none where the storage cannot tell."""
        try:
            return set(self.storage.listdir(self.prefix + directory)[0])
        except (NotImplementedError, FileNotFoundError):
            return set()

    def remove(self, name: str) -> None:
        """Remove `name`, if there is such a file."""
        if self.has(name):
            self.storage.delete(self.prefix + name)

    def sweep(self, directory: str) -> None:
        """Remove the temporary files of killed builds from a directory that nobody else writes to."""
        if not isinstance(self.storage, FileSystemStorage):
            return
        for name in sorted(self._names(directory) or ()):
            if _TEMPORARY.fullmatch(name):
                self.storage.delete(f"{self.prefix}{directory}/{name}")

    def where(self, name: str) -> str:
        """Return the full path of `name`, for messages."""
        full = self.prefix + name
        return self.storage.path(full) if isinstance(self.storage, FileSystemStorage) else full

    def _sync(self, folder: str) -> None:
        if self._unsynced is None:
            _sync_directory(folder)
        else:
            self._unsynced.add(folder)

    def _names(self, directory: str) -> set[str] | None:
        try:
            return set(self.storage.listdir(self.prefix + directory)[1])
        except NotImplementedError:
            return None
        except FileNotFoundError:
            return set()


def get_store() -> FileStore:
    """Return the store of the ``STORAGE`` setting, or ``sitemaps/`` in the default storage where it is not defined."""
    if has_own_storage():
        return FileStore(storages[get_settings().STORAGE])
    return FileStore(default_storage, "sitemaps/")


def has_own_storage() -> bool:
    """Return whether ``STORAGES`` defines the storage of built files."""
    return get_settings().STORAGE in tuple(settings.STORAGES)


def _read(storage: Storage, name: str) -> bytes | None:
    try:
        with storage.open(name) as file:
            return bytes(file.read())
    except FileNotFoundError:
        return None
    except Exception:
        # Not every storage raises FileNotFoundError.
        if storage.exists(name):
            raise
        return None


def _replace(storage: FileSystemStorage, name: str, data: bytes) -> str:
    """Replace a file and return its directory, which is to be synced. Plain text for paths: there are many files."""
    target = storage.path(name)
    folder, base = os.path.split(target)
    if not os.path.isdir(folder):
        _make_directory(Path(folder), storage.directory_permissions_mode)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{base}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
            _give_group(handle, str(storage.location))
        os.chmod(temporary, _mode(storage))
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and not error.filename:
            raise type(error)(error.errno, error.strerror, target) from error
        raise
    return folder


def _make_directory(path: Path, mode: int | None) -> None:
    if path.is_dir():
        return
    _make_directory(path.parent, mode)
    path.mkdir(exist_ok=True)
    if mode is not None:
        path.chmod(mode)
    _sync_directory(str(path.parent))


def _mode(storage: FileSystemStorage) -> int:
    # mkstemp lets only the owner read, but a web server is another user.
    given = storage.file_permissions_mode
    return 0o644 if given is None else given


def _give_group(handle: int, location: str) -> None:
    # As Django does: the web server may have access by the group of the directory.
    group = os.stat(location).st_gid
    if os.name == "posix" and os.fstat(handle).st_gid != group:
        with suppress(PermissionError):
            os.chown(handle, -1, group)


def _sync_directory(path: str) -> None:
    # The rename is on disk only when the directory is.
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        # Other errors mean that this system cannot sync a directory.
        if error.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            raise


def _save(storage: Storage, name: str, data: bytes) -> None:
    if isinstance(storage, InMemoryStorage) and storage.get_available_name(name) != name:
        # It cannot overwrite, but a crash takes all of its files anyway.
        storage.delete(name)
    saved = storage.save(name, ContentFile(data))
    if saved != name:
        storage.delete(saved)
        raise OSError(f"The storage kept {saved!r} in place of {name!r}; set STORAGE to one that overwrites files.")
