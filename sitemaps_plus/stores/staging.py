"""Hold rendered pages between rendering and publishing: in a directory, or under a prefix of the storage."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sitemaps_plus.conf import get_settings
from sitemaps_plus.stores.files import get_store


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
    temporary files. What a build that was killed has left behind in the first two is removed by the next one.
    """
    given = str(get_settings().STAGING or "")
    if not given:
        with tempfile.TemporaryDirectory(prefix="sitemaps_plus-") as folder:
            yield Staging(place=folder, is_local=True)
    elif Path(given).is_absolute():
        local = Path(given, directory, label)
        shutil.rmtree(local, ignore_errors=True)
        local.mkdir(parents=True)
        try:
            yield Staging(place=str(local), is_local=True)
        finally:
            shutil.rmtree(local, ignore_errors=True)
    else:
        staging = Staging(place=f"{given.strip('/')}/{directory}/{label}", is_local=False)
        _clear(staging)
        try:
            yield staging
        finally:
            _clear(staging)


def _clear(staging: Staging) -> None:
    get_store().sweep(staging.place)
    for name in get_store().list(staging.place) or ():
        staging.remove(name)
