"""Rows that a view has left out before a build: the build counts them, and fails if it is strict."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client

from built import BuiltSet
from samples import DAY, nth
from sitemaps_plus.build import build
from sitemaps_plus.build.due import examine
from sitemaps_plus.errors import StrictError
from sitemaps_plus.models import SitemapPage
from testapp.models import Product

pytestmark = pytest.mark.django_db


def visit(number: int) -> int:
    return Client(headers={"host": "example.com"}).get(f"/sitemap-products-{number}.xml").status_code


@pytest.fixture
def unlisted(built: BuiltSet) -> Product:
    """A new row without a URL; a view has rendered its page, whose bytes are those of the built file."""
    built.use(CHECK_EVERY=0, STRICT=False)
    nth(35).delete()
    assert build().is_complete
    row = Product.objects.create(pk=3550, slug="/elsewhere.example", name="New", updated_at=DAY)
    assert visit(4) == 200
    return row


def test_the_build_counts_them_and_says_which(built: BuiltSet, unlisted: Product) -> None:
    assert [due.number for due in examine() if due.number] == [4]
    with built.touched() as touched:
        (section,) = build().sections

    assert (section.urls, section.left_out, section.rendered, section.written) == (39, 1, 1, 0)
    assert [problem.key for problem in section.report.problems] == [str(unlisted.pk)]
    assert not any(name.endswith(".xml.gz") for name in touched)
    assert SitemapPage.objects.get(number=4).left_out == 1
    assert build().sections[0].rendered == 0


def test_a_strict_build_fails(unlisted: Product) -> None:
    result = build(strict=True)

    assert "StrictError" in str(result.sections[0].error)


def test_they_are_not_counted_any_more_once_a_view_lists_the_others(built: BuiltSet, unlisted: Product) -> None:
    build()
    unlisted.delete()
    assert visit(4) == 200

    assert build(strict=True).sections[0].left_out == 0


def test_the_status_names_them_before_the_build(unlisted: Product) -> None:
    record = SitemapPage.objects.get(number=4)

    assert (record.left_out, record.problems[0][0]) == (1, str(unlisted.pk))


def test_a_page_that_shows_other_rows_than_its_file_keeps_the_count_of_the_file(
    built: BuiltSet, unlisted: Product
) -> None:
    Product.objects.filter(pk=unlisted.pk).update(slug="fine", updated_at=DAY + timedelta(days=1))
    assert visit(4) == 200

    assert SitemapPage.objects.get(number=4).left_out == 1


def test_a_strict_view_serves_no_built_file_that_lacks_a_row(built: BuiltSet, unlisted: Product) -> None:
    build(strict=False)
    built.use(STRICT=True)
    cache.clear()

    with pytest.raises(StrictError, match="STRICT is on"):
        visit(4)
