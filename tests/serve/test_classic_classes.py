"""The classic dict: what classes of projects, of other apps and templates may override."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.flatpages.models import FlatPage
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.contrib.sites.models import Site
from django.db.models import F
from django.urls import include, path

from factories import ArticleFactory, ProductFactory
from sitemaps_plus import GenericSitemap, ModelSitemap, NewsSitemap, registry, views
from sitemaps_plus.serve import classic
from testapp.models import Article, Product
from xml_checks import lastmods, locs

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


# The known faults.


# What a class may override.


def test_a_class_may_make_its_own_urls(world):
    class Own(contrib.Sitemap):
        def get_urls(self, page=1, site=None, protocol=None):
            return [{"location": f"{protocol or 'http'}://{site.domain}/own/", "images": ["more"]}]

    get = world(own=Own)

    assert [loc.partition("://")[2] for loc in locs(get("own"))] == ["example.com/own/"]
    assert len(locs(get())) == 1


def test_a_class_may_add_to_djangos_urls(world):
    class More(listed(["/a/", "/b/"], lastmod=date(2026, 1, 2))):
        def _urls(self, page, protocol, domain):
            return [{**info, "location": info["location"] + "more/"} for info in super()._urls(page, protocol, domain)]

    assert locs(world(more=More)("more")) == [f"{BASE}/a/more/", f"{BASE}/b/more/"]


def test_a_class_may_know_its_newest_date(serve):
    class Known(listed(["/a/"])):
        def get_latest_lastmod(self):
            return datetime(2026, 1, 2, tzinfo=UTC)

    assert lastmods(serve({"known": Known})().content) == ["2026-01-02T00:00:00+00:00"]


@pytest.mark.parametrize("newest", ["yesterday", 5], ids=str)
def test_a_newest_date_that_is_none_is_left_out(serve, newest):
    get = serve({"odd": listed(["/a/"], get_latest_lastmod=lambda self: newest)})

    assert lastmods(get().content) == [None]
    assert "Last-Modified" not in get().headers


def test_a_callable_makes_the_sitemap(serve):
    assert locs(serve({"pages": lambda: listed(["/a/"])()})("sitemap-pages.xml").content) == [f"{BASE}/a/"]


# Our own classes and those of other apps.


class OfHost(contrib.Sitemap):
    """A class that chooses its rows by the request, as Wagtail's."""

    def __init__(self, request=None):
        self.request = request

    def items(self):
        return Product.objects.filter(name=self.request.get_host()).order_by("pk")


class PassesOn(OfHost):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


@pytest.mark.parametrize(
    "given", [OfHost, PassesOn, lambda request: OfHost(request)], ids=["class", "subclass", "function"]
)
def test_a_class_that_takes_the_request_lists_the_rows_of_its_host(serve, settings, given):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    for host in ("a.example", "b.example"):
        ProductFactory(name=host, slug=host[0])
    get = serve({"products": given})

    for host in ("a.example", "b.example"):
        headers = {"host": host}
        assert locs(get("sitemap-products.xml", headers=headers).content) == [f"http://{host}/products/{host[0]}/"]
        assert locs(get("all.xml", headers=headers).content) == [f"http://{host}/products/{host[0]}/"]
        assert locs(get(headers=headers).content) == [f"http://{host}/sitemap-products.xml"]


class TakesAnything(contrib.Sitemap):
    def __init__(self, **options):
        assert options == {}

    def items(self):
        return ["/a/"]

    def location(self, item):
        return item


def test_a_class_that_takes_anything_but_no_request_gets_nothing(serve):
    assert locs(serve({"pages": TakesAnything})("sitemap-pages.xml").content) == [f"{BASE}/a/"]


def test_the_same_rows_give_the_same_entries_in_both_worlds(world):
    rows = ProductFactory.bulk(3)

    class Ours(ModelSitemap):
        queryset = Product.objects.all()
        lastmod = F("updated_at")

    get = world(
        ours=Ours,
        contrib=products(),
        generic=GenericSitemap({"queryset": Product.objects.all(), "date_field": "updated_at"}),
    )

    for label in ("ours", "contrib", "generic"):
        assert locs(get(label)) == [f"{BASE}/products/{row.slug}/" for row in rows]
        moments = [datetime.fromisoformat(text) for text in lastmods(get(label))]
        assert moments == [row.updated_at.replace(microsecond=0) for row in rows]
    assert len(locs(get())) == 3


def test_an_empty_news_sitemap_is_valid_and_listed(world, settings):
    settings.SITEMAPS_PLUS = {"CHECK_EVERY": 0}

    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    get = world(news=News)

    assert len(locs(get())) == 1
    assert b"<url>" not in get("news")

    article = ArticleFactory(published_at=datetime.now(UTC) - timedelta(hours=1))
    ArticleFactory(published_at=datetime.now(UTC) - timedelta(days=3))

    assert locs(get("news")) == [f"{BASE}/articles/{article.pk}/"]


def test_the_sitemap_of_djangos_flatpages_works_as_it_is(world):
    for number in range(3):
        page = FlatPage.objects.create(url=f"/page-{number}/", title="x", registration_required=number == 2)
        page.sites.add(1)

    get = world(flatpages=FlatPageSitemap)

    assert locs(get("flatpages")) == [f"{BASE}/page-0/", f"{BASE}/page-1/"]
    assert len(locs(get())) == 1


# Templates.


@pytest.fixture
def templates(settings, tmp_path):
    """Return what puts a template of the project before those of the apps."""

    def write(name, text, **options):
        (tmp_path / name).write_text(text)
        settings.TEMPLATES = [
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "DIRS": [tmp_path],
                "APP_DIRS": True,
                **options,
            }
        ]

    return write


def test_a_template_of_the_project_is_honoured(serve, templates):
    templates("sitemap.xml", "{% for url in urlset %}own {{ url.location }} {{ url.item }}{% endfor %}")
    get = serve({"pages": listed(["/a/"])})

    assert get("sitemap-pages.xml").content == b"own http://example.com/a/ /a/"
    assert locs(get().content) == [f"{BASE}/sitemap-pages.xml"]


def test_an_index_template_of_the_project_is_honoured(serve, templates):
    templates(
        "sitemap_index.xml", "{% for site in sitemaps %}own {{ site.location }} {{ site.last_mod.year }}{% endfor %}"
    )
    get = serve({"pages": listed(["/a/"], lastmod=date(2026, 1, 2))})

    assert get().content == b"own http://example.com/sitemap-pages.xml 2026"


def test_a_template_of_another_name_is_honoured(serve, templates):
    templates("other.txt", "{% for url in urlset %}{{ url.location }}\n{% endfor %}")
    get = serve({"pages": listed(["/a/"])}, template_name="other.txt", content_type="text/plain")

    response = get("sitemap-pages.xml")

    assert response.content == b"http://example.com/a/\n"
    assert response["Content-Type"] == "text/plain"


def test_a_list_of_templates_takes_the_first_there_is(serve, templates):
    templates("other.xml", "own")

    assert serve({"pages": listed([])}, template_name=["missing.xml", "other.xml"])("all.xml").content == b"own"
    assert locs(serve({"pages": listed([])}, template_name=["missing.xml", "sitemap.xml"])("all.xml").content) == []


@pytest.mark.parametrize(
    "apps",
    [["sitemaps_plus"], ["sitemaps_plus", "django.contrib.sitemaps"], ["django.contrib.sitemaps", "sitemaps_plus"]],
    ids=["alone", "before", "after"],
)
def test_the_writer_answers_wherever_djangos_own_app_stands(serve, settings, apps):
    settings.INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sites", *apps]
    get = serve({"pages": listed(["/ä/"], lastmod=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))})

    # Django's template would write the date alone, and leave the address as it is.
    assert lastmods(get("sitemap-pages.xml").content) == ["2026-01-02T03:04:05+00:00"]
    assert locs(get("sitemap-pages.xml").content) == [f"{BASE}/%C3%A4/"]


def test_an_address_in_an_index_that_cannot_be_used_is_left_out(rf, caplog):
    response = classic.SitemapResponse(
        rf.get("/"),
        "sitemap_index.xml",
        {"sitemaps": [classic.SitemapIndexItem("http://a b/"), classic.SitemapIndexItem(f"{BASE}/a.xml")]},
    )

    assert locs(response.render().content) == [f"{BASE}/a.xml"]
    assert "http://a b/" in caplog.text
