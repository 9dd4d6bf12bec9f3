"""The XML of videos: the vectors X and V of the protocol, and the order of the schema."""

from datetime import UTC, date, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from django.utils import translation
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

import strategies
from element_samples import (
    BERLIN,
    LOC,
    NAMESPACES,
    Codes,
    address,
    context,
    document,
    everything,
    kept,
    names,
    parsed,
    text,
    video,
)
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.text import clean
from sitemaps_plus.values import Player, Uploader
from sitemaps_plus.values.video import video_element, video_elements
from xml_checks import validate

# Text


@pytest.mark.parametrize(
    ("given_text", "expected", "warnings"),
    [
        pytest.param("""Tom & Jerry <3 "x" 'y'""", """Tom & Jerry <3 "x" 'y'""", [], id="X01"),
        pytest.param("a ]]> b & <i>c</i>", "a ]]> b & <i>c</i>", [], id="X03 without CDATA"),
        pytest.param("a\x00b", "ab", ["W-XML-CHAR"], id="X04 NUL"),
        pytest.param("a\x08b", "ab", ["W-XML-CHAR"], id="X04 backspace"),
        pytest.param("a\x1fb", "ab", ["W-XML-CHAR"], id="X04 unit separator"),
        pytest.param("a\ufffeb\uffff", "ab", ["W-XML-CHAR"], id="X06"),
        pytest.param("\U0001f600\U0010ffff\x85\t.", "\U0001f600\U0010ffff\x85\t.", [], id="X07"),
        pytest.param("l1\r\nl2", "l1\nl2", [], id="X08"),
        pytest.param("\u200fאe\u0301", "\u200fאe\u0301", [], id="X11"),
    ],
)
def test_text_is_read_back_as_it_was_given(given_text, expected, warnings):
    codes = Codes()

    element = parsed(video_element(video(title=given_text, tags=[given_text]), context(warn=codes.warn)))

    assert (text(element, "video:title"), text(element, "video:tag")) == (expected, expected)
    assert set(codes) == set(warnings)


@pytest.mark.parametrize("bad", ["a\x00b", "a\ufffe"])
def test_an_illegal_character_is_an_error_when_strict(bad):
    with pytest.raises(InvalidEntry, match="E-XML-CHAR"):
        video_element(video(title=bad), context(strict=True))


def test_line_ends_and_tabs_stay_in_attributes():
    player = Player(loc="/p", autoplay="a\r\nb\tc")

    element = parsed(video_element(video(player_loc=player), context(emit_deprecated=True)))

    assert element.find("video:player_loc", NAMESPACES).get("autoplay") == "a\nb\tc"


def test_a_lazy_text_is_written_in_the_active_language():
    with translation.override("de"):
        element = parsed(video_element(video(title=gettext_lazy("Monday"), tags=[gettext_lazy("Tuesday")]), context()))

    assert (text(element, "video:title"), text(element, "video:tag")) == ("Montag", "Dienstag")


# Rules


def test_a_full_video_has_its_children_in_the_order_of_the_schema():
    """V16."""
    element = parsed(video_element(everything(), context(emit_deprecated=True)))

    assert names(element) == [
        "thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "expiration_date", "rating",
        "content_segment_loc", "content_segment_loc", "view_count", "publication_date", "tag", "tag", "category",
        "family_friendly", "restriction", "gallery_loc", "price", "price", "requires_subscription", "uploader",
        "tvshow", "platform", "live", "id", "id",
    ]  # fmt: skip
    assert [(child.text or "", child.attrib) for child in element if child.attrib] == [
        ("https://player.example.net/?v=1&w=2", {"allow_embed": "no", "autoplay": "a=1&b=2"}),
        ("https://example.com/2.mp4", {"duration": "0"}),
        ("IE GB", {"relationship": "allow"}),
        ("https://example.com/gallery/", {"title": '"All"'}),
        ("1.99", {"currency": "EUR", "type": "rent", "resolution": "hd"}),
        ("", {"type": "purchase"}),
        ("Ann & Bob", {"info": "https://www.example.com/ann/"}),
        ("web tv", {"relationship": "deny"}),
        ("tt1", {"type": "tms:series"}),
        ("https://example.com/1", {"type": "url"}),
    ]


def test_every_element_of_a_video_is_read_back_as_it_was_given():
    element = parsed(video_element(everything(), context(emit_deprecated=True)))

    assert [(name, child.text) for name, child in zip(names(element), element, strict=True)] == [
        ("thumbnail_loc", "https://example.com/t.jpg"),
        ("title", """Tom & Jerry <3 "x" 'y'"""),
        ("description", "D"),
        ("content_loc", "https://example.com/v.mp4"),
        ("player_loc", "https://player.example.net/?v=1&w=2"),
        ("duration", "28800"),
        ("expiration_date", "2027-01-01"),
        ("rating", "4.25"),
        ("content_segment_loc", "https://example.com/1.mp4"),
        ("content_segment_loc", "https://example.com/2.mp4"),
        ("view_count", "12345"),
        ("publication_date", "2026-07-01T12:00:00+02:00"),
        ("tag", "one"),
        ("tag", "two & three"),
        ("category", "cooking"),
        ("family_friendly", "no"),
        ("restriction", "IE GB"),
        ("gallery_loc", "https://example.com/gallery/"),
        ("price", "1.99"),
        ("price", None),
        ("requires_subscription", "yes"),
        ("uploader", "Ann & Bob"),
        ("tvshow", None),
        ("platform", "web tv"),
        ("live", "yes"),
        ("id", "tt1"),
        ("id", "https://example.com/1"),
    ]
    show = element.find("video:tvshow", NAMESPACES)
    assert [(name, child.text) for name, child in zip(names(show), show, strict=True)] == [
        ("show_title", "Show"),
        ("video_type", "full"),
        ("episode_title", "Pilot"),
        ("season_number", "1"),
        ("episode_number", "2"),
        ("premier_date", "2026-01-01"),
    ]


def test_deprecated_fields_of_a_video_are_written_only_with_emit_deprecated():
    codes = Codes()

    element = parsed(video_element(everything(), context(warn=codes.warn)))

    assert not {"content_segment_loc", "category", "gallery_loc", "price", "tvshow", "id"} & set(names(element))
    assert element.find("video:player_loc", NAMESPACES).attrib == {}
    assert codes == ["W-DEPRECATED", "W-DEPRECATED"]


def test_python_values_become_protocol_text():
    element = parsed(video_element(everything(), context()))

    found = {name: text(element, f"video:{name}") for name in ("duration", "rating", "view_count", "live")}
    assert found == {"duration": "28800", "rating": "4.25", "view_count": "12345", "live": "yes"}
    assert text(element, "video:family_friendly") == "no"


def test_a_naive_date_gets_its_zone():
    """V19."""
    element = parsed(video_element(video(publication_date=datetime(2026, 7, 1, 12)), context()))

    assert text(element, "video:publication_date") == "2026-07-01T12:00:00+02:00"


@pytest.mark.parametrize(
    ("expires", "expected"),
    [
        pytest.param(datetime(2026, 10, 3, 11, 59, tzinfo=UTC), ["W-VIDEO-EXPIRED"], id="V18"),
        pytest.param(date(2026, 10, 2), ["W-VIDEO-EXPIRED"], id="V18 date"),
        pytest.param("2026-10-02", ["W-VIDEO-EXPIRED"], id="V18 text"),
        pytest.param(date(2026, 10, 3), [], id="last day"),
        pytest.param(datetime(2026, 10, 3, 14, 1), [], id="naive, a minute ahead"),
        pytest.param(date(2030, 1, 1), [], id="future"),
    ],
)
def test_a_video_that_has_expired_is_written_with_a_warning(expires, expected):
    codes = Codes()

    element = parsed(video_element(video(expiration_date=expires), context(warn=codes.warn)))

    assert text(element, "video:expiration_date") == format_date(expires, tz=BERLIN)
    assert codes == expected


def test_a_title_that_is_too_long_for_the_schema_is_shortened():
    """V06."""
    codes = Codes()

    whole = parsed(video_element(video(title="t" * 100), context(warn=codes.warn)))
    assert codes == []
    cut = parsed(video_element(video(title="t" * 101), context(warn=codes.warn)))

    assert text(whole, "video:title") == "t" * 100
    assert text(cut, "video:title") == "t" * 99 + "…"
    assert codes == ["W-VIDEO-TITLE"]
    with pytest.raises(InvalidEntry, match="E-VIDEO-TITLE"):
        video_element(video(title="t" * 101), context(strict=True))


@pytest.mark.parametrize("field", ["content_loc", "player_loc"])
def test_a_video_is_not_the_page_itself(field):
    with pytest.raises(InvalidEntry, match="E-VIDEO-LOCATION"):
        video_element(video(**{field: LOC}), context())


@pytest.mark.parametrize(
    ("info", "code"),
    [
        pytest.param("/about/", None, id="V15 same host"),
        pytest.param("https://www.example.com/ann/", None, id="V15 with www"),
        pytest.param("https://users.example.com/ann/", None, id="V15 subdomain"),
        pytest.param("https://example.org/ann/", "E-VIDEO-UPLOADER-INFO", id="V15 another domain"),
        pytest.param("https://notexample.com/ann/", "E-VIDEO-UPLOADER-INFO", id="V15 same ending"),
    ],
)
def test_the_page_of_an_uploader_is_on_the_domain_of_the_video(info, code):
    made = video(uploader=Uploader(name="Ann", info=info))

    if code is None:
        element = parsed(video_element(made, context()))
        assert element.find("video:uploader", NAMESPACES).get("info") == address(info)
    else:
        with pytest.raises(InvalidEntry, match=code):
            video_element(made, context())


def test_www_does_not_count_as_another_domain():
    made = video(uploader=Uploader(name="Ann", info="https://users.example.com/ann/"))

    element = parsed(video_element(made, context(loc="https://www.example.com/film/")))

    assert element.find("video:uploader", NAMESPACES).get("info") == "https://users.example.com/ann/"


@pytest.mark.parametrize(
    ("given_url", "expected"),
    [
        ("ftp://example.com/ä b.mp4", "ftp://example.com/%C3%A4%20b.mp4"),
        ("FTP://Example.com", "ftp://example.com/"),
        ("ftp://example.com:443/a.mp4", "ftp://example.com:443/a.mp4"),
        ("ftp://example.com:80/a.mp4", "ftp://example.com:80/a.mp4"),
    ],
)
def test_files_of_a_video_may_be_on_ftp(given_url, expected):
    element = parsed(video_element(video(content_loc=given_url), context()))

    assert text(element, "video:content_loc") == expected


def test_an_ftp_url_has_the_same_limit_as_any_other():
    longest = "ftp://example.com/" + "a" * (2047 - len("ftp://example.com/"))

    assert longest in video_element(video(content_loc=longest), context())
    with pytest.raises(InvalidEntry, match="E-URL-LENGTH"):
        video_element(video(content_loc=f"{longest}a"), context())


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"thumbnail_loc": "/a?token=1"}, "thumbnail_loc"),
        ({"content_loc": "/a?token=1"}, "content_loc"),
        ({"content_loc": "ftp://example.com/a?token=1"}, "content_loc"),
        ({"player_loc": "/a?token=1"}, "player_loc"),
        ({"player_loc": Player(loc="/a?token=1")}, "player_loc"),
        ({"player_loc": "/p", "content_segment_loc": "/a?token=1"}, "content_segment_loc"),
    ],
)
def test_a_signed_url_of_a_video_is_written_with_a_warning(fields, path):
    codes = Codes()

    element = parsed(video_element(video(**fields), context(warn=codes.warn, emit_deprecated=True)))

    assert text(element, f"video:{path}").endswith("/a?token=1")
    assert codes == ["W-URL-SIGNED"]


def test_a_player_may_not_be_on_ftp():
    with pytest.raises(InvalidEntry, match="E-URL-SCHEME"):
        video_element(video(player_loc="ftp://example.com/p"), context())


def test_a_broken_video_is_dropped_and_the_others_stay():
    codes = Codes()

    page = validate(document(video_elements([video(), video(content_loc=LOC), None], context(), codes.drop)))[0]

    assert len(page) == 2
    assert codes == ["E-VIDEO-LOCATION"]


# Any video


@given(strategies.videos(), st.booleans())
def test_any_video_is_valid_and_read_back(made, emit_deprecated):
    element = parsed(video_element(made, context(emit_deprecated=emit_deprecated)))

    assert _texts(element) == _expected(made, emit_deprecated)
    if made.tvshow is not None and emit_deprecated:
        assert text(element, "video:tvshow/video:show_title") == clean(made.tvshow.show_title)
        assert text(element, "video:tvshow/video:episode_title") == kept(made.tvshow.episode_title, clean)


def _texts(element: ElementTree.Element) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for child in element:
        found.setdefault(child.tag.partition("}")[2], []).append(child.text)
    return found


def _expected(made: Any, emit_deprecated: bool) -> dict[str, list[str | None]]:
    """Return the texts of the children of a video."""
    moment = lambda value: format_date(value, tz=BERLIN)  # noqa: E731
    yes_no = {True: "yes", False: "no"}.get
    parts: dict[str, list[str | None]] = {
        "thumbnail_loc": [address(made.thumbnail_loc)],
        "title": [clean(made.title)],
        "description": [clean(made.description)],
        "content_loc": [kept(made.content_loc, address)],
        "player_loc": [made.player_loc and address(made.player_loc.loc)],
        "duration": [kept(made.duration, str)],
        "expiration_date": [kept(made.expiration_date, moment)],
        "rating": [made.rating],
        "view_count": [kept(made.view_count, str)],
        "publication_date": [kept(made.publication_date, moment)],
        "tag": [clean(tag) for tag in made.tags or ()],
        "family_friendly": [yes_no(made.family_friendly)],
        "restriction": [made.restriction and " ".join(made.restriction.countries)],
        "requires_subscription": [yes_no(made.requires_subscription)],
        "uploader": [made.uploader and clean(made.uploader.name)],
        "platform": [made.platform and " ".join(made.platform.platforms)],
        "live": [yes_no(made.live)],
    }
    if emit_deprecated:
        parts |= {
            "category": [kept(made.category, clean)],
            "gallery_loc": [made.gallery_loc and address(made.gallery_loc.loc)],
            "content_segment_loc": [address(segment.loc) for segment in made.content_segment_loc or ()],
            "id": [clean(name.value) for name in made.id or ()],
        }
    found = {name: texts for name, texts in parts.items() if texts not in ([], [None])}
    if emit_deprecated and made.prices is not None:
        found["price"] = [price.value for price in made.prices]
    if emit_deprecated and made.tvshow is not None:
        found["tvshow"] = [None]
    return found
