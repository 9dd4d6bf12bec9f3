"""Values with expressions: when they are checked, and how they are built for a row."""

import dataclasses
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from django.utils.safestring import mark_safe
from hypothesis import given
from hypothesis import strategies as st

import strategies
from element_samples import VALUES, news, refused, video
from sitemaps_plus import Siblings, UrlFor
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap
from sitemaps_plus.values import (
    Alternate,
    Image,
    Platform,
    Player,
    Price,
    Restriction,
    Uploader,
    Value,
    Video,
)
from sitemaps_plus.values.fields import Declared


def expressive() -> Video:
    return video(
        title=F("name"),
        player_loc=Player(loc=F("player"), autoplay="on"),
        duration=F("length"),
        tags=["fixed", F("first"), F("second")],
        prices=[Price(value=F("price"), currency="EUR"), Price(type="rent")],
        uploader=Uploader(name=F("author__name"), info="/about/"),
        platform=Platform(relationship="allow", platforms=F("platforms")),
    )


def test_expressions_are_named_after_their_fields():
    assert list(expressive().expressions().items()) == [
        ("title", F("name")),
        ("player_loc.loc", F("player")),
        ("duration", F("length")),
        ("tags.1", F("first")),
        ("tags.2", F("second")),
        ("prices.0.value", F("price")),
        ("uploader.name", F("author__name")),
        ("platform.platforms", F("platforms")),
    ]


def test_a_value_is_built_from_the_values_of_its_expressions():
    build = expressive().builder()

    assert build(["Film", "/p", timedelta(minutes=1), "a", "b", Decimal("1.50"), "Ann", ["web"]]) == video(
        title="Film",
        player_loc=Player(loc="/p", autoplay="on"),
        duration=60,
        tags=["fixed", "a", "b"],
        prices=[Price(value="1.50", currency="EUR"), Price(type="rent")],
        uploader=Uploader(name="Ann", info="/about/"),
        platform=Platform(relationship="allow", platforms=["web"]),
    )


def test_optional_parts_that_are_empty_are_left_out():
    build = expressive().builder()

    assert build(["Film", None, None, "", None, None, "", ["tv"]]) == video(
        title="Film",
        tags=["fixed"],
        prices=[Price(type="rent")],
        platform=Platform(relationship="allow", platforms=["tv"]),
    )


@pytest.mark.parametrize("empty", [None, ""])
@pytest.mark.parametrize("kind", [kind for kind in VALUES if kind not in (Restriction, Platform)])
def test_an_empty_required_field_means_no_value(kind, empty):
    for name in kind._required:
        filled = {other: "x" for other in kind._required if other != name}

        build = kind(**filled, **{name: F("column")}).builder()

        assert build([empty]) is None


LIMITS = [
    pytest.param("restriction", Restriction, "countries", "IE", id="countries"),
    pytest.param("platform", Platform, "platforms", "web", id="platforms"),
]


@pytest.mark.parametrize("empty", [None, "", " ", [], [None, ""]], ids=repr)
@pytest.mark.parametrize(("field", "kind", "part", "one"), LIMITS)
def test_a_video_whose_limit_is_half_empty_is_refused(field, kind, part, one, empty):
    build = video(**{field: kind(relationship="allow", **{part: F("where")})}).builder()

    assert getattr(build([one]), field) == kind(relationship="allow", **{part: [one]})
    with pytest.raises(InvalidEntry, match=rf"{kind.__name__}\.{part} is empty.*E-REQUIRED"):
        build([empty])


def test_the_error_for_an_empty_limit_names_the_risk_and_the_remedy():
    build = Restriction(relationship="allow", countries=F("countries")).builder()

    with pytest.raises(InvalidEntry) as raised:
        build([[]])

    assert str(raised.value) == (
        "Restriction.countries is empty for this row, so the video would be shown without this limit. "
        "Fill it in, or leave the video out. [E-REQUIRED]"
    )


@pytest.mark.parametrize(("field", "kind", "part", "one"), LIMITS)
def test_both_halves_of_a_limit_are_required(field, kind, part, one):
    build = video(**{field: kind(relationship=F("how"), **{part: F("where")})}).builder()

    assert getattr(build(["deny", one]), field).relationship == "deny"
    for row in (["", one], ["deny", ""]):
        with pytest.raises(InvalidEntry, match="E-REQUIRED"):
            build(row)


@pytest.mark.parametrize(("field", "kind", "part", "one"), LIMITS)
def test_a_row_with_two_empty_halves_has_no_limit(field, kind, part, one):
    build = video(**{field: kind(relationship=F("how"), **{part: [F("first"), F("second")]})}).builder()

    assert build(["", None, ""]) == video()


def test_a_row_without_a_video_needs_no_limit():
    restriction = Restriction(relationship="allow", countries=F("countries"))
    build = video(thumbnail_loc=F("still"), title=F("name"), restriction=restriction).builder()

    assert build(["", "Film", ""]) is None
    assert build(["/t.jpg", "Film", "IE"]).restriction.countries == ("IE",)
    with pytest.raises(InvalidEntry, match="E-REQUIRED"):
        build(["/t.jpg", "Film", ""])


@pytest.mark.parametrize(
    ("declared", "row"),
    [
        ({"content_loc": F("file"), "player_loc": F("player")}, ["", None]),
        ({"content_loc": F("file")}, [None]),
        ({"content_loc": None, "player_loc": Player(loc=F("player"))}, [""]),
    ],
)
def test_a_row_without_any_url_of_a_video_has_no_video(declared, row):
    assert video(**declared).builder()(row) is None


def test_one_url_of_a_video_is_enough():
    build = video(content_loc=F("file"), player_loc=F("player")).builder()

    assert build(["/v.mp4", ""]) == video(content_loc="/v.mp4")
    assert build([None, "/p"]) == video(content_loc=None, player_loc="/p")
    assert video(player_loc=F("player")).builder()([""]) == video()


@pytest.mark.parametrize(
    ("declared", "row", "code"),
    [
        (video(duration=F("length")), [0], "E-VIDEO-DURATION"),
        (video(title=F("name")), ["  "], "E-REQUIRED"),
        (video(title=F("name"), description=""), ["T"], "E-REQUIRED"),
        (video(title=F("name"), content_loc=None), ["T"], "E-VIDEO-LOCATION"),
        (Image(loc=F("photo"), title=b""), ["/a.jpg"], "E-FIELD-TYPE"),
        (Restriction(relationship="allow", countries=[F("a"), F("b")]), ["IE", "UK"], "E-COUNTRY"),
    ],
)
def test_a_rule_is_checked_when_the_values_are_known(declared, row, code):
    build = declared.builder()

    with pytest.raises(InvalidEntry, match=code):
        build(row)


def test_nothing_is_checked_while_a_field_holds_an_expression():
    assert Video(title=F("name"), duration=-1).duration == -1


@pytest.mark.urls("testapp.urls_hostile")
def test_urlfor_may_be_given_for_a_url():
    made = video(content_loc=None, player_loc=UrlFor("int", value=F("number")))

    assert list(made.expressions()) == ["player_loc.value"]
    assert made.builder()([5]) == video(content_loc=None, player_loc="/int/5/")
    assert Image(loc=UrlFor("about")).builder()([]) == Image(loc="/about/")


@pytest.mark.urls("testapp.urls_hostile")
def test_urlfor_may_be_given_for_a_page_in_another_language():
    made = Alternate(hreflang="de", href=UrlFor("int", value=F("number")))

    assert list(made.expressions()) == ["href.value"]
    built = made.builder()([5])
    assert (built.hreflang, built.href) == ("de", "/int/5/")
    assert dataclasses.replace(built) == built.settled() == built
    assert Alternate(hreflang="x-default", href=UrlFor("about")).builder()([]).href == "/about/"


@pytest.mark.urls("testapp.urls_hostile")
@pytest.mark.parametrize("empty", [None, ""])
def test_a_row_with_empty_arguments_of_urlfor_has_no_value(empty):
    for made in (
        Alternate(hreflang="de", href=UrlFor("slug", value=F("slug_de"))),
        Image(loc=UrlFor("slug", value=F("slug"))),
        video(content_loc=None, player_loc=Player(loc=UrlFor("slug", value=F("slug")))),
    ):
        assert made.builder()([empty]) is None
        assert made.builder()(["a"]) is not None


@pytest.mark.urls("testapp.urls_hostile")
def test_a_path_that_cannot_be_reversed_is_an_error():
    build = video(title=F("name"), player_loc=UrlFor("int", value=F("number"))).builder()

    assert build(["", "seven"]) is None
    with pytest.raises(InvalidEntry, match="E-URL-REVERSE"):
        build(["Film", "seven"])


def test_a_path_written_by_hand_is_refused_as_a_link():
    """H17."""
    for href in ("/de/", "//example.de/", mark_safe("/de/")):
        assert refused(Alternate, hreflang="de", href=href) == "E-URL-RELATIVE"
    with pytest.raises(InvalidEntry, match=r"give UrlFor for a page of this site.*E-URL-RELATIVE"):
        Alternate(hreflang="de", href=F("path")).builder()(["/de/"])


def test_a_list_cannot_be_changed_afterwards():
    tags = [F("tag")]
    made = video(tags=tags)

    tags.append("another")

    assert made.tags == (F("tag"),)
    assert hash(made) == hash(video(tags=[F("tag")]))


@pytest.mark.parametrize("value", [Image(loc=F("a")), Image(loc="/a.jpg"), expressive(), news()])
def test_every_value_implements_the_declared_protocol(value):
    assert isinstance(value, Declared)
    assert isinstance(value, Value)


def columns() -> Iterator[Any]:
    yield from (
        "",
        None,
        "  ",
        "text",
        "/path",
        0,
        5,
        b"bytes",
        [],
        ["web"],
        date(2026, 1, 1),
        Decimal("NaN"),
        object(),
    )


@given(st.lists(st.sampled_from(list(columns())) | strategies.filled(), min_size=8, max_size=8))
def test_a_row_gives_a_valid_value_or_none_or_invalid_entry(row):
    try:
        made = expressive().builder()(row)
    except InvalidEntry:
        return

    assert made is None or made.expressions() == {}


def test_siblings_are_refused_in_a_field():
    with pytest.raises(
        InvalidSitemap, match=r"Image\.loc is Siblings\(.*gives links to other rows\. Give it to hreflang"
    ):
        Image(loc=Siblings("slug", language=F("language")))
