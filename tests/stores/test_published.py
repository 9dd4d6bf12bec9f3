"""What is published, as its one reader finds it."""

from pathlib import Path
from typing import Any

import pytest

from sitemaps_plus.stores.manifest import Manifest
from sitemaps_plus.stores.published import PublishedFiles

BASE = "https://example.com"


def _in(folder: Path, settings: Any) -> PublishedFiles:
    backend = "django.core.files.storage.FileSystemStorage"
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": backend, "OPTIONS": {"location": folder}}}
    return PublishedFiles("example.com")


def test_an_empty_storage_has_nothing(tmp_path: Path, settings: Any) -> None:
    assert _in(tmp_path, settings).checked_manifest(BASE) == Manifest(origin=BASE)


def test_a_storage_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "sitemaps").write_text("A file where a folder should be.")

    with pytest.raises(NotADirectoryError):
        _in(tmp_path / "sitemaps", settings).checked_manifest(BASE)
