import datetime

import pytest
from django.contrib import sitemaps as contrib
from django.core.checks import Error, run_checks
from django.core.files.storage import Storage
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import include, path, re_path, set_script_prefix
from django.utils import timezone

from sitemaps_plus import (
    Alternate,
    GenericSitemap,
    Image,
    ModelSitemap,
    NewsSitemap,
    Related,
    Sitemap,
    UrlFor,
    Video,
    register,
    registry,
    views,
)
from sitemaps_plus.values import Player
from testapp.models import Article, Cell, Note, Product, Seat, Token


def found():
    """Return what the checks of this package say, by id."""
    return [
        (message.id.partition(".")[2], message)
        for message in run_checks(databases=[])
        if "sitemaps_plus." in message.id
    ]


def said():
    """Return the id, text and hint of each message, the text and hint as one."""
    return [(id, f"{message.msg} {message.hint}") for id, message in found()]


def the_one():
    """Return id and text of the only message."""
    (only,) = said()
    return only


def rows(model=Product, base=ModelSitemap, **attributes):
    """Register a section of all rows of a model."""
    register("rows", type("Rows", (base,), {"queryset": model.objects.all(), **attributes}))


def urls(*patterns):
    """Return a URLconf."""
    return type("URLconf", (), {"urlpatterns": list(patterns)})


def test_a_project_that_is_right_raises_no_alarm(settings):
    settings.SITEMAPS_PLUS = {
        "ORIGIN": "https://example.com",
        "PUBLIC_URL": "https://cdn.example.com/sitemaps",
        "EXTENSION": "xml.gz",
        "CHECK_EVERY": 0,
        "MAX_AGE": 0.5,
        "CACHE": "default",
        "CACHE_CONTROL": "",
        "STORAGE": "default",
        "STAGING": "staging",
        "FORMATS": ("xml", "txt.gz"),
        "GRACE_PERIOD": 0,
        "MAX_SHRINK": 1,
        "PROFILE": "yandex",
        "CRAWLER_VISITS": False,
        "VISIT_HISTORY": 365,
        "STRICT": True,
        "HREFLANG": {"pt-br": "pt", "dsb": None},
    }
    settings.LANGUAGES = [("en", "English"), ("pt-br", "Portuguese"), ("dsb", "Lower Sorbian")]

    @register("products")
    class Products(ModelSitemap):
        queryset = Product.objects.filter(is_active=True)
        location = UrlFor("sitemaps_plus:section", label=F("slug"), extension="xml")
        lastmod = F("updated_at")
        changefreq = "weekly"

    @register("news")
    class News(NewsSitemap):
        queryset = Article.objects.all()
        date_field = "published_at"

    register("seats", type("Seats", (ModelSitemap,), {"queryset": Seat.objects.all(), "key": ("hall", "name")}))
    register("cells", type("Cells", (ModelSitemap,), {"queryset": Cell.objects.all(), "key": ("row", "column")}))
    register("tokens", type("Tokens", (ModelSitemap,), {"queryset": Token.objects.all(), "key": "id"}))
    register("pages", type("Pages", (Sitemap,), {"i18n": True, "alternates": True, "x_default": True}))
    register("contrib", type("Contrib", (contrib.Sitemap,), {"limit": 100}))
    register("generic", GenericSitemap({"queryset": Product.objects.all(), "date_field": "updated_at"}))

    assert said() == []


def test_e001_an_unknown_setting_is_named_beside_the_known_ones(settings):
    settings.SITEMAPS_PLUS = {"ORIGNI": "https://example.com"}

    id, text = the_one()

    assert id == "E001"
    assert "'ORIGNI'" in text
    assert "ORIGIN, PUBLIC_URL, EXTENSION" in text


@pytest.mark.parametrize("given", [None, ["ORIGIN"], "https://example.com"], ids=str)
def test_e001_settings_are_a_dict(settings, given):
    settings.SITEMAPS_PLUS = given

    id, text = the_one()

    assert id == "E001"
    assert "not a dict" in text
    assert 'SITEMAPS_PLUS = {"ORIGIN"' in text


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("EXTENSION", "gz", '"xml" or "xml.gz"'),
        ("EXTENSION", None, '"xml" or "xml.gz"'),
        ("EXTENSION", ["xml"], '"xml" or "xml.gz"'),
        ("PROFILE", "google", "default, yandex, baidu, naver"),
        ("PROFILE", {}, "default, yandex, baidu, naver"),
        ("CHECK_EVERY", -1, "for example 60"),
        ("CHECK_EVERY", "60", "for example 60"),
        ("CHECK_EVERY", True, "for example 60"),
        ("CHECK_EVERY", None, "for example 60"),
        ("CHECK_EVERY", float("nan"), "for example 60"),
        ("MAX_AGE", -1, "for example 86400"),
        ("MAX_AGE", None, "for example 86400"),
        ("STAGING", 5, "an absolute path"),
        ("FORMATS", "xml", "a list of some of xml.gz, xml, txt.gz"),
        ("FORMATS", ["html"], "a list of some of xml.gz, xml, txt.gz"),
        ("FORMATS", None, "a list of some of xml.gz, xml, txt.gz"),
        ("GRACE_PERIOD", -1, "for example 86400"),
        ("MAX_SHRINK", 50, "a number from 0 to 1"),
        ("MAX_SHRINK", True, "a number from 0 to 1"),
        ("MAX_SHRINK", "0.5", "a number from 0 to 1"),
        ("CRAWLER_VISITS", "no", "True or False"),
        ("VISIT_HISTORY", 0, "from 1 to 3650"),
        ("VISIT_HISTORY", True, "from 1 to 3650"),
        ("VISIT_HISTORY", 7.5, "from 1 to 3650"),
        ("VISIT_HISTORY", 1_000_000_000, "from 1 to 3650"),
        ("VISIT_HISTORY", None, "from 1 to 3650"),
        ("CACHE", "sitemaps", "an alias of CACHES: default"),
        ("CACHE", None, "an alias of CACHES: default"),
        ("CACHE", ["default"], "an alias of CACHES: default"),
        ("CACHE_CONTROL", None, '"" for none'),
        ("CACHE_CONTROL", "public\r\nX-Other: 1", '"" for none'),
    ],
)
def test_e002_a_setting_that_cannot_work_is_named_with_what_can(settings, name, value, remedy):
    settings.SITEMAPS_PLUS = {name: value}

    id, text = the_one()

    assert id == "E002"
    assert f'SITEMAPS_PLUS["{name}"] cannot be {value!r}' in text
    assert remedy in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ORIGIN", "example.com"),
        ("ORIGIN", "https://example.com/shop"),
        ("ORIGIN", "ftp://example.com"),
        ("ORIGIN", 5),
        ("ORIGIN", {1: "example.com"}),
        ("ORIGIN", {1: None}),
        ("PUBLIC_URL", "/sitemaps/"),
        ("PUBLIC_URL", "cdn.example.com"),
        ("PUBLIC_URL", "https://cdn.example.com/?x=1"),
        ("PUBLIC_URL", ["https://cdn.example.com/"]),
        ("PUBLIC_URL", {1: "cdn"}),
    ],
    ids=str,
)
def test_e003_an_address_that_cannot_begin_urls_is_an_error(settings, name, value):
    settings.SITEMAPS_PLUS = {name: value}

    id, text = the_one()

    assert id == "E003"
    assert f'SITEMAPS_PLUS["{name}"] has' in text
    assert "It should look like" in text


@pytest.mark.parametrize("value", [{}, {"1": "https://example.com"}, {True: "https://example.com"}], ids=str)
def test_e003_sites_are_named_by_their_id(settings, value):
    settings.SITEMAPS_PLUS = {"ORIGIN": value}

    id, text = the_one()

    assert id == "E003"
    assert "ids of sites" in text
    assert '{1: "https://example.com"}' in text


def test_w004_a_host_that_only_requests_tell_is_a_warning(settings):
    register("pages", Sitemap)
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]

    id, text = the_one()

    assert id == "W004"
    assert "build_sitemaps cannot run" in text
    assert 'SITEMAPS_PLUS = {"ORIGIN": "https://example.com"} or install django.contrib.sites' in text


def test_w004_is_silent_where_nothing_is_registered(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]

    assert said() == []


def test_w004_is_silent_where_the_settings_tell(settings):
    register("pages", Sitemap)
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}

    assert said() == []


def test_e005_one_origin_for_several_sites_is_an_error(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    del settings.SITE_ID

    id, text = the_one()

    assert id == "E005"
    assert "without SITE_ID" in text
    assert "one for each site id" in text


def test_e005_is_silent_where_each_site_has_its_own(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}
    del settings.SITE_ID

    assert said() == []


@pytest.mark.parametrize("alias", ["nowhere", None, ["default"], ""], ids=str)
def test_e006_an_unknown_storage_is_named_beside_the_known_ones(settings, alias):
    settings.SITEMAPS_PLUS = {"STORAGE": alias}

    id, text = the_one()

    assert id == "E006"
    assert repr(alias) in text
    assert "default, sitemaps, staticfiles" in text


def test_e006_the_default_may_be_missing(settings):
    settings.STORAGES = {name: value for name, value in settings.STORAGES.items() if name != "sitemaps"}
    settings.SITEMAPS_PLUS = {"STORAGE": "sitemaps"}

    assert said() == []


class Ftp(Storage):
    """A storage that cannot overwrite, and that a check must not ask for anything."""

    def exists(self, name):
        raise AssertionError(f"the server is asked for {name}")


def test_w023_a_storage_overwrites(settings):
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": f"{__name__}.Ftp"}}

    id, text = the_one()

    assert id == "W023"
    assert "Ftp, cannot overwrite" in text


@pytest.mark.parametrize("limit", [0, -1, 50_001, "100", 1000.0, True, None], ids=str)
@pytest.mark.parametrize("base", [ModelSitemap, contrib.GenericSitemap], ids=["ours", "contrib"])
def test_e007_a_limit_is_between_1_and_50000(limit, base):
    made = type("Rows", (base,), {"queryset": Product.objects.all(), "limit": limit})
    register("rows", made if base is ModelSitemap else made({"queryset": Product.objects.all()}))

    id, text = the_one()

    assert id == "E007"
    assert f"Rows.limit is {limit!r}" in text
    assert "from 1 to 50,000" in text


@pytest.mark.parametrize("limit", [1, 50_000])
def test_e007_both_ends_are_allowed(limit):
    rows(limit=limit)

    assert said() == []


def test_e007_all_languages_of_a_row_fit_a_page(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    rows(i18n=True, limit=2)

    id, text = the_one()

    assert id == "E007"
    assert "each row has 3 URLs" in text
    assert "Set limit to 3 or more, or use fewer languages" in text

    registry.unregister("rows")
    rows(i18n=True, limit=2, languages=["en", "de"])
    assert said() == []


@pytest.mark.parametrize("fill", [0, -0.1, 1.1, "0.9", None, True], ids=str)
def test_e007_a_page_is_filled_to_a_share(fill):
    rows(fill=fill)

    id, text = the_one()

    assert id == "E007"
    assert f"Rows.fill is {fill!r}" in text
    assert "0.9 is right for most" in text


@pytest.mark.parametrize("fill", [0.01, 0.9, 1, 1.0])
def test_e007_shares_up_to_the_whole_are_allowed(fill):
    rows(fill=fill)

    assert said() == []


@pytest.mark.parametrize(
    ("model", "key", "problem", "remedy"),
    [
        (Product, "nothing", "has no field of this name", "Name a column of Product"),
        (Product, "tags", "is not a column", "Name a column of Product"),
        (Product, 5, "Rows", "Name a column of Product"),
        (Product, "name", "'name' is not unique", "Add a UniqueConstraint to Product"),
        (Seat, ("hall",), "('hall',) is not unique", "Add a UniqueConstraint to Seat"),
        (Cell, "row", "'row' is not unique", "Add a UniqueConstraint to Cell"),
        (Product, ("updated_at", "id"), "updated_at may be null", "Choose a column that is never null"),
    ],
    ids=str,
)
def test_e008_a_key_is_one_row_and_never_null(model, key, problem, remedy):
    rows(model, key=key)

    id, text = the_one()

    assert id == "E008"
    assert problem in text
    assert remedy in text


@pytest.mark.parametrize(
    ("model", "key"),
    [(Product, "pk"), (Product, "id"), (Seat, ("hall", "name")), (Cell, "pk"), (Cell, ("row", "column"))],
    ids=str,
)
def test_e008_unique_columns_are_keys(model, key):
    rows(model, key=key)

    assert said() == []


def test_w009_a_key_begins_with_an_indexed_column():
    rows(Seat, key=("name", "hall"))

    id, text = the_one()

    assert id == "W009"
    assert "no index begins with name" in text
    assert "Add models.Index(fields=['name', 'hall']) to Seat" in text


@pytest.mark.parametrize(
    "hooks",
    [
        {"lastmod": F("updated_at")},
        {"changed": F("updated_at")},
        {"changed": F("updated_at"), "lastmod": lambda self, item: None},
    ],
    ids=["lastmod", "changed", "both"],
)
def test_w010_the_column_that_changes_has_an_index(hooks):
    rows(Token, **hooks)

    id, text = the_one()

    assert id == "W010"
    assert "Token.updated_at, which has no index" in text
    assert "db_index=True" in text


def test_w010_a_news_sitemap_looks_for_the_newest():
    rows(base=NewsSitemap, date_field="published_on")

    id, text = the_one()

    assert id == "W010"
    assert "Product.published_on" in text


@pytest.mark.parametrize(
    "hooks",
    [
        {"lastmod": F("updated_at")},
        {"changed": F("id")},
        {"changed": F("updated_at"), "lastmod": F("published_on")},
        {"lastmod": Now()},
        {"lastmod": datetime.date(2026, 1, 1)},
        {"lastmod": lambda self, item: item.published_on},
    ],
    ids=["indexed", "key", "changed", "function", "constant", "method"],
)
def test_w010_is_silent_where_there_is_an_index_or_no_column(hooks):
    rows(**hooks)

    assert said() == []


def test_w010_leaves_columns_of_other_tables_alone():
    rows(Note, lastmod=F("product__published_on"))

    assert said() == []


@pytest.mark.parametrize("name", ["alternates", "x_default"])
@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_w011_alternates_need_i18n(base, name):
    register("pages", type("Pages", (base,), {name: True}))

    id, text = the_one()

    assert id == "W011"
    assert f"Pages.{name} has no effect" in text
    assert "Set i18n = True on Pages" in text


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_e012_a_date_hook_is_not_the_name_of_a_column(base):
    register("pages", type("Pages", (base,), {"lastmod": "updated_at"}))

    id, text = the_one()

    assert id == "E012"
    assert "Pages.lastmod is the text 'updated_at'" in text
    assert "lastmod = F('updated_at')" in text


@pytest.mark.parametrize("text", ["2026-01-01", "2026-01-01T12:00:00Z"])
def test_e012_is_silent_where_the_text_is_a_date(text):
    register("pages", type("Pages", (Sitemap,), {"lastmod": text}))

    assert said() == []


@pytest.mark.parametrize(
    "condition",
    [
        Q(updated_at__lte=timezone.now()),
        Q(updated_at__gte=timezone.now() - datetime.timedelta(days=30)),
        ~Q(updated_at__gt=timezone.now()),
        Q(is_active=True) | Q(name="x", updated_at__range=(timezone.now(), timezone.now())),
        Q(published_on__lte=datetime.date.today()),
    ],
    ids=["now", "days ago", "not", "nested", "today"],
)
def test_w013_a_queryset_does_not_hold_the_start_of_the_process(condition):
    register("rows", type("Rows", (ModelSitemap,), {"queryset": Product.objects.filter(condition)}))
    register("generic", contrib.GenericSitemap({"queryset": Product.objects.filter(condition)}))

    messages = said()

    assert {id for id, _ in messages} == {"W013"}
    assert {text.partition(".")[0] for _, text in messages} == {"Rows", "GenericSitemap"}
    assert all("Filter in get_queryset()" in text and "Now()" in text for _, text in messages)


@pytest.mark.parametrize(
    "condition",
    [
        Q(updated_at__lte=Now()),
        Q(updated_at__gte=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)),
        Q(published_on__gte=datetime.date(2020, 1, 1)),
        Q(updated_at__lte=F("updated_at")),
        Q(updated_at__isnull=False),
        Q(name__in=["a", "b"]),
    ],
    ids=["now in the database", "moment", "date", "column", "null", "list"],
)
def test_w013_is_silent_where_the_moment_was_written_by_hand(condition):
    rows(queryset=Product.objects.filter(condition))

    assert said() == []


@pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime")
def test_w013_sees_naive_datetimes_too(settings):
    settings.USE_TZ = False
    rows(queryset=Product.objects.filter(updated_at__lte=datetime.datetime.now()))

    assert the_one()[0] == "W013"


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        (UrlFor("nowhere", slug=F("slug")), "no URL pattern has this name"),
        (UrlFor("shop:product", slug=F("slug")), "'shop' is not a registered namespace"),
        (UrlFor("sitemaps_plus:section", slug=F("slug")), "URL patterns of this name take"),
    ],
    ids=["name", "namespace", "arguments"],
)
def test_e014_urls_that_do_not_exist_are_errors(location, problem):
    rows(location=location)

    id, text = the_one()

    assert id == "E014"
    assert problem in text
    assert "Correct" in text


@pytest.mark.parametrize(
    ("hooks", "where"),
    [
        ({"hreflang": [Alternate(hreflang="de", href=UrlFor("nowhere"))]}, "Rows.hreflang"),
        ({"images": Image(loc=UrlFor("nowhere"))}, "Rows.images"),
        (
            {
                "videos": Video(
                    thumbnail_loc="/t.jpg", title="T", description="D", player_loc=Player(loc=UrlFor("nowhere"))
                )
            },
            "Rows.videos",
        ),
        ({"images": Related("notes", Image(loc=UrlFor("nowhere", text=F("text"))))}, "Rows.images"),
    ],
    ids=["hreflang", "images", "videos", "related"],
)
def test_e014_urls_within_values_exist_too(hooks, where):
    rows(**hooks)

    id, text = the_one()

    assert id == "E014"
    assert text.startswith(f"{where}: UrlFor('nowhere'")
    assert "no URL pattern has this name" in text


def test_e014_is_silent_where_values_name_urls_that_exist():
    rows(
        images=[Image(loc=UrlFor("sitemaps_plus:index")), Image(loc=F("file"))],
        videos=lambda self, item: [],
    )

    assert said() == []


@pytest.mark.parametrize("prefix", ["/", "/app/"])
def test_w015_the_index_lies_at_the_root(settings, prefix):
    set_script_prefix(prefix)
    try:
        assert said() == []

        settings.ROOT_URLCONF = urls(path("seo/", include("sitemaps_plus.urls")))
        id, text = the_one()
    finally:
        set_script_prefix("/")

    assert id == "W015"
    assert f"{prefix}seo/sitemap.xml" in text
    assert 'path("", include("sitemaps_plus.urls"))' in text


@pytest.mark.parametrize("prefix", ["/", "/app/"])
def test_w016_an_old_pattern_hides_ours(settings, prefix):
    register("products", type("Products", (Sitemap,), {}))
    old = [
        path("sitemap.xml", views.index, {"sitemaps": {}}, name="old-index"),
        path("sitemap-<section>.xml", views.sitemap, {"sitemaps": {}}, name="django.contrib.sitemaps.views.sitemap"),
    ]
    settings.ROOT_URLCONF = urls(*old, path("", include("sitemaps_plus.urls")))
    set_script_prefix(prefix)
    try:
        first, second = said()
    finally:
        set_script_prefix("/")

    assert {first[0], second[0]} == {"W016"}
    assert f"{prefix}sitemap.xml is answered by old-index" in first[1]
    assert f"{prefix}sitemap-products.xml is answered by django.contrib.sitemaps.views.sitemap" in second[1]
    assert "put include('sitemaps_plus.urls') before it" in first[1]

    settings.ROOT_URLCONF = urls(path("", include("sitemaps_plus.urls")), *old)
    assert said() == []


def test_w016_a_pattern_for_everything_hides_ours(settings):
    settings.ROOT_URLCONF = urls(
        re_path("^.*$", views.index, {"sitemaps": {}}), path("", include("sitemaps_plus.urls"))
    )

    assert the_one()[0] == "W016"


def test_w016_a_condition_around_ours_hides_them(settings):
    register("products", type("Products", (Sitemap,), {}))
    settings.ROOT_URLCONF = urls(re_path("^(?!sitemap-)", include("sitemaps_plus.urls")))

    id, text = the_one()

    assert id == "W016"
    assert "/sitemap-products.xml is answered by nothing" in text


def test_urls_are_not_asked_for_where_ours_are_not_included(settings):
    register("products", type("Products", (Sitemap,), {}))
    settings.ROOT_URLCONF = urls()
    assert said() == []

    del settings.ROOT_URLCONF
    assert said() == []


def test_no_check_runs_what_a_class_would_run():
    def forbidden(self):
        raise AssertionError("a check must not run this")

    names = ("limit", "fill", "key", "changed", "lastmod", "i18n", "languages", "alternates", "x_default", "priority")
    media = ("images", "videos", "news", "hreflang")
    members = {name: property(forbidden) for name in (*names, *media, "queryset", "location", "changefreq")}
    register("pages", type("Pages", (Sitemap,), {**members, "items": forbidden, "get_queryset": forbidden}))

    assert said() == []


def test_no_check_raises_whatever_the_settings_are(settings):
    register("pages", Sitemap)
    for given in ({name: object() for name in ("ORIGIN", "PUBLIC_URL", "EXTENSION", "STORAGE", "PROFILE")}, 7, None):
        settings.SITEMAPS_PLUS = given

        assert {message.level for _, message in found()} == {Error("").level}


def test_every_message_of_a_section_names_its_class():
    rows(Seat, key=("name", "hall"), limit=0, alternates=True, lastmod="x", location=UrlFor("nowhere"))

    messages = [message for _, message in found()]

    assert {message.id[-4:] for message in messages} == {"W009", "E007", "W011", "E012", "E014"}
    assert all(message.obj.__name__ == "Rows" and message.hint for message in messages)
