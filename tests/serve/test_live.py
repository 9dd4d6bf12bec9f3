"""A document is made of the built file exactly where that is what rendering would give."""

import gzip
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db.models import F
from django.test import Client
from django.urls import clear_script_prefix, set_script_prefix

from built import build_and_warm
from factories import DAY, ProductFactory
from own_templates import put_template
from samples import SITE, ListedProducts, Products, ProductsByPosition, paths, product_paths
from sitemaps_plus import register, registry
from sitemaps_plus.build import build
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.serve.cached import serve
from sitemaps_plus.serve.live import Wanted, look
from sitemaps_plus.stores.published import PublishedFiles
from testapp.models import Product
from xml_checks import locs

EXAMPLE = {"ORIGIN": "https://example.com"}
FILE = "example.com/sitemap-products-1.xml.gz"


@pytest.fixture(autouse=True)
def _products_registered(settings):
    register("products", Products)
    settings.SITEMAPS_PLUS = EXAMPLE


WANTED = Wanted(site=SITE, label="products", number=1)


def made(wanted=WANTED, *, is_due=False):
    return replace(look(wanted), is_due=is_due).make(None).document


def shown(wanted=WANTED):
    return paths(locs(gzip.decompress(made(wanted).gzipped)))


def put(data, name=FILE):
    storages["sitemaps"].delete(name)
    storages["sitemaps"].save(name, ContentFile(data))


def replace_section(sitemap):
    registry.unregister("products")
    register("products", sitemap)


# Where the file is handed out.


@pytest.mark.django_db
def test_a_built_file_is_handed_out_as_it_is(rendered):
    ProductFactory.bulk(5)
    build()
    data = storages["sitemaps"].open(FILE).read()
    del rendered[:]

    document = made()

    assert document.gzipped == data
    assert rendered == []


@pytest.mark.django_db
def test_a_built_file_is_told_of_as_the_live_page_is():
    ProductFactory.bulk(5)
    live = made()
    build()

    document = made()

    assert (document.digest, document.size, document.urls, document.changed_at) == (
        live.digest,
        live.size,
        5,
        live.changed_at,
    )


@pytest.mark.django_db
def test_a_crawler_cannot_tell_a_built_file_from_a_live_page(clock):
    ProductFactory.bulk(5)
    client = Client(headers={"host": "example.com"})
    live = client.get("/sitemap-products-1.xml")
    build()
    Product.objects.update(updated_at=F("updated_at"))
    clock.pass_(days=3)

    built = client.get("/sitemap-products-1.xml")

    assert built.headers == live.headers
    assert built.getvalue() == live.getvalue()


@pytest.mark.django_db
def test_the_text_form_is_never_a_built_file(rendered):
    ProductFactory.bulk(2)
    build()
    del rendered[:]

    text = gzip.decompress(made(replace(WANTED, as_text=True)).gzipped).decode()

    assert paths(text.split()) == product_paths()
    assert rendered == [1]


@pytest.mark.django_db
def test_a_page_that_changed_back_to_what_was_built_is_the_file_again(clock, rendered):
    ProductFactory.create(slug="a")
    build()
    Product.objects.update(slug="b", updated_at=DAY - timedelta(days=1))
    clock.pass_(seconds=61)
    assert shown() == ["/b/"]
    Product.objects.update(slug="a", updated_at=F("updated_at") + timedelta(days=2))
    Product.objects.update(updated_at=ProductFactory.build().updated_at)
    clock.pass_(seconds=61)

    assert shown() == ["/a/"]


# Where it is not.


def change_row(_settings, _folder):
    Product.objects.filter(slug="b").update(slug="b2", updated_at=DAY + timedelta(days=9))


def change_row_without_a_date(_settings, _folder):
    # Only the digest tells, which a rendering for a reason of its own has found.
    Product.objects.filter(slug="b").update(slug="b2")
    made(is_due=True)


def delete_row(_settings, _folder):
    Product.objects.filter(slug="b").delete()


def change_class(_settings, _folder):
    class Weekly(Products):
        changefreq = "weekly"

    replace_section(Weekly)


def change_origin(settings, _folder):
    settings.SITEMAPS_PLUS = {"ORIGIN": "http://example.com"}


def change_protocol(_settings, _folder):
    class Plain(Products):
        protocol = "http"

    replace_section(Plain)


def change_template(settings, folder):
    text = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><!-- by hand --></urlset>'
    put_template(settings, folder, "sitemap.xml", text)


def remove(_settings, _folder):
    storages["sitemaps"].delete(FILE)


def truncate(_settings, _folder):
    put(storages["sitemaps"].open(FILE).read()[:-9])


def empty(_settings, _folder):
    put(b"")


def put_foreign(_settings, _folder):
    put(gzip.compress(b"<urlset><!-- another set --></urlset>"))


def put_no_gzip(_settings, _folder):
    put(b"<urlset/>")


def append(_settings, _folder):
    put(storages["sitemaps"].open(FILE).read() + gzip.compress(b"<!-- more -->"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        change_row,
        change_row_without_a_date,
        delete_row,
        change_class,
        change_origin,
        change_protocol,
        change_template,
        remove,
        truncate,
        empty,
        put_foreign,
        put_no_gzip,
        append,
    ],
)
def test_a_built_file_that_is_not_what_rendering_gives_is_not_handed_out(clock, rendered, settings, tmp_path, change):
    for slug in "abc":
        ProductFactory.create(slug=slug)
    build()
    change(settings, tmp_path)
    clock.pass_(seconds=61)
    del rendered[:]
    site = replace(SITE, origin=Origin.parse(settings.SITEMAPS_PLUS["ORIGIN"]))

    document = made(replace(WANTED, site=site))

    assert rendered == [1]
    assert document.digest == made(replace(WANTED, site=site), is_due=True).digest


@pytest.mark.django_db
def test_the_file_of_another_recipe_is_not_handed_out_though_the_plan_is_not_checked_yet(clock, settings, tmp_path):
    ProductFactory.bulk(1)
    build()
    change_class(settings, tmp_path)

    assert b"<changefreq>weekly</changefreq>" in gzip.decompress(made().gzipped)


@pytest.mark.django_db
def test_a_storage_that_fails_costs_a_rendering_and_says_so(monkeypatch, caplog, rendered):
    ProductFactory.bulk(2)
    build()
    del rendered[:]

    def fail(*_args):
        raise TimeoutError("the bucket does not answer")

    monkeypatch.setattr(type(storages["sitemaps"]), "open", fail)

    assert shown() == product_paths()
    assert rendered == [1]
    assert "the bucket does not answer" in caplog.text


@pytest.mark.django_db
def test_a_file_that_is_doubted_is_not_handed_out(rendered):
    ProductFactory.bulk(2)
    build()
    del rendered[:]

    made(is_due=True)

    assert rendered == [1]


@pytest.mark.django_db
def test_a_page_that_was_split_since_is_not_the_file_of_the_whole(clock):
    ProductFactory.bulk(10)
    build()
    ProductFactory.bulk(5)
    clock.pass_(seconds=61)

    assert shown() + shown(replace(WANTED, number=2)) == product_paths()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [ListedProducts, ProductsByPosition])
def test_pages_by_position_are_not_made_of_built_files(kind):
    replace_section(kind)
    ProductFactory.create(slug="a")
    build()
    Product.objects.update(slug="b")

    assert shown() == ["/b/"]


@pytest.mark.django_db
def test_a_file_of_another_site_is_not_handed_out():
    class OfSite(Products):
        def location(self, item):
            return f"/{self.site.id}/"

    replace_section(OfSite)
    ProductFactory.bulk(1)
    build()
    twin = replace(WANTED, site=SiteOrigin(id=2, origin=SITE.origin))

    assert (shown(), shown(twin)) == (["/1/"], ["/2/"])


# What tells one document, and one state, from another.


def test_names_tell_documents_apart():
    other = SiteOrigin(id=2, origin=SITE.origin)
    elsewhere = SiteOrigin(id=1, origin=Origin.parse("http://example.com"))
    every = [
        Wanted(site=site, label=label, number=number, as_text=as_text)
        for site in (SITE, other, elsewhere)
        for label in ("", "products", "products-1")
        for number in (0, 1, 11)
        for as_text in (False, True)
    ]
    names = {one.name for one in every}
    try:
        set_script_prefix("/shop/")
        names |= {one.name for one in every}
    finally:
        clear_script_prefix()

    assert len(names) == 2 * len(every)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [Products, ProductsByPosition])
def test_the_state_is_that_of_the_rows_that_the_page_shows(clock, kind):
    replace_section(kind)
    ProductFactory.create(slug="a")
    now = look(WANTED)
    late = ProductFactory.create(slug="b")

    found = now.make(None)

    assert paths(locs(gzip.decompress(found.document.gzipped))) == ["/a/", "/b/"]
    clock.pass_(seconds=61)
    # By position it is that of before the page was made.
    assert (look(WANTED).version == found.version) is (kind is Products)

    late.delete()
    clock.pass_(seconds=61)
    assert look(WANTED).version != found.version


@pytest.mark.django_db
@pytest.mark.parametrize("wanted", [WANTED, replace(WANTED, as_text=True)], ids=["xml", "text"])
@pytest.mark.parametrize("kind", [Products, ProductsByPosition])
def test_rows_that_were_away_while_their_page_was_made_are_not_missed_after_the_next_check(clock, kind, wanted):
    replace_section(kind)
    ProductFactory.create(slug="a")
    away = ProductFactory.create(slug="b")
    now = look(wanted)
    Product.objects.filter(pk=away.pk).delete()

    found = now.make(None)
    away.save()

    assert b"/b/" not in gzip.decompress(found.document.gzipped)
    clock.pass_(seconds=61)
    assert look(wanted).version != found.version


@pytest.mark.django_db
def test_the_state_stays_while_nothing_changes(clock):
    class ByMethod(Products):
        def lastmod(self, item):
            return item.updated_at.replace(second=7)

    replace_section(ByMethod)
    ProductFactory.bulk(3)
    found = look(WANTED).make(None)

    clock.pass_(seconds=61)

    assert look(WANTED).version == found.version


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [ListedProducts, ContribSitemap])
def test_what_no_database_can_tell_is_due_at_every_check(clock, kind):
    class Fixed(kind):
        def items(self):
            return ["a"]

        def location(self, item):
            return f"/{item}/"

    replace_section(Fixed)

    assert look(WANTED).make(None).version == look(WANTED).version
    assert not look(WANTED).is_due
    clock.pass_(seconds=61)
    assert look(WANTED).is_due


@pytest.mark.django_db
def test_a_look_says_when_the_database_was_asked(clock):
    ProductFactory.bulk(1)
    first = clock.now
    assert look(WANTED).checked_at == first

    clock.pass_(seconds=30)
    assert look(WANTED).checked_at == look(WANTED, first).checked_at == first
    assert look(WANTED, first + timedelta(seconds=1)).checked_at == clock.now


@pytest.mark.django_db
def test_an_index_says_when_the_section_was_asked_that_was_asked_first(clock):
    register("more", Products)
    ProductFactory.bulk(1)
    first = clock.now
    refresh(get_section("more", SITE))
    clock.pass_(seconds=30)

    assert look(Wanted(site=SITE)).make(None).checked_at == first
    assert look(Wanted(site=SITE, label="products")).make(None).checked_at == clock.now


@pytest.mark.django_db
def test_a_page_that_is_not_there_is_neither_rendered_nor_read(rendered, monkeypatch):
    monkeypatch.setattr("sitemaps_plus.stores.published.get_store", lambda: pytest.fail("a file was read"))
    ProductFactory.bulk(1)
    with pytest.raises(PageNotFound):
        look(replace(WANTED, number=2))

    refresh(get_section("products", SITE), repack=True)
    with pytest.raises(PageGone):
        look(WANTED)

    assert rendered == []


@pytest.mark.django_db
@pytest.mark.parametrize(("label", "number"), [("", 0), ("products", 0), ("products", 1)])
def test_what_a_build_published_can_be_read_back(label, number):
    ProductFactory.bulk(3)
    build()

    document = PublishedFiles(SITE.domain).read_document(label, number)

    assert document.digest == made(Wanted(site=SITE, label=label, number=number)).digest
    assert document.size == len(gzip.decompress(document.gzipped))
    assert PublishedFiles(SITE.domain).read_document(label, number + 7) is None


# A build that fills the cache.


@pytest.mark.django_db
def test_after_a_build_that_fills_the_cache_no_request_renders_or_asks(rendered, django_assert_num_queries):
    ProductFactory.bulk(25)
    build_and_warm()
    every = [Wanted(site=SITE), *(Wanted(site=SITE, label="products", number=number) for number in range(4))]
    del rendered[:]

    with django_assert_num_queries(0):
        found = [locs(gzip.decompress(serve(one).gzipped)) for one in every]

    assert rendered == []
    assert [row for page in found[2:] for row in paths(page)] == product_paths()
    assert len(found[0]) == len(found[1]) == 3


@pytest.mark.django_db
def test_a_build_that_fills_the_cache_renders_nothing_twice(rendered):
    ProductFactory.bulk(25)

    build_and_warm()

    assert sorted(rendered) == [1, 2, 3]


@pytest.mark.django_db
def test_a_build_that_fills_the_cache_puts_in_what_it_found_new(clock):
    ProductFactory.create(slug="a")
    build_and_warm()
    Product.objects.update(slug="b", updated_at=DAY + timedelta(days=9))

    clock.pass_(seconds=30)
    build_and_warm()

    assert paths(locs(gzip.decompress(serve(WANTED).gzipped))) == ["/b/"]
