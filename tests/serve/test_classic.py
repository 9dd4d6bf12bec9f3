import pickle
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from unittest import mock
from xml.etree import ElementTree

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.core.paginator import Paginator
from django.db import connection
from django.template.response import TemplateResponse
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from django.utils import translation
from django.utils.http import http_date
from django.views.decorators.cache import cache_page

from factories import ProductFactory
from samples import products_read
from sitemaps_plus import registry, views
from sitemaps_plus.serve import classic
from testapp.models import Product
from xml_checks import lastmods, locs, validate

pytestmark = pytest.mark.django_db
NAME = "django.contrib.sitemaps.views.sitemap"
BASE = "http://example.com"


@pytest.fixture(autouse=True)
def _nothing_registered():
    Site.objects.clear_cache()


@pytest.fixture
def serve(settings, client):
    """Return what serves a dict of sitemaps as the classic views do, and gets one of their documents."""

    def start(sitemaps, wrap=lambda view: view, **options):
        given = {"sitemaps": sitemaps, **options}
        settings.ROOT_URLCONF = type(
            "URLconf",
            (),
            {
                "urlpatterns": [
                    path("sitemap.xml", wrap(views.index), given),
                    path("sitemap-<section>.xml", wrap(views.sitemap), given, name=NAME),
                    path("all.xml", wrap(views.sitemap), given),
                ]
            },
        )
        return lambda name="sitemap.xml", **how: client.get(f"/{name}", **how)

    return start


@pytest.fixture
def pipeline(settings, client):
    """Return what registers a dict of sitemaps, and gets one of their documents."""

    def start(sitemaps):
        settings.ROOT_URLCONF = type("URLconf", (), {"urlpatterns": [path("", include("sitemaps_plus.urls"))]})
        for label, sitemap in sitemaps.items():
            registry.register(label, sitemap)
        return lambda name="sitemap.xml": client.get(f"/{name}")

    return start


@pytest.fixture(params=["classic", "registered"])
def world(request, serve, pipeline):
    """Return what gives index, first page and page of a class in either world."""

    def start(**sitemaps):
        get = (serve if request.param == "classic" else pipeline)(sitemaps)
        end = "" if request.param == "classic" else "-1"

        def document(label=None):
            response = get("sitemap.xml" if label is None else f"sitemap-{label}{end}.xml")
            assert response.status_code == 200, response.content
            return response.getvalue()

        return document

    return start


def listed(items, base=contrib.Sitemap, **attributes):
    """Return a sitemap class of a list of paths."""
    members = {"items": lambda self: items, "location": lambda self, item: item, **attributes}
    return type("Listed", (base,), members)


def products(base=contrib.Sitemap, **attributes):
    """Return a sitemap class of all products, as it is written for Django."""
    members = {
        "items": lambda self: Product.objects.order_by("pk"),
        "lastmod": lambda self, item: item.updated_at,
        **attributes,
    }
    return type("Products", (base,), members)


def counting(method):
    """Return a method hook that counts its calls with an object of the database, and the list of them."""
    calls = []

    def hook(self, item):
        if type(item) is Product:
            calls.append(item)
        return method(item)

    return hook, calls


# The known faults.


@pytest.mark.parametrize("lastmod", ["updated_at", None], ids=["plain", "computed"])
def test_the_index_does_not_read_the_rows(world, lastmod):
    hook, calls = counting(lambda item: item.updated_at if lastmod else item.updated_at.date())
    ProductFactory.bulk(25)
    get = world(products=products(lastmod=hook, limit=10))

    with products_read() as read:
        index = get()

    assert len(locs(index)) == 3
    assert calls == []
    assert read == []


def test_the_index_costs_two_queries_a_section_whatever_it_holds(serve):
    get = serve({"products": products(limit=2)})
    get()
    counts = []
    for _ in range(2):
        ProductFactory.bulk(10)
        with CaptureQueriesContext(connection) as queries:
            get()
        counts.append(len(queries))

    assert counts == [2, 2]


def in_three_languages():
    """Return a contrib class whose pages hold two rows in three languages."""
    return products(
        location=lambda self, item: f"/{translation.get_language()}/{item.pk}/",
        i18n=True,
        languages=["en", "de", "fr"],
        limit=6,
    )


def test_a_page_in_many_languages_reads_its_own_rows(world):
    ProductFactory.bulk(30)
    get = world(products=in_three_languages())

    with products_read() as read:
        index = get()
    assert len(locs(index)) == 15
    assert read == []

    with products_read() as read:
        page = get("products")
    assert len(locs(page)) == 6
    assert len(read) == 2


def test_a_later_page_in_many_languages_reads_its_own_rows(serve):
    ProductFactory.bulk(30)
    get = serve({"products": in_three_languages()})

    with products_read() as read:
        page = get("sitemap-products.xml?p=15").content

    assert len(locs(page)) == 6
    assert len(read) == 2


def test_dates_and_datetimes_may_be_mixed(world):
    when = {"/a/": date(2026, 1, 2), "/b/": datetime(2026, 1, 3, 4, 5, 6, tzinfo=UTC)}
    get = world(mixed=listed(list(when), lastmod=lambda self, item: when[item]))

    assert lastmods(get("mixed")) == ["2026-01-02", "2026-01-03T04:05:06+00:00"]
    assert len(locs(get())) == 1


def test_the_newest_of_mixed_dates_is_the_date_of_the_section(serve):
    when = {"/a/": date(2026, 1, 2), "/b/": datetime(2026, 1, 3, 4, 5, 6, tzinfo=UTC)}
    get = serve({"mixed": listed(list(when), lastmod=lambda self, item: when[item])})

    assert lastmods(get().content) == ["2026-01-03T04:05:06+00:00"]
    assert get()["Last-Modified"] == get("sitemap-mixed.xml")["Last-Modified"] == "Sat, 03 Jan 2026 04:05:06 GMT"


def hrefs(document):
    root = ElementTree.fromstring(document)  # noqa: S314 - written by the code under test
    links = root[0].findall("{http://www.w3.org/1999/xhtml}link")
    return {link.get("hreflang"): link.get("href").partition("example.com")[2] for link in links}


def test_x_default_takes_only_the_language_prefix_off(world):
    get = world(
        pages=listed(
            ["learn/en/"],
            i18n=True,
            languages=["de", "en"],
            alternates=True,
            x_default=True,
            location=lambda self, item: f"/{translation.get_language()}/{item}",
        )
    )

    assert hrefs(get("pages")) == {"de": "/de/learn/en/", "en": "/en/learn/en/", "x-default": "/learn/en/"}


def test_x_default_leaves_a_path_without_prefix_alone(world):
    get = world(
        pages=listed(
            ["/learn/en/"],
            i18n=True,
            languages=["en"],
            alternates=True,
            x_default=True,
            location=lambda self, item: item,
        )
    )

    assert hrefs(get("pages"))["x-default"] == "/learn/en/"


def test_x_default_is_in_the_variant_of_the_default_language(world, settings):
    settings.LANGUAGES = [("de", "German"), ("en", "English")]
    settings.LANGUAGE_CODE = "en-us"
    get = world(
        pages=listed(
            ["a"],
            i18n=True,
            alternates=True,
            x_default=True,
            location=lambda self, item: f"/{translation.get_language()}/{item}",
        )
    )

    assert hrefs(get("pages")) == {"de": "/de/a", "en": "/en/a", "x-default": "/a"}


@pytest.mark.parametrize("location", [" /a b/", "/a b/\n", "\thttp://example.com/a b/ "])
def test_spaces_around_a_location_are_removed(world, location):
    get = world(pages=listed([location], location=lambda self, item: item))

    assert locs(get("pages")) == ["http://example.com/a%20b/"]


def test_a_blank_location_is_not_the_home_page(world):
    get = world(pages=listed(["  ", "/a/"], location=lambda self, item: item))

    assert locs(get("pages")) == ["http://example.com/a/"]


def test_an_absolute_location_is_not_doubled(world):
    get = world(pages=listed(["http://example.com/a/", "/b/"]))

    assert locs(get("pages")) == [f"{BASE}/a/", f"{BASE}/b/"]


def test_an_instance_keeps_nothing_between_requests(serve):
    items = ["/a/"]
    when = {"/a/": date(2026, 1, 2), "/b/": None}
    made = listed(items, lastmod=lambda self, item: when[item])()
    get = serve({"pages": made})
    assert get("sitemap-pages.xml")["Last-Modified"] == "Fri, 02 Jan 2026 00:00:00 GMT"

    items.append("/b/")

    assert "Last-Modified" not in get("sitemap-pages.xml").headers
    assert "latest_lastmod" not in vars(made)


@pytest.mark.parametrize(
    "items",
    [
        lambda item: 1 / 0,
        lambda item: None,
        lambda item: "relative/",
        lambda item: "javascript:alert(1)",
        lambda item: "https://user:password@example.com/",
        lambda item: "/" + "x" * 3000,
        lambda item: "/\ud800/",
        lambda item: b"/bytes/",
    ],
    ids=["raises", "none", "relative", "script", "password", "long", "surrogate", "bytes"],
)
def test_one_bad_row_is_left_out(world, items):
    get = world(pages=listed(["/a/", "bad", "/b/"], location=lambda s, item: items(item) if item == "bad" else item))

    assert locs(get("pages")) == [f"{BASE}/a/", f"{BASE}/b/"]


@pytest.mark.parametrize("bad", ["yesterday", 5, object(), "2026-13-01"], ids=["text", "number", "object", "month"])
def test_a_bad_date_is_dropped_alone(world, bad):
    when = {"/a/": date(2026, 1, 2), "/b/": bad}
    get = world(pages=listed(list(when), lastmod=lambda self, item: when[item]))

    assert lastmods(get("pages")) == ["2026-01-02", None]
    assert locs(get())


@pytest.mark.parametrize("hook", ["lastmod", "changefreq", "priority"])
def test_an_optional_part_that_raises_is_dropped_and_the_others_stay(world, hook):
    def method(self, item):
        raise RuntimeError("no such thing")

    get = world(pages=listed(["/a/"], **{hook: method}))

    assert locs(get("pages")) == [f"{BASE}/a/"]
    assert locs(get())


def test_what_a_row_holds_cannot_break_the_file(world):
    hostile = "/ü/<&>\"'/\x0b]]>?a=1&b=ä b%zz"
    get = world(pages=listed([hostile], changefreq="sometimes", priority=7))

    assert locs(get("pages")) == [f"{BASE}/%C3%BC/%3C&%3E%22'/%0B%5D%5D%3E?a=1&b=%C3%A4%20b%25zz"]


# The combined view.


def combined(get):
    """Return the addresses of all pages of the combined view."""
    pages, number = [], 1
    while (response := get(f"all.xml?p={number}")).status_code == 200:
        pages.append(locs(response.content))
        number += 1
    return pages


def test_each_address_is_on_one_page_of_the_combined_view(serve):
    ProductFactory.bulk(25)
    sitemaps = {"products": products(limit=10), "pages": listed(["/a/", "/b/"]), "none": listed([])}

    pages = combined(serve(sitemaps))

    assert [len(page) for page in pages] == [27]
    assert len({loc for page in pages for loc in page}) == 27


def test_the_combined_view_never_holds_more_than_the_protocol_allows(serve, monkeypatch):
    monkeypatch.setattr(classic, "MAX_URLS", 25)
    ProductFactory.bulk(55)
    sitemaps = {
        "products": products(limit=10),
        "pages": listed(["/a/", "/b/"]),
        "more": listed([f"/c/{n}/" for n in range(7)], limit=5),
    }

    pages = combined(serve(sitemaps))

    assert [len(page) for page in pages] == [20, 20, 24]
    assert len({loc for page in pages for loc in page}) == 55 + 2 + 7


def test_one_section_alone_keeps_its_own_pages_in_the_combined_view(serve):
    ProductFactory.bulk(25)

    assert [len(page) for page in combined(serve({"products": products(limit=10)}))] == [10, 10, 5]


def test_the_combined_view_of_nothing_is_an_empty_file(serve):
    assert locs(serve({})("all.xml").content) == []


# Dates as Django writes them, and better.


def test_a_naive_datetime_comes_out_as_django_writes_it(serve):
    get = serve({"pages": listed(["/a/"], lastmod=datetime(2013, 3, 13, 10, 0, 0))})

    assert lastmods(get("sitemap-pages.xml").content) == ["2013-03-13"]
    assert b"<lastmod>2013-03-13T10:00:00</lastmod>" in get().content
    assert get()["Last-Modified"] == "Wed, 13 Mar 2013 10:00:00 GMT"


def test_an_aware_datetime_keeps_its_time(serve):
    get = serve({"pages": listed(["/a/"], lastmod=datetime.fromisoformat("2013-03-13T10:00:00.5-05:00"))})

    assert lastmods(get("sitemap-pages.xml").content) == ["2013-03-13T10:00:00-05:00"]
    assert lastmods(get().content) == ["2013-03-13T10:00:00-05:00"]
    assert get("sitemap-pages.xml")["Last-Modified"] == "Wed, 13 Mar 2013 15:00:00 GMT"


@pytest.mark.parametrize("use_tz", [True, False])
def test_a_date_stays_a_date(serve, settings, use_tz):
    settings.USE_TZ = use_tz
    get = serve({"pages": listed(["/a/"], lastmod=date(2013, 3, 13))})

    assert lastmods(get("sitemap-pages.xml").content) == lastmods(get().content) == ["2013-03-13"]


@pytest.mark.parametrize(
    "lastmod", [datetime.max, date.max, datetime.now(UTC) + timedelta(days=2)], ids=["max", "end", "soon"]
)
def test_a_date_in_the_future_says_nothing_about_what_changed(serve, lastmod):
    get = serve({"pages": listed(["/a/"], lastmod=lastmod)})

    assert "Last-Modified" not in get().headers
    assert "Last-Modified" not in get("sitemap-pages.xml").headers
    assert get("sitemap-pages.xml").status_code == 200


@pytest.mark.parametrize(
    "lastmod", [datetime.min, date.min, datetime(1, 1, 1, tzinfo=UTC)], ids=["naive", "date", "aware"]
)
def test_a_date_long_ago_breaks_nothing(serve, lastmod):
    get = serve({"pages": listed(["/a/"], lastmod=lastmod)})

    assert get().status_code == get("sitemap-pages.xml").status_code == 200


# What Django's views promise.


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-pages.xml", "all.xml"])
def test_answers_have_djangos_headers(serve, name):
    response = serve({"pages": listed(["/a/"], lastmod=date(2026, 1, 2))})(name)

    assert response["Content-Type"] == "application/xml"
    assert response["X-Robots-Tag"] == "noindex, noodp, noarchive"
    assert response["Last-Modified"] == http_date(datetime(2026, 1, 2, tzinfo=UTC).timestamp())


@pytest.mark.parametrize("name", ["sitemap.xml", "all.xml"])
@pytest.mark.parametrize(
    "other",
    [listed(["/b/"]), listed([]), listed(["/b/"], lastmod=lambda self, item: None)],
    ids=["no", "empty", "none"],
)
def test_one_section_without_date_leaves_the_header_away(serve, name, other):
    sitemaps = {"pages": listed(["/a/"], lastmod=date(2026, 1, 2)), "other": other}

    assert "Last-Modified" not in serve(sitemaps)(name).headers


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("sitemap-other.xml", "No sitemap available for section: 'other'"),
        ("sitemap-pages.xml?p=0", "Page 0 empty"),
        ("sitemap-pages.xml?p=2", "Page 2 empty"),
        ("sitemap-pages.xml?p=test", "No page 'test'"),
        ("sitemap-pages.xml?p=", "No page ''"),
        ("all.xml?p=9", "Page 9 empty"),
        ("all.xml?p=x", "No page 'x'"),
    ],
)
def test_what_is_not_there_is_told_in_djangos_words(serve, rf, url, text):
    get = serve({"pages": listed(["/a/"]), "more": listed(["/b/"])})

    response = get(url)

    assert response.status_code == 404
    assert str(response.context["exception"]) == text


def test_the_context_is_djangos(rf):
    sitemaps = {"pages": listed(["/a/"], lastmod=date(2026, 1, 2))}
    with mock.patch.object(classic, "reverse", return_value="/sitemap-pages.xml"):
        index = views.index(rf.get("/"), sitemaps)
    page = views.sitemap(rf.get("/"), sitemaps)

    assert isinstance(index, TemplateResponse)
    assert not index.is_rendered
    assert not page.is_rendered
    assert (index.template_name, page.template_name) == ("sitemap_index.xml", "sitemap.xml")
    assert vars(index.context_data["sitemaps"][0]) == {
        "location": f"{BASE}/sitemap-pages.xml",
        "last_mod": date(2026, 1, 2),
    }
    assert page.context_data["urlset"] == [
        {
            "item": "/a/",
            "location": f"{BASE}/a/",
            "lastmod": date(2026, 1, 2),
            "changefreq": None,
            "priority": "",
            "alternates": [],
        }
    ]


@pytest.mark.parametrize("view", [views.index, views.sitemap])
def test_a_context_can_be_changed_before_it_is_rendered(rf, view):
    sitemaps = {"pages": listed(["/a/"])}
    with mock.patch.object(classic, "reverse", return_value="/sitemap-pages.xml"):
        response = view(rf.get("/"), sitemaps)
    given = response.context_data.get("urlset") or response.context_data["sitemaps"]

    given.append(
        {"location": f"{BASE}/b/"} if view is views.sitemap else SimpleNamespace(location=f"{BASE}/b/", last_mod=None)
    )

    assert locs(response.render().content)[-1] == f"{BASE}/b/"


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-pages.xml"])
def test_cached_answers_are_the_same(serve, name):
    calls = []
    sitemap = listed(["/a/"], lastmod=lambda self, item: calls.append(item) or date(2026, 1, 2))
    get = serve({"pages": sitemap}, wrap=cache_page(60))

    first = get(name)
    before = len(calls)
    second = get(name)

    assert first.content == second.content
    assert first["Last-Modified"] == second["Last-Modified"]
    assert len(calls) == before
    validate(second.content)


def test_an_answer_can_be_pickled_when_it_is_rendered(rf):
    response = views.sitemap(rf.get("/"), {"pages": listed(["/a/"])}).render()

    again = pickle.loads(pickle.dumps(response))  # noqa: S301 - made in the line itself

    assert again.content == response.content


def test_the_protocol_of_the_class_comes_before_the_request(serve):
    get = serve({"pages": listed(["/a/"], protocol="https")})

    assert locs(get("sitemap-pages.xml").content) == ["https://example.com/a/"]
    assert locs(get().content) == ["https://example.com/sitemap-pages.xml"]
    assert locs(get(secure=True).content) == ["https://example.com/sitemap-pages.xml"]


def test_a_class_may_name_another_domain(serve):
    get = serve({"pages": listed(["/a/"], get_domain=lambda self, site=None: "other.example")})

    assert locs(get("sitemap-pages.xml").content) == ["http://other.example/a/"]


def test_an_international_domain_is_written_in_ascii(serve):
    pytest.importorskip("idna")
    Site.objects.filter(pk=1).update(domain="bücher.example")
    Site.objects.clear_cache()
    get = serve({"pages": listed(["/ä/"])})

    assert locs(get("sitemap-pages.xml").content) == ["http://xn--bcher-kva.example/%C3%A4/"]
    assert locs(get().content) == ["http://xn--bcher-kva.example/sitemap-pages.xml"]


def test_a_domain_with_a_path_stays_as_in_django(serve):
    Site.objects.filter(pk=1).update(domain="example.com/shop")
    Site.objects.clear_cache()
    get = serve({"pages": listed(["/a/"])})

    assert locs(get("sitemap-pages.xml").content) == [f"{BASE}/shop/a/"]
    assert locs(get().content) == [f"{BASE}/shop/sitemap-pages.xml"]


def test_without_sites_the_request_tells_the_host(serve, settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    get = serve({"pages": listed(["/a/"])})

    assert locs(get("sitemap-pages.xml", headers={"host": "here.example:8000"}).content) == [
        "http://here.example:8000/a/"
    ]


def test_a_class_may_bring_its_own_pages(serve):
    class Paged(listed([])):
        @property
        def paginator(self):
            return Paginator(["/a/", "/b/", "/c/"], 2)

    get = serve({"paged": Paged, "pages": listed(["/d/"])})

    assert len(locs(get().content)) == 3
    assert locs(get("sitemap-paged.xml?p=2").content) == [f"{BASE}/c/"]
    assert [len(page) for page in combined(get)] == [4]
