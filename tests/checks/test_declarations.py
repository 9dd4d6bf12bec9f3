"""Messages about the declarations of the registered classes."""

import datetime

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from check_messages import only_text, parts, register_rows, texts
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
)
from sitemaps_plus.values import Player
from testapp.models import Box, Bundle, Cell, Note, Number, Product, Seat, Token


@pytest.mark.parametrize("limit", [0, -1, 50_001, "100", 1000.0, True, None], ids=str)
@pytest.mark.parametrize("base", [ModelSitemap, contrib.GenericSitemap], ids=["ours", "contrib"])
def test_e007_a_limit_is_between_1_and_50000(limit, base):
    made = type("Rows", (base,), {"queryset": Product.objects.all(), "limit": limit})
    register("rows", made if base is ModelSitemap else made({"queryset": Product.objects.all()}))

    id, text = only_text()

    assert id == "E007"
    assert f"Rows.limit is {limit!r}" in text
    assert "from 1 to 50,000" in text


@pytest.mark.parametrize("limit", [1, 50_000])
def test_e007_both_ends_are_allowed(limit):
    register_rows(limit=limit)

    assert texts() == []


def test_e007_all_languages_of_a_row_fit_a_page(settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    register_rows(i18n=True, limit=2)

    id, text = only_text()

    assert id == "E007"
    assert "each row has 3 URLs" in text
    assert "Set limit to 3 or more, or use fewer languages" in text

    registry.unregister("rows")
    register_rows(i18n=True, limit=2, languages=["en", "de"])
    assert texts() == []


@pytest.mark.parametrize("fill", [0, -0.1, 1.1, "0.9", None, True], ids=str)
def test_e007_a_page_is_filled_to_a_share(fill):
    register_rows(fill=fill)

    id, text = only_text()

    assert id == "E007"
    assert f"Rows.fill is {fill!r}" in text
    assert "0.9 is right for most" in text


@pytest.mark.parametrize("fill", [0.01, 0.9, 1, 1.0])
def test_e007_shares_up_to_the_whole_are_allowed(fill):
    register_rows(fill=fill)

    assert texts() == []


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
    register_rows(model, key=key)

    id, text = only_text()

    assert id == "E008"
    assert problem in text
    assert remedy in text


@pytest.mark.parametrize(
    ("model", "key"),
    [(Product, "pk"), (Product, "id"), (Seat, ("hall", "name")), (Cell, "pk"), (Cell, ("row", "column"))],
    ids=str,
)
def test_e008_unique_columns_are_keys(model, key):
    register_rows(model, key=key)

    assert texts() == []


def test_w009_a_key_begins_with_an_indexed_column():
    register_rows(Seat, key=("name", "hall"))

    id, text = only_text()

    assert id == "W009"
    assert "no index begins with name" in text
    assert "Add models.Index(fields=['name', 'hall']) to Seat" in text


def generic(base):
    return lambda model: base({"queryset": model.objects.all()})


KINDS = {
    "ModelSitemap": lambda model: type("ModelSitemap", (ModelSitemap,), {"queryset": model.objects.all()}),
    "NewsSitemap": lambda model: type(
        "NewsSitemap", (NewsSitemap,), {"queryset": model.objects.all(), "date_field": "updated_at"}
    ),
    "GenericSitemap": generic(GenericSitemap),
    "contrib": generic(contrib.GenericSitemap),
}


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_e025_rows_have_a_location_or_a_get_absolute_url(made):
    register("numbers", made(Number))
    register("products", made(Product))

    ((text, hint),) = [(text, hint) for _, text, hint in parts("E025")]

    assert text.endswith("Sitemap has no location, and Number has no get_absolute_url(), so no row has a URL.")
    assert hint.startswith("Give ")
    assert hint.endswith(
        'Sitemap a location, as in location = UrlFor("number-detail", pk=F("pk")), or give Number a get_absolute_url().'
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"location": lambda self, item: "/"},
        {"location": F("text")},
        {"_location": lambda self, item, force_lang_code=None: "/"},
        {"get_urls": lambda self, **options: []},
        {"get_queryset": lambda self: Product.objects.all()},
        {"items": lambda self: Product.objects.all()},
    ],
    ids=["method", "expression", "_location", "get_urls", "get_queryset", "items"],
)
def test_e025_is_silent_where_something_else_gives_the_urls(attributes):
    register("notes", type("Notes", (ModelSitemap,), {"queryset": Note.objects.all(), **attributes}))

    assert texts("E025") == []


def test_e025_is_silent_where_a_derived_model_has_a_url(monkeypatch):
    monkeypatch.delattr(Product, "get_absolute_url")
    register("bundles", type("Bundles", (ModelSitemap,), {"queryset": Bundle.objects.all()}))
    assert [id for id, _ in texts()] == ["E025"]

    monkeypatch.setattr(Box, "get_absolute_url", lambda box: "/", raising=False)

    assert texts() == []


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
    register_rows(Token, **hooks)

    id, text = only_text()

    assert id == "W010"
    assert "Token.updated_at, which has no index" in text
    assert "db_index=True" in text


def test_w010_a_news_sitemap_looks_for_the_newest():
    register_rows(base=NewsSitemap, date_field="published_on")

    id, text = only_text()

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
    register_rows(**hooks)

    assert texts() == []


def test_w010_ignores_columns_of_other_tables():
    register_rows(Note, lastmod=F("product__published_on"))

    assert texts() == []


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_e012_a_date_hook_is_not_the_name_of_a_column(base):
    register("pages", type("Pages", (base,), {"lastmod": "updated_at"}))

    id, text = only_text()

    assert id == "E012"
    assert "Pages.lastmod is the text 'updated_at'" in text
    assert "lastmod = F('updated_at')" in text


def test_e012_a_location_is_not_the_name_of_a_column():
    register_rows(location="slug")

    ((id, text, hint),) = parts()

    assert (id, text) == ("E012", "Rows.location is the text 'slug', which is not a URL, and the same for every row.")
    assert hint.endswith('write location = UrlFor("...", slug=F("slug")).')


def test_e012_a_path_begins_with_a_slash():
    register("pages", type("Pages", (Sitemap,), {"location": "about/us/"}))

    ((id, _, hint),) = parts()

    assert (id, hint) == ("E012", "Begin a path with '/'.")


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_e007_a_protocol_is_a_word(base):
    register("pages", type("Pages", (base,), {"protocol": "https://"}))

    id, text = only_text()

    assert id == "E007"
    assert 'Pages.protocol is \'https://\'. Use "http" or "https"' in text


@pytest.mark.parametrize(
    ("hook", "value", "remedy"),
    [
        ("changefreq", "wekly", 'did you mean "weekly"?'),
        ("changefreq", 7, "Use one of always, hourly, daily"),
        ("priority", 5, "Use a number from 0.0 to 1.0"),
        ("priority", "high", "Use a number from 0.0 to 1.0"),
    ],
)
@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
def test_e007_a_constant_has_a_value_that_the_protocol_allows(base, hook, value, remedy):
    register("pages", type("Pages", (base,), {hook: value}))

    id, text = only_text()

    assert id == "E007"
    assert text.startswith(f"Pages.{hook}: ")
    assert repr(value) in text
    assert remedy in text


@pytest.mark.parametrize(
    "hooks",
    [
        {"changefreq": "weekly", "priority": 0.5},
        {"changefreq": "", "priority": "1"},
        {"changefreq": None, "priority": None},
        {"changefreq": F("often"), "priority": F("weight")},
        {"changefreq": lambda self, item: "wekly", "priority": property(lambda self: 5)},
    ],
    ids=["right", "texts", "none", "expressions", "methods"],
)
def test_e007_is_silent_where_a_constant_is_right_or_rows_decide(hooks):
    register_rows(**hooks)

    assert texts("E007") == []


@pytest.mark.parametrize("text", ["2026-01-01", "2026-01-01T12:00:00Z"])
def test_e012_is_silent_where_the_text_is_a_date(text):
    register("pages", type("Pages", (Sitemap,), {"lastmod": text}))

    assert texts() == []


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

    messages = texts()

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
    register_rows(queryset=Product.objects.filter(condition))

    assert texts() == []


@pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime")
def test_w013_sees_naive_datetimes_too(settings):
    settings.USE_TZ = False
    register_rows(queryset=Product.objects.filter(updated_at__lte=datetime.datetime.now()))

    assert only_text()[0] == "W013"


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
    register_rows(location=location)

    ((id, text, hint),) = parts()

    assert id == "E014"
    assert problem in text
    assert "Correct" in hint
    assert "Correct" not in text


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
    register_rows(**hooks)

    id, text = only_text()

    assert id == "E014"
    assert text.startswith(f"{where}: UrlFor('nowhere'")
    assert "no URL pattern has this name" in text


def test_e014_is_silent_where_values_name_urls_that_exist():
    register_rows(
        images=[Image(loc=UrlFor("sitemaps_plus:index")), Image(loc=F("file"))],
        videos=lambda self, item: [],
    )

    assert texts() == []
