import gzip
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import storages
from django.test import Client
from django.utils import translation

from built import built_files, built_names, listed, listed_rows
from samples import Products, make_products, replace_section
from sitemaps_plus import NewsSitemap, register
from sitemaps_plus.build import build
from sitemaps_plus.build.due import examine
from sitemaps_plus.build.results import BuildResult
from sitemaps_plus.errors import NoOrigin, PageNotFound
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.protocol import limits
from sitemaps_plus.protocol.limits import Profile
from sitemaps_plus.render import pages
from sitemaps_plus.signals import page_rendered
from sitemaps_plus.stores.files import FileStore
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Article, Product
from xml_checks import lastmods, locs

pytestmark = pytest.mark.django_db

HOST = "example.com"


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
    for name, data in built_files(folder).items():
        assert client.get(f"/{name}").getvalue() == data


def test_the_same_data_twice_gives_the_same_bytes(folder: Path) -> None:
    register("products", Products)
    make_products(25)
    build()
    before = built_files(folder)

    build()

    assert built_files(folder) == before


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

    assert [name.removeprefix("example.com/sitemap") for name in published if "-manifest" not in name] == [
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
    before = built_files(folder)["sitemap-products-1.xml.gz"]

    assert done(build(["more", "more"])) == {"more": (1, 15)}

    assert built_files(folder)["sitemap-products-1.xml.gz"] == before
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
    sizes = [len(gzip.decompress(data)) for name, data in built_files(folder).items() if "products-" in name]
    assert len(sizes) > 3
    assert max(sizes) <= 1500
    assert progress[-1] == (len(sizes), len(sizes))
    assert done(result)["products"] == (len(sizes), 120)
    built = built_files(folder)
    build()
    assert built_files(folder) == built


def test_all_pages_that_are_too_large_are_split_in_one_refresh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=1500))
    register("products", type("Large", (Products,), {"limit": 50}))
    # Short addresses and dates: all rows have the same size.
    make_products(400, first=1000)
    splits: list[Any] = []
    monkeypatch.setattr(pages, "refresh", partial(noted, splits))
    rendered: list[int] = []
    page_rendered.connect(note := (lambda number, **kwargs: rendered.append(number)), weak=False)

    result = build()

    page_rendered.disconnect(note)
    assert [set(split) for split in splits] == [set(range(1, 9))]
    assert done(result) == {"products": (32, 400)}
    # The page that was full is not among them: nobody has got it.
    assert sorted(rendered) == list(range(1, 33))


def noted(splits: list[Any], *args: Any, **options: Any) -> Any:
    splits.append(options["split"])
    return refresh(*args, **options)


def test_pages_of_rows_of_many_sizes_are_not_much_smaller_than_they_may_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=5000))
    register("products", type("Large", (Products,), {"limit": 5000, "fill": 0.9}))
    products = make_products(1000)
    for number, product in enumerate(products):
        # Long addresses first, then short ones.
        product.slug += "-" + "x" * (number * 7919 % (1 + (1000 - number) // 6))
    Product.objects.bulk_update(products, ["slug"])

    result = build()

    sizes = [len(gzip.decompress(data)) for name, data in built_files(folder).items() if "products-" in name]
    assert max(sizes) <= 5000
    assert done(result)["products"] == (len(sizes), 1000)
    assert len(sizes) < 1.5 * sum(sizes) / 4500


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


@pytest.mark.parametrize("framework", [True, False], ids=["with the Sites framework", "without"])
def test_origins_by_site_are_all_built(settings: Any, folder: Path, framework: bool) -> None:
    if not framework:
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
        del settings.SITE_ID
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
