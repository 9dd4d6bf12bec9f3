"""What the tests of the admin start from."""

import pytest
from django.contrib.auth.models import User

from admin_pages import client_of
from factories import ProductFactory
from samples import Products
from sitemaps_plus import register
from sitemaps_plus.build import start


@pytest.fixture
def project(db, settings):
    """A section of 25 products on three pages."""
    settings.ROOT_URLCONF = "testapp.urls_admin"
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("products", Products)
    for number in range(1, 26):
        ProductFactory(slug=f"product-{number}", name=f"Product {number}")


@pytest.fixture
def started(monkeypatch):
    """The builds that were started, as a list; no process is started."""
    calls = []
    monkeypatch.setattr(start, "start", lambda labels, **given: calls.append((labels, given)))
    return calls


@pytest.fixture
def boss(db):
    """A client that a superuser has logged in with."""
    return client_of(User.objects.create_superuser("boss"))
