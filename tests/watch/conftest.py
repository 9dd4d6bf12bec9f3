"""What the tests of the search for a URL start from."""

import pytest

from url_search import HOST, LANGUAGES


@pytest.fixture
def project(settings):
    """The settings of a site with pages in two languages."""
    settings.SITEMAPS_PLUS = {"ORIGIN": HOST}
    settings.ROOT_URLCONF = "testapp.urls_head"
    settings.LANGUAGES = LANGUAGES
