"""What a build would do, and whether anything is stale."""

import json
from datetime import timedelta

import pytest
from django.core.files.storage import storages

from commands import content, published, run
from factories import DAY
from samples import Products, make_products
from sitemaps_plus import Sitemap, register
from sitemaps_plus.models import Build, SitemapPage
from testapp.models import Product

pytestmark = pytest.mark.django_db


def test_a_dry_run_reports_what_would_be_rendered_and_why_and_changes_nothing() -> None:
    register("products", Products)
    products = make_products(25)
    run()
    before = {name: content(name) for name in published()}
    Product.objects.filter(pk=products[12].pk).update(updated_at=DAY + timedelta(days=1))
    Product.objects.filter(pk__gt=products[19].pk).delete()
    records, builds = list(SitemapPage.objects.values()), Build.objects.count()

    stdout, _, failure = run("--dry-run")

    assert stdout.splitlines() == [
        "example.com products page 2: its content changed since the build",
        "example.com products page 3: it has no URLs any more",
        "2 pages or indexes would be rendered or removed",
    ]
    assert failure is None
    assert {name: content(name) for name in published()} == before
    assert list(SitemapPage.objects.values()) == records
    assert Build.objects.count() == builds


def test_a_check_fails_until_the_next_build() -> None:
    register("products", Products)
    products = make_products(5)
    run()
    assert run("--check") == ("0 pages or indexes are stale\n", "", None)
    Product.objects.filter(pk=products[0].pk).update(updated_at=DAY + timedelta(days=1))

    stdout, _, failure = run("--check")

    assert stdout.startswith("example.com products page 1: its content changed since the build\n")
    assert stdout.endswith("\n1 page or index is stale\n")
    assert failure is not None
    assert str(failure) == "1 page or index is stale: run build_sitemaps."
    assert failure.returncode == 1
    run()
    assert run("--check")[2] is None


def test_a_check_does_not_fail_for_pages_that_may_be_current() -> None:
    class Listed(Sitemap):
        location = "/one/"

        def items(self) -> list[str]:
            return ["one"]

    register("listed", Listed)
    run()

    assert run("--check")[2] is None
    assert "only rendering tells whether it changed" in run("--dry-run")[0]


def test_a_set_that_lacks_its_index_is_stale() -> None:
    register("products", Products)
    make_products(5)
    run()
    storages["sitemaps"].delete("example.com/sitemap.xml.gz")

    stdout, _, failure = run("--check")

    assert stdout.startswith("example.com index: the index of the site is missing\n")
    assert failure is not None
    run()
    assert run("--check")[2] is None


def test_a_dry_run_can_be_read_by_programs() -> None:
    register("products", Products)
    make_products(5)

    report = json.loads(run("--dry-run", "--json")[0])

    page = {"site": "example.com", "label": "products", "number": 1, "reason": "it was never built", "is_stale": True}
    assert report == {"stale": True, "undecided": 0, "pages": [page]}
