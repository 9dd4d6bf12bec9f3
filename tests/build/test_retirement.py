"""Files that no index lists any more: they stay for a while, and then they go."""

import json
from datetime import timedelta

import pytest

from built import BuiltSet, Newest, index_names, page_names, spaced, spaced_products
from clock import Clock
from samples import DAY, Products, unregister_all
from sitemaps_plus import register, registry
from sitemaps_plus.build import build
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Product

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


def slugs() -> list[str]:
    return [f"/{slug}/" for slug in Product.objects.order_by("pk").values_list("slug", flat=True)]


def test_pages_that_left_the_index_stay_for_the_grace_period(built: BuiltSet, clock: Clock) -> None:
    built.use(GRACE_PERIOD=100)
    spaced_products(*range(11, 21)).delete()
    build()
    assert "/sitemap-products-2.xml" not in built.listed()
    assert page_names(2) < built.names()
    clock.pass_(seconds=99)
    build()
    assert page_names(2) < built.names()
    clock.pass_(seconds=2)

    with built.touched() as touched:
        build()

    assert touched == {*page_names(2), MANIFEST}
    built.assert_as_fresh()


def test_prune_removes_them_at_once(built: BuiltSet) -> None:
    spaced_products(*range(11, 21)).delete()

    build(prune=True)

    assert not page_names(2) & built.names()
    built.assert_as_fresh()


def test_a_number_that_comes_back_in_time_is_not_removed(site: BuiltSet, clock: Clock) -> None:
    register("products", Newest)
    spaced(range(1, 21))
    build()
    spaced_products(*range(11, 21)).delete()
    build()
    assert site.listed() == ["/sitemap-products-1.xml"]
    clock.pass_(hours=12)
    spaced(range(11, 21))
    build()
    clock.pass_(hours=13)

    build()

    assert site.rows() == slugs()[::-1]
    assert json.loads(site.manifest.read_bytes())["retired"] == {}


def test_a_section_that_is_registered_no_more_leaves_the_index_and_then_the_storage(
    built: BuiltSet, clock: Clock
) -> None:
    register("more", type("More", (Products,), {"limit": 50}))
    build()
    registry.unregister("products")
    build()
    assert built.listed() == ["/sitemap-more-1.xml"]
    assert page_names(1, 2, 3, 4) < built.names()
    assert not built.path("sitemap-products.xml").exists()
    clock.pass_(days=1, seconds=1)

    build()

    assert built.names() == page_names(1, label="more") | index_names("more")


def test_sections_with_most_urls_that_nobody_registers_stay_until_that_is_allowed(
    built: BuiltSet, caplog: pytest.LogCaptureFixture
) -> None:
    register("few", type("Few", (Products,), {"queryset": Product.objects.filter(pk__lte=1000)}))
    assert build().is_complete
    listed = built.listed()
    registry.unregister("products")

    held = build()

    assert sorted(built.listed()) == sorted(listed)
    assert len(built.rows()) == 50
    assert held.errors == [
        "site example.com: SitemapError: No longer registered: products with 40 of 50 URLs. They stay in the index. "
        "If that is meant, take them out with --allow-shrink. If not, look at INSTALLED_APPS, and at the code that "
        "registers them."
    ]
    assert build(allow_shrink=True).is_complete
    assert len(built.rows()) == 10
    assert "products with 40 of 50 URLs" in caplog.text


def test_a_section_with_few_urls_that_nobody_registers_leaves_with_a_word(
    built: BuiltSet, caplog: pytest.LogCaptureFixture
) -> None:
    register("few", type("Few", (Products,), {"queryset": Product.objects.filter(pk__lte=1000)}))
    build()
    registry.unregister("few")

    assert build().is_complete

    assert "No longer registered, and taken out of the index of example.com: few with 10 of 50 URLs" in caplog.text
    assert len(built.rows()) == 40


def test_where_nothing_is_registered_nothing_is_removed(built: BuiltSet) -> None:
    whole = built.files()
    unregister_all()

    with pytest.raises(SitemapError, match="No sitemap is registered"):
        build()

    assert built.files() == whole


@pytest.mark.parametrize("lost", ["removed", "unreadable"])
def test_the_guard_knows_what_a_lost_manifest_would(built: BuiltSet, lost: str) -> None:
    whole = built.files()
    if lost == "removed":
        built.manifest.unlink()
    else:
        built.manifest.write_text("{")
    Product.objects.filter(pk__gt=1000).delete()

    result = build()

    assert result.sections[0].is_held_back
    assert built.files() == whole


def test_formats_that_nobody_wants_any_more_go_the_same_way(built: BuiltSet, clock: Clock) -> None:
    built.use(FORMATS=["xml", "txt.gz"])
    build()
    built.use(FORMATS=["xml.gz"])
    build()
    assert page_names(1, form="txt.gz") < built.names()
    clock.pass_(days=1, seconds=1)

    build()

    assert built.names() == page_names(1, 2, 3, 4) | index_names("products")


def test_a_format_that_is_wanted_again_stays_also_where_its_section_is_not_built(built: BuiltSet, clock: Clock) -> None:
    register("more", type("More", (Products,), {"limit": 50}))
    built.use(FORMATS=["xml"])
    build()
    built.use(FORMATS=["xml.gz"])
    build()
    clock.pass_(days=1, seconds=1)
    built.use(FORMATS=["xml"])

    build(["more"])

    assert page_names(1, 2, 3, 4, form="xml") < built.names()


def test_leftovers_of_a_section_are_retired_and_the_files_of_others_never_touched(
    built: BuiltSet, clock: Clock
) -> None:
    strangers = ["sitemap-old.xml", "sitemap-other-1.xml.gz", "robots.txt", "sitemap-products-1.html"]
    strangers += ["sub/sitemap-products-9.xml.gz"]
    built.path("sub").mkdir()
    for name in [*strangers, "sitemap-products-99.xml.gz"]:
        built.path(name).write_bytes(b"x")
    build()
    assert built.path("sitemap-products-99.xml.gz").exists()
    clock.pass_(days=1, seconds=1)

    build()

    assert built.names() == page_names(1, 2, 3, 4) | index_names("products") | set(strangers)


def test_a_page_retired_by_a_clock_that_is_ahead_has_its_whole_grace_period(built: BuiltSet, clock: Clock) -> None:
    spaced_products(*range(11, 21)).delete()
    clock.pass_(seconds=30)
    build()
    clock.pass_(seconds=-30)
    build()
    assert page_names(2) < built.names()
    clock.pass_(days=1, seconds=-1)
    build()
    assert page_names(2) < built.names()
    clock.pass_(seconds=2)

    build()

    assert not page_names(2) & built.names()
