"""URL patterns of every kind that reverse() knows, and `PARAMETERS`: by name, the keyword arguments they take."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path, re_path, register_converter
from django.utils.functional import lazystr
from django.utils.translation import get_language


def view(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse("ok")


class _Text:
    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: object) -> object:
        return value


class Year(_Text):
    """Raises TypeError for text, as a naive converter does."""

    regex = "[0-9]{4}"

    def to_url(self, value: object) -> object:
        return "%04d" % value  # type: ignore[str-format] # noqa: UP031 - refusing text is the point


class Even(_Text):
    """Raises ValueError, by which reverse() goes on to the next pattern."""

    def to_url(self, value: object) -> object:
        if int(value) % 2:  # type: ignore[call-overload]
            raise ValueError("odd")
        return str(value)


class NotText(_Text):
    """Returns what is no string."""

    def to_url(self, value: object) -> object:
        return lazystr(value)


class Narrow(_Text):
    """Has a regular expression that its own text does not match."""

    regex = "[A-Z]+"

    def to_url(self, value: object) -> object:
        return str(value).lower()


class Up(_Text):
    """Makes dots of a value without any."""

    def to_url(self, value: object) -> object:
        return ".." if value == "one level up" else str(value)


class Anything(_Text):
    """Matches nothing at all, too."""

    regex = ".*"


class NotNew(_Text):
    """Matches `new` by itself, but not before a slash."""

    regex = "(?!new/)[^/]+"


class Possessive(_Text):
    """Matches `xx` by itself, but leaves nothing for an `x` after it."""

    regex = "[a-z]++"


class Twice(_Text):
    """Counts its groups from the start of the whole pattern."""

    regex = r"([a-z])\2"


class Ending(_Text):
    """Matches at the end only."""

    regex = "[a-z]+$"


class Either(_Text):
    """Prefers the shorter match."""

    regex = "a|ab|[0-9]+"


class Brackets(_Text):
    """Holds parentheses where the scanner of reverse() does not expect them."""

    regex = r"[a-z()]+"


class Unbalanced(_Text):
    """Closes a group that it did not open."""

    regex = "x)|(?:y"


CONVERTERS = {
    "year": Year,
    "even": Even,
    "not-text": NotText,
    "narrow": Narrow,
    "up": Up,
    "anything": Anything,
    "not-new": NotNew,
    "possessive": Possessive,
    "twice": Twice,
    "ending": Ending,
    "either": Either,
    "brackets": Brackets,
    "unbalanced": Unbalanced,
}
for _name, _converter in CONVERTERS.items():
    register_converter(_converter, f"hostile-{_name}")


class _Translated:
    """A route in the active language, with the text of another parameter in one of them."""

    def __init__(self, **routes: str) -> None:
        self.routes = routes

    def __str__(self) -> str:
        return self.routes.get(get_language() or "en", self.routes["en"])


_shop = (
    [
        path("<slug:slug>/", view, name="product"),
        path("", view, name="home"),
        path("<int:year>/", include(([path("<slug:slug>/", view, name="deal")], "deals"))),
    ],
    "shop",
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("about/", view, name="about"),
    path("str/<str:value>/", view, name="str"),
    path("int/<int:value>/", view, name="int"),
    path("slug/<slug:value>/", view, name="slug"),
    path("uuid/<uuid:value>.html", view, name="uuid"),
    path("path/<path:value>", view, name="path"),
    path("<int:year>/<slug:value>/", view, name="two"),
    path("near/<slug:value><int:year>-<str:other>", view, name="near"),
    *(path(f"custom/<hostile-{name}:value>/", view, name=name) for name in CONVERTERS),
    path("tail/<hostile-possessive:value>x/", view, name="possessive-tail"),
    # Several patterns of one name: by parameters, by converter, by order.
    path("many/", view, name="many"),
    path("many/<hostile-even:value>/", view, name="many"),
    path("many/<int:value>/odd/", view, name="many"),
    path("many/<int:value>/<slug:other>/", view, name="many"),
    # Extra arguments of the view choose between patterns.
    path("red/<slug:value>/", view, {"colour": "red"}, name="coloured"),
    path("blue/<slug:value>/", view, {"colour": "blue"}, name="coloured"),
    path("overridden/<slug:value>/", view, {"value": "x"}, name="overridden"),
    # Literals that mean something to "%", to a regular expression, or to a browser.
    path("%20/<slug:value>/", view, name="percent"),
    path("50%/<slug:value>/", view, name="broken-percent"),
    path("%(value)s/<slug:value>/", view, name="placeholder"),
    path("(a|b)+.*?[c]{2}^$\\d #é&~'\"/<str:value>/ü", view, name="literal"),
    path("/<path:value>", view, name="slash"),
    path("<path:value>", view, name="root"),
    path("<str:value>", view, name="root-str"),
    re_path(r"^re/(?P<value>[\w-]+)/$", view, name="re"),
    re_path(r"^re-optional/(?:page-(?P<year>\d+)/)?(?P<value>[a-z]+)/$", view, name="re-optional"),
    re_path(r"^re-or/(?P<value>a|b)(?:\.html|/)$", view, name="re-or"),
    re_path(r"^re_plain/", include([path("<slug:value>/", view, name="re-include")])),
    re_path(r"^(?P<owner>\w+)/", include([path("<slug:value>/", view, name="re-captured")])),
    path("<slug:value>/", include([re_path(r"^(?<!no/)behind/$", view, name="re-behind")])),
    path("<str:owner>/in/", include([path("<slug:value>/", view, name="captured")])),
    path("default/", include([path("<slug:value>/", view, name="included-default")]), {"colour": "red"}),
    # One app under three namespaces: the plain name means the first that reverse() finds.
    path("shop-a/", include(_shop, namespace="shop-a")),
    path("shop-b/<slug:owner>/", include(_shop, namespace="shop-b")),
    path("<slug:owner>/shop/", include(_shop)),
    path("other/", include(([path("<slug:value>/", view, name="page")], "other"), namespace="first")),
    path("other-2/", include(([path("<int:value>/", view, name="page")], "other"), namespace="second")),
    path(
        _Translated(en="product/<slug:value>/", de="erzeugnis/größe/<slug:value>/", fr="produit/<str:autre>/"),  # type: ignore[arg-type]
        view,
        name="translated",
    ),
    re_path(_Translated(en=r"^colour/(?P<value>\w+)$", de=r"^farbe/(?P<value>\w+)$"), view, name="re-translated"),  # type: ignore[arg-type]
    *i18n_patterns(path("i18n/<slug:value>/", view, name="i18n"), path("i18n/", include(_shop, namespace="i18n-shop"))),
]


class UnprefixedDefault:
    """A URLconf whose default language has no prefix."""

    urlpatterns = i18n_patterns(
        path("i18n/<slug:value>/", view, name="i18n"),
        path("str/<str:value>/", view, name="str"),
        prefix_default_language=False,
    )


_WITH_ONE_VALUE = """
    str int slug uuid path possessive-tail many overridden percent broken-percent placeholder literal slash root
    root-str re re-or re-behind re-include included-default other:page first:page second:page translated re-translated
    i18n
"""
PARAMETERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys([*_WITH_ONE_VALUE.split(), *CONVERTERS], ("value",)),
    "about": (),
    "two": ("year", "value"),
    "near": ("value", "year", "other"),
    "coloured": ("value", "colour"),
    "re-optional": ("year", "value"),
    "re-captured": ("owner", "value"),
    "captured": ("owner", "value"),
    "shop:product": ("owner", "slug"),
    "shop-a:product": ("slug",),
    "shop-a:home": (),
    "shop-b:product": ("owner", "slug"),
    "shop-b:deals:deal": ("owner", "year", "slug"),
    "i18n-shop:product": ("slug",),
    "i18n-shop:deals:deal": ("year", "slug"),
    "nowhere": ("value",),
    "nowhere:product": ("value",),
    "shop-a:nowhere:product": ("value",),
}
