import gzip
import hashlib
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from samples import DAY, SITE, Products, make_products, paths, render_page, section_of, text_of
from sitemaps_plus import Sitemap, register
from sitemaps_plus.errors import (
    InvalidSitemap,
    PageFull,
    PageGone,
    PageNotFound,
)
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import neutral
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol import limits
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.protocol.limits import Profile
from sitemaps_plus.protocol.writer import IndexItem
from sitemaps_plus.render.indexes import make_index, render_index
from sitemaps_plus.render.pages import render_planned
from sitemaps_plus.stores.packing import Document
from testapp.models import Product
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db


@pytest.fixture
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=2000))


def all_pages(section: Any) -> list[Document]:
    """Render every page, those too that a split makes on the way."""
    plan, rendered = refresh(section), {}
    while waiting := [page.number for page in plan.pages if page.number not in rendered]:
        rendered[waiting[0]], plan = render_planned(section, waiting[0], plan=plan)
    return [rendered[page.number] for page in plan.pages]


def all_paths(section: Any) -> list[str]:
    return [path for page in all_pages(section) for path in paths(locs(text_of(page)))]


def test_a_page_is_gzip_without_name_and_time_and_always_the_same() -> None:
    make_products(10)

    first, second = render_page(section_of(Products), 1), render_page(section_of(Products), 1)

    assert first.gzipped == second.gzipped
    flags, mtime = struct.unpack("<BI", first.gzipped[3:8])
    assert (flags, mtime) == (0, 0)


def test_a_document_knows_its_size_its_digest_and_its_bytes() -> None:
    make_products(10)

    document = render_page(section_of(Products), 1)

    data = b"".join(document.chunks())
    assert data == gzip.decompress(document.gzipped) == text_of(document)
    assert (document.size, document.urls) == (len(data), 10)
    assert document.digest == hashlib.sha256(data).hexdigest()


def test_large_documents_unpack_in_small_pieces() -> None:
    document = make_index(IndexItem(f"https://example.com/{number}/{'x' * 500}") for number in range(5000))

    pieces = list(document.chunks())

    assert b"".join(pieces) == gzip.decompress(document.gzipped)
    assert len(pieces) > 1


def test_pages_hold_each_row_once_in_key_order() -> None:
    make_products(35)

    assert all_paths(section_of(Products)) == [f"/product-{number}/" for number in range(1, 36)]


def test_the_text_form_lists_the_same_addresses() -> None:
    make_products(12)
    section = section_of(Products)

    text = text_of(render_page(section, 2, as_text=True)).decode()

    assert text.splitlines() == locs(text_of(render_page(section, 2)))


@pytest.mark.parametrize("number", [0, 3, 999_999_999])
def test_a_number_that_never_was_is_not_found(number: int) -> None:
    make_products(12)

    with pytest.raises(PageNotFound, match="no page") as caught:
        render_page(section_of(Products), number)

    assert not isinstance(caught.value, PageGone)


def test_a_retired_number_is_gone() -> None:
    make_products(12)
    section = section_of(Products)
    refresh(section)

    refresh(section, repack=True)

    with pytest.raises(PageGone):
        render_page(section, 1)


def test_a_page_whose_rows_have_no_address_is_not_found_and_leaves_the_index() -> None:
    class Nowhere(Products):
        location = F("slug")

    register("products", Nowhere)
    register("articles", type("Others", (Products,), {}))
    make_products(3)
    assert len(locs(text_of(render_index(SITE)))) == 2

    with pytest.raises(PageNotFound, match="no URLs"):
        render_page(section_of(Nowhere), 1)

    assert locs(text_of(render_index(SITE))) == ["https://example.com/sitemap-articles-1.xml"]


@pytest.mark.usefixtures("_small_pages")
def test_a_page_that_is_too_large_is_split_on_the_way_and_no_row_is_lost() -> None:
    class Large(Products):
        limit = 50_000

    make_products(100)
    section = section_of(Large)

    pages = all_pages(section)

    assert all_paths(section) == [f"/product-{number}/" for number in range(1, 101)]
    assert max(page.size for page in pages) <= 2000
    # All but the last are filled to 90 %, less one row.
    assert min(page.size for page in pages[:-1]) > 1700


@pytest.mark.usefixtures("_small_pages")
def test_a_page_that_was_split_comes_with_its_new_plan() -> None:
    class Large(Products):
        limit = 50_000

    make_products(100)
    section = section_of(Large)
    plan = refresh(section)

    _, newer = render_planned(section, 1, plan=plan)
    same = [render_planned(section, page.number, plan=newer)[1] for page in newer.pages]

    assert len(newer.pages) == len(plan.pages) + 5
    assert all(one is newer for one in same)


@pytest.mark.usefixtures("_small_pages")
def test_the_share_that_a_split_page_keeps_is_the_class_s_own() -> None:
    class Roomy(Products):
        limit = 50_000
        fill = 0.5

    make_products(100)

    assert 900 < render_page(section_of(Roomy), 1).size <= 1100


@pytest.mark.usefixtures("_small_pages")
def test_a_page_by_position_that_is_too_large_says_what_to_do() -> None:
    class Static(Sitemap):
        def items(self) -> list[int]:
            return list(range(100))

        def location(self, item: int) -> str:
            return f"/{item}/"

    with pytest.raises(PageFull, match="lower `limit` on Static"):
        render_page(section_of(Static), 1)


def test_a_rendering_is_recorded() -> None:
    make_products(10)
    section = section_of(Products)

    document = render_page(section, 1)

    record = SitemapPage.objects.get()
    assert (record.digest, record.urls, record.bytes) == (document.digest, 10, document.size)
    assert record.changed_at == document.changed_at == DAY + timedelta(minutes=10)


def test_the_text_form_is_not_recorded() -> None:
    make_products(10)

    render_page(section_of(Products), 1, as_text=True)

    assert SitemapPage.objects.get().digest == ""


def test_what_is_rendered_for_a_host_that_a_client_names_is_not_recorded() -> None:
    make_products(10)
    forged = SiteOrigin(id=1, origin=Origin.parse("https://forged.example"), is_configured=False)

    document = render_page(section_of(Products, site=forged), 1)

    assert locs(text_of(document))[0] == "https://forged.example/product-1/"
    assert SitemapPage.objects.get().digest == ""


def test_namespaces_are_declared_where_they_are_used() -> None:
    class Translated(Products):
        i18n = True
        alternates = True

    make_products(1)

    assert b"xmlns:xhtml" not in text_of(render_page(section_of(Products), 1))
    assert b"xmlns:xhtml" in text_of(render_page(section_of(Translated, "translated"), 1))


def test_a_page_costs_the_same_wherever_it_lies() -> None:
    make_products(200)
    section = section_of(Products)
    costs = []
    for number in (1, 20):
        render_page(section, number)
        with CaptureQueriesContext(connection) as captured:
            render_page(section, number)
        costs.append(len(captured))

    # The plan, the rows, and whether there are more of them.
    assert costs == [2, 2]


def test_rendering_is_for_everybody() -> None:
    class Local(Products):
        def location(self, item: Product) -> str:
            return f"/{translation.get_language()}/{timezone.get_current_timezone_name()}/{item.slug}/"

        def lastmod(self, item: Product) -> datetime | None:
            return item.updated_at.replace(tzinfo=None) if item.updated_at else None

    make_products(2)
    plain = text_of(render_page(section_of(Local), 1))

    with translation.override("de"), timezone.override("Asia/Tokyo"):
        assert text_of(render_page(section_of(Local), 1)) == plain
        assert (translation.get_language(), timezone.get_current_timezone_name()) == ("de", "Asia/Tokyo")
    assert paths(locs(plain))[0] == "/en/Europe/Berlin/product-1/"


def test_neutral_puts_everything_back_even_after_an_error() -> None:
    with translation.override("de"), timezone.override(UTC):
        with pytest.raises(ZeroDivisionError), neutral():
            raise ZeroDivisionError

        assert translation.get_language() == "de"
        assert timezone.get_current_timezone() is UTC


def test_a_declaration_that_cannot_work_says_so() -> None:
    class Wrong(Products):
        changed = "updated_at"

    with pytest.raises(InvalidSitemap, match=r"Wrong\.changed"):
        render_page(section_of(Wrong), 1)


def test_naive_dates_get_the_zone_of_the_settings(settings: Any) -> None:
    settings.USE_TZ = False
    make_products(1, updated_at=datetime(2026, 7, 1, 12))

    document = render_page(section_of(Products), 1)

    assert lastmods(text_of(document)) == ["2026-07-01T12:00:00+02:00"]
