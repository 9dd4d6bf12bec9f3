"""Which pages a build renders of sections paged by position, and of classes that make their URLs themselves."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.utils.translation import get_language

from built import BuiltSet, index_names
from clock import Clock
from samples import DAY, Products, make_products, nth
from sitemaps_plus import NewsSitemap, register
from sitemaps_plus.build import build
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Article, Product

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


class Plain(contrib.Sitemap):
    """A class of Django, in two languages."""

    i18n = True
    languages = ["en", "de"]
    limit = 8
    protocol = "https"

    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def location(self, item: Product) -> str:
        return f"/{get_language()}/{item.slug}/"

    def lastmod(self, item: Product) -> Any:
        return item.updated_at


class Names(contrib.Sitemap):
    """A list, which nothing but its items tells of."""

    limit = 10
    names: list[str] = []

    def items(self) -> list[str]:
        return list(self.names)

    def location(self, item: str) -> str:
        return f"/names/{item}/"


class Own(contrib.Sitemap):
    """URLs of its own making."""

    limit = 10
    names: list[str] = []

    def items(self) -> list[str]:
        return list(self.names)

    def get_urls(self, page: int = 1, site: Any = None, protocol: str | None = None) -> list[dict[str, Any]]:
        return [
            {"item": name, "location": f"https://example.com/own/{name}/", "lastmod": None, "changefreq": None,
             "priority": "", "alternates": []}
            for name in self.paginator.page(page).object_list
        ]  # fmt: skip


def test_pages_by_position_are_rendered_when_any_row_of_the_section_changed(
    site: BuiltSet, rendered: list[int]
) -> None:
    register("plain", Plain)
    make_products(20)
    build()
    assert sorted(rendered) == [1, 2, 3, 4, 5]
    rendered.clear()
    with site.touched() as touched:
        build()
    assert (rendered, touched) == ([], set())
    nth(6).update(slug="new", updated_at=LATER)

    with site.touched() as touched:
        build()

    assert sorted(rendered) == [1, 2, 3, 4, 5]
    assert touched == {MANIFEST, "sitemap-plain-2.xml.gz", *index_names("plain")}
    site.assert_as_fresh()


@pytest.mark.filterwarnings("error::django.core.paginator.UnorderedObjectListWarning")
@pytest.mark.parametrize("i18n", [True, False])
@pytest.mark.parametrize("base", [Plain, contrib.GenericSitemap], ids=["items", "generic"])
def test_rows_without_an_order_need_none_and_raise_no_warning(site: BuiltSet, base: Any, i18n: bool) -> None:
    cls = type("Unordered", (base,), {"limit": 8, "i18n": i18n, "items": lambda self: Product.objects.all()})
    register("plain", cls({"queryset": Product.objects.all()}) if base is contrib.GenericSitemap else cls)
    make_products(20)

    assert build().is_complete


@pytest.mark.parametrize(("gone", "new"), [(1, 0), (0, 1), (1, 1)])
def test_pages_by_position_follow_rows_that_come_and_go(site: BuiltSet, gone: int, new: int) -> None:
    register("plain", Plain)
    make_products(20)
    build()
    Product.objects.filter(slug__in=["product-3"][:gone]).delete()
    make_products(new, first=21)

    build()

    kept = [number for number in range(1, 21 + new) if not (gone and number == 3)]
    assert site.rows() == [f"/{code}/product-{number}/" for number in kept for code in ("en", "de")]
    site.assert_as_fresh()


@pytest.mark.parametrize("cls", [Names, Own])
def test_what_only_rendering_tells_is_rendered_each_time_and_written_when_it_differs(
    site: BuiltSet, rendered: list[int], monkeypatch: pytest.MonkeyPatch, cls: Any
) -> None:
    register("names", cls)
    monkeypatch.setattr(cls, "names", [f"n{number}" for number in range(25)])
    build()
    rendered.clear()
    with site.touched() as touched:
        build()
    assert (sorted(rendered), touched) == ([1, 2, 3], set())
    monkeypatch.setattr(cls, "names", [f"n{number}" for number in range(24)] + ["other"])

    with site.touched() as touched:
        build()

    assert touched == {MANIFEST, "sitemap-names-3.xml.gz", *index_names("names")}
    assert "other" in site.rows()[-1]
    site.assert_as_fresh()


@pytest.mark.parametrize("cls", [Names, Own])
def test_a_page_that_had_no_url_is_listed_when_it_has_some(
    site: BuiltSet, monkeypatch: pytest.MonkeyPatch, cls: Any
) -> None:
    register("names", cls)
    monkeypatch.setattr(cls, "names", [])
    build()
    assert not site.path("sitemap.xml").exists()
    monkeypatch.setattr(cls, "names", ["one"])

    build()

    assert len(site.rows()) == 1


def test_a_page_whose_rows_were_all_unusable_is_listed_when_they_are_usable(site: BuiltSet) -> None:
    register("products", Products)
    make_products(20)
    Product.objects.filter(slug__in=[f"product-{number}" for number in range(1, 11)]).update(slug="..")
    build()
    assert site.listed() == ["/sitemap-products-2.xml"]
    Product.objects.filter(slug="..").update(slug="fine", updated_at=LATER)

    build()

    assert site.listed() == ["/sitemap-products-1.xml", "/sitemap-products-2.xml"]
    site.assert_as_fresh()


def test_news_move_with_the_clock(site: BuiltSet, clock: Clock) -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("news", News)
    Article.objects.bulk_create(
        Article(title=f"Article {number}", published_at=clock.now - timedelta(hours=number)) for number in range(1, 40)
    )
    build()
    assert len(site.rows()) == 39
    clock.pass_(hours=20)

    build()

    assert len(site.rows()) == 28
    site.assert_as_fresh()
    clock.pass_(hours=30)
    assert build().is_complete
    assert site.rows() == []


class Local(Products):
    i18n = True
    languages = ["en", "de"]
    alternates = True
    limit = 20


def test_another_language_has_all_pages_made_anew(site: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    register("products", Local)
    make_products(20)
    build()
    nth(15).update(slug="new", updated_at=LATER)
    with site.touched() as touched:
        build()
    assert touched == {MANIFEST, "sitemap-products-2.xml.gz", *index_names("products")}
    monkeypatch.setattr(Local, "languages", ["en", "de", "fr"])

    build(prune=True)

    assert min(int(path.rpartition("-")[2].partition(".")[0]) for path in site.listed()) == 3
    site.assert_as_fresh()
