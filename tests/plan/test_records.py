"""What is stored of a rendering."""

import pytest
from django.utils import timezone

from samples import Products, make_products, section_of
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.records import record_rendering


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
