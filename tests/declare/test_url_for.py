import gc
import re
import string
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Lower
from django.test import override_settings
from django.urls import (
    NoReverseMatch,
    clear_url_caches,
    get_resolver,
    get_script_prefix,
    include,
    path,
    reverse,
    set_script_prefix,
    set_urlconf,
)
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import override as language
from hypothesis import example, given
from hypothesis import strategies as st

from sitemaps_plus.declare import url_for
from sitemaps_plus.declare.url_for import UrlFor
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap
from testapp.urls_hostile import CONVERTERS, PARAMETERS, UnprefixedDefault, view

pytestmark = pytest.mark.urls("testapp.urls_hostile")

# Names that reverse() knows nothing of, or cannot use.
NEVER = {"nowhere", "nowhere:product", "shop-a:nowhere:product", "re-or", "unbalanced"}
A_UUID = uuid.UUID("0b3f1b6e-6f9c-4a55-9d4f-0c9d7a1c2b3d")


class Shouting(str):
    """Text that differs when it is formatted."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.upper()


class Nameless:
    """A value with a memory address in its repr."""


hostile_values = st.one_of(
    st.sampled_from(
        [
            *("", ".", "..", "...", ".-", "~", "a", "ab", "aa", "xx", "xxx", "new", "news", "A", "blue-chair", "red"),
            *("None", "1", "12", "2024", "-1", "a/b", "/", "//", "/a", "//evil.example", "a/../b", "../", "a\n", "\n"),
            *("%", "%20", "%s", "%(value)s", "%%", "?a=b", "#a", "a b", "a+b", "é", "東京", "\u0660", "\ud800", "\x00"),
            *("'", '"', "<a>", "&amp;", "\\", "(", ")", "a(", "[", "$", "^", "a" * 5000, str(A_UUID), f"{A_UUID}/"),
            *(0, 1, 2, 2024, -1, 10**20, 10**5000, True, False, None, 1.0, 2.5, float("nan"), Decimal("2.50")),
            *(A_UUID, b"a", (), ("a", "b"), ["a"], {"a": 1}, mark_safe("<b>"), mark_safe("a"), mark_safe("..")),
            *(lazystr("a"), lazystr(".."), Shouting("a"), Shouting(".."), Shouting("1"), NoReverseMatch("x")),
        ]
    ),
    st.text(),
    st.text(alphabet=string.ascii_lowercase + string.digits + "-_.~", max_size=5),
    st.integers(),
    st.uuids(),
)
plain_values = st.text(alphabet=string.ascii_letters + string.digits + "-_", min_size=1)
prefixes = st.sampled_from(["/", "/app/", "/app", "//", "/a b/é%20%s%/", "/(x)*/", "no-slash"])
languages = st.sampled_from(["en", "de", "fr", None])
hostile = st.sampled_from(sorted(PARAMETERS)).flatmap(
    lambda name: st.tuples(st.just(name), st.fixed_dictionaries(dict.fromkeys(PARAMETERS[name], hostile_values)))
)


@contextmanager
def script_prefix(prefix: str) -> Iterator[None]:
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(before)


@contextmanager
def urlconf(urls: Any) -> Iterator[None]:
    set_urlconf(urls)
    try:
        yield
    finally:
        set_urlconf(None)


def outcome(call: Callable[[], str]) -> str | type[Exception]:
    """Return the path, or what kind of error there was; all refusals of a row are one kind."""
    try:
        return call()
    except (NoReverseMatch, InvalidEntry):
        return NoReverseMatch
    except Exception as error:
        return type(error)


def leaves_out(value: object) -> bool:
    return value is None or (not isinstance(value, int) and str(value) in (".", ".."))


def built(name: str, row: dict[str, Any], constants: set[str] | frozenset[str] = frozenset()) -> str:
    """Return what UrlFor makes of the row, with some of its values as constants of the declaration."""
    declared = UrlFor(name, **{key: value if key in constants else F(key) for key, value in row.items()})
    return declared.builder()([row[key] for key in declared.expressions()])


def assert_equals_reverse(name: str, row: dict[str, Any], constants: set[str] | frozenset[str] = frozenset()) -> None:
    got = outcome(lambda: built(name, row, constants))
    if any(map(leaves_out, row.values())):
        assert isinstance(got, type)
    else:
        assert got == outcome(lambda: reverse(name, kwargs=row))


@pytest.fixture
def no_reverse(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> str:
        raise AssertionError("reverse() was called")

    monkeypatch.setattr(url_for, "reverse", refuse)


# --- equal to reverse() ---


@given(hostile, st.sets(st.sampled_from(["value", "year", "slug", "owner", "other"])), prefixes, languages)
def test_a_path_is_what_reverse_gives_for_any_pattern_value_prefix_and_language(case, constants, prefix, code):
    name, row = case

    with script_prefix(prefix), language(code):
        assert_equals_reverse(name, row, constants)


@given(hostile_values, prefixes, languages, st.sampled_from(["i18n", "str"]))
def test_a_path_is_what_reverse_gives_where_the_default_language_has_no_prefix(value, prefix, code, name):
    with urlconf(UnprefixedDefault), script_prefix(prefix), language(code):
        assert_equals_reverse(name, {"value": value})


# After another parameter those two make what is no regular expression.
anywhere = sorted(f"hostile-{name}" for name in CONVERTERS if name not in ("twice", "unbalanced"))
literals = st.text(max_size=4).filter(lambda text: "<" not in text and ">" not in text)
converters = st.sampled_from(["str", "int", "slug", "uuid", "path", *anywhere])
routes = st.lists(st.tuples(literals, converters), max_size=3)


def urls_of(
    outer: list[tuple[str, str]], inner: list[tuple[str, str]], tail: str, namespace: str | None
) -> tuple[Any, list[str]]:
    """Return a URLconf with the drawn routes, one included in the other, and the names of its parameters."""
    parts = [f"{literal}<{converter}:p{number}>" for number, (literal, converter) in enumerate(outer + inner)]
    patterns = [path("".join([*parts[len(outer) :], tail]), view, name="drawn")]
    included = include((patterns, namespace)) if namespace else include(patterns)

    class Urls:
        urlpatterns = [path("".join(parts[: len(outer)]), included)]

    return Urls, [f"p{number}" for number in range(len(parts))]


@given(routes, routes, literals, st.sampled_from([None, "drawn-app"]), prefixes, st.data())
def test_a_path_is_what_reverse_gives_for_drawn_routes(outer, inner, tail, namespace, prefix, data):
    urls, names = urls_of(outer, inner, tail, namespace)
    row = {name: data.draw(hostile_values) for name in names}
    viewname = f"{namespace}:drawn" if namespace else "drawn"

    with urlconf(urls), script_prefix(prefix):
        assert_equals_reverse(viewname, row)
    clear_url_caches()


@given(st.lists(hostile_values))
@example(["a", None, "b", "..", "c", "é", 5, "d"])
def test_a_builder_makes_of_each_row_what_build_makes_of_it(values):
    declared = UrlFor("str", value=F("slug"))
    build = declared.builder()

    for value in values:
        assert outcome(lambda v=value: build((v,))) == outcome(lambda v=value: declared.builder()([v]))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("not-new", {"value": "new"}),
        ("possessive-tail", {"value": "xx"}),
        ("ending", {"value": "a"}),
        ("re-behind", {"value": "no"}),
        ("even", {"value": 3}),
        ("broken-percent", {"value": "a"}),
    ],
)
def test_a_value_that_suits_its_converter_and_not_the_whole_pattern_is_refused_as_by_reverse(name, row):
    refused = outcome(lambda: reverse(name, kwargs=row))

    assert outcome(lambda: built(name, row)) is refused
    assert refused in (NoReverseMatch, ValueError)


@pytest.mark.parametrize(
    ("name", "row", "path"),
    [
        ("coloured", {"value": "a", "colour": "red"}, "/red/a/"),
        ("coloured", {"value": "a", "colour": "blue"}, "/blue/a/"),
        ("overridden", {"value": "a"}, "/overridden/a/"),
        ("many", {"value": "4"}, "/many/4/odd/"),
        ("re-optional", {"value": "a", "year": "2"}, "/re-optional/page-2/a/"),
        ("re-behind", {"value": "a"}, "/a/behind/"),
        ("re-captured", {"value": "a", "owner": "ann"}, "/ann/a/"),
        ("slash", {"value": "/evil"}, "/%2F/evil"),
        ("root", {"value": "/evil"}, "/%2Fevil"),
        ("str", {"value": "größe 42%"}, "/str/gr%C3%B6%C3%9Fe%2042%25/"),
        ("str", {"value": Shouting("a")}, "/str/A/"),
    ],
)
def test_a_path_that_takes_more_than_one_look_is_what_reverse_gives(name, row, path):
    assert built(name, row) == reverse(name, kwargs=row) == path


@pytest.mark.parametrize("names", [("value",), ("value", "other"), ("other", "value"), ("many",)])
def test_declarations_of_one_name_and_other_keyword_arguments_do_not_mix(names):
    for other in [("value",), ("value", "other"), ("other", "value"), ("many",), names]:
        row = {name: number for number, name in enumerate(other, start=1)}

        assert outcome(lambda r=row: built("many", r)) == outcome(lambda r=row: reverse("many", kwargs=r))


# --- what leaves the row out ---


@pytest.mark.parametrize("name", ["str", "int", "path", "re", "literal", "not-new", "nowhere"])
@pytest.mark.parametrize("value", [None, ".", "..", pytest.param(mark_safe(".."), id="safe"), lazystr(".")])
def test_nothing_and_dots_leave_the_row_out_under_every_kind_of_pattern(name, value):
    with pytest.raises(InvalidEntry) as caught:
        built(name, {"value": value})

    assert caught.value.code in ("E-URL-VALUE", "E-URL-REVERSE")


@pytest.mark.parametrize("value", [None, ".", "..", pytest.param(mark_safe(".."), id="safe"), lazystr("."), ""])
def test_a_row_that_is_left_out_names_the_value_and_the_remedy(value):
    with pytest.raises(InvalidEntry, match=re.escape("UrlFor('str', value=F(value)): value is ")) as caught:
        built("str", {"value": value})

    assert caught.value.code == "E-URL-VALUE"
    assert "leave such rows out of the queryset" in str(caught.value)


@pytest.mark.parametrize("row", [{"year": 2024, "value": None}, {"year": None, "value": "a"}])
def test_one_missing_value_of_several_leaves_the_row_out(row):
    with pytest.raises(InvalidEntry, match=r"is None.*\[E-URL-VALUE\]"):
        built("two", row)


def test_dots_that_a_converter_makes_leave_the_row_out():
    assert reverse("up", kwargs={"value": "one level up"}) == "/custom/../"

    with pytest.raises(InvalidEntry, match="value is 'one level up'"):
        built("up", {"value": "one level up"})


def test_an_empty_text_is_kept_where_reverse_keeps_it():
    assert built("anything", {"value": ""}) == reverse("anything", kwargs={"value": ""}) == "/custom//"


def test_the_message_about_a_value_that_no_pattern_takes_is_short_and_names_a_remedy():
    with pytest.raises(InvalidEntry, match="Correct the value or the URL pattern") as caught:
        built("slug", {"value": "ä" * 10_000})

    assert caught.value.code == "E-URL-REVERSE"
    assert isinstance(caught.value.__cause__, NoReverseMatch)
    assert len(str(caught.value)) < 600


def test_a_row_is_not_blamed_for_a_name_that_no_pattern_has():
    with pytest.raises(InvalidEntry, match=r"no URL pattern has this name. Correct it, or give the pattern") as caught:
        built("nowhere", {"value": "a"})

    assert "leave such rows out" not in str(caught.value)


def test_a_converter_that_a_name_reaches_last_may_refuse_the_value_in_any_way():
    class Urls:
        urlpatterns = [
            path("y/<hostile-year:value>/", view, name="drawn"),
            path("s/<str:value>/", view, name="drawn"),
        ]

    with urlconf(Urls):
        assert built("drawn", {"value": "é"}) == reverse("drawn", kwargs={"value": "é"}) == "/s/%C3%A9/"


# --- compiled where it can be ---


@pytest.mark.parametrize(
    ("name", "row", "path"),
    [
        ("about", {}, "/about/"),
        ("str", {"value": "Blue.Chair~42_-"}, "/str/Blue.Chair~42_-/"),
        ("str", {"value": 42}, "/str/42/"),
        ("str", {"value": mark_safe("a")}, "/str/a/"),
        ("int", {"value": 42}, "/int/42/"),
        ("int", {"value": Decimal(42)}, "/int/42/"),
        ("slug", {"value": "blue-chair"}, "/slug/blue-chair/"),
        ("uuid", {"value": A_UUID}, f"/uuid/{A_UUID}.html"),
        ("path", {"value": "a.b"}, "/path/a.b"),
        ("year", {"value": 987}, "/custom/0987/"),
        ("either", {"value": "ab"}, "/custom/ab/"),
        ("two", {"value": "chair", "year": 2024}, "/2024/chair/"),
        ("literal", {"value": "a"}, "/(a%7Cb)+.*%3F%5Bc%5D%7B2%7D%5E$%5Cd%20%23%C3%A9&~'%22/a/%C3%BC"),
        ("root-str", {"value": "a"}, "/a"),
        ("slash", {"value": "a"}, "/%2Fa"),
        ("captured", {"owner": "ann", "value": "a"}, "/ann/in/a/"),
        ("re-include", {"value": "a"}, "/re_plain/a/"),
        ("included-default", {"value": "a"}, "/default/a/"),
        ("many", {"value": 3}, "/many/3/odd/"),
        ("many", {"value": 3, "other": "a"}, "/many/3/a/"),
        ("shop-a:product", {"slug": "a"}, "/shop-a/a/"),
        ("shop:product", {"owner": "ann", "slug": "a"}, "/ann/shop/a/"),
        ("shop-b:deals:deal", {"owner": "ann", "year": 3, "slug": "a"}, "/shop-b/ann/3/a/"),
        ("translated", {"value": "a"}, "/product/a/"),
        ("i18n", {"value": "a"}, "/en/i18n/a/"),
    ],
)
def test_a_plain_row_is_built_without_reverse(name, row, path, no_reverse):
    assert built(name, row) == reverse(name, kwargs=row) == path


@given(plain_values, prefixes, languages)
def test_a_plain_text_never_needs_reverse(value, prefix, code):
    declared = UrlFor("i18n", value=F("slug"))

    with script_prefix(prefix), language(code), pytest.MonkeyPatch.context() as patch:
        path = reverse("i18n", kwargs={"value": value})
        patch.delattr(url_for, "reverse")
        assert declared.builder()([value]) == path


def test_a_path_of_constants_takes_no_values(no_reverse):
    declared = UrlFor("two", year=2024, value="chair")

    assert declared.expressions() == {}
    assert declared.builder()([]) == "/2024/chair/"


# --- one form per URLconf, script prefix and language ---


def test_one_declaration_serves_every_language_prefix_and_urlconf_in_turn(no_reverse):
    declared = UrlFor("i18n", value=F("slug"))

    for _ in range(2):
        assert declared.builder()(["a"]) == "/en/i18n/a/"
        with language("de"):
            assert declared.builder()(["a"]) == "/de/i18n/a/"
            with script_prefix("/app/"):
                assert declared.builder()(["a"]) == "/app/de/i18n/a/"
        with override_settings(ROOT_URLCONF=UnprefixedDefault):
            assert declared.builder()(["a"]) == "/i18n/a/"
        with urlconf(UnprefixedDefault), language("fr"):
            assert declared.builder()(["a"]) == "/fr/i18n/a/"


def test_a_translated_route_is_compiled_in_each_language(no_reverse):
    declared = UrlFor("translated", value=F("slug"))

    with language("de"):
        assert declared.builder()(["a"]) == "/erzeugnis/gr%C3%B6%C3%9Fe/a/"
    assert declared.builder()(["a"]) == "/product/a/"


def test_changed_patterns_are_seen_as_soon_as_reverse_sees_them():
    class Urls:
        urlpatterns = [path("old/<slug:value>/", view, name="page")]

    declared = UrlFor("page", value=F("slug"))
    with urlconf(Urls):
        assert declared.builder()(["a"]) == "/old/a/"

        Urls.urlpatterns = [path("new/<slug:value>/", view, name="page")]
        clear_url_caches()

        assert declared.builder()(["a"]) == reverse("page", kwargs={"value": "a"}) == "/new/a/"


def test_a_urlconf_out_of_use_is_not_kept_in_memory():
    class Urls:
        urlpatterns = [path("shop/", include(([path("<slug:value>/", view, name="page")], "a")))]

    with urlconf(Urls):
        UrlFor("a:page", value=F("slug")).builder()(["a"])
        resolver = weakref.ref(get_resolver(Urls))

    clear_url_caches()
    gc.collect()

    assert resolver() is None


def test_script_prefixes_without_end_do_not_fill_the_memory():
    declared = UrlFor("slug", value=F("slug"))

    for number in range(3000):
        with script_prefix(f"/{number}/"):
            assert declared.builder()(["a"]) == f"/{number}/slug/a/"

    assert len(url_for._shapes[get_resolver("testapp.urls_hostile")]) <= 1024


# --- the declaration itself ---


def test_expressions_are_separated_from_constants_in_declared_order():
    declared = UrlFor("near", other=F("b"), year=2024, value=Lower("a"))

    assert declared.expressions() == {"other": F("b"), "value": Lower("a")}
    assert list(declared.expressions()) == ["other", "value"]
    assert declared.builder()(["x", "chair"]) == "/near/chair2024-x"


def test_a_keyword_argument_may_have_the_name_of_a_parameter_of_the_class():
    assert UrlFor("str", self=F("a"), viewname=1).expressions() == {"self": F("a")}


def test_a_view_in_place_of_its_name_is_refused_with_the_remedy():
    with pytest.raises(InvalidSitemap, match="give the pattern a name"):
        UrlFor(view)  # type: ignore[arg-type]


def test_the_repr_is_the_declaration_and_holds_no_address():
    declared = UrlFor("shop:product", slug=Lower(F("slug")), year=2024, at=Value(Nameless()), other=Nameless())

    assert repr(UrlFor("product", slug=F("slug"), year=2024)) == "UrlFor('product', slug=F(slug), year=2024)"
    assert repr(declared).startswith("UrlFor('shop:product', slug=Lower(F(slug)), year=2024, at=Value(<")
    assert "0x" not in repr(declared)


def test_equal_declarations_are_equal_and_hash_alike():
    declared = UrlFor("product", slug=F("slug"), tags=["a"])

    assert declared == UrlFor("product", tags=["a"], slug=F("slug"))
    assert hash(declared) == hash(UrlFor("product", tags=["a"], slug=F("slug")))
    assert declared != UrlFor("product", slug=F("name"), tags=["a"])
    assert declared != UrlFor("products", slug=F("slug"), tags=["a"])
    assert declared != "product"


@pytest.mark.parametrize("name", sorted({*PARAMETERS} - NEVER))
def test_a_declaration_that_some_pattern_takes_has_no_problem(name):
    assert UrlFor(name, **{key: F(key) for key in PARAMETERS[name]}).check() == []


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (UrlFor("nowhere", slug=F("slug")), "no URL pattern has this name"),
        (UrlFor("nowhere:product"), "'nowhere' is not a registered namespace"),
        (UrlFor("shop-a:nowhere:product"), "'nowhere' is not a registered namespace"),
        (UrlFor("product"), "no URL pattern has this name"),
        (UrlFor("two", slug=F("slug"), year=1), "take (year, value). Correct"),
        (UrlFor("many", slug=F("slug")), "take () or (value) or (value, other). Correct"),
        (UrlFor("coloured", value=F("a"), size=F("size")), "take (value). Correct"),
    ],
)
def test_a_declaration_that_no_pattern_takes_is_reported_without_a_row(declared, text):
    ((problem, remedy),) = declared.check()

    assert problem.startswith(repr(declared))
    assert text in f"{problem} {remedy}"
