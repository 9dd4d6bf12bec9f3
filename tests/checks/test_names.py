"""Messages about attributes that are almost hooks or options."""

from functools import cached_property

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import F, Q
from django.utils.functional import SimpleLazyObject

from check_messages import only_text, parts, register_rows, texts
from sitemaps_plus import (
    Alternate,
    GenericSitemap,
    Image,
    ModelSitemap,
    News,
    NewsSitemap,
    PerLanguage,
    Related,
    Siblings,
    Sitemap,
    UrlFor,
    Video,
    register,
)
from testapp.models import Article, Product


def method(self, item):
    return None


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("lastmode", F("updated_at"), "lastmod"),
        ("last_mod", F("updated_at"), "lastmod"),
        ("pictures", [Image(loc=F("file"))], None),
        ("image", Image(loc=F("file")), "images"),
        ("film", Video(thumbnail_loc="/t.jpg", title="T", description="D", content_loc=F("file")), None),
        ("article", News(name="N", language="en", title=F("name"), publication_date="2026-01-01"), None),
        ("href_lang", Alternate(hreflang="de", href="https://example.com/de/"), "hreflang"),
        ("url", UrlFor("sitemaps_plus:index"), None),
        ("photos", (Related("photos", Image(loc=F("file"))),), None),
        ("slug", PerLanguage({"en": "slug"}), None),
        ("translations", Siblings("slug", language=F("name")), None),
        ("change", F("updated_at"), "changed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_w024_an_expression_or_a_value_under_a_name_that_is_no_hook_has_no_effect(name, value, meant):
    register_rows(**{name: value})

    ((id, text, hint),) = parts()

    assert id == "W024"
    assert text.startswith(f"Rows.{name} = ")
    assert text.endswith(" has no effect: no hook or option has this name.")
    assert hint.startswith(f"Rename it to {meant}. " if meant else "Give it the name of a hook: location, lastmod, ")
    assert "let its name begin with an underscore" in hint


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("last_mod", method, "lastmod"),
        ("lastMod", method, "lastmod"),
        ("lastmods", method, "lastmod"),
        ("lasmod", method, "lastmod"),
        ("last_modified", method, "lastmod"),
        ("get_lastmod", method, "lastmod"),
        ("change_freq", "weekly", "changefreq"),
        ("changefrequency", "weekly", "changefreq"),
        ("chagnefreq", "weekly", "changefreq"),
        ("locations", method, "location"),
        ("loction", method, "location"),
        ("loc", method, "location"),
        ("priorty", 0.5, "priority"),
        ("image", method, "images"),
        ("lang", ["de"], "languages"),
        ("language", ["de"], "languages"),
        ("langauges", ["de"], "languages"),
        ("alternate", True, "alternates"),
        ("xdefault", True, "x_default"),
        ("Limit", 10, "limit"),
        ("protocoll", "https", "protocol"),
        ("cross_submision", "yes", "cross_submission"),
        ("emit_depricated", True, "emit_deprecated"),
        ("get_items", lambda self: [], "items"),
        ("get_language_for_item", method, "get_languages_for_item"),
    ],
)
def test_w024_a_name_that_is_almost_that_of_a_hook_or_an_option_is_a_mistake(name, value, meant):
    register("rows", type("Rows", (Sitemap,), {name: value}))

    ((id, text, hint),) = parts()

    assert (id, text) == ("W024", f"Rows.{name} has no effect: no hook or option has this name.")
    assert hint.startswith(f"Rename it to {meant}. ")


OPTIONS = {name for name in dir(Sitemap) if len(name) > 5 and not name.startswith("_")} - {"changed"}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_w024_knows_every_option_of_the_base_class(name):
    swapped = name[:2] + name[3] + name[2] + name[4:]
    register("rows", type("Rows", (Sitemap,), {swapped: "a value"}))

    assert only_text()[0] == "W024"


@pytest.mark.parametrize(
    ("base", "name", "meant"),
    [
        (contrib.Sitemap, "change_freq", "changefreq"),
        (contrib.Sitemap, "lang", "languages"),
        (contrib.Sitemap, "get_items", "items"),
        (contrib.Sitemap, "emitdeprecated", "emit_deprecated"),
        (Sitemap, "item", "items"),
    ],
)
def test_w024_sees_classes_of_both_packages(base, name, meant):
    register("made", type("Made", (base,), {name: "weekly"}))

    id, text = only_text()

    assert id == "W024"
    assert f"Rename it to {meant}." in text


@pytest.mark.parametrize("base", [contrib.GenericSitemap, GenericSitemap], ids=["contrib", "ours"])
def test_w024_sees_attributes_of_an_instance(base):
    sitemap = base({"queryset": Product.objects.all(), "date_field": "updated_at"}, changefreq="daily")
    register("products", sitemap)
    assert texts() == []

    sitemap.langauges = ["de"]

    id, text = only_text()
    assert id == "W024"
    assert "Rename it to languages." in text


@pytest.mark.parametrize(
    ("base", "name", "value", "readers", "remedy"),
    [
        (Sitemap, "queryset", Product.objects.all(), "ModelSitemap and GenericSitemap", "from ModelSitemap"),
        (contrib.Sitemap, "queryset", Product.objects.all(), "ModelSitemap and GenericSitemap", "from ModelSitemap"),
        (Sitemap, "get_queryset", lambda self: Product.objects.all(), "ModelSitemap", "from ModelSitemap"),
        (ModelSitemap, "date_field", "updated_at", "NewsSitemap and GenericSitemap", "lastmod = F(...)"),
        (ModelSitemap, "window", 2, "NewsSitemap", "from NewsSitemap"),
    ],
)
def test_w024_an_option_of_another_class_has_no_effect(base, name, value, readers, remedy):
    rows = {"queryset": Product.objects.all()} if base is ModelSitemap else {}
    register("made", type("Made", (base,), {**rows, name: value}))

    ((id, text, hint),) = parts()

    assert (id, text) == ("W024", f"Made.{name} has no effect: only {readers} read it.")
    assert remedy in hint


@pytest.mark.parametrize("base", [contrib.Sitemap, Sitemap], ids=["contrib", "ours"])
def test_w024_is_silent_where_items_reads_such_an_option(base):
    class Made(base):
        queryset = Product.objects.all()
        window = 2

        def get_queryset(self):
            return self.queryset.all()[: self.window]

        def items(self):
            return self.get_queryset()

    register("made", Made)

    assert texts() == []


HARMLESS = """
    active alternatives archive author base_queryset base_url brand cache_timeout cached categories category
    changes changelog cities code conversion created dates debug default description domain entries excluded
    fields filled filter_kwargs filters format formats frequencies get_base_queryset get_context get_keys
    get_model get_object get_products get_site get_slug get_url get_versions host hostname i18n_fields i18n_urls
    icon image_field image_for image_set image_url importance is_active is_indexed item_for items_per_page
    key_field keywords kind kinds label labels lang_code language_code lastmod_field limited limits locale locate
    location_name location_prefix localized logger manager max_items maximum model models modified name names
    newest news_site newsletter number offset order order_by ordering page_size pages parent paths per_page
    photo_field picture prefix priorities priority_map products protocols public published publish_date querysets
    region robots route routes rows scheme section sections site_id sites slug slugs source status tags template
    template_name tenant test_items title translated translation_key translations updated url url_name urls urlset
    version_info versions video_url view_name viewname visible weight windows year
"""


@pytest.mark.parametrize("base", [contrib.Sitemap, Sitemap, NewsSitemap], ids=["contrib", "ours", "news"])
@pytest.mark.parametrize("value", ["a text", method], ids=["constant", "method"])
def test_w024_is_silent_about_names_that_are_a_projects_own(base, value):
    own = {"queryset": Article.objects.all(), "date_field": "published_at"} if base is NewsSitemap else {}
    location = {"location": lambda self, item: "/"}
    register("made", type("Made", (base,), {**dict.fromkeys(HARMLESS.split(), value), **own, **location}))

    assert texts() == []


def test_w024_is_silent_about_what_the_class_itself_reads():
    class Rows(ModelSitemap):
        queryset = Product.objects.all()
        newest = F("updated_at")
        address = UrlFor("sitemaps_plus:index")
        photo = Image(loc=F("file"))
        lang = "de"

        def __init__(self):
            self.language = "de"

        def image(self, item):
            return item.image

        def images(self, item):
            return [self.image(item)]

        def get_queryset(self):
            return super().get_queryset().annotate(newest=self.newest)

        @property
        def lastmod_text(self):
            return getattr(self, "address")  # noqa: B009 - reads it by its name

        @cached_property
        def pictures(self):
            return [photo for photo in [self.photo] if photo]

        @staticmethod
        def of(sitemap):
            return sitemap.lang

    register("rows", Rows)

    assert texts() == []


def test_w024_is_silent_about_conditions_orders_rows_and_private_names():
    register_rows(
        condition=Q(is_active=True),
        ordering=F("name").desc(),
        others=Product.objects.all(),
        field=F,
        _lastmod=F("updated_at"),
        _last_mod=method,
    )

    assert texts() == []


def test_w024_is_silent_about_a_helper_beside_the_hook_that_it_resembles():
    register_rows(images=lambda self, item: None, image=method, location=lambda self, item: "/", locations=method)

    assert texts() == []


def test_w024_runs_no_property_and_evaluates_nothing():
    def fail(*args):
        raise AssertionError("a check must not run this")

    register_rows(last_mod=property(fail), change_freq=cached_property(fail), image=SimpleLazyObject(fail))

    assert [text.partition(" ")[0] for _, text in texts()] == ["Rows.last_mod", "Rows.change_freq", "Rows.image"]
