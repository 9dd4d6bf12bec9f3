"""A section that lost most of its URLs, or whose URLs look quite different, keeps its files."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from built import BuiltSet, spaced_products
from clock import Clock
from samples import DAY, Products, make_products, replace_section
from sitemaps_plus import NewsSitemap, register
from sitemaps_plus.build import build
from testapp.models import Article, Product

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


def slugs() -> list[str]:
    return [f"/{slug}/" for slug in Product.objects.order_by("pk").values_list("slug", flat=True)]


def test_a_section_that_lost_most_of_its_urls_is_held_back(built: BuiltSet) -> None:
    before, rows = built.files(), built.rows()
    spaced_products(*range(1, 22)).delete()

    with built.touched() as touched:
        result = build()

    assert not result.is_complete
    assert result.sections[0].is_held_back
    assert "lost 21 of its 40 URLs, more than half" in str(result.sections[0].error)
    assert "--allow-shrink" in str(result.sections[0].error)
    assert touched == set()
    assert (built.files(), built.rows()) == (before, rows)
    assert build(allow_shrink=True).is_complete
    assert built.rows() == slugs()
    assert build().is_complete


def test_half_of_the_urls_may_go(built: BuiltSet) -> None:
    spaced_products(*range(1, 21)).delete()

    assert build().is_complete

    assert built.rows() == slugs()


@pytest.mark.parametrize(("most", "is_complete"), [(0.1, False), (0.25, True)])
def test_the_setting_says_how_much_may_go(built: BuiltSet, most: float, is_complete: bool) -> None:
    built.use(MAX_SHRINK=most)
    spaced_products(*range(1, 11)).delete()

    assert build().is_complete is is_complete


def test_a_section_that_is_held_back_leaves_the_others_alone(built: BuiltSet) -> None:
    register("more", type("More", (Products,), {"queryset": Product.objects.filter(pk__gt=2000)}))
    build()
    spaced_products(*range(1, 21), 40).delete()

    result = build()

    assert [section.is_held_back for section in result.sections] == [True, False]
    assert built.rows().count("/product-40/") == 1


def test_news_may_lose_all(site: BuiltSet, clock: Clock) -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("news", News)
    Article.objects.bulk_create(Article(title=f"{n}", published_at=clock.now - timedelta(hours=1)) for n in range(20))
    build()
    clock.pass_(days=3)

    assert build().is_complete

    assert site.rows() == []


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (Concat(Value("/shop/None/"), F("slug"), output_field=CharField()), "have an empty part, such as /None/"),
        (Concat(Value("/"), F("slug"), output_field=CharField()), "begins with /shop/"),
    ],
    ids=["none", "prefix"],
)
def test_urls_that_suddenly_look_alike_are_held_back(site: BuiltSet, location: Any, reason: str) -> None:
    in_shop = Concat(Value("/shop/"), F("slug"), output_field=CharField())
    register("products", type("InShop", (Products,), {"location": in_shop}))
    make_products(30)
    build()
    before = site.files()
    replace_section("products", type("Other", (Products,), {"location": location}))

    result = build()

    assert result.sections[0].is_held_back
    assert reason in str(result.sections[0].error)
    assert site.files() == before
    assert build(allow_shrink=True).is_complete


def test_what_a_few_pages_look_like_is_not_taken_for_the_whole_section(site: BuiltSet) -> None:
    register("products", Products)
    make_products(10, slug="x")
    make_products(10, first=11, slug="x")
    for product in Product.objects.order_by("pk"):
        folder = "one" if product.name in {f"Product {number}" for number in range(1, 11)} else "two"
        Product.objects.filter(pk=product.pk).update(slug=f"{folder}/{product.pk}")
    assert build().is_complete
    first, last = Product.objects.order_by("pk").first(), Product.objects.order_by("pk").last()
    assert first
    assert last

    # All pages but one lie elsewhere, and each is built by itself.
    for product in (first, last):
        Product.objects.filter(pk=product.pk).update(slug=f"{product.slug}-new", updated_at=LATER)
        assert build().is_complete, product

    assert len(site.rows()) == 20
