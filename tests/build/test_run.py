import errno
import gzip
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import FileSystemStorage, storages
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test import Client
from django.utils import translation

from samples import Products, make_products, paths, render_page, replace_section, section_of, text_of
from sitemaps_plus import NewsSitemap, register
from sitemaps_plus.build import build
from sitemaps_plus.build.due import examine
from sitemaps_plus.build.results import BuildResult
from sitemaps_plus.errors import NoOrigin, PageNotFound
from sitemaps_plus.models import Build
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.protocol import limits
from sitemaps_plus.protocol.limits import Profile
from sitemaps_plus.stores.files import FileStore
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Article, Product
from xml_checks import lastmods, locs, validate

pytestmark = pytest.mark.django_db

HOST = "example.com"


class Fragile(Products):
    broken = False

    def get_queryset(self) -> Any:
        if type(self).broken:
            raise RuntimeError("the rows cannot be read")
        return super().get_queryset()


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """Let the build write to a file system."""
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path)},
        },
    }
    return tmp_path / HOST


def files(folder: Path) -> dict[str, bytes]:
    """Return the files that crawlers get; the manifest is for the next build."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if Path(name).name != MANIFEST}


def built_names(folder: Path) -> list[str]:
    return sorted(files(folder))


def listed(folder: Path, index: str = "sitemap.xml") -> list[str]:
    return paths(locs((folder / index).read_bytes()))


def listed_rows(folder: Path) -> list[str]:
    """Return the addresses on all pages that the index lists; each must be whole and valid."""
    pages = [folder / f"{path.removeprefix('/').removesuffix('.gz')}.gz" for path in listed(folder)]
    return [path for page in pages for path in paths(locs(gzip.decompress(page.read_bytes())))]


def done(result: BuildResult) -> dict[str, tuple[int, int]]:
    return {section.label: (section.pages, section.urls) for section in result.sections}


# What is built


def test_every_page_of_every_section_is_built_and_listed(folder: Path) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 50}))
    make_products(25)

    result = build()

    assert done(result) == {"products": (3, 25), "more": (1, 25)}
    assert result.is_complete
    assert result.indexes == [str(folder / "sitemap.xml")]
    assert built_names(folder) == [
        "sitemap-more-1.xml.gz",
        "sitemap-more.xml",
        "sitemap-more.xml.gz",
        *(f"sitemap-products-{number}.xml.gz" for number in (1, 2, 3)),
        "sitemap-products.xml",
        "sitemap-products.xml.gz",
        "sitemap.xml",
        "sitemap.xml.gz",
    ]
    assert listed(folder) == [*(f"/sitemap-products-{number}.xml" for number in (1, 2, 3)), "/sitemap-more-1.xml"]
    assert listed(folder, "sitemap-more.xml") == ["/sitemap-more-1.xml"]
    assert listed_rows(folder) == [f"/product-{number}/" for number in range(1, 26)] * 2
    assert lastmods((folder / "sitemap.xml").read_bytes())[0] == "2026-01-01T12:10:00+00:00"


def test_the_packed_indexes_are_the_same_documents(folder: Path) -> None:
    register("products", Products)
    make_products(3)

    build()

    for name in ("sitemap.xml", "sitemap-products.xml"):
        assert gzip.decompress((folder / f"{name}.gz").read_bytes()) == (folder / name).read_bytes()


def test_what_is_built_has_the_bytes_of_what_is_served(folder: Path, settings: Any) -> None:
    register("products", Products)
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    make_products(15)

    build()

    client = Client(headers={"host": "example.com"})
    for name, data in files(folder).items():
        assert client.get(f"/{name}").getvalue() == data


def test_the_same_data_twice_gives_the_same_bytes(folder: Path) -> None:
    register("products", Products)
    make_products(25)
    build()
    before = files(folder)

    build()

    assert files(folder) == before


def test_pages_are_published_first_and_the_index_last(monkeypatch: pytest.MonkeyPatch) -> None:
    published = []
    publish = FileStore.publish
    monkeypatch.setattr(
        FileStore, "publish", lambda self, name, data: (published.append(name), publish(self, name, data))[1]
    )
    register("products", Products)
    register("more", type("More", (Products,), {}))
    make_products(15)

    build()

    assert [name.removeprefix("example.com/sitemap") for name in published if MANIFEST not in name] == [
        # The highest number, which may be new, before the page whose rows it may have taken.
        "-products-2.xml.gz",
        "-products-1.xml.gz",
        "-products.xml.gz",
        "-products.xml",
        "-more-2.xml.gz",
        "-more-1.xml.gz",
        "-more.xml.gz",
        "-more.xml",
        ".xml.gz",
        ".xml",
    ]


def test_only_the_named_sections_are_built_and_the_others_stay_listed(folder: Path) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 50}))
    make_products(5)
    build()
    make_products(10, first=6)
    before = files(folder)["sitemap-products-1.xml.gz"]

    assert done(build(["more", "more"])) == {"more": (1, 15)}

    assert files(folder)["sitemap-products-1.xml.gz"] == before
    assert listed(folder) == ["/sitemap-products-1.xml", "/sitemap-more-1.xml"]


def test_an_unknown_label_is_refused_before_anything_is_built(folder: Path) -> None:
    register("products", Products)
    make_products(5)

    with pytest.raises(PageNotFound, match="unknown"):
        build(["products", "unknown"])

    assert not folder.exists()


def test_a_page_that_became_empty_leaves_the_index(folder: Path) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {}))
    products = make_products(25)
    build()

    Product.objects.filter(pk__in=[product.pk for product in products[10:20]]).delete()
    build()
    assert listed(folder, "sitemap-products.xml") == ["/sitemap-products-1.xml", "/sitemap-products-3.xml"]

    replace_section("more", type("Empty", (Products,), {"queryset": Product.objects.none()}))
    result = build(allow_shrink=True)
    assert done(result)["more"] == (0, 0)
    assert result.is_complete
    assert not (folder / "sitemap-more.xml").exists()
    assert not (folder / "sitemap-more.xml.gz").exists()
    assert {path.partition("-")[2].partition("-")[0] for path in listed(folder)} == {"products"}


def test_a_site_without_any_url_has_no_index(folder: Path) -> None:
    register("products", Products)
    make_products(1)
    build()
    Product.objects.all().delete()

    result = build(allow_shrink=True)

    assert result.indexes == []
    assert result.is_complete
    assert not (folder / "sitemap.xml").exists()


def test_news_without_articles_are_an_empty_page_that_stays_listed(folder: Path) -> None:
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("news", News)

    build()

    assert listed(folder) == ["/sitemap-news-1.xml"]
    assert listed_rows(folder) == []


def test_repack_cuts_anew_under_new_numbers(folder: Path) -> None:
    register("products", Products)
    make_products(15)
    build()

    build(repack=True)

    assert listed(folder) == ["/sitemap-products-3.xml", "/sitemap-products-4.xml"]
    assert listed_rows(folder) == [f"/product-{number}/" for number in range(1, 16)]


def test_pages_that_are_too_large_are_split_during_the_build(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=1500))

    class Large(Products):
        limit = 50

    register("products", Large)
    make_products(120)
    progress: list[tuple[int, int]] = []

    result = build(progress=lambda what, done, known: progress.append((done, known)))

    assert result.is_complete
    assert listed_rows(folder) == [f"/product-{number}/" for number in range(1, 121)]
    sizes = [len(gzip.decompress(data)) for name, data in files(folder).items() if "products-" in name]
    assert len(sizes) > 3
    assert max(sizes) <= 1500
    assert progress[-1] == (len(sizes), len(sizes))
    assert done(result)["products"] == (len(sizes), 120)
    built = files(folder)
    build()
    assert files(folder) == built


def test_the_language_of_the_process_does_not_reach_the_files(folder: Path) -> None:
    class Local(Products):
        def location(self, item: Product) -> str:
            return f"/{translation.get_language()}/{item.slug}/"

    register("products", Local)
    make_products(1)

    with translation.override("de"):
        build()

    assert listed_rows(folder) == ["/en/product-1/"]


# Where it goes


def test_each_site_is_built_under_its_own_host(settings: Any, folder: Path) -> None:
    class OfSite(Products):
        def get_queryset(self) -> Any:
            return Product.objects.filter(name=self.site.domain)

    register("products", OfSite)
    Site.objects.create(pk=2, domain="localhost:8000", name="two")
    make_products(1, name="example.com", slug="one")
    make_products(1, name="localhost:8000", slug="two")

    result = build()

    assert [section.site for section in result.sections] == ["example.com", "localhost:8000"]
    assert listed_rows(folder) == ["/one/"]
    second = folder.parent / "localhost_8000"
    assert locs((second / "sitemap.xml").read_bytes()) == ["https://localhost:8000/sitemap-products-1.xml"]
    assert locs(gzip.decompress((second / "sitemap-products-1.xml.gz").read_bytes())) == ["https://localhost:8000/two/"]


def test_origins_by_site_are_all_built(settings: Any, folder: Path) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://www.example.com", 2: "http://example.org"}}
    register("products", Products)
    make_products(1)

    build()

    for origin in ("https://www.example.com", "http://example.org"):
        index = folder.parent / origin.partition("://")[2] / "sitemap.xml"
        assert locs(index.read_bytes()) == [f"{origin}/sitemap-products-1.xml"]


def test_a_section_whose_rows_are_all_left_out_keeps_its_files_and_fails(folder: Path) -> None:
    register("products", Products)
    make_products(25)
    build()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    class Broken(Products):
        def location(self, item: Any) -> str:
            raise RuntimeError("the release is broken")

    replace_section("products", Broken)
    result = build()

    assert not result.is_complete
    assert "All 25 rows were left out" in str(result.sections[0].error)
    assert "the release is broken" in str(result.sections[0].error)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_page_without_any_usable_row_is_reported(folder: Path) -> None:
    register("products", Products)
    products = make_products(25)
    Product.objects.filter(pk__in=[product.pk for product in products[10:20]]).update(slug="..")

    result = build()

    assert (result.sections[0].urls, result.sections[0].report.left_out) == (15, 10)
    assert {problem.code for problem in result.sections[0].report.problems} == {"E-URL-DOTS"}


def test_a_site_with_an_unusable_domain_does_not_stop_the_others(folder: Path) -> None:
    register("products", Products)
    Site.objects.create(pk=2, domain="not a host", name="two")
    make_products(1)

    result = build()

    assert "the site 2" in result.errors[0]
    assert not result.is_complete
    assert listed(folder) == ["/sitemap-products-1.xml"]


def test_a_site_that_is_chosen_is_not_disturbed_by_another_ones_domain(folder: Path) -> None:
    register("products", Products)
    Site.objects.create(pk=2, domain="not a host", name="two")
    make_products(1)

    assert build(sites=["example.com"]).is_complete
    assert list(examine(sites=["1"])) == []
    with pytest.raises(NoOrigin, match=r"no site '2'.*Site\.domain of the site 2 cannot be used"):
        build(sites=["2"])


def test_other_sites_are_examined_before_an_unusable_domain_is_told(folder: Path) -> None:
    register("products", Products)
    Site.objects.create(pk=2, domain="not a host", name="two")
    make_products(1)
    found = examine()

    assert next(found).number == 1
    with pytest.raises(NoOrigin, match="the site 2"):
        next(found)


def test_of_two_sites_with_one_host_only_the_first_is_built(folder: Path, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://example.com", 2: "https://EXAMPLE.com"}}
    register("products", Products)
    make_products(1)

    result = build()

    assert [section.site for section in result.sections] == ["example.com"]
    assert result.errors == [
        "NoOrigin: The sites 1 and 2 have the same host, example.com, and would overwrite each other's files: site 2 "
        "is not built. Give each a domain of its own."
    ]


def test_without_any_origin_nothing_is_built(settings: Any) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    register("products", Products)

    with pytest.raises(NoOrigin, match="ORIGIN"):
        build()


@pytest.mark.parametrize("public_url", ["https://cdn.example/maps", {1: "https://cdn.example/maps/"}])
def test_the_index_lists_where_crawlers_fetch_the_set(settings: Any, folder: Path, public_url: Any) -> None:
    settings.SITEMAPS_PLUS = {"PUBLIC_URL": public_url, "EXTENSION": "xml.gz"}
    register("products", Products)
    make_products(1)

    build()

    for index in ("sitemap.xml", "sitemap-products.xml"):
        assert locs((folder / index).read_bytes()) == ["https://cdn.example/maps/sitemap-products-1.xml.gz"]


def test_a_site_without_a_public_url_of_its_own_has_its_origin(settings: Any, folder: Path) -> None:
    settings.SITEMAPS_PLUS = {"PUBLIC_URL": {2: "https://cdn.example/maps/"}}
    register("products", Products)
    make_products(1)

    build()

    assert locs((folder / "sitemap.xml").read_bytes()) == ["https://example.com/sitemap-products-1.xml"]


def test_a_storage_in_memory_holds_the_set() -> None:
    register("products", Products)
    make_products(15)

    for _ in range(2):
        build()

    storage = storages["sitemaps"]
    assert len(set(storage.listdir(HOST)[1]) - {MANIFEST}) == 6
    with storage.open(f"{HOST}/sitemap-products-2.xml.gz") as file:
        assert len(locs(gzip.decompress(file.read()))) == 5


def test_without_a_storage_of_its_own_the_set_is_in_the_default_one(settings: Any) -> None:
    settings.STORAGES = {name: value for name, value in settings.STORAGES.items() if name != "sitemaps"}
    register("products", Products)
    make_products(1)

    result = build()

    assert storages["default"].exists("sitemaps/example.com/sitemap.xml")
    assert result.indexes == ["sitemaps/example.com/sitemap.xml"]


# What fails


@pytest.fixture
def fragile(monkeypatch: pytest.MonkeyPatch) -> type[Fragile]:
    monkeypatch.setattr(Fragile, "broken", False)
    register("fragile", Fragile)
    register("products", Products)
    return Fragile


def test_a_section_that_fails_keeps_its_files_and_stays_in_the_index(
    folder: Path, fragile: type[Fragile], caplog: pytest.LogCaptureFixture
) -> None:
    make_products(5)
    build()
    before = files(folder)
    make_products(10, first=6)
    fragile.broken = True

    result = build()

    assert not result.is_complete
    assert [section.error for section in result.sections] == ["RuntimeError: the rows cannot be read", None]
    after = files(folder)
    assert {name: after[name] for name in after if "fragile" in name} == {
        name: before[name] for name in before if "fragile" in name
    }
    assert listed(folder) == ["/sitemap-fragile-1.xml", "/sitemap-products-1.xml", "/sitemap-products-2.xml"]
    assert len(listed_rows(folder)) == 20
    assert "section fragile of example.com could not be built" in caplog.text


def test_a_section_that_fails_says_what_stays_listed(folder: Path, fragile: type[Fragile]) -> None:
    make_products(15)
    whole = build().sections[0]
    fragile.broken = True

    failed = build().sections[0]

    assert (failed.pages, failed.urls, failed.bytes) == (whole.pages, whole.urls, whole.bytes) == (2, 15, whole.bytes)
    assert (failed.rendered, failed.skipped, failed.written) == (0, 0, 0)


def test_an_option_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="if_locked is 'nonsense', not one of fail, wait, skip"):
        build(if_locked="nonsense")  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
def test_a_build_that_another_one_took_over_is_not_complete(folder: Path) -> None:
    class Late(Products):
        def get_queryset(self) -> Any:
            # Nobody has heard of this build for long, and another one takes the lease and ends.
            Build.objects.update(lease=None)
            return super().get_queryset()

    register("late", Late)
    make_products(1)

    result = build()

    assert not result.is_complete
    assert "Another build of example.com has taken over" in result.errors[0]
    assert not (folder / "sitemap.xml").exists()


def test_a_section_that_never_succeeded_is_in_no_index(folder: Path, fragile: type[Fragile]) -> None:
    make_products(5)
    fragile.broken = True

    build()

    assert listed(folder) == ["/sitemap-products-1.xml"]


def test_strict_fails_the_section_of_a_bad_row(folder: Path) -> None:
    class Bad(Products):
        def location(self, item: Product) -> str | None:
            return None if item.slug == "product-12" else f"/{item.slug}/"

    register("bad", Bad)
    register("products", Products)
    make_products(15)

    result = build(strict=True)

    assert [bool(section.error) for section in result.sections] == [True, False]
    assert "StrictError" in (result.sections[0].error or "")
    assert listed(folder) == ["/sitemap-products-1.xml", "/sitemap-products-2.xml"]

    result = build(strict=False)
    assert result.is_complete
    assert (result.sections[0].urls, result.sections[0].report.left_out) == (14, 1)


@pytest.mark.parametrize("failing", range(7))
def test_a_full_disk_leaves_every_old_file_whole_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    register("products", Products)
    make_products(25)
    build()
    before = files(folder)
    Product.objects.update(slug=Concat(F("slug"), Value("-new"), output_field=CharField()))
    calls = iter(range(100))
    fsync = os.fsync

    def full(handle: int) -> None:
        # Each file is synced, and then its directory, for which no error is fatal.
        if next(calls) == 2 * failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)

    # No date moved with the addresses.
    result = build(full=True)

    monkeypatch.undo()
    replace_section("products", Products)
    assert not result.is_complete
    assert set(files(folder)) == set(before)
    rows = listed_rows(folder)
    assert [row.replace("-new", "") for row in rows] == [f"/product-{number}/" for number in range(1, 26)]
    assert build(full=True).is_complete
    assert listed_rows(folder) == [f"/product-{number}-new/" for number in range(1, 26)]


def test_an_index_that_cannot_be_made_is_reported_and_the_old_one_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("products", Products)
    make_products(5)
    build()
    before = files(folder)["sitemap.xml"]
    # Without it, the index of a section says what it has.
    (folder / MANIFEST).unlink()
    (folder / "sitemap-products.xml").write_bytes(b"<broken")
    register("more", type("More", (Products,), {}))

    result = build(["more"])

    assert [error.partition(":")[0] for error in result.errors] == ["index of example.com"]
    assert not result.is_complete
    assert files(folder)["sitemap.xml"] == before


# Through templates of the project

OWN = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{% for url in urlset %}<url><loc>{{ url.location }}</loc></url><!-- {{ url.item.name }} -->{% endfor %}</urlset>"""
OWN_INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{% for sitemap in sitemaps %}<sitemap><loc>{{ sitemap.location }}?own</loc></sitemap>{% endfor %}</sitemapindex>"""


def test_own_templates_write_the_built_files_as_the_served_ones(
    folder: Path, settings: Any, write_template: Any
) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("products", Products)
    make_products(12)
    write_template("sitemap.xml", OWN)
    write_template("sitemap_index.xml", OWN_INDEX)

    result = build()

    assert result.is_complete
    assert done(result) == {"products": (2, 12)}
    page = gzip.decompress((folder / "sitemap-products-2.xml.gz").read_bytes())
    assert paths(locs(page)) == ["/product-11/", "/product-12/"]
    assert b"<!-- Product 12 -->" in page
    # Once, though the index of the site is made of those of the sections.
    assert listed(folder) == [f"/sitemap-products-{number}.xml?own" for number in (1, 2)]
    client = Client(headers={"host": "example.com"})
    for name, data in files(folder).items():
        response = client.get(f"/{name}")
        assert (b"".join(response) if response.streaming else response.content) == data, name


def test_pages_that_a_template_makes_too_large_are_split_during_the_build(
    folder: Path, write_template: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=1500))
    register("products", type("Large", (Products,), {"limit": 50}))
    make_products(60)
    write_template("sitemap.xml", OWN)

    result = build()

    assert result.is_complete
    assert result.sections[0].urls == 60
    assert listed_rows(folder) == [f"/product-{number}/" for number in range(1, 61)]
    assert result.sections[0].pages > 3


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
def test_a_template_that_fails_leaves_all_files_as_they_were(folder: Path, write_template: Any, name: str) -> None:
    register("products", Products)
    make_products(12)
    build()
    before = files(folder)
    make_products(1, first=13)
    write_template(name, "{% include 'missing.html' %}")

    result = build()

    assert not result.is_complete
    error = result.sections[0].error or ""
    assert name in error
    assert "TemplateDoesNotExist: missing.html" in error
    assert ("'products'" in error) is (name == "sitemap.xml")
    assert files(folder) == before


def test_an_own_index_of_the_site_lists_what_earlier_builds_have_published(folder: Path, write_template: Any) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 50}))
    make_products(12)
    # What no parser reads.
    write_template("sitemap_index.xml", "{% for sitemap in sitemaps %}<{{ sitemap.location }}\n{% endfor %}")
    build()
    before = (folder / "sitemap.xml").read_text()
    (folder / "sitemap-products-2.xml.gz").unlink()

    result = build(["more"])

    assert result.is_complete
    lines = before.splitlines()
    assert [line.rpartition("/")[2] for line in lines] == [
        "sitemap-products-1.xml",
        "sitemap-products-2.xml",
        "sitemap-more-1.xml",
    ]
    assert (folder / "sitemap.xml").read_text().splitlines() == [lines[0], lines[2]]


def test_a_page_that_another_process_cuts_after_its_rendering_is_rendered_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=1500))

    class Cut(Products):
        def changefreq(self, item: Product) -> str:
            if item.slug == "product-11":
                # The first page is rendered; its upper half is moved to a new one.
                first = refresh(section_of(Cut)).pages[0]
                at = first.rows(section_of(Cut)).order_by("pk")[5]
                refresh(section_of(Cut), split=(first.number, (at.pk,)))
            return "daily"

    register("products", Cut)
    make_products(30)
    # Addresses long enough that the last page, alone, has to be split.
    Product.objects.filter(slug="product-25").update(slug="long-" + "x" * 190)
    Product.objects.filter(slug="product-26").update(slug="longer-" + "x" * 190)
    Product.objects.filter(slug="product-27").update(slug="longest-" + "x" * 190)

    result = build()

    rows = listed_rows(folder)
    assert result.is_complete
    assert len(rows) == len(set(rows)) == 30
    assert done(result) == {"products": (5, 30)}


@pytest.mark.usefixtures("folder")
def test_rows_that_come_and_go_during_a_build_do_not_disturb_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Moving(Products):
        def changefreq(self, item: Product) -> str:
            if item.slug == "product-1":
                Product.objects.filter(slug="product-15").delete()
                make_products(3, slug="late")
                # Another process looks at the plan meanwhile.
                refresh(section_of(Moving), force=True)
            return "daily"

    register("products", Moving)
    make_products(30)

    result = build()

    rows = [row for row in listed_rows(Path(storages["sitemaps"].location) / HOST) if "late" not in row]
    assert result.is_complete
    assert rows == [f"/product-{number}/" for number in range(1, 31) if number != 15]


def test_readers_never_see_a_missing_or_broken_file(folder: Path) -> None:
    register("products", Products)
    make_products(40)
    build()
    names = built_names(folder)
    problems: list[str] = []
    reads = [0]
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            for name in names:
                try:
                    data = (folder / name).read_bytes()
                    validate(gzip.decompress(data) if name.endswith(".gz") else data)
                    reads[0] += 1
                except Exception as error:
                    problems.append(f"{name}: {error!r}")

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(12):
            Product.objects.update(slug=Concat(F("slug"), Value(str(number)), output_field=CharField()))
            build()
    finally:
        stop.set()
        reader.join()

    assert problems == []
    assert reads[0] > len(names)


@pytest.fixture
def watched_storage(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    saved: list[str] = []
    monkeypatch.setattr(FileSystemStorage, "_save", lambda self, name, content: saved.append(name))
    return saved


def test_files_are_never_written_in_place(folder: Path, watched_storage: list[str]) -> None:
    register("products", Products)
    make_products(5)

    build()

    assert watched_storage == []
    assert text_of(render_page(section_of(Products), 1)) == gzip.decompress(files(folder)["sitemap-products-1.xml.gz"])
