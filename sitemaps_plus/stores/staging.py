"""Keep rendered pages until they are published: in a directory, or under a prefix of the storage."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sitemaps_plus.conf import get_settings
from sitemaps_plus.protocol.names import is_label, parse_page_file
from sitemaps_plus.stores.files import get_store

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX = "sitemaps_plus-"

_MADE = re.compile(rf"\.?{_PREFIX}[a-z0-9_]{{8}}")
"""A name that ``tempfile.mkdtemp`` makes."""

_LOCK = "lock"
"""Name of the file that a living build keeps locked in its temporary directory."""

_ABANDONED = 86_400
"""Seconds without a new page after which a temporary directory without a lock is abandoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """A directory or prefix that one build uses, in all of its processes."""

    path: str
    is_local: bool
    """Whether it is a directory of this machine."""

    def write(self, name: str, data: bytes) -> None:
        """Store a page."""
        if self.is_local:
            Path(self.path, name).write_bytes(data)
        else:
            get_store().publish(f"{self.path}/{name}", data)

    def read(self, name: str) -> bytes:
        """Return a page; raise OSError where it is no longer there."""
        if self.is_local:
            return Path(self.path, name).read_bytes()
        data = get_store().read(f"{self.path}/{name}")
        if data is None:
            raise FileNotFoundError(f"{get_store().where(f'{self.path}/{name}')} is gone.")
        return data

    def remove(self, name: str) -> None:
        """Remove a page, if it is there."""
        if self.is_local:
            Path(self.path, name).unlink(missing_ok=True)
        else:
            get_store().remove(f"{self.path}/{name}")


@contextmanager
def stage(directory: str, label: str) -> Iterator[Staging]:
    """Give an empty staging area for one section of the site with that directory, and clear it afterwards.

    ``STAGING`` is a directory of this machine, or a prefix in the storage; without it the directory for temporary files
    is used. The next build removes the pages of a killed one. Other files are not touched.
    """
    given = str(get_settings().STAGING or "")
    if not given:
        with _temporary_folder() as folder:
            _remove_abandoned(folder)
            yield Staging(path=str(folder), is_local=True)
    elif Path(given).is_absolute():
        local = Path(given, directory, label)
        local.mkdir(parents=True, exist_ok=True)
        _empty(local, label)
        try:
            yield Staging(path=str(local), is_local=True)
        finally:
            _empty(local, label)
            _remove_empty(local, local.parent)
    else:
        staging = Staging(path=f"{given.strip('/')}/{directory}/{label}", is_local=False)
        _clear(staging, label)
        try:
            yield staging
        finally:
            _clear(staging, label)


def clear_staging(directory: str) -> None:
    """Remove the pages of killed builds of all sections of the site with that directory, also of those that are gone.

    Call it only while no other build of the site runs. Without ``STAGING`` this does nothing: `stage` removes what is
    left among the temporary files.
    """
    given = str(get_settings().STAGING or "")
    if Path(given).is_absolute():
        # A place that cannot be read is an error of the first section that needs it.
        with suppress(OSError):
            _clear_local(Path(given, directory))
    elif given:
        place = f"{given.strip('/')}/{directory}"
        for label in filter(is_label, get_store().directories(place)):
            _clear(Staging(path=f"{place}/{label}", is_local=False), label)


def _clear_local(place: Path) -> None:
    for local in place.iterdir() if place.is_dir() else ():
        if is_label(local.name) and local.is_dir():
            _empty(local, local.name)
            _remove_empty(local)
    _remove_empty(place)


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        # One that is not empty has other files.
        with suppress(OSError):
            folder.rmdir()


def _empty(local: Path, label: str) -> None:
    for path in local.iterdir():
        if _is_ours(path.name, label):
            path.unlink()


def _clear(staging: Staging, label: str) -> None:
    get_store().sweep(staging.path)
    for name in get_store().list(staging.path) or ():
        if _is_ours(name, label):
            staging.remove(name)


def _is_ours(name: str, label: str) -> bool:
    file = parse_page_file(name)
    return file is not None and (file.label, file.format) == (label, "xml.gz")


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Give a new temporary directory with a file that is locked as long as this process lives."""
    made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
    handle = _lock_file(made / _LOCK, os.O_CREAT)
    if handle is None:
        # A file that cannot be locked must not look like that of a dead build.
        (made / _LOCK).unlink(missing_ok=True)
    try:
        # Others look for this name, and find it only with its lock.
        made = made.rename(made.with_name(made.name[1:]))
        yield made
    finally:
        _remove_folder(made)
        if handle is not None:
            os.close(handle)


def _lock_file(path: Path, flags: int = 0) -> int | None:
    """Return a handle that holds the lock of a file until it is closed; None where that is not possible.

    The system gives the lock back however the process ends, and processes that it starts do not inherit the handle.
    """
    if fcntl is None:
        return None
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove_abandoned(made: Path) -> None:
    """Remove the directories of dead builds next to a directory that was made just now.

    A directory with another name, or that holds anything but pages and the lock, is not of a build.
    """
    ours = made.stat()
    for folder in [*made.parent.glob(f"{_PREFIX}*"), *made.parent.glob(f".{_PREFIX}*")]:
        with suppress(OSError):
            found = folder.lstat()
            if folder == made or not stat.S_ISDIR(found.st_mode) or found.st_uid != ours.st_uid:
                continue
            if not (_MADE.fullmatch(folder.name) and all(map(_is_of_build, folder.iterdir()))):
                continue
            _remove_if_dead(folder, age=ours.st_mtime - found.st_mtime)


def _is_of_build(path: Path) -> bool:
    file = parse_page_file(path.name)
    is_named = path.name == _LOCK or (file is not None and file.format == "xml.gz")
    return is_named and stat.S_ISREG(path.lstat().st_mode)


def _remove_if_dead(folder: Path, *, age: float) -> None:
    lock = folder / _LOCK
    is_ready = folder.name.startswith(_PREFIX) and lock.exists()
    handle = _lock_file(lock) if is_ready else None
    # Without a lock it is of an older release, of a system without such locks, or of a build that starts just now.
    if handle is not None or (age > _ABANDONED and not is_ready):
        _remove_folder(folder)
    if handle is not None:
        os.close(handle)


def _remove_folder(folder: Path) -> None:
    # The lock last: if this process is killed meanwhile, the next build removes the rest at once, too.
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name != _LOCK:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)
