import subprocess
import sys

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import F, Max

from samples import AllProducts
from sitemaps_plus import (
    Alternate,
    GenericSitemap,
    Image,
    ModelSitemap,
    NewsSitemap,
    PerLanguage,
    Related,
    Siblings,
    Sitemap,
    UrlFor,
    register,
)
from sitemaps_plus.declare.registry import Registry, registry
from sitemaps_plus.errors import InvalidSitemap, PageNotFound, SitemapError
from testapp.models import Article, Product


class Pages(Sitemap):
    def items(self):
        return ["/", "/about/"]


class ContribPages(contrib.Sitemap):
    def items(self):
        return ["/", "/about/"]


def test_register_is_a_decorator_that_leaves_the_class_as_it_is():
    @register("products")
    class Decorated(ModelSitemap):
        queryset = Product.objects.all()

    assert registry["products"] is Decorated
    assert issubclass(Decorated, ModelSitemap)


def test_register_is_a_call_that_returns_the_class():
    assert register("products", AllProducts) is AllProducts
    assert registry["products"] is AllProducts


@pytest.mark.parametrize(
    "sitemap",
    [
        AllProducts,
        Pages,
        ContribPages,
        ContribPages(),
        contrib.GenericSitemap({"queryset": Product.objects.all()}),
        GenericSitemap({"queryset": Product.objects.all(), "date_field": "updated_at"}, priority=0.5),
    ],
)
def test_classes_and_instances_of_both_worlds_can_be_registered(sitemap):
    register("section", sitemap)

    made = registry.make("section", "the site")

    assert isinstance(made, contrib.Sitemap)
    assert made.site == "the site"


def test_sections_keep_the_order_of_registration():
    register("b", Pages)
    register("a", AllProducts)

    assert list(registry) == ["b", "a"]
    assert len(registry) == 2
    assert "a" in registry
    assert "c" not in registry


@pytest.mark.parametrize("given", [Pages, Pages()])
def test_each_plan_gets_an_instance_of_its_own(given):
    register("pages", given)

    first, second = registry.make("pages", 1), registry.make("pages", 2)
    first.found = "something"

    assert (first.site, second.site) == (1, 2)
    assert not hasattr(second, "found")
    assert not hasattr(given, "found")
    assert given.site is None


def test_a_section_can_be_taken_out():
    register("pages", Pages)

    registry.unregister("pages")

    assert "pages" not in registry
    with pytest.raises(PageNotFound, match="Registered: none"):
        registry.unregister("pages")


def test_an_unknown_label_is_answered_with_the_known_ones():
    register("pages", Pages)
    register("products", AllProducts)

    with pytest.raises(PageNotFound, match=r"no sitemap section 'news'\. Registered: pages, products\."):
        registry["news"]


@pytest.mark.parametrize("label", ["a", "products", "my-products", "my_products", "2026a", "a1", "a-1b", "a" * 100])
def test_labels_are_lower_case_words(label):
    assert register(label, Pages) is Pages


@pytest.mark.parametrize(
    "label",
    ["", "Products", "a b", "a.b", "a/b", "ä", "-a", "a-", "a--b", "_a", "a\n", "%", "a" * 101],
)
def test_other_labels_are_refused_and_the_message_names_what_is_allowed(label):
    with pytest.raises(InvalidSitemap, match="at most 100 lower-case letters, digits, hyphens and underscores"):
        register(label, Pages)


@pytest.mark.parametrize("label", ["1", "2026", "products-1", "a-b-007"])
def test_a_label_that_ends_like_a_page_is_refused(label):
    with pytest.raises(InvalidSitemap, match=r"looks like a page number.*End it with a letter"):
        register(label, Pages)


def test_a_forgotten_label_is_refused_at_once():
    with pytest.raises(InvalidSitemap, match=r'register\(\) takes a label first, as in @register\("products"\)'):

        @register
        class Forgotten(Sitemap):
            pass


@pytest.mark.parametrize("base", [AllProducts, ContribPages])
@pytest.mark.parametrize("given", [5, True, [("en", "English")], ["en", 5], "en/de"])
def test_languages_that_are_no_codes_are_refused(base, given):
    with pytest.raises(InvalidSitemap, match=r"Made\.languages is .*; give a list of codes"):
        register("made", type("Made", (base,), {"languages": given}))


@pytest.mark.parametrize("hook", ["location", "lastmod", "changefreq", "priority", "x_default"])
def test_a_hook_of_one_value_takes_no_list(hook):
    many = Related("translations", F("slug"))
    one = Related("translations", F("slug"), language=F("language_code"))

    with pytest.raises(InvalidSitemap, match=rf"Made\.{hook} is Related\(.*gives a list.*language= choose one"):
        register("made", type("Made", (AllProducts,), {hook: many}))
    register("made", type("Made", (AllProducts,), {hook: one}))


@pytest.mark.parametrize("given", [Image(loc=F("file")), Siblings("slug", language=F("slug"))])
def test_a_value_with_tags_of_its_own_is_no_location(given):
    with pytest.raises(InvalidSitemap, match=r"Made\.location is .* belongs in images, videos, news or hreflang"):
        register("made", type("Made", (AllProducts,), {"location": given}))


@pytest.mark.parametrize(
    ("hook", "given"),
    [
        ("images", Siblings("slug", language=F("slug"))),
        ("images", F("file")),
        ("images", "/logo.png"),
        ("images", Image),
        ("images", UrlFor("product", slug=F("slug"))),
        ("images", PerLanguage({"en": "file"})),
        ("images", Related("photos", F("file"))),
        ("images", Related("photos", Alternate(hreflang="de", href=F("file")))),
        ("images", [Image(loc="/a.jpg"), Alternate(hreflang="de", href=F("slug"))]),
        ("images", [None]),
        ("videos", Image(loc="/a.jpg")),
        ("news", Image(loc="/a.jpg")),
        ("hreflang", Image(loc="/a.jpg")),
    ],
)
@pytest.mark.parametrize("in_a_list", [False, True])
def test_what_cannot_give_the_values_of_a_hook_is_refused(hook, given, in_a_list):
    given = [given] if in_a_list and not isinstance(given, list) else given

    with pytest.raises(InvalidSitemap, match=rf"Made\.{hook} (holds|is the class) .*(Give|give) .*\("):
        register("made", type("Made", (AllProducts,), {hook: given}))


def test_what_gives_values_may_be_of_any_class():
    class Own:
        def expressions(self):
            return {}

        def builder(self):
            return lambda values: Image(loc="/a.jpg")

    register("made", type("Made", (AllProducts,), {"images": [Own(), Related("photos", Image(loc=F("file")))]}))

    assert "made" in registry


@pytest.mark.parametrize(
    "given",
    [None, ["en", "de"], ("en",), property(lambda self: 5), lambda self, item: ["en"]],
    ids=["none", "list", "tuple", "property", "method"],
)
def test_languages_are_codes_or_made_for_each_row(given):
    register("made", type("Made", (AllProducts,), {"languages": given}))

    assert "made" in registry


def test_a_bad_label_is_refused_before_the_class_is_made():
    with pytest.raises(InvalidSitemap, match="cannot be a label"):
        register("No")


@pytest.mark.parametrize("thing", [object, object(), "shop.ProductSitemap", Product, lambda: None])
def test_a_class_that_is_no_sitemap_is_refused_and_the_message_names_base_classes(thing):
    with pytest.raises(InvalidSitemap, match=r"registered as 'x', is not a Sitemap\. Derive it from sitemaps_plus"):
        register("x", thing)


def test_a_label_is_taken_once():
    register("pages", Pages)

    with pytest.raises(
        InvalidSitemap, match=r"'pages' is used by [\w.]*test_registry\.Pages; register .*AllProducts under"
    ):
        register("pages", AllProducts)


def test_the_same_class_may_have_two_labels_and_be_registered_twice():
    register("pages", Pages)
    register("pages", Pages)
    register("others", Pages)

    assert list(registry) == ["pages", "others"]


def test_a_class_whose_module_is_loaded_again_replaces_itself():
    again = type("Pages", (Sitemap,), {"__module__": Pages.__module__})
    register("pages", Pages)

    register("pages", again)

    assert registry["pages"] is again


def test_a_function_that_makes_classes_does_not_replace_them_silently():
    def made():
        class Made(Sitemap):
            pass

        return Made

    register("made", made())

    with pytest.raises(InvalidSitemap, match="'made' is used"):
        register("made", made())


@pytest.mark.parametrize("cls", [contrib.GenericSitemap, GenericSitemap], ids=["contrib", "ours"])
def test_a_class_that_needs_arguments_is_refused_with_the_remedy(cls):
    with pytest.raises(InvalidSitemap, match=r"Register an instance instead: GenericSitemap\(\.\.\.\)"):
        register("generic", cls)


def test_a_model_sitemap_needs_rows():
    class Empty(ModelSitemap):
        pass

    with pytest.raises(InvalidSitemap, match=r"Empty has no rows: set queryset = .*, or override get_queryset\(\)"):
        register("empty", Empty)
    with pytest.raises(InvalidSitemap, match="Empty has no rows"):
        Empty().items()


def test_a_model_is_no_queryset():
    class Wrong(ModelSitemap):
        queryset = Product

    with pytest.raises(InvalidSitemap, match=r"set queryset = Product\.objects\.all\(\)"):
        register("wrong", Wrong)


def two_halves():
    return Product.objects.filter(pk__lte=5), Product.objects.filter(pk__gt=5)


@pytest.mark.parametrize(
    ("combinator", "instead"),
    [
        ("union", "Write Product.objects.filter(Q(...) | Q(...)) instead"),
        ("intersection", "Write Product.objects.filter(Q(...), Q(...)) instead"),
        ("difference", "Write Product.objects.filter(Q(...), ~Q(...)) instead"),
    ],
)
@pytest.mark.parametrize(
    ("hook", "value"),
    [("location", F("slug")), ("images", [Image(loc=F("file"))]), ("languages", F("name"))],
    ids=["expression", "value", "languages"],
)
def test_values_from_the_database_cannot_be_added_to_combined_querysets(combinator, instead, hook, value):
    first, second = two_halves()
    rows = getattr(first, combinator)(second)

    with pytest.raises(InvalidSitemap) as raised:
        register("products", type("Products", (ModelSitemap,), {"queryset": rows, hook: value}))

    text = str(raised.value)
    assert text.startswith(f"Products.{hook} takes values from the database, which cannot be added to the rows of")
    assert text.endswith(f"{combinator}(). {instead}, or make {hook} a method.")


def test_a_union_of_two_models_becomes_two_sections():
    rows = Product.objects.values_list("pk", "name").union(Article.objects.values_list("pk", "title"))

    with pytest.raises(InvalidSitemap, match=r"rows of union\(\). Register a section for each model instead, or make"):
        register("both", type("Both", (ModelSitemap,), {"queryset": rows, "location": F("name")}))


@pytest.mark.parametrize("call", ["values", "values_list"])
def test_values_from_the_database_cannot_be_added_to_values(call):
    rows = getattr(Product.objects, call)("slug")

    with pytest.raises(InvalidSitemap, match=r"Products.location takes .* Leave that call out, as only the columns"):
        register("products", type("Products", (ModelSitemap,), {"queryset": rows, "location": F("slug")}))


@pytest.mark.parametrize(
    "rows",
    [
        lambda: Product.objects.filter(pk__lte=5).union(Product.objects.filter(pk__gt=5)),
        lambda: Product.objects.values("slug"),
        lambda: Product.objects.values_list("slug", flat=True),
        lambda: Product.objects.order_by("pk")[:5],
    ],
    ids=["union", "values", "values_list", "slice"],
)
def test_such_rows_are_accepted_where_hooks_are_methods(rows):
    register("products", type("Products", (ModelSitemap,), {"queryset": rows(), "location": lambda self, item: "/"}))

    assert "products" in registry


def test_a_slice_may_have_values_from_the_database():
    register(
        "products", type("Products", (ModelSitemap,), {"queryset": Product.objects.all()[:5], "location": F("slug")})
    )

    assert "products" in registry


@pytest.mark.parametrize("base", [contrib.GenericSitemap, GenericSitemap], ids=["contrib", "ours"])
def test_a_generic_sitemap_filters_its_rows_and_so_takes_no_union(base):
    first, second = two_halves()

    with pytest.raises(InvalidSitemap, match=r"rows of union\(\) cannot be filtered. Write Product.objects.filter\(Q"):
        register("products", base({"queryset": first.union(second)}))


def test_a_news_sitemap_filters_its_rows_and_so_takes_no_slice_and_no_union():
    articles = Article.objects.all()

    def news(rows):
        return type("Latest", (NewsSitemap,), {"queryset": rows, "date_field": "published_at"})

    with pytest.raises(InvalidSitemap, match=r"Latest filters its queryset by published_at, .* Leave out the slice"):
        register("news", news(articles[:10]))
    with pytest.raises(InvalidSitemap, match=r"Latest filters its queryset, and the rows of union\(\) cannot be"):
        register("news", news(articles.union(articles)))


@pytest.mark.parametrize("name", ["items", "get_queryset"])
@pytest.mark.parametrize("rows", [Product.objects, Product.objects.all()], ids=["manager", "queryset"])
def test_rows_that_are_no_method_are_the_queryset(name, rows):
    with pytest.raises(InvalidSitemap, match=rf"^Products.{name} is no method; name these rows queryset\.$"):
        register("products", type("Products", (ModelSitemap,), {name: rows}))


def test_a_method_that_gives_the_rows_is_get_queryset():
    with pytest.raises(InvalidSitemap, match=r"^Products.queryset is a method; name it get_queryset\.$"):
        register("products", type("Products", (ModelSitemap,), {"queryset": lambda self: Product.objects.all()}))


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (lambda: [Product()], "list"),
        (lambda: {"queryset": Product.objects.all()}, "dict"),
        (lambda: "Product", "str"),
        (lambda: Product.objects.raw("SELECT * FROM testapp_product"), "RawQuerySet"),
    ],
    ids=["list", "dict", "text", "raw"],
)
def test_a_list_is_no_queryset(rows, kind):
    with pytest.raises(InvalidSitemap, match=rf"Products.queryset is a {kind}. .* return these rows from items\(\)"):
        register("products", type("Products", (ModelSitemap,), {"queryset": rows()}))


@pytest.mark.parametrize("name", ["get_queryset", "items"])
def test_rows_may_come_from_either_method(name):
    register("own", type("Own", (ModelSitemap,), {name: lambda self: Product.objects.all()}))

    assert registry.make("own", None).items().model is Product


def test_a_news_sitemap_needs_its_date_field():
    class News(NewsSitemap):
        queryset = Article.objects.all()

    with pytest.raises(InvalidSitemap, match=r'News needs date_field = "published_at"'):
        register("news", News)


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contrib"])
@pytest.mark.parametrize("hook", ["location", "lastmod", "priority", "changefreq", "changed"])
def test_an_expression_without_a_queryset_is_refused_with_the_remedy(base, hook):
    sitemap = type("Listed", (base,), {hook: F("updated_at"), "items": lambda self: []})

    with pytest.raises(
        InvalidSitemap,
        match=rf"Listed\.{hook} takes values from the database and so needs a QuerySet. Derive Listed",
    ):
        register("listed", sitemap)


@pytest.mark.parametrize("hook", ["location", "lastmod", "priority", "changefreq", "changed"])
def test_an_expression_on_rows_is_accepted(hook):
    register("products", type("Expressed", (AllProducts,), {hook: Max("updated_at")}))
    register("generic", type("Own", (GenericSitemap,), {hook: F("name")})({"queryset": Product.objects.all()}))

    assert len(registry) == 2


def test_every_refusal_is_an_error_of_this_package():
    assert issubclass(InvalidSitemap, SitemapError)
    assert issubclass(InvalidSitemap, TypeError)


def test_a_registry_of_ones_own_is_apart_from_the_projects():
    own = Registry()
    own.register("pages", Pages)

    assert "pages" in own
    assert "pages" not in registry


def test_public_names_need_no_settings_and_no_models():
    code = (
        "import sitemaps_plus, sys\n"
        "assert all(hasattr(sitemaps_plus, name) for name in sitemaps_plus.__all__)\n"
        "assert 'sitemaps_plus.models' not in sys.modules\n"
        "class Pages(sitemaps_plus.Sitemap):\n"
        "    def items(self): return ['/']\n"
        "    def location(self, item): return item\n"
        "sitemaps_plus.register('pages', Pages)\n"
        "print(*sorted(sitemaps_plus.__all__))\n"
    )
    environment = {"PATH": "", "PYTHONPATH": ":".join(filter(None, sys.path))}

    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert run.stderr == ""
    assert run.stdout.split() == [
        "Alternate",
        "GenericSitemap",
        "Image",
        "ModelSitemap",
        "News",
        "NewsSitemap",
        "PerLanguage",
        "Related",
        "Siblings",
        "Sitemap",
        "UrlFor",
        "Video",
        "register",
        "registry",
    ]


def test_what_a_test_registers_is_gone_when_it_ends():
    own = Registry()
    own.register("pages", Pages)
    own.register("kept", Pages)

    with own.isolated("kept"):
        own.register("products", Pages)
        own.unregister("kept")
        assert list(own) == ["products"]

    assert list(own) == ["pages", "kept"]
    with pytest.raises(PageNotFound, match="no sitemap section 'other'"), own.isolated("other"):
        pass
    with pytest.raises(ZeroDivisionError), own.isolated():
        own.register("pages", 1 / 0)
    assert list(own) == ["pages", "kept"]
