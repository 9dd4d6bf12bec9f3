"""What a build does for each page besides rendering it stays small, however many pages there are."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from samples import Products, make_products, nth
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.build.ready import Ready
from sitemaps_plus.build.section import SectionBuild
from sitemaps_plus.models import SitemapPage
from testapp.models import Product

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


def statements(**options: Any) -> Counter[str]:
    """Build, and return how many statements there were of each kind, for rows and for records of pages."""
    with CaptureQueriesContext(connection) as queries:
        assert build(**options).is_complete
    found: Counter[str] = Counter()
    for query in queries:
        # Many executions of one statement are shown as "20 times: UPDATE ...".
        verb, _, table = query["sql"].split(": ", 1)[-1].partition(" ")
        for model in (Product, SitemapPage):
            if f'"{model._meta.db_table}"' in table.replace("`", '"'):
                found[f"{verb} {model.__name__}"] += 1
    return found


@pytest.fixture
def _without_verifying(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemaps_plus.plan.verification.SPARE", 0.0)


@pytest.mark.usefixtures("_without_verifying")
def test_a_build_stores_the_results_of_all_pages_in_as_many_statements_as_those_of_a_few() -> None:
    register("products", Products)
    found = []
    for rows in (30, 200):
        make_products(rows - Product.objects.count(), first=Product.objects.count() + 1)
        assert build().is_complete
        # All pages change.
        Product.objects.update(name="Another")
        made = statements(full=True)
        found.append({kind: count for kind, count in made.items() if kind.endswith("SitemapPage")})

    few, many = found
    assert few == many
    assert few["UPDATE SitemapPage"] < 10


@pytest.mark.usefixtures("_without_verifying")
def test_a_build_of_unchanged_pages_makes_one_query_a_page() -> None:
    register("products", Products)
    found = []
    for rows in (30, 200):
        make_products(rows - Product.objects.count(), first=Product.objects.count() + 1)
        assert build().is_complete
        found.append(statements())

    few, many = found
    assert many - few == Counter({"SELECT Product": 17})


def test_pages_of_which_there_is_nothing_to_report_share_an_empty_report(monkeypatch: pytest.MonkeyPatch) -> None:
    register("products", Products)
    make_products(50)
    nth(15).update(slug="with spaces and\nlines")
    given: list[Any] = []
    listed = SectionBuild._listed
    monkeypatch.setattr(SectionBuild, "_listed", lambda self, one: given.append(one) or listed(self, one))

    result = build()

    (assembly,) = given
    reports = [outcome.report for _, outcome in sorted(assembly.outcomes.items())]
    assert result.is_complete
    assert len(reports) == 5
    assert len({id(report) for report in reports}) <= 2
    assert len({id(outcome.shape) for outcome in assembly.outcomes.values()}) <= 2
    assert all(outcome.found["report"] is outcome.report for outcome in assembly.outcomes.values())


def test_the_record_the_plan_and_the_manifest_share_the_digests_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    register("products", Products)
    make_products(50)
    assert build().is_complete
    given: list[Any] = []
    entries = Ready.entries
    monkeypatch.setattr(Ready, "entries", lambda self, known: given.append((self, known)) or entries(self, known))

    assert build(full=True).is_complete

    ((ready, known),) = given
    assert len(ready.pages) == 5
    for page in ready.pages:
        entry, record, found = known.pages[page.number], page.record, ready.outcomes[page.number].found
        assert entry.digest is record.digest
        assert entry.digest is record.built_digest
        assert entry.digest is found["digest"]
        assert entry.start is record.start_digest
        assert found.keys() == {"digest", "urls", "size", "report"}
        assert entries(ready, known)[page.number] is entry


def test_a_new_record_takes_no_more_memory_than_a_stored_one() -> None:
    register("products", Products)
    make_products(10)
    assert build().is_complete

    sizes = {sys.getsizeof(record.__dict__) for record in (SitemapPage(), SitemapPage.objects.get())}

    assert len(sizes) == 1


def test_what_one_page_leaves_out_is_not_reported_of_others(folder: Path) -> None:
    class Strange(Products):
        def changefreq(self, item: Product) -> str:
            return "never ever" if item.slug == "product-15" else "daily"

    register("products", Strange)
    make_products(30)

    result = build()

    dropped = dict(SitemapPage.objects.values_list("number", "dropped"))
    assert result.is_complete
    assert dropped == {1: 0, 2: 1, 3: 0}
