"""What the tests of this room start from."""

from pathlib import Path
from typing import Any

import pytest

from built import BuiltSet
from samples import Products, make_products
from sitemaps_plus import register
from url_search import HOST, LANGUAGES


@pytest.fixture
def project(settings):
    """The settings of a site with pages in two languages."""
    settings.SITEMAPS_PLUS = {"ORIGIN": HOST}
    settings.ROOT_URLCONF = "testapp.urls_head"
    settings.LANGUAGES = LANGUAGES


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    """Twenty-five products on three pages, not built yet."""
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com", STRICT=False)
    register("products", Products)
    make_products(25)
    return found
