"""Keep rendered pages until they are published: in a directory, or under a prefix of the storage."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sitemaps_plus.conf import get_settings
from sitemaps_plus.protocol.names import parse_page_file
from sitemaps_plus.stores.files import get_store

_PREFIX = "sitemaps_plus-"

_ABANDONED = 86_400
"""Seconds without a new page after which a temporary directory is abandoned."""


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
    is used. The next build removes the pages of a killed one, in the directory for temporary files a day later. Other
    files are not touched.
    """
    given = str(get_settings().STAGING or "")
    if not given:
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
            _remove_abandoned(Path(folder))
            yield Staging(path=folder, is_local=True)
    elif Path(given).is_absolute():
        local = Path(given, directory, label)
        local.mkdir(parents=True, exist_ok=True)
        _empty(local, label)
        try:
            yield Staging(path=str(local), is_local=True)
        finally:
            _empty(local, label)
            for emptied in (local, local.parent):
                # One that is not empty has other files.
                with suppress(OSError):
                    emptied.rmdir()
    else:
        staging = Staging(path=f"{given.strip('/')}/{directory}/{label}", is_local=False)
        _clear(staging, label)
        try:
            yield staging
        finally:
            _clear(staging, label)


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


def _remove_abandoned(made: Path) -> None:
    """Remove the directories of killed builds next to a directory that was made just now."""
    ours = made.stat()
    for folder in made.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = folder.stat()
            if found.st_uid == ours.st_uid and ours.st_mtime - found.st_mtime > _ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)
