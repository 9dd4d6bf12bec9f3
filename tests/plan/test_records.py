"""What is stored of a rendering."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from samples import DAY, Products, make_products, section_of
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.records import record_publishings, record_rendering, record_renderings
from sitemaps_plus.plan.seen import Sums
from sitemaps_plus.protocol.reports import Report


@pytest.mark.django_db
def test_one_rendering_at_a_busy_moment_makes_no_page_look_large() -> None:
    make_products(3)
    section = section_of(Products)
    (page,) = refresh(section).pages
    found = []
    for digest, seconds in (("a", 0.01), ("b", 5.0), ("c", 0.005)):
        record_rendering(
            section, page, digest=digest, urls=3, size=300, newest=None, began=timezone.now(), seconds=seconds
        )
        found.append(SitemapPage.objects.get().seconds)

    assert found == [0.01, 0.02, 0.005]


def rendering(digest, **values):
    report = Report("products")
    return {
        "digest": digest,
        "urls": 10,
        "size": 900,
        "newest": DAY,
        "began": timezone.now(),
        "seconds": 0.01,
        "report": report,
        **values,
    }


@pytest.mark.django_db
def test_the_renderings_of_many_pages_are_stored_by_one_statement_and_as_one_by_one() -> None:
    make_products(100)
    section = section_of(Products)
    sums = Sums(rows=9, keys=(45,), stamps=5, last=5)

    def given(pages):
        return [(page, rendering(f"digest {page.number}", seen=sums if page.number == 3 else None)) for page in pages]

    def stored():
        names = ("number", "digest", "urls", "bytes", "changed_at", "origin", "validator", "rows", "built_digest")
        return list(SitemapPage.objects.order_by("number").values_list(*names))

    for page, found in given(refresh(section).pages):
        record_rendering(section, page, **found)
    one_by_one = stored()
    SitemapPage.objects.all().delete()
    pages = refresh(section).pages
    with CaptureQueriesContext(connection) as queries:
        record_renderings(section, given(pages))

    assert stored() == one_by_one
    assert one_by_one[2][6:8] == ("keys0=45 rows=9 stamps=5 last=5", 9)
    assert [query["sql"].split()[:2] for query in queries if "UPDATE" in query["sql"]] == [
        ["9", "times:"],
        ["1", "times:"],
    ]
    # In memory as in the database.
    assert [(page.record.digest, page.record.validator) for page in pages] == [(one[1], one[6]) for one in one_by_one]


@pytest.mark.django_db
def test_a_rendering_among_many_of_which_the_page_was_measured_meanwhile_is_not_stored() -> None:
    make_products(30)
    section = section_of(Products)
    pages = refresh(section).pages
    SitemapPage.objects.filter(number=2).update(validator="of other rows")

    record_renderings(section, [(page, rendering(f"digest {page.number}")) for page in pages])

    assert list(SitemapPage.objects.order_by("number").values_list("digest", flat=True)) == ["digest 1", "", "digest 3"]


@pytest.mark.django_db
def test_what_was_published_of_many_pages_is_stored_by_one_statement() -> None:
    make_products(100)
    section = section_of(Products)
    pages = refresh(section).pages
    report = Report("products")
    report.left_out = 2

    with CaptureQueriesContext(connection) as queries:
        record_publishings([(page, f"digest {page.number}", report) for page in pages], DAY)

    assert len([query for query in queries if "UPDATE" in query["sql"]]) == 1
    found = SitemapPage.objects.order_by("number").values_list("built_digest", "built_at", "left_out", "problems")
    assert list(found) == [(f"digest {number}", DAY, 2, []) for number in range(1, 11)]


@pytest.mark.django_db
def test_the_records_of_a_section_share_what_they_have_in_common() -> None:
    make_products(30)
    section = section_of(Products)
    pages = refresh(section).pages
    record_renderings(section, [(page, rendering(f"digest {page.number}")) for page in pages])
    record_publishings([(page, f"digest {page.number}", Report("products")) for page in pages], DAY)

    first, second, _ = SitemapPage.objects.order_by("number")

    assert (first.layout, first.recipe, first.origin) == (second.layout, second.recipe, second.origin)
    assert all(getattr(first, name) is getattr(second, name) for name in ("label", "layout", "recipe", "origin"))
    assert first.digest is first.built_digest
