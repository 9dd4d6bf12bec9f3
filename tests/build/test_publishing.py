import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.core.files.storage import InMemoryStorage, storages
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test import Client

from built import BuiltSet, index_names
from clock import Clock
from samples import DAY, Products, make_products, paths, replace_section, unregister_all
from sitemaps_plus import Image, NewsSitemap, register, registry
from sitemaps_plus.build import build
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.signals import published
from sitemaps_plus.stores.files import FileStore
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from sitemaps_plus.stores.packing import formats, make_format
from testapp.models import Article, Product
from xml_checks import locs

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    """A site without sections yet."""
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com")
    return found


@pytest.fixture
def built(site: BuiltSet) -> BuiltSet:
    """Forty products on four pages, with room between their keys."""
    register("products", Products)
    spaced(range(1, 41))
    assert build().is_complete
    return site


def spaced(numbers: Any) -> None:
    """Store products whose keys are a hundred times their numbers."""
    Product.objects.bulk_create(
        Product(pk=round(100 * number), name="x", slug=f"product-{number}", updated_at=DAY) for number in numbers
    )


def nth(*numbers: int) -> Any:
    return Product.objects.filter(pk__in=[100 * number for number in numbers])


def slugs() -> list[str]:
    return [f"/{slug}/" for slug in Product.objects.order_by("pk").values_list("slug", flat=True)]


def page_names(*numbers: int, label: str = "products", form: str = "xml.gz") -> set[str]:
    return {f"sitemap-{label}-{number}.{form}" for number in numbers}


@contextmanager
def after_each_publication(look: Callable[[str], None]) -> Iterator[None]:
    """Call `look` with the name of each file when it has been published or removed."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("publish", "remove"):
            patch.setattr(FileStore, name, _followed(getattr(FileStore, name), look))
        yield


def _followed(done: Callable[..., None], look: Callable[[str], None]) -> Callable[..., None]:
    def call(self: FileStore, name: str, *data: bytes) -> None:
        done(self, name, *data)
        look(name)

    return call


# Order


def split_and_change() -> set[str]:
    """Overflow the first and the third page, change the second, empty the fourth; return the rows that stay."""
    before = set(slugs())
    spaced([1.5, 2.5, 3.5, 21.5])
    nth(15, 26).update(slug=Concat(F("slug"), Value("-new"), output_field=CharField()), updated_at=LATER)
    nth(*range(31, 41)).delete()
    return before & set(slugs())


def assert_whole(site: BuiltSet, stable: set[str]) -> None:
    """Fail unless both indexes list files that are there, on which all rows that stay are."""
    for name in index_names("products"):
        data = site.path(name).read_bytes()
        addresses = locs(gzip.decompress(data) if name.endswith(".gz") else data)
        for path in paths(addresses):
            assert site.path(f"{path.removeprefix('/')}.gz").exists()
    assert stable <= set(site.rows())


def test_every_row_can_be_found_after_every_single_publication(built: BuiltSet) -> None:
    stable = split_and_change()
    steps = []

    def look(name: str) -> None:
        steps.append(name.rpartition("/")[2])
        assert_whole(built, stable)

    with after_each_publication(look):
        assert build(allow_shrink=True).is_complete

    pages = [step for step in steps if step[-8].isdigit()]
    assert set(pages) == page_names(1, 2, 3, 5, 6)
    # What has rows of others is there before they give them up.
    assert max(map(pages.index, page_names(5, 6))) < min(map(pages.index, page_names(1, 2, 3)))
    assert set(steps[-2:]) == {"sitemap.xml", MANIFEST}
    assert built.rows() == slugs()
    built_pages = {path.removeprefix("/") + ".gz" for path in built.listed()}
    assert built.names() - built_pages - index_names("products") == page_names(4)


class Newest(contrib.Sitemap):
    """Pages by position, the newest first, as contrib has them."""

    limit = 10
    i18n = True
    languages = ["en"]

    def items(self) -> Any:
        return Product.objects.order_by("-pk")

    def location(self, item: Product) -> str:
        return f"/{item.slug}/"

    def lastmod(self, item: Product) -> Any:
        return item.updated_at


@pytest.mark.parametrize("change", ["come", "go"])
def test_rows_that_move_between_pages_by_position_are_always_on_one(site: BuiltSet, change: str) -> None:
    register("products", Newest)
    spaced(range(1, 41))
    build()
    before = set(slugs())
    if change == "come":
        spaced(range(41, 45))
    else:
        nth(2, 21, 35, 39, 40).delete()
    stable = before & set(slugs())

    with after_each_publication(lambda name: assert_whole(site, stable)):
        assert build().is_complete

    assert site.rows() == slugs()[::-1]
    assert_whole(site, set(slugs()))


def test_what_breaks_off_anywhere_loses_no_row_and_the_next_build_completes_it(
    built: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = FileStore.publish
    calls = iter(())

    def fail(self: FileStore, name: str, data: bytes) -> None:
        if next(calls, None) == 0:
            raise OSError("the disk is full")
        publish(self, name, data)

    for step in range(40):
        before = set(slugs())
        # A split, or two, and a page that only changes.
        at = 100 * (step * 7 % 40 + 1)
        Product.objects.bulk_create(
            Product(pk=at + extra, name="x", slug=f"step-{step}-{extra}", updated_at=DAY) for extra in range(1, 10)
        )
        last = Product.objects.order_by("-pk")[0]
        Product.objects.filter(pk=last.pk).update(slug=f"last-{step}", updated_at=LATER + timedelta(days=step))
        stable = before & set(slugs())
        calls = iter(range(-step, 1000))
        with monkeypatch.context() as patch:
            patch.setattr(FileStore, "publish", fail)
            result = build()
        is_over = result.is_complete
        assert_whole(built, stable)

        assert build().is_complete

        assert built.rows() == slugs()
        if is_over:
            break
    assert 8 < step < 39
    built.assert_as_fresh()


class Killed(BaseException):
    """Ends a build as SIGKILL does: nothing of it goes on."""


def killed_before(name: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Build up to the first publication of that file."""
    publish = FileStore.publish

    def die(self: FileStore, path: str, data: bytes) -> None:
        if path.endswith(f"/{name}"):
            raise Killed
        publish(self, path, data)

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "publish", die)
        with pytest.raises(Killed):
            build(**options)


@pytest.mark.parametrize("name", ["sitemap-products.xml.gz", "sitemap.xml.gz", "sitemap.xml"])
def test_what_a_killed_build_left_out_of_an_index_is_in_it_before_a_page_gives_up_rows(
    built: BuiltSet, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stable = split_and_change()
    killed_before(name, monkeypatch)

    with after_each_publication(lambda _: assert_whole(built, stable)):
        assert build().is_complete

    assert built.rows() == slugs()


def test_pages_that_a_killed_build_retired_stay_while_an_index_lists_them(
    built: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("more", type("More", (Products,), {"queryset": Product.objects.all()}))
    assert build().is_complete
    spaced([1.5])
    killed_before("sitemap-products.xml", monkeypatch, repack=True)

    with after_each_publication(lambda _: assert_whole(built, set())):
        assert build(["more"], prune=True).is_complete

    assert not built.path("sitemap-products-1.xml.gz").exists()


def test_no_index_lists_a_page_that_the_manifest_does_not_know(
    built: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, last = FileStore.publish, built.manifest.read_bytes()
    refused = []

    def fail(self: FileStore, name: str, data: bytes) -> None:
        # The first time says that files are about to change; the next build starts from what that one says.
        if name.endswith(MANIFEST) and built.manifest.read_bytes() != last:
            refused.append(name)
            raise OSError("the disk is full")
        publish(self, name, data)

    split_and_change()
    monkeypatch.setattr(FileStore, "publish", fail)
    assert not build().is_complete

    assert len(refused) > 1
    pages = json.loads(built.manifest.read_bytes())["sections"]["products"]["pages"]
    assert {int(path.rpartition("-")[2].partition(".")[0]) for path in built.listed()} <= {int(page) for page in pages}


def test_a_stop_between_pages_leaves_a_whole_set_that_the_next_build_completes(built: BuiltSet) -> None:
    stable = split_and_change()
    seen = []

    for stop_at in range(30):
        calls = iter(range(stop_at, -100, -1))
        result = build(allow_shrink=True, is_stopped=lambda calls=calls: next(calls) == 0)  # type: ignore[misc]
        assert_whole(built, stable)
        seen.append(result.is_stopped)
        if not result.is_stopped:
            break
        nth(15).update(slug=f"product-15-{stop_at}", updated_at=LATER + timedelta(days=stop_at))
        stable &= set(slugs())

    assert seen[-1] is False
    assert len(seen) > 5
    assert built.rows() == slugs()


def test_one_failing_section_holds_back_no_other_one(built: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    register("more", type("More", (Products,), {}))
    build()
    nth(5, 15).update(slug="new", updated_at=LATER)
    publish = FileStore.publish

    def fail(self: FileStore, name: str, data: bytes) -> None:
        if "products-1" in name:
            raise OSError("no")
        publish(self, name, data)

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "publish", fail)
        result = build()

    assert [bool(section.error) for section in result.sections] == [True, False]
    assert [section.written for section in result.sections] == [0, 2]
    assert built.rows().count("/new/") == 3
    assert build().is_complete
    assert built.rows() == slugs() * 2


# Origins


def test_the_set_of_another_origin_is_not_replaced_and_other_sites_are_built(built: BuiltSet) -> None:
    built.use(ORIGIN={1: "https://example.com", 2: "https://example.org"})
    build()
    second = built.folder.parent / "example.org" / "sitemap.xml"
    before = built.files()
    nth(5).update(slug="new", updated_at=LATER)
    built.use(ORIGIN={1: "http://example.com", 2: "https://example.org"})
    was = second.read_bytes()

    result = build()

    (error,) = result.errors
    assert "is that of https://example.com, and this build is for http://example.com" in error
    assert f"remove {built.manifest}" in error
    assert "STORAGE" in error
    assert [section.site for section in result.sections] == ["example.org"]
    assert built.files() == before
    assert second.read_bytes() != was
    # The remedy.
    built.manifest.unlink()
    assert build().is_complete
    assert locs(built.path("sitemap.xml").read_bytes())[0] == "http://example.com/sitemap-products-1.xml"


def test_the_manifest_says_what_is_published(built: BuiltSet) -> None:
    manifest = json.loads(built.manifest.read_bytes())

    assert manifest["origin"] == "https://example.com"
    assert set(manifest["indexes"]) == {"sitemap", "sitemap-products"}
    pages = manifest["sections"]["products"]["pages"]
    assert list(pages) == ["1", "2", "3", "4"]
    assert {page["urls"] for page in pages.values()} == {10}
    assert {page["lastmod"] for page in pages.values()} == {"2026-01-01T12:00:00+00:00"}
    assert manifest["retired"] == {}


# Retirement


def test_pages_that_left_the_index_stay_for_the_grace_period(built: BuiltSet, clock: Clock) -> None:
    built.use(GRACE_PERIOD=100)
    nth(*range(11, 21)).delete()
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
    nth(*range(11, 21)).delete()

    build(prune=True)

    assert not page_names(2) & built.names()
    built.assert_as_fresh()


def test_a_number_that_comes_back_in_time_is_not_removed(site: BuiltSet, clock: Clock) -> None:
    register("products", Newest)
    spaced(range(1, 21))
    build()
    nth(*range(11, 21)).delete()
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
    nth(*range(11, 21)).delete()
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


# The guard


def test_a_section_that_lost_most_of_its_urls_is_held_back(built: BuiltSet) -> None:
    before, rows = built.files(), built.rows()
    nth(*range(1, 22)).delete()

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
    nth(*range(1, 21)).delete()

    assert build().is_complete

    assert built.rows() == slugs()


@pytest.mark.parametrize(("most", "is_complete"), [(0.1, False), (0.25, True)])
def test_the_setting_says_how_much_may_go(built: BuiltSet, most: float, is_complete: bool) -> None:
    built.use(MAX_SHRINK=most)
    nth(*range(1, 11)).delete()

    assert build().is_complete is is_complete


def test_a_section_that_is_held_back_leaves_the_others_alone(built: BuiltSet) -> None:
    register("more", type("More", (Products,), {"queryset": Product.objects.filter(pk__gt=2000)}))
    build()
    nth(*range(1, 21), 40).delete()

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


# Formats


def test_all_formats_of_a_page_are_the_same_page(site: BuiltSet) -> None:
    site.use(FORMATS=["txt.gz", "xml", "xml.gz"])

    class Pictured(Products):
        images = [Image(loc=Concat(Value("https://example.com/pictures/"), F("slug"), output_field=CharField()))]

    register("products", Pictured)
    make_products(12)
    Product.objects.filter(slug="product-3").update(slug="a&b'c\"<d>")
    Product.objects.filter(slug="product-4").update(slug="schön/写真&amp;copy=1")

    build()

    for number in (1, 2):
        unpacked = gzip.decompress(site.path(f"sitemap-products-{number}.xml.gz").read_bytes())
        assert site.path(f"sitemap-products-{number}.xml").read_bytes() == unpacked
        text = gzip.decompress(site.path(f"sitemap-products-{number}.txt.gz").read_bytes())
        assert text.decode().splitlines() == locs(unpacked)
        live = Client(headers={"host": "example.com"}).get(f"/sitemap-products-{number}.txt")
        assert live.getvalue() == text
    assert site.names() == index_names("products") | {
        name for form in ("xml.gz", "xml", "txt.gz") for name in page_names(1, 2, form=form)
    }


def test_the_text_of_a_template_has_its_addresses_however_they_are_written() -> None:
    page = gzip.compress(
        b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>\n https://example.com/a?b=1&#38;c '
        b"</loc></url><url><loc><![CDATA[https://example.com/d?e&f]]></loc></url></urlset>"
    )

    text = gzip.decompress(make_format(page, "txt.gz", is_written=False))

    assert text == b"https://example.com/a?b=1&c\nhttps://example.com/d?e&f\n"


def test_xml_gz_is_made_always_and_first(site: BuiltSet) -> None:
    site.use(FORMATS=["txt.gz", "xml.gz", "txt.gz"])

    assert list(formats()) == ["xml.gz", "txt.gz"]


# Who wants to hear of it


@pytest.fixture
def told() -> Iterator[list[tuple[set[str], set[str]]]]:
    """Return what was changed and removed, for each signal."""
    heard: list[tuple[set[str], set[str]]] = []

    def hear(changed: list[str], removed: list[str], **_: Any) -> None:
        assert len(changed) == len(set(changed))
        assert len(removed) == len(set(removed))
        heard.append(({*paths(changed)}, {*paths(removed)}))

    published.connect(hear)
    yield heard
    published.disconnect(hear)


INDEXES = {f"/{name}" for name in index_names("products")}


def both(*numbers: int) -> set[str]:
    """Return the addresses of pages as files, and as the index has them."""
    return {f"/sitemap-products-{number}.{form}" for number in numbers for form in ("xml", "xml.gz")}


def test_published_names_what_changed_and_what_left(built: BuiltSet, told: list[tuple[set[str], set[str]]]) -> None:
    build()
    assert told == []
    nth(5).update(slug="new", updated_at=LATER)
    build()
    assert told == [(both(1) | INDEXES, set())]
    told.clear()
    nth(*range(31, 41)).delete()
    build()
    assert told == [(INDEXES, both(4))]
    told.clear()
    spaced([1.5])
    build()
    assert told == [(both(1, 5) | INDEXES, set())]
    told.clear()

    build(full=True, prune=True)

    assert told == []


def test_published_names_an_index_that_somebody_removed_and_no_other(
    built: BuiltSet, told: list[tuple[set[str], set[str]]]
) -> None:
    built.path("sitemap.xml").unlink()

    build()

    assert told == [({"/sitemap.xml"}, set())]


def test_published_names_what_a_section_leaves_behind_under_its_own_address(
    built: BuiltSet, told: list[tuple[set[str], set[str]]]
) -> None:
    built.use(PUBLIC_URL="https://example.com/maps/")
    register("more", type("More", (Products,), {}))
    build()
    told.clear()
    registry.unregister("products")

    build()

    ((changed, removed),) = told
    assert removed == {f"/maps{path}" for path in both(1, 2, 3, 4) | INDEXES - {"/sitemap.xml", "/sitemap.xml.gz"}}
    assert changed == {"/maps/sitemap.xml", "/maps/sitemap.xml.gz"}


# Other storages


class Blind(InMemoryStorage):
    """A storage that cannot say what it has, as some have no listdir()."""

    def listdir(self, path: str) -> Any:
        raise NotImplementedError


def test_a_storage_that_cannot_list_is_built_upon_all_the_same(
    site: BuiltSet, settings: Any, rendered: list[int], clock: Clock
) -> None:
    settings.STORAGES = {**settings.STORAGES, "blind": {"BACKEND": f"{__name__}.Blind"}}
    site.use(STORAGE="blind", STAGING="waiting")
    register("products", Products)
    spaced(range(1, 21))
    build()
    rendered.clear()
    build()
    assert rendered == []
    nth(*range(1, 11)).delete()
    build()
    clock.pass_(days=1, seconds=1)

    build()

    store = FileStore(storages["blind"])
    assert not store.has("example.com/sitemap-products-1.xml.gz")
    assert store.has("example.com/sitemap-products-2.xml.gz")
    assert not store.has("waiting/example.com/products/sitemap-products-2.xml.gz")
    assert paths(locs(store.read("example.com/sitemap.xml") or b"")) == ["/sitemap-products-2.xml"]


def test_sites_do_not_touch_each_others_files(built: BuiltSet) -> None:
    Site.objects.create(pk=2, domain="example.org", name="two")
    built.use(ORIGIN={1: "https://example.com", 2: "https://example.org"})
    build()

    with built.touched() as touched:
        build(sites=["example.org"], full=True, prune=True)

    assert touched == set()


# Damage


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an empty page": ("sitemap-products-2.xml.gz", lambda _: b""),
    "a part of a page": ("sitemap-products-3.xml.gz", lambda data: data[:100]),
    "another format": ("sitemap-products-1.txt.gz", lambda data: data + b"x"),
    "an old page": ("sitemap-products-1.xml.gz", lambda data: gzip.compress(gzip.decompress(data)[::-1])),
    "an index": ("sitemap-products.xml", lambda _: b"broken"),
    "a packed index": ("sitemap.xml.gz", lambda _: b""),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_full_build_replaces_what_was_damaged_and_nothing_else(built: BuiltSet, case: str) -> None:
    built.use(FORMATS=["txt.gz"])
    assert build().is_complete
    name, damage = DAMAGE[case]
    whole = built.files()
    built.path(name).write_bytes(damage(whole[name]))

    with built.touched() as touched:
        result = build(full=True)

    assert result.is_complete
    assert touched - {MANIFEST} == {name}
    assert built.files() == whole
    assert result.sections[0].written == name.startswith("sitemap-products-")


def test_a_build_reads_no_file_of_a_set_that_it_knows(built: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    holds = FileStore.holds
    monkeypatch.setattr(FileStore, "holds", lambda *args: looked.append(args[1]) or holds(*args))
    nth(15).update(slug="new", updated_at=LATER)

    with built.touched() as touched:
        assert build().is_complete

    assert looked == []
    assert touched == {"sitemap-products-2.xml.gz", *index_names("products"), MANIFEST}
