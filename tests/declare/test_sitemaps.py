import logging
import weakref
from datetime import UTC, date, datetime, timedelta
from unittest import mock

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import CharField, F, Max, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

import typed_sitemaps as typed
from factories import ArticleFactory, NoteFactory, ProductFactory, SeatFactory
from samples import products_read
from sitemaps_plus import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap, UrlFor
from sitemaps_plus.declare.items import Pairs, latest_lastmod, lazy_items, newest_of_all
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.models import Build
from testapp.models import Article, Product, Seat

CODES = ["en", "de", "fr"]
PATH = Concat(Value("/"), "slug", Value("/"), output_field=CharField())


class Site:
    domain = "example.com"


class DatedProducts(ModelSitemap):
    queryset = Product.objects.all()
    location = PATH
    lastmod = F("updated_at")


def urls(made, page=1):
    return made.get_urls(page=page, site=Site(), protocol="https")


def locations(made, page=1):
    return [info["location"].removeprefix("https://example.com") for info in urls(made, page)]


def listed(items, **attributes):
    """Return a sitemap of a list of paths."""
    members = {"items": lambda self: items, "location": lambda self, item: item, **attributes}
    return type("Listed", (Sitemap,), members)()


# What get_urls() gives.


@pytest.mark.django_db
def test_expressions_have_their_values_in_get_urls():
    (product,) = ProductFactory.bulk(1, slug="chair", priority="0.50")
    made = type("Priced", (DatedProducts,), {"priority": F("priority"), "changefreq": "daily"})()

    (info,) = urls(made)

    assert info == {
        "item": product,
        "location": "https://example.com/chair/",
        "lastmod": product.updated_at,
        "changefreq": "daily",
        "priority": "0.50",
        "alternates": [],
    }


@pytest.mark.django_db
def test_expressions_have_their_values_in_every_language():
    ProductFactory.bulk(2)
    made = type("Translated", (DatedProducts,), {"i18n": True, "languages": CODES, "alternates": True})()

    found = urls(made)

    assert [info["location"] for info in found] == [info["location"] for info in found[::3] for _ in CODES]
    assert all(info["lastmod"] for info in found)
    assert [[link["lang_code"] for link in info["alternates"]] for info in found] == [CODES] * 6


@pytest.mark.django_db
def test_a_file_is_located_where_its_storage_serves_it(settings):
    settings.MEDIA_URL = "https://media.example/"
    ProductFactory(file="files/one.pdf")
    ProductFactory(file="")

    made = type("Files", (ModelSitemap,), {"queryset": Product.objects.all(), "location": F("file")})()

    assert locations(made) == ["https://media.example/files/one.pdf"]


@pytest.mark.django_db
def test_an_expression_may_name_an_annotation_of_the_queryset():
    ProductFactory(slug="chair")
    rows = Product.objects.annotate(path=PATH)

    made = type("Annotated", (ModelSitemap,), {"queryset": rows, "location": F("path"), "lastmod": F("updated_at")})()

    assert locations(made) == ["/chair/"]


@pytest.mark.django_db
def test_a_location_by_url_name_leaves_out_what_cannot_be_named(settings, caplog):
    settings.ROOT_URLCONF = "testapp.urls_hostile"
    for slug in ("chair", "..", "table"):
        ProductFactory(name=slug, slug=slug)
    made = type(
        "Named", (ModelSitemap,), {"queryset": Product.objects.all(), "location": UrlFor("str", value=F("name"))}
    )

    assert locations(made()) == ["/str/chair/", "/str/table/"]
    assert "location" in caplog.text


@pytest.mark.parametrize(
    ("given", "named"), [(None, "None"), (Product.objects, "a Manager"), (Product, "a ModelBase")], ids=str
)
def test_items_that_cannot_be_listed_name_class_method_and_remedy(given, named):
    made = listed(given)

    with pytest.raises(InvalidSitemap, match=rf"^Listed.items\(\) returned {named}. Return a QuerySet, as in Model"):
        urls(made)


def test_an_expression_without_rows_names_class_hook_and_remedy():
    made = listed(["/"], lastmod=F("updated_at"))

    with pytest.raises(
        InvalidSitemap, match=r"Listed: the expression F\(updated_at\) .* returned a list\. Return a Query"
    ):
        urls(made)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            lambda: Product.objects.all().union(Product.objects.all()),
            r"rows of union\(\). Write Product.objects.filter",
        ),
        (lambda: Product.objects.values("slug"), r"rows of values\(\) or values_list\(\). Leave that call out"),
    ],
    ids=["union", "values"],
)
@pytest.mark.parametrize("method", ["get_queryset", "items"])
def test_rows_of_a_method_that_cannot_have_more_columns_say_what_to_write_instead(rows, text, method):
    class Rows(ModelSitemap):
        location = F("slug")

    setattr(Rows, method, lambda self: rows())

    with pytest.raises(InvalidSitemap, match=rf"^Rows.location takes values from the database, .* {text}"):
        urls(Rows())


def test_one_item_that_raises_leaves_the_others():
    made = listed(["/a/", None, "/b/"], location=lambda self, item: item + "x")

    assert locations(made) == ["/a/x", "/b/x"]


def test_items_without_any_location_say_what_to_give_the_class(caplog):
    assert urls(type("Pages", (Sitemap,), {"items": lambda self: ["/about/"]})()) == []
    assert "Pages has no location, and str has no get_absolute_url(). Give Pages a method location" in caplog.text


def test_an_optional_part_that_raises_is_dropped_and_the_others_stay(caplog):
    made = listed(
        ["/a/"],
        lastmod=lambda self, item: 1 / 0,
        changefreq=lambda self, item: item.frequency,
        priority=lambda self, item: item + 1,
    )

    (info,) = urls(made)

    assert (info["lastmod"], info["changefreq"], info["priority"]) == (None, None, "")
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 3
    assert all("Listed" in record.getMessage() and "/a/" in record.getMessage() for record in caplog.records)


def test_priorities_are_text():
    assert urls(listed(["/"], priority=0))[0]["priority"] == "0"
    assert urls(listed(["/"], priority=0.5))[0]["priority"] == "0.5"
    assert urls(listed(["/"]))[0]["priority"] == ""


def test_without_a_site_the_error_is_djangos(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]

    with pytest.raises(ImproperlyConfigured, match="To use sitemaps, either enable the sites framework"):
        listed(["/"]).get_urls()


def test_the_site_and_protocol_are_as_in_django(rf):
    site = RequestSite(rf.get("/"))

    assert listed(["/"]).get_urls(site=site)[0]["location"] == "https://testserver/"
    assert listed(["/"], protocol="http").get_urls(site=site, protocol="https")[0]["location"] == "http://testserver/"


# Addresses.


def test_x_default_is_listed_with_the_languages():
    made = listed(
        ["news/en/"],
        i18n=True,
        languages=CODES,
        alternates=True,
        x_default=True,
        location=lambda self, item: f"/{translation.get_language()}/{item}",
    )

    found = urls(made)

    assert [info["location"] for info in found] == [f"https://example.com/{code}/news/en/" for code in CODES]
    assert all(info["alternates"] == found[0]["alternates"] for info in found)
    assert found[0]["alternates"][-1] == {"location": "https://example.com/news/en/", "lang_code": "x-default"}


def test_a_language_that_raises_is_no_alternate():
    def location(self, item):
        if translation.get_language() == "de":
            raise ValueError("not translated")
        return f"/{translation.get_language()}/"

    found = urls(listed(["x"], i18n=True, languages=CODES, alternates=True, location=location))

    assert [info["location"] for info in found] == ["https://example.com/en/", "https://example.com/fr/"]
    assert [link["lang_code"] for link in found[0]["alternates"]] == ["en", "fr"]


def test_each_address_is_made_once_per_language():
    asked = []
    made = listed(
        ["/a/", "/b/"],
        i18n=True,
        languages=CODES,
        alternates=True,
        x_default=True,
        location=lambda self, item: asked.append((item, translation.get_language())) or item,
    )

    urls(made)

    assert len(asked) == len(set(asked)) == 6


# Items, counted and sliced.


@given(
    wanted=st.lists(st.lists(st.sampled_from(CODES), unique=True), max_size=12),
    start=st.integers(0, 40),
    size=st.integers(0, 40),
)
def test_pairs_are_the_pairs_that_a_list_would_hold(wanted, start, size):
    same = listed(range(len(wanted)), i18n=True, languages=CODES)
    own = listed(range(len(wanted)), i18n=True, get_languages_for_item=lambda self, item: wanted[item])

    for made, languages in ((same, [CODES] * len(wanted)), (own, wanted)):
        pairs, plain = lazy_items(made), [(item, code) for item, codes in enumerate(languages) for code in codes]
        assert len(pairs) == len(plain)
        assert list(pairs) == plain
        assert pairs[start : start + size] == plain[start : start + size]
        assert pairs[start:] == plain[start:]
        assert list(made.paginator.page(1)) == plain[: made.limit]


def test_pairs_end():
    pairs = lazy_items(listed(["/"], i18n=True, languages=CODES))

    assert pairs[2] == ("/", "fr")
    with pytest.raises(IndexError):
        pairs[3]
    assert lazy_items(listed(["/"], i18n=True, languages=[]))[:10] == []


@pytest.mark.django_db
def test_a_page_in_many_languages_reads_only_its_own_rows():
    ProductFactory.bulk(40)
    made = type("Translated", (DatedProducts,), {"i18n": True, "languages": CODES, "limit": 6})()

    with (
        CaptureQueriesContext(connection) as queries,
        products_read() as read,
    ):
        found = made.paginator.page(3)
        pairs = list(found)

    assert len(queries) == 2
    assert len(read) == 2
    assert [code for _, code in pairs] == CODES * 2


@pytest.mark.django_db
def test_languages_of_each_item_are_counted_without_keeping_the_items():
    ProductFactory.bulk(30)
    kept, most = weakref.WeakSet(), []

    class Own(DatedProducts):
        i18n = True

        def get_languages_for_item(self, item):
            kept.add(item)
            most.append(len(kept))
            return ["en"] if item.pk % 2 else CODES

    pairs = lazy_items(Own())

    assert isinstance(pairs, Pairs)
    assert len(pairs) == 15 * 1 + 15 * 3
    assert len(most) == 30
    assert max(most) <= 2


def test_an_item_whose_languages_raise_has_none(caplog):
    made = listed(["/a/", "/b/"], i18n=True, get_languages_for_item=lambda self, item: {"/b/": ["en"]}[item])

    assert locations(made) == ["/b/"]
    assert "row '/a/' was left out because of its get_languages_for_item" in caplog.text


@pytest.mark.django_db
@pytest.mark.filterwarnings("error::django.core.paginator.UnorderedObjectListWarning")
def test_rows_without_an_order_are_sliced_by_key():
    ProductFactory.bulk(5)

    made = type("Small", (DatedProducts,), {"limit": 2})()

    assert made.paginator.object_list.query.order_by == ("pk",)
    assert len({path for page in (1, 2, 3) for path in locations(made, page)}) == 5


@pytest.mark.django_db
def test_rows_keep_an_order_that_they_have():
    SeatFactory.bulk(3)
    by_meta = type("Seats", (ModelSitemap,), {"queryset": Seat.objects.all()})()
    by_hand = type("Seats", (ModelSitemap,), {"queryset": Seat.objects.order_by("name")})()

    assert lazy_items(by_meta).query.order_by == ()
    assert lazy_items(by_hand).query.order_by == ("name",)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "items",
    [
        lambda: Product.objects.all()[:2],
        lambda: Product.objects.filter(pk=0).union(Product.objects.all()),
        lambda: Product.objects.raw("SELECT * FROM testapp_product"),
        lambda: Product.objects.values("slug"),
        lambda: iter(Product.objects.all()),
        lambda: {1, 2},
    ],
    ids=["slice", "union", "raw", "values", "iterator", "set"],
)
def test_items_of_any_kind_are_counted_and_sliced(items):
    ProductFactory.bulk(2)
    made = type("Any", (Sitemap,), {"items": lambda self: items()})()

    assert len(list(lazy_items(made)[:5])) == 2


# The newest lastmod.


def newest(made):
    with CaptureQueriesContext(connection) as queries:
        found = made.get_latest_lastmod() if isinstance(made, Sitemap) else latest_lastmod(made)
    return found, len(queries)


def counted(base, **attributes):
    """Return a sitemap of all products whose lastmod method counts its calls, and the calls."""
    calls = []

    def lastmod(self, item):
        calls.append(item)
        return item.updated_at

    return type(
        "Counted", (base,), {"items": lambda self: Product.objects.all(), "lastmod": lastmod, **attributes}
    )(), calls


@pytest.mark.django_db
@pytest.mark.parametrize("base", [contrib.Sitemap, Sitemap, ModelSitemap], ids=["contrib", "ours", "model"])
def test_the_newest_date_costs_one_query_and_no_row(base):
    products = ProductFactory.bulk(20)
    made, calls = counted(base)

    with products_read() as read:
        assert newest(made) == (max(product.updated_at for product in products), 1)

    assert read == []
    # Twice with something in place of a row, to see what it does.
    assert len(calls) == 2
    assert not {type(item) for item in calls} & {Product}


@pytest.mark.django_db
def test_the_newest_date_of_an_expression_costs_one_query():
    products = ProductFactory.bulk(20)
    for product in products:
        NoteFactory(product=product)

    assert newest(DatedProducts()) == (products[-1].updated_at, 1)
    aggregate = type("Notes", (DatedProducts,), {"lastmod": Max("notes__product__updated_at")})()
    assert newest(aggregate) == (products[-1].updated_at, 1)


@pytest.mark.django_db
@pytest.mark.parametrize("base", [contrib.Sitemap, Sitemap], ids=["contrib", "ours"])
def test_one_row_without_a_date_could_be_the_newest(base):
    ProductFactory.bulk(3)
    ProductFactory(updated_at=None)

    assert newest(counted(base)[0]) == (None, 1)
    assert newest(DatedProducts()) == (None, 1)


@pytest.mark.django_db
def test_no_rows_have_no_newest_date():
    assert newest(DatedProducts()) == (None, 1)
    assert newest(counted(Sitemap)[0]) == (None, 1)


@pytest.mark.django_db
def test_a_date_that_only_python_knows_is_not_looked_for():
    ProductFactory.bulk(3)
    made = type("Python", (DatedProducts,), {"lastmod": lambda self, item: item.updated_at.date()})()

    assert newest(made) == (None, 0)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "rows",
    [
        lambda: Product.objects.order_by("slug")[:2],
        lambda: Product.objects.order_by("-updated_at"),
        Product.objects.distinct,
    ],
    ids=["slice", "order", "distinct"],
)
def test_the_newest_date_of_a_part_is_that_of_the_part(rows):
    products = ProductFactory.bulk(5)
    shown = list(rows())

    made, _ = counted(Sitemap, items=lambda self: rows())

    assert newest(made) == (max(product.updated_at for product in shown), 1)
    assert len(products) == 5


@pytest.mark.django_db
def test_a_union_has_no_newest_date():
    made, _ = counted(Sitemap, items=lambda self: Product.objects.filter(pk=1).union(Product.objects.filter(pk=2)))

    assert newest(made) == (None, 0)


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        ([], None),
        ([date(2026, 1, 2), date(2026, 1, 3)], date(2026, 1, 3)),
        ([date(2026, 1, 2), datetime(2026, 1, 2, 1, tzinfo=UTC)], datetime(2026, 1, 2, 1, tzinfo=UTC)),
        ([datetime(2026, 1, 2, 3), datetime(2026, 1, 2, 1, tzinfo=UTC)], datetime(2026, 1, 2, 3)),
        ([date(2026, 1, 2), None], None),
    ],
    ids=["none", "dates", "mixed", "naive", "missing"],
)
def test_dates_and_datetimes_may_be_mixed(dates, expected):
    assert newest_of_all(dates) == expected
    assert listed(dates, lastmod=lambda self, item: item).get_latest_lastmod() == expected


def test_an_item_whose_date_raises_leaves_the_index_without(caplog):
    assert listed(["/"], lastmod=lambda self, item: item.changed).get_latest_lastmod() is None
    assert listed(["x"], lastmod=lambda self, item: item).get_latest_lastmod() is None
    assert "its lastmod in the index was dropped: AttributeError(" in caplog.text


def test_a_constant_date_is_the_newest():
    assert listed(["/"], lastmod=date(2026, 1, 1)).get_latest_lastmod() == date(2026, 1, 1)
    assert listed(["/"]).get_latest_lastmod() is None


# Generic and news.


@pytest.mark.django_db
@pytest.mark.parametrize("base", [GenericSitemap, contrib.GenericSitemap], ids=["ours", "contrib"])
def test_a_generic_sitemap_is_made_of_a_queryset_and_a_date(base):
    products = ProductFactory.bulk(2)
    made = base({"queryset": Product.objects.order_by("pk"), "date_field": "updated_at"}, 0.6, "daily", "http")

    first = urls(made)[0]

    assert first["location"] == "http://example.com/products/" + products[0].slug + "/"
    assert (first["lastmod"], first["priority"], first["changefreq"]) == (products[0].updated_at, "0.6", "daily")
    assert made.get_latest_lastmod() == products[-1].updated_at


@pytest.mark.django_db
def test_a_generic_sitemap_needs_no_date():
    ProductFactory()
    made = GenericSitemap({"queryset": Product.objects.all()})

    assert urls(made)[0]["lastmod"] is None
    assert made.get_latest_lastmod() is None


class News(NewsSitemap):
    queryset = Article.objects.all()
    date_field = "published_at"


NOW = datetime(2026, 10, 3, 12, tzinfo=UTC)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("published", "is_listed"),
    [
        ("2026-10-01T12:00:00+00:00", True),  # N01
        ("2026-10-01T11:59:59+00:00", False),  # N02
        ("2026-10-03T12:00:00+00:00", True),
        ("2026-10-03T12:00:01+00:00", False),
        ("2026-10-04T12:00:00+00:00", False),  # N09
    ],
)
def test_news_are_the_articles_of_two_days(published, is_listed):
    ArticleFactory(published_at=datetime.fromisoformat(published))

    with mock.patch.object(timezone, "now", return_value=NOW):
        assert News().items().exists() is is_listed


@pytest.mark.django_db
@pytest.mark.parametrize("use_tz", [True, False])
@pytest.mark.parametrize(
    ("published", "is_listed"),
    [("2026-09-30", False), ("2026-10-01", True), ("2026-10-03", True), ("2026-10-04", False)],
)
def test_news_may_be_dated_by_the_day(settings, use_tz, published, is_listed):
    settings.USE_TZ = use_tz
    now = NOW if use_tz else NOW.replace(tzinfo=None)
    ProductFactory(published_on=date.fromisoformat(published), updated_at=None)
    made = type("Daily", (NewsSitemap,), {"queryset": Product.objects.all(), "date_field": "published_on"})()

    with mock.patch.object(timezone, "now", return_value=now):
        assert made.items().exists() is is_listed


@pytest.mark.django_db
def test_a_day_of_news_is_the_day_where_the_site_is():
    ProductFactory(published_on=date(2026, 10, 4))
    made = type("Daily", (NewsSitemap,), {"queryset": Product.objects.all(), "date_field": "published_on"})()

    # In Berlin the next day has begun.
    with mock.patch.object(timezone, "now", return_value=datetime(2026, 10, 3, 22, 30, tzinfo=UTC)):
        assert made.items().exists()


@pytest.mark.django_db
def test_news_are_newest_first_and_1000_a_page():
    ArticleFactory.bulk(1001, published_at=NOW)
    newest_article = ArticleFactory(published_at=NOW + timedelta(minutes=1))

    with mock.patch.object(timezone, "now", return_value=NOW + timedelta(hours=1)):
        paginator = News().paginator
        first = list(paginator.page(1))

    assert (paginator.num_pages, len(first)) == (2, 1000)
    assert first[0] == newest_article
    assert [article.pk for article in first[1:]] == sorted((article.pk for article in first[1:]), reverse=True)


@pytest.mark.django_db
def test_the_window_of_news_can_be_another():
    ArticleFactory(published_at=NOW - timedelta(days=6))

    with mock.patch.object(timezone, "now", return_value=NOW):
        assert type("Weekly", (News,), {"window": timedelta(days=7)})().items().exists()
        assert not News().items().exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "sitemap",
    [typed.Builds, typed.FilteredBuilds, typed.NewBuilds, typed.Pages, typed.UntypedBuilds, lambda: typed.GENERIC],
    ids=["model", "get_queryset", "news", "items", "without a type", "generic"],
)
def test_a_class_may_have_the_type_of_its_items(sitemap, monkeypatch):
    monkeypatch.setattr(Build, "get_absolute_url", lambda build: f"/builds/{build.site}/", raising=False)
    now = timezone.now()
    Build.objects.create(site=7, holder="here", started_at=now, expires_at=now)

    assert locations(sitemap()) in (["/builds/7/"], ["/about/"])


def test_the_type_of_items_does_not_change_a_class():
    assert ModelSitemap[Product].queryset is None
    assert issubclass(typed.Builds, ModelSitemap)
    assert typed.Builds.__mro__[1:4] == (ModelSitemap, Sitemap, contrib.Sitemap)
