"""Messages about the settings and the URLs of a project."""

import pytest
from django.contrib import sitemaps as contrib
from django.core.checks import Error
from django.core.files.storage import Storage
from django.db.models import F
from django.urls import include, path, re_path, set_script_prefix

from check_messages import messages, only_text, register_rows, texts
from sitemaps_plus import (
    GenericSitemap,
    ModelSitemap,
    NewsSitemap,
    Sitemap,
    UrlFor,
    register,
    registry,
    views,
)
from testapp.models import Article, Cell, Product, Seat, Token


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

    for model, key in ((Seat, ("hall", "name")), (Cell, ("row", "column")), (Token, "id")):
        attributes = {"queryset": model.objects.all(), "key": key, "location": lambda self, item: f"/{item}/"}
        register(f"{model.__name__.lower()}s", type(f"{model.__name__}s", (ModelSitemap,), attributes))
    register("pages", type("Pages", (Sitemap,), {"i18n": True, "alternates": True, "x_default": True}))
    register("contrib", type("Contrib", (contrib.Sitemap,), {"limit": 100}))
    register("generic", GenericSitemap({"queryset": Product.objects.all(), "date_field": "updated_at"}))

    assert texts() == []


def test_e001_an_unknown_setting_is_named_beside_the_known_ones(settings):
    settings.SITEMAPS_PLUS = {"ORIGNI": "https://example.com"}

    id, text = only_text()

    assert id == "E001"
    assert "'ORIGNI'" in text
    assert "ORIGIN, PUBLIC_URL, EXTENSION" in text


@pytest.mark.parametrize("given", [None, ["ORIGIN"], "https://example.com"], ids=str)
def test_e001_settings_are_a_dict(settings, given):
    settings.SITEMAPS_PLUS = given

    id, text = only_text()

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
        ("FORMATS", "xml", "a list with any of xml.gz, xml, txt.gz"),
        ("FORMATS", ["html"], "a list with any of xml.gz, xml, txt.gz"),
        ("FORMATS", None, "a list with any of xml.gz, xml, txt.gz"),
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
        ("CACHE", "sitemaps", "one of the aliases in CACHES: default"),
        ("CACHE", None, "one of the aliases in CACHES: default"),
        ("CACHE", ["default"], "one of the aliases in CACHES: default"),
        ("CACHE_CONTROL", None, '"" for none'),
        ("CACHE_CONTROL", "public\r\nX-Other: 1", '"" for none'),
    ],
)
def test_e002_a_setting_that_cannot_work_is_named_with_what_can(settings, name, value, remedy):
    settings.SITEMAPS_PLUS = {name: value}

    id, text = only_text()

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

    id, text = only_text()

    assert id == "E003"
    assert f'SITEMAPS_PLUS["{name}"] has' in text
    assert "It should look like" in text


@pytest.mark.parametrize("value", [{}, {"1": "https://example.com"}, {True: "https://example.com"}], ids=str)
def test_e003_sites_are_named_by_their_id(settings, value):
    settings.SITEMAPS_PLUS = {"ORIGIN": value}

    id, text = only_text()

    assert id == "E003"
    assert ("ids of sites" if value else "is empty; give one URL for each site id") in text
    assert '{1: "https://example.com"}' in text


def test_w004_a_host_that_only_requests_tell_is_a_warning(settings):
    register("pages", Sitemap)
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]

    id, text = only_text()

    assert id == "W004"
    assert "build_sitemaps cannot run" in text
    assert 'SITEMAPS_PLUS = {"ORIGIN": "https://example.com"} or install django.contrib.sites' in text


def test_w004_is_silent_where_nothing_is_registered(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]

    assert texts() == []


def test_w004_is_silent_where_the_settings_tell(settings):
    register("pages", Sitemap)
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}

    assert texts() == []


def test_e005_one_origin_for_several_sites_is_an_error(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    del settings.SITE_ID

    id, text = only_text()

    assert id == "E005"
    assert "without SITE_ID" in text
    assert "one for each site id" in text


def test_e005_is_silent_where_each_site_has_its_own(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}
    del settings.SITE_ID

    assert texts() == []


def test_e028_site_id_has_an_entry(settings):
    settings.SITE_ID = 3
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}

    id, text = only_text()

    assert id == "E028"
    assert "no entry for SITE_ID = 3, only for [1, 2]" in text
    assert 'Add 3: "https://example.com"' in text


def test_e028_no_two_entries_have_one_host(settings):
    settings.SITEMAPS_PLUS = {
        "ORIGIN": {1: "https://a.example", 2: "http://A.example", 3: "https://a.example:8443", 4: "https://a.example"}
    }

    first, second = texts()

    assert first[0] == second[0] == "E028"
    assert "The sites 1 and 2 have the same host, a.example" in first[1]
    assert "The sites 1 and 4" in second[1]
    assert "give each another host or port" in first[1]


def test_e028_is_silent_where_the_host_chooses(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    del settings.SITE_ID
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}

    assert texts() == []


@pytest.mark.parametrize(
    "origin",
    ["http://127.0.0.1:8000", "http://localhost", "http://shop.localhost", "http://[::1]:8000", "http://0.0.0.0"],
)
def test_w029_a_live_site_is_not_at_an_address_of_the_machine_itself(settings, origin):
    for given in (origin, {1: "https://example.com", 2: origin}):
        settings.SITEMAPS_PLUS = {"ORIGIN": given}

        (found,) = messages("W029", deploy=True)

        assert f'SITEMAPS_PLUS["ORIGIN"] has {origin!r}' in found.msg
        assert "https://example.com" in found.hint


def test_w029_only_a_check_for_deployment_asks(settings):
    settings.SITEMAPS_PLUS = {"ORIGIN": "http://127.0.0.1:8000"}
    assert messages("W029") == []

    settings.DEBUG = True
    assert messages("W029", deploy=True) == []


@pytest.mark.parametrize(
    "origin", [None, "https://example.com", "https://localhost.example", "http://10.0.0.1", "x", 5]
)
def test_w029_is_silent_where_others_can_reach_the_site(settings, origin):
    settings.SITEMAPS_PLUS = {"ORIGIN": origin}

    assert messages("W029", deploy=True) == []


@pytest.mark.parametrize("alias", ["nowhere", None, ["default"], ""], ids=str)
def test_e006_an_unknown_storage_is_named_beside_the_known_ones(settings, alias):
    settings.SITEMAPS_PLUS = {"STORAGE": alias}

    id, text = only_text()

    assert id == "E006"
    assert repr(alias) in text
    assert "default, sitemaps, staticfiles" in text


def test_e006_the_default_may_be_missing(settings):
    settings.STORAGES = {name: value for name, value in settings.STORAGES.items() if name != "sitemaps"}
    settings.SITEMAPS_PLUS = {"STORAGE": "sitemaps"}

    assert texts() == []


class Ftp(Storage):
    """A storage that cannot overwrite, and that a check must not ask for anything."""

    def exists(self, name):
        raise AssertionError(f"the server is asked for {name}")


def test_w023_a_storage_overwrites(settings):
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": f"{__name__}.Ftp"}}

    id, text = only_text()

    assert id == "W023"
    assert "Ftp, cannot overwrite" in text


@pytest.mark.parametrize("prefix", ["/", "/app/"])
def test_w015_the_index_lies_at_the_root(settings, prefix):
    set_script_prefix(prefix)
    try:
        assert texts() == []

        settings.ROOT_URLCONF = urls(path("seo/", include("sitemaps_plus.urls")))
        id, text = only_text()
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
        first, second = texts()
    finally:
        set_script_prefix("/")

    assert {first[0], second[0]} == {"W016"}
    assert f"{prefix}sitemap.xml is answered by old-index" in first[1]
    assert f"{prefix}sitemap-products.xml is answered by django.contrib.sitemaps.views.sitemap" in second[1]
    assert "put include('sitemaps_plus.urls') before it" in first[1]

    settings.ROOT_URLCONF = urls(path("", include("sitemaps_plus.urls")), *old)
    assert texts() == []


def test_w016_a_pattern_for_everything_hides_ours(settings):
    settings.ROOT_URLCONF = urls(
        re_path("^.*$", views.index, {"sitemaps": {}}), path("", include("sitemaps_plus.urls"))
    )

    assert only_text()[0] == "W016"


def test_w016_a_condition_around_ours_hides_them(settings):
    register("products", type("Products", (Sitemap,), {}))
    settings.ROOT_URLCONF = urls(re_path("^(?!sitemap-)", include("sitemaps_plus.urls")))

    id, text = only_text()

    assert id == "W016"
    assert "No URL pattern answers /sitemap-products.xml." in text


@pytest.fixture
def _in_the_default_storage(settings):
    settings.STORAGES = {name: value for name, value in settings.STORAGES.items() if name != "sitemaps"}


@pytest.mark.usefixtures("_in_the_default_storage")
def test_w026_a_forgotten_include_is_a_warning(settings):
    register("products", type("Products", (Sitemap,), {}))
    settings.ROOT_URLCONF = urls()

    id, text = only_text()

    assert id == "W026"
    assert "does not include sitemaps_plus.urls" in text
    assert 'Add path("", include("sitemaps_plus.urls"))' in text


@pytest.mark.usefixtures("_in_the_default_storage")
def test_w026_the_classic_views_are_enough_for_a_dict(settings):
    settings.ROOT_URLCONF = urls(path("sitemap.xml", views.sitemap, {"sitemaps": {"products": Sitemap}}))

    assert texts() == []


@pytest.mark.usefixtures("_in_the_default_storage")
def test_w026_the_classic_views_do_not_serve_what_is_registered(settings):
    register("products", type("Products", (Sitemap,), {}))
    settings.ROOT_URLCONF = urls(path("sitemap.xml", views.sitemap, {"sitemaps": {"products": Sitemap}}))

    assert only_text()[0] == "W026"


def test_w026_files_with_a_storage_of_their_own_need_no_urls(settings):
    register("products", type("Products", (Sitemap,), {}))
    settings.ROOT_URLCONF = urls()
    assert texts() == []

    del settings.ROOT_URLCONF
    assert texts() == []


@pytest.mark.usefixtures("_in_the_default_storage")
@pytest.mark.parametrize(
    "given", [{"STORAGE": "default"}, {"PUBLIC_URL": "https://cdn.example.com/sitemaps/"}], ids=str
)
def test_w026_files_that_the_settings_place_need_no_urls(settings, given):
    register("products", type("Products", (Sitemap,), {}))
    settings.ROOT_URLCONF = urls()
    settings.SITEMAPS_PLUS = given

    assert texts() == []


def test_w030_urls_without_a_class_are_a_warning():
    (found,) = messages("W030")

    assert "no Sitemap class is registered" in found.msg
    for part in ('@register("...")', "sitemaps.py", "INSTALLED_APPS"):
        assert part in found.hint


def test_w030_is_silent_where_a_class_is_registered_or_no_url_is_included(settings):
    register("pages", Sitemap)
    assert messages("W030") == []

    registry.unregister("pages")
    settings.ROOT_URLCONF = urls()
    assert messages("W030") == []


def test_no_check_runs_what_a_class_would_run():
    def forbidden(self):
        raise AssertionError("a check must not run this")

    names = ("limit", "fill", "key", "changed", "lastmod", "i18n", "languages", "alternates", "x_default", "priority")
    media = ("images", "videos", "news", "hreflang")
    members = {name: property(forbidden) for name in (*names, *media, "queryset", "location", "changefreq")}
    register("pages", type("Pages", (Sitemap,), {**members, "items": forbidden, "get_queryset": forbidden}))

    assert [text.partition(" ")[0] for _, text in texts()] == ["Pages.queryset", "Pages.get_queryset"]


def test_no_check_raises_whatever_the_settings_are(settings):
    register("pages", Sitemap)
    for given in ({name: object() for name in ("ORIGIN", "PUBLIC_URL", "EXTENSION", "STORAGE", "PROFILE")}, 7, None):
        settings.SITEMAPS_PLUS = given

        assert {message.level for message in messages()} == {Error("").level}


def test_every_message_of_a_section_names_its_class():
    register_rows(Seat, key=("name", "hall"), limit=0, alternates=True, lastmod="x", location=UrlFor("nowhere"))

    given = messages()

    assert {message.id[-4:] for message in given} == {"W009", "E007", "W011", "E012", "E014"}
    assert all(message.obj.__name__ == "Rows" and message.hint for message in given)
