import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import InMemoryStorage, storages
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test import Client

from built import BuiltSet, Newest, index_names, page_names, spaced, spaced_products
from clock import Clock
from samples import DAY, Products, make_products, paths
from sitemaps_plus import Image, register, registry
from sitemaps_plus.build import build
from sitemaps_plus.signals import published
from sitemaps_plus.stores.files import FileStore
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from sitemaps_plus.stores.packing import formats, make_format
from testapp.models import Product
from xml_checks import locs

pytestmark = pytest.mark.django_db

LATER = DAY + timedelta(days=30)


def slugs() -> list[str]:
    return [f"/{slug}/" for slug in Product.objects.order_by("pk").values_list("slug", flat=True)]


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
    spaced_products(15, 26).update(slug=Concat(F("slug"), Value("-new"), output_field=CharField()), updated_at=LATER)
    spaced_products(*range(31, 41)).delete()
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
    # The files of the manifest: all of it, when nothing is in doubt any more, and then its notes are removed.
    assert steps[-3:] == ["sitemap.xml", MANIFEST, "sitemaps-manifest-1.json"]
    assert built.rows() == slugs()
    built_pages = {path.removeprefix("/") + ".gz" for path in built.listed()}
    assert built.names() - built_pages - index_names("products") == page_names(4)


@pytest.mark.parametrize("change", ["come", "go"])
def test_rows_that_move_between_pages_by_position_are_always_on_one(site: BuiltSet, change: str) -> None:
    register("products", Newest)
    spaced(range(1, 41))
    build()
    before = set(slugs())
    if change == "come":
        spaced(range(41, 45))
    else:
        spaced_products(2, 21, 35, 39, 40).delete()
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
    refused: list[str] = []

    def fail(self: FileStore, name: str, data: bytes) -> None:
        # The first time says that files are about to change; the next build starts from what that one says.
        if "/sitemaps-manifest" in name and built.manifest.read_bytes() != last:
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
        spaced_products(15).update(slug=f"product-15-{stop_at}", updated_at=LATER + timedelta(days=stop_at))
        stable &= set(slugs())

    assert seen[-1] is False
    assert len(seen) > 5
    assert built.rows() == slugs()


def test_one_failing_section_holds_back_no_other_one(built: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    register("more", type("More", (Products,), {}))
    build()
    spaced_products(5, 15).update(slug="new", updated_at=LATER)
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


# The manifest


def test_the_whole_manifest_is_written_as_often_for_many_sections_as_for_few(
    built: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Labels like the name of the manifest and of its notes.
    labels = ["manifest", "manifest-note", "s", "more", "few"]
    for label in labels:
        register(label, type("More", (Products,), {"limit": 50}))
    assert build().is_complete
    monkeypatch.setattr("os.fsync", lambda handle: None)
    counts = []
    publish = FileStore.publish

    def counted(self: FileStore, name: str, data: bytes) -> None:
        written.append(name.rpartition("/")[2])
        publish(self, name, data)

    for day, chosen in enumerate((["products"], ["products", *labels])):
        written: list[str] = []
        spaced_products(5).update(slug=f"new-{day}", updated_at=LATER + timedelta(days=day))
        with monkeypatch.context() as patch:
            patch.setattr(FileStore, "publish", counted)
            assert build(chosen).is_complete
        counts.append(written.count(MANIFEST))
        assert len({name for name in written if name.startswith("sitemaps-manifest-")}) == len(chosen)
        assert not list(built.folder.glob("sitemaps-manifest-*"))

    assert counts == [2, 2]
    built.assert_as_fresh(but_indexes=True)


def test_what_a_killed_build_has_completed_is_not_rendered_again(
    built: BuiltSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("more", type("More", (Products,), {"limit": 50}))
    assert build().is_complete
    spaced_products(5).update(slug="new", updated_at=LATER)
    killed_before("sitemap-more-1.xml.gz", monkeypatch)
    assert built.path("sitemaps-manifest-1.json").exists()

    products, more = build().sections

    assert (products.rendered, more.rendered) == (0, 1)
    assert not built.path("sitemaps-manifest-1.json").exists()
    assert not built.path("sitemaps-manifest-2.json").exists()
    built.assert_as_fresh(but_indexes=True)


# Origins


def test_the_set_of_another_origin_is_not_replaced_and_other_sites_are_built(built: BuiltSet) -> None:
    built.use(ORIGIN={1: "https://example.com", 2: "https://example.org"})
    build()
    second = built.folder.parent / "example.org" / "sitemap.xml"
    before = built.files()
    spaced_products(5).update(slug="new", updated_at=LATER)
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
    spaced_products(5).update(slug="new", updated_at=LATER)
    build()
    assert told == [(both(1) | INDEXES, set())]
    told.clear()
    spaced_products(*range(31, 41)).delete()
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
    spaced_products(*range(1, 11)).delete()
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
    spaced_products(15).update(slug="new", updated_at=LATER)

    with built.touched() as touched:
        assert build().is_complete

    assert looked == []
    assert touched == {"sitemap-products-2.xml.gz", *index_names("products"), MANIFEST}
