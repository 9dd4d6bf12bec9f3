"""Hold rendered pages between rendering and publishing: in a directory, or under a prefix of the storage."""

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
"""Seconds without a new page after which nobody uses a temporary directory any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """A place that only one build uses; processes hand it to each other."""

    place: str
    is_local: bool
    """Whether it is a directory of this machine."""

    def write(self, name: str, data: bytes) -> None:
        """Keep a page."""
        if self.is_local:
            Path(self.place, name).write_bytes(data)
        else:
            get_store().publish(f"{self.place}/{name}", data)

    def read(self, name: str) -> bytes:
        """Return a page; raise OSError where it is no longer there."""
        if self.is_local:
            return Path(self.place, name).read_bytes()
        data = get_store().read(f"{self.place}/{name}")
        if data is None:
            raise FileNotFoundError(f"{get_store().where(f'{self.place}/{name}')} is gone.")
        return data

    def remove(self, name: str) -> None:
        """Take a page away, if it is there."""
        if self.is_local:
            Path(self.place, name).unlink(missing_ok=True)
        else:
            get_store().remove(f"{self.place}/{name}")


@contextmanager
def stage(directory: str, label: str) -> Iterator[Staging]:
    """Give an empty place for the pages of a section of the site with that directory; what is in it goes afterwards.

    ``STAGING`` says where: a directory of this machine, a prefix in the storage, or, without it, the directory for
    temporary files. What a build that was killed has left behind is removed by the next one, in the last place a day
    later. Other files are left alone.
    """
    given = str(get_settings().STAGING or "")
    if not given:
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
            _remove_abandoned(Path(folder))
            yield Staging(place=folder, is_local=True)
    elif Path(given).is_absolute():
        local = Path(given, directory, label)
        local.mkdir(parents=True, exist_ok=True)
        _empty(local, label)
        try:
            yield Staging(place=str(local), is_local=True)
        finally:
            _empty(local, label)
            for emptied in (local, local.parent):
                # What is not empty is somebody else's too.
                with suppress(OSError):
                    emptied.rmdir()
    else:
        staging = Staging(place=f"{given.strip('/')}/{directory}/{label}", is_local=False)
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
    get_store().sweep(staging.place)
    for name in get_store().list(staging.place) or ():
        if _is_ours(name, label):
            staging.remove(name)


def _is_ours(name: str, label: str) -> bool:
    file = parse_page_file(name)
    return file is not None and (file.label, file.format) == (label, "xml.gz")


def _remove_abandoned(made: Path) -> None:
    """Remove what killed builds have left beside a directory that was made just now."""
    ours = made.stat()
    for folder in made.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = folder.stat()
            if found.st_uid == ours.st_uid and ours.st_mtime - found.st_mtime > _ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)
