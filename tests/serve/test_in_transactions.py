"""Inside a transaction a document shows what the transaction sees, and nothing of it stays; so tests of users hold."""

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client

from factories import ProductFactory
from samples import SITE, Products, paths
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.serve.cached import serve, warm
from sitemaps_plus.serve.live import Wanted
from sitemaps_plus.stores.cache import get_cache
from testapp.models import Product
from xml_checks import locs

ROOT = Path(__file__).parents[2]
PAGE = Wanted(site=SITE, label="products", number=1)
INDEX = Wanted(site=SITE)


@pytest.fixture(autouse=True)
def _products_registered(settings: Any) -> None:
    register("products", Products)
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}


def shown(wanted: Wanted = PAGE) -> list[str]:
    return paths(locs(gzip.decompress(serve(wanted).gzipped)))


def is_kept(wanted: Wanted) -> bool:
    return get_cache().has(wanted.name, wanted.label)


@pytest.mark.parametrize(
    ("site", "order"),
    [
        *(("origin", order) for order in ("--timing", "--shuffle=1", "--shuffle=2", "--reverse", "--parallel=2")),
        ("sites", "--shuffle=3"),
        ("none", "--shuffle=4"),
    ],
)
def test_tests_written_with_the_documentation_of_django_pass_in_any_order(site: str, order: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "django", "test", "bakery", order],
        env={
            **os.environ,
            "BAKERY_SITE": site,
            "DJANGO_SETTINGS_MODULE": "bakery.settings",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path]),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert run.returncode == 0, run.stderr
    # Python 3.12.1 does not count the one that is skipped.
    assert re.search(r"Ran (29|30) tests", run.stderr)


@pytest.mark.in_transactions
@pytest.mark.django_db
def test_a_transaction_neither_reads_nor_fills_the_cache() -> None:
    ProductFactory.create(slug="a")
    for wanted in (PAGE, INDEX):
        serve(wanted)

    assert not is_kept(PAGE)
    assert not is_kept(INDEX)
    Product.objects.update(slug="b")
    assert shown() == ["/b/"]


@pytest.mark.in_transactions
@pytest.mark.django_db(transaction=True)
def test_what_a_transaction_showed_is_gone_with_it() -> None:
    ProductFactory.create(slug="a")
    assert shown() == ["/a/"]
    with transaction.atomic():
        Product.objects.update(slug="b")
        assert shown() == ["/b/"]
        transaction.set_rollback(True)

    assert shown() == ["/a/"]


def atomically(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Let each request have a transaction of its own."""
    return transaction.atomic(get_response)


@pytest.mark.in_transactions
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("begins", ["ATOMIC_REQUESTS", "middleware"])
def test_atomic_requests_do_no_harm_and_middleware_with_a_transaction_keeps_the_cache_empty(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    ProductFactory.create(slug="a")
    if begins == "middleware":
        settings.MIDDLEWARE = [f"{__name__}.atomically", *settings.MIDDLEWARE]
    else:
        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    assert b"/a/" in client.get("/sitemap-products-1.xml").content

    Product.objects.update(slug="b")

    is_cached = begins == "ATOMIC_REQUESTS"
    assert (b"/a/" if is_cached else b"/b/") in client.get("/sitemap-products-1.xml").content
    assert is_kept(PAGE) is is_cached


@pytest.mark.in_transactions
@pytest.mark.django_db
def test_a_transaction_gets_no_built_file_of_rows_that_it_has_changed() -> None:
    ProductFactory.create(slug="a")
    assert build().is_complete

    Product.objects.update(slug="b")

    assert shown() == ["/b/"]


@pytest.mark.in_transactions
@pytest.mark.django_db
def test_warming_in_a_transaction_keeps_nothing_and_reports_no_error() -> None:
    ProductFactory.create(slug="a")

    assert warm(SITE, {"products": [1]}) == []
    assert not is_kept(PAGE)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", ["flush", "migrate"])
def test_what_this_process_cached_is_forgotten_when_tables_are_emptied_or_made(command: str) -> None:
    ProductFactory.create(slug="a")
    shown()
    Product.objects.update(slug="b")
    assert shown() == ["/a/"]

    call_command(command, verbosity=0, interactive=False)
    Product.objects.all().delete()
    ProductFactory.create(slug="c")

    assert shown() == ["/c/"]
