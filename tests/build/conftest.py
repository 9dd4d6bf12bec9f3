"""Fixtures of the tests of builds."""

from pathlib import Path
from typing import Any

import pytest

from built import HOST, BuiltSet, spaced
from samples import Products
from sitemaps_plus import register
from sitemaps_plus.build import build


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    """A site without sections yet."""
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com")
    return found


@pytest.fixture
def built(site: BuiltSet) -> BuiltSet:
    """Forty products on four pages, with room between their keys."""
    register("products", Products)
    spaced(range(1, 41))
    assert build().is_complete
    return site


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """Let the build write to a file system."""
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path)},
        },
    }
    return tmp_path / HOST
