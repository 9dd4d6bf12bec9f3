"""The rules of all fields: the vectors V, I and N of the protocol, and the forms of values that fields accept."""

import dataclasses
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage
from django.db.models import F, FileField, Model
from django.db.models.fields.files import FieldFile
from django.utils import translation
from django.utils.functional import lazy, lazystr
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

import strategies
from element_samples import VALUES, news, refused, video
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.values import (
    Alternate,
    Gallery,
    Image,
    News,
    Platform,
    Player,
    Price,
    Restriction,
    Segment,
    TVShow,
    Uploader,
    Video,
    VideoId,
)
from testapp.models import Product


def price(**fields: Any) -> Video:
    return video(prices=Price(**fields))


# Vectors


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        pytest.param(Video, {"thumbnail_loc": "/t", "title": "T", "description": "D", "content_loc": "/v"}, id="V01"),
        pytest.param(Video, {"thumbnail_loc": "/t", "title": "T", "description": "D", "player_loc": "/p"}, id="V02"),
        pytest.param(video, {"tags": [str(n) for n in range(32)]}, id="V05 32 tags"),
        pytest.param(video, {"title": "t" * 100}, id="V06 100 characters"),
        pytest.param(video, {"title": "t" * 101}, id="V06 101 characters, cut when written"),
        pytest.param(video, {"description": "\U0001f600" * 2048}, id="V07 2,048 emoji"),
        pytest.param(video, {"description": "d" * 2048 + "\0"}, id="V07 2,048 characters that can be written"),
        pytest.param(video, {"uploader": "u" * 255}, id="V15 255 characters"),
        pytest.param(price, {"value": "1.99", "currency": "EUR"}, id="V20 with currency"),
        pytest.param(price, {"type": "rent"}, id="V20 type alone"),
        pytest.param(video, {"player_loc": "/p", "content_segment_loc": ["/1", "/2"]}, id="segments of a player"),
        pytest.param(news, {"stock_tickers": ["A:B"] * 5}, id="N10 five tickers"),
    ],
)
def test_a_value_within_the_rules_is_accepted(make, fields):
    assert make(**fields) == make(**fields)


@pytest.mark.parametrize(
    ("make", "fields", "code"),
    [
        pytest.param(Image, {}, "E-REQUIRED", id="I04"),
        pytest.param(Image, {"loc": ""}, "E-REQUIRED", id="I04 empty"),
        pytest.param(Image, {"loc": " \t"}, "E-REQUIRED", id="I04 blank"),
        pytest.param(Image, {"loc": None, "title": "x"}, "E-REQUIRED", id="I04 with a title"),
        pytest.param(video, {"description": "   "}, "E-REQUIRED", id="X13"),
        pytest.param(video, {"title": "\0\x1f"}, "E-REQUIRED", id="X13 nothing that XML can hold"),
        pytest.param(news, {"title": " "}, "E-REQUIRED", id="X13 in news"),
        pytest.param(video, {"title": None}, "E-REQUIRED", id="no title"),
        pytest.param(video, {"content_loc": None}, "E-VIDEO-LOCATION", id="V03"),
        pytest.param(video, {"content_segment_loc": ["/1"]}, "E-VIDEO-LOCATION", id="segments without a player"),
        pytest.param(video, {"tags": [str(n) for n in range(33)]}, "E-VIDEO-TAGS", id="V05 33 tags"),
        pytest.param(video, {"description": "d" * 2049}, "E-VIDEO-DESCRIPTION", id="V07 2,049 characters"),
        *(
            pytest.param(video, {"duration": value}, "E-VIDEO-DURATION", id=f"V08 {value}")
            for value in (0, 28801, -1, "PT10M", 599.6, True, float("nan"), "9" * 5000, timedelta(milliseconds=100))
        ),
        *(
            pytest.param(video, {"rating": value}, "E-VIDEO-RATING", id=f"V10 {value}")
            for value in (5.1, -0.1, "4,2", Decimal("5.01"), float("inf"), Decimal("sNaN"), "1e1", False, [])
        ),
        pytest.param(Restriction, {"countries": ["IE"]}, "E-REQUIRED", id="V11 no relationship"),
        pytest.param(Platform, {"platforms": ["web"]}, "E-REQUIRED", id="V13 no relationship"),
        pytest.param(Restriction, {"relationship": "allow"}, "E-REQUIRED", id="V11 no countries"),
        pytest.param(Restriction, {"relationship": "forbid", "countries": "IE"}, "E-RELATIONSHIP", id="V11 forbid"),
        pytest.param(Restriction, {"relationship": "allow", "countries": ["UK"]}, "E-COUNTRY", id="V12 UK"),
        pytest.param(Restriction, {"relationship": "allow", "countries": ["EU"]}, "E-COUNTRY", id="V12 EU"),
        pytest.param(Platform, {"relationship": "deny", "platforms": ["watch"]}, "E-VIDEO-PLATFORM", id="V13"),
        pytest.param(video, {"uploader": "u" * 256}, "E-VIDEO-UPLOADER", id="V15 256 characters"),
        pytest.param(price, {"value": "1.99"}, "E-VIDEO-PRICE", id="V20 no currency"),
        pytest.param(price, {"type": "own"}, "E-VIDEO-PRICE", id="V20 own"),
        pytest.param(price, {}, "E-VIDEO-PRICE", id="V20 nothing"),
        pytest.param(price, {"value": -1, "currency": "EUR"}, "E-VIDEO-PRICE", id="V20 negative"),
        pytest.param(price, {"value": 1, "currency": "euro"}, "E-VIDEO-PRICE", id="V20 no currency code"),
        pytest.param(video, {"view_count": -1}, "E-VIDEO-VIEWS", id="views below zero"),
        pytest.param(video, {"category": "c" * 257}, "E-VIDEO-CATEGORY", id="long category"),
        pytest.param(video, {"live": "maybe"}, "E-YES-NO", id="neither yes nor no"),
        pytest.param(video, {"publication_date": "yesterday"}, "E-DATE", id="no date"),
        pytest.param(video, {"publication_date": "2026-10"}, "E-DATE", id="a month"),
        pytest.param(video, {"expiration_date": 2026}, "E-DATE", id="a number for a date"),
        pytest.param(TVShow, {"show_title": "S", "video_type": "trailer"}, "E-VIDEO-TVSHOW", id="unknown kind of show"),
        pytest.param(
            TVShow, {"show_title": "S", "video_type": "full", "season_number": 0}, "E-VIDEO-TVSHOW", id="season 0"
        ),
        pytest.param(VideoId, {"value": "1", "type": "imdb"}, "E-VIDEO-ID", id="unknown catalogue"),
        pytest.param(video, {"tags": "one, two"}, "E-FIELD-TYPE", id="text for a list"),
        pytest.param(video, {"tags": gettext_lazy("one")}, "E-FIELD-TYPE", id="lazy text for a list"),
        pytest.param(video, {"title": b"bytes"}, "E-FIELD-TYPE", id="bytes for text"),
        pytest.param(video, {"title": ["a"]}, "E-FIELD-TYPE", id="a list for text"),
        pytest.param(video, {"restriction": "IE"}, "E-FIELD-TYPE", id="text for a restriction"),
        pytest.param(video, {"uploader": Player(loc="/p")}, "E-FIELD-TYPE", id="another value"),
        pytest.param(news, {"geo_targeting": "IE"}, "E-UNKNOWN-FIELD", id="N08 geo_targeting"),
        pytest.param(news, {"amp": "/amp/"}, "E-UNKNOWN-FIELD", id="N08 amp"),
        pytest.param(news, {"geo_locations": "IE"}, "E-UNKNOWN-FIELD", id="N08 geo_locations"),
        pytest.param(news, {"headline": "T"}, "E-UNKNOWN-FIELD", id="a field that News does not have"),
        pytest.param(news, {"stock_tickers": [f"A:{n}" for n in range(6)]}, "E-NEWS-TICKERS", id="N10 six tickers"),
        *(
            pytest.param(news, {"stock_tickers": value}, "E-NEWS-TICKERS", id=f"N10 {value}")
            for value in ("AMAT", "NYSE:BRK.B", "NYSE:BRK-B", "NYSE:BRK_B", "A:B:C", "NYSE:", ":A", "NYSE: A", "Ö:B")
        ),
        pytest.param(news, {"access": "Open"}, "E-NEWS-ACCESS", id="N10 Open"),
        pytest.param(news, {"access": "Paid"}, "E-NEWS-ACCESS", id="N10 Paid"),
        pytest.param(news, {"genres": ["Gossip"]}, "E-NEWS-GENRES", id="unknown genre"),
        pytest.param(news, {"language": "gr"}, "E-NEWS-LANGUAGE", id="a country for a language"),
        pytest.param(Alternate, {"hreflang": "en-UK", "href": "https://a.de"}, "E-HREFLANG-REGION", id="H05"),
        pytest.param(Alternate, {"hreflang": "fil", "href": "https://a.de"}, "E-HREFLANG-LANG", id="H12"),
        pytest.param(Alternate, {"hreflang": "de", "href": "/de/"}, "E-URL-RELATIVE", id="H17 path"),
        pytest.param(Alternate, {"hreflang": "de", "href": "//example.de/"}, "E-URL-RELATIVE", id="H17 no scheme"),
        pytest.param(Alternate, {"hreflang": "de"}, "E-REQUIRED", id="no href"),
    ],
)
def test_a_broken_rule_is_refused_with_its_code(make, fields, code):
    assert refused(make, **fields) == code


@pytest.mark.parametrize(
    ("value", "field", "kept"),
    [
        pytest.param(video(duration=1), "duration", 1, id="V08 1"),
        pytest.param(video(duration=28_800), "duration", 28_800, id="V08 28800"),
        pytest.param(video(duration=timedelta(minutes=10)), "duration", 600, id="timedelta"),
        pytest.param(video(duration=timedelta(seconds=599.6)), "duration", 600, id="timedelta, rounded"),
        pytest.param(video(duration="90"), "duration", 90, id="digits"),
        pytest.param(video(duration=Decimal("90.00")), "duration", 90, id="Decimal"),
        pytest.param(video(rating=0), "rating", "0", id="V10 0"),
        pytest.param(video(rating=5), "rating", "5", id="V10 5"),
        pytest.param(video(rating="4.25"), "rating", "4.25", id="V10 4.25"),
        pytest.param(video(rating=0.1 + 0.2), "rating", "0.3", id="float arithmetic"),
        pytest.param(video(rating=Decimal("-0.0")), "rating", "0.0", id="minus zero"),
        pytest.param(video(rating=1e-7), "rating", "0.0000001", id="no exponent"),
        pytest.param(video(view_count=0), "view_count", 0, id="no views"),
        pytest.param(video(live=False), "live", False, id="False is kept"),
        pytest.param(video(live="YES"), "live", True, id="yes"),
        pytest.param(video(live=0), "live", False, id="a bool of SQLite"),
        pytest.param(video(live=""), "live", None, id="empty bool"),
        pytest.param(video(rating=""), "rating", None, id="empty number"),
        pytest.param(video(publication_date=""), "publication_date", None, id="empty date"),
        pytest.param(video(title=2026), "title", "2026", id="number as text"),
        pytest.param(video(category=" "), "category", None, id="blank optional text"),
        pytest.param(video(tags=["a", "", None, "b"]), "tags", ("a", "b"), id="empty tags"),
        pytest.param(video(tags={"b", "a", "c"}), "tags", ("a", "b", "c"), id="a set in stable order"),
        pytest.param(video(tags=[]), "tags", None, id="no tags"),
        pytest.param(video(uploader="Me"), "uploader", Uploader(name="Me"), id="text for a nested value"),
        pytest.param(video(uploader=" "), "uploader", None, id="no uploader"),
        pytest.param(video(player_loc="/p"), "player_loc", Player(loc="/p"), id="address of a player"),
        pytest.param(video(prices=Price(type="RENT")), "prices", (Price(type="rent"),), id="one price"),
        pytest.param(
            Restriction(relationship="ALLOW", countries=["ie", "GB", "IE"]), "countries", ("IE", "GB"), id="V11"
        ),
        pytest.param(Restriction(relationship="deny", countries="ie, gb"), "countries", ("IE", "GB"), id="one text"),
        pytest.param(Platform(relationship="allow", platforms=["web", "TV"]), "platforms", ("web", "tv"), id="V13"),
        pytest.param(Price(value=Decimal("1.90"), currency="eur"), "currency", "EUR", id="currency"),
        pytest.param(Price(value=Decimal("1.90"), currency="eur"), "value", "1.90", id="price"),
        pytest.param(news(language="en-GB"), "language", "en", id="language of news"),
        pytest.param(news(access="subscription"), "access", "Subscription", id="access"),
        pytest.param(news(genres="blog, oped"), "genres", ("Blog", "OpEd"), id="genres"),
        pytest.param(news(keywords="a, b,, a"), "keywords", ("a", "b"), id="keywords"),
        pytest.param(
            Alternate(hreflang="zh-hans-us", href="https://a.de/"), "hreflang", "zh-Hans-US", id="H09 canonical case"
        ),
        pytest.param(Alternate(hreflang="X-Default", href="https://a.de/"), "hreflang", "x-default", id="H13"),
        pytest.param(Alternate(hreflang="de", href="https://example.de/"), "href", "https://example.de/", id="H16"),
    ],
)
def test_values_are_kept_in_the_form_in_which_they_are_written(value, field, kept):
    assert getattr(value, field) == kept
    assert type(getattr(value, field)) is type(kept)


def test_an_error_names_the_field_the_value_and_the_remedy():
    with pytest.raises(InvalidEntry) as raised:
        video(duration="PT10M")

    message = "Video.duration is 'PT10M'; give a whole number from 1 to 28,800. [E-VIDEO-DURATION]"
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "make",
    [
        lambda: Video(thumbnail_loc="/t", title="T", description="D", content_loc="/v", platform=Platform),
        lambda: Video(title=F("title"), platform=Platform),
        lambda: Video(title=F("title"), prices=[Price]),
        lambda: Image(loc=Player),
    ],
    ids=["constant", "expression", "list", "address"],
)
def test_a_class_instead_of_an_instance_is_refused(make):
    with pytest.raises(InvalidEntry, match=r"\.\w+ is the class (\w+); give an instance: \1\(\.\.\.\).*E-FIELD-TYPE"):
        make()


def test_an_unknown_field_of_news_is_refused_with_the_known_ones():
    with pytest.raises(InvalidEntry, match=r"no field 'headline'; it has name, language, .*title.*E-UNKNOWN-FIELD"):
        news(headline="T")
    with pytest.raises(InvalidEntry, match=r"no field 'amp': search engines do not read <news:amp>"):
        news(amp="/amp/")


# One invalid value for each field, with the code of its error.
WRONG: dict[Any, dict[str, tuple[Any, str]]] = {
    Image: {
        "loc": (" ", "E-REQUIRED"),
        "caption": (True, "E-FIELD-TYPE"),
        "geo_location": (b"Limerick", "E-FIELD-TYPE"),
        "title": (["T"], "E-FIELD-TYPE"),
        "license": (b"/l", "E-FIELD-TYPE"),
    },
    News: {
        "name": ("", "E-REQUIRED"),
        "language": ("english", "E-NEWS-LANGUAGE"),
        "publication_date": ("2026-10", "E-DATE"),
        "title": (None, "E-REQUIRED"),
        "access": ("Open", "E-NEWS-ACCESS"),
        "genres": ("Gossip", "E-NEWS-GENRES"),
        "keywords": ({"a": 1}, "E-FIELD-TYPE"),
        "stock_tickers": (["A:B"] * 4 + ["C:D", "E:F", "G:H", "I:J", "K:L"], "E-NEWS-TICKERS"),
    },
    Alternate: {"hreflang": ("en-UK", "E-HREFLANG-REGION"), "href": ("/de/", "E-URL-RELATIVE")},
    Restriction: {"relationship": ("maybe", "E-RELATIONSHIP"), "countries": ("IRL", "E-COUNTRY")},
    Platform: {"relationship": ("maybe", "E-RELATIONSHIP"), "platforms": ("web watch", "E-VIDEO-PLATFORM")},
    Uploader: {"name": ("u" * 256, "E-VIDEO-UPLOADER"), "info": (b"/about/", "E-FIELD-TYPE")},
    Player: {"loc": ("", "E-REQUIRED"), "allow_embed": ("perhaps", "E-YES-NO"), "autoplay": (False, "E-FIELD-TYPE")},
    Segment: {"loc": ("", "E-REQUIRED"), "duration": (28_801, "E-VIDEO-DURATION")},
    Gallery: {"loc": ("", "E-REQUIRED"), "title": (["T"], "E-FIELD-TYPE")},
    Price: {
        "value": (Decimal("-0.01"), "E-VIDEO-PRICE"),
        "currency": ("EURO", "E-VIDEO-PRICE"),
        "type": ("own", "E-VIDEO-PRICE"),
        "resolution": ("4k", "E-VIDEO-PRICE"),
    },
    TVShow: {
        "show_title": (" ", "E-REQUIRED"),
        "video_type": ("trailer", "E-VIDEO-TVSHOW"),
        "episode_title": (b"E", "E-FIELD-TYPE"),
        "season_number": (0, "E-VIDEO-TVSHOW"),
        "episode_number": (1.5, "E-VIDEO-TVSHOW"),
        "premier_date": ("2026", "E-DATE"),
    },
    VideoId: {"value": ("", "E-REQUIRED"), "type": ("imdb", "E-VIDEO-ID")},
    Video: {
        "thumbnail_loc": ("", "E-REQUIRED"),
        "title": ("\0", "E-REQUIRED"),
        "description": ("d" * 2049, "E-VIDEO-DESCRIPTION"),
        "content_loc": (" ", "E-VIDEO-LOCATION"),
        "player_loc": (Gallery(loc="/g"), "E-FIELD-TYPE"),
        "duration": (timedelta(hours=8, seconds=1), "E-VIDEO-DURATION"),
        "expiration_date": ("tomorrow", "E-DATE"),
        "rating": ("5.01", "E-VIDEO-RATING"),
        "content_segment_loc": (["/1.mp4"], "E-VIDEO-LOCATION"),
        "view_count": (1.5, "E-VIDEO-VIEWS"),
        "publication_date": (20261001, "E-DATE"),
        "tags": (["a"] * 33, "E-VIDEO-TAGS"),
        "category": ("c" * 257, "E-VIDEO-CATEGORY"),
        "family_friendly": (2, "E-YES-NO"),
        "restriction": ("IE", "E-FIELD-TYPE"),
        "gallery_loc": (Player(loc="/p"), "E-FIELD-TYPE"),
        "prices": (["1.99"], "E-FIELD-TYPE"),
        "requires_subscription": ("paid", "E-YES-NO"),
        "uploader": ("u" * 256, "E-VIDEO-UPLOADER"),
        "tvshow": ("Show", "E-FIELD-TYPE"),
        "platform": ("web", "E-FIELD-TYPE"),
        "live": ("maybe", "E-YES-NO"),
        "id": ("tt1", "E-FIELD-TYPE"),
    },
}
# The smallest valid value of each kind.
RIGHT: dict[Any, dict[str, Any]] = {
    Image: {"loc": "/a.jpg"},
    News: {"name": "The Times", "language": "en", "publication_date": date(2026, 10, 1), "title": "T"},
    Alternate: {"hreflang": "de", "href": "https://example.de/"},
    Restriction: {"relationship": "allow", "countries": ["IE"]},
    Platform: {"relationship": "deny", "platforms": ["tv"]},
    Uploader: {"name": "Ann"},
    Player: {"loc": "/p"},
    Segment: {"loc": "/1.mp4"},
    Gallery: {"loc": "/g"},
    Price: {"value": 1, "currency": "EUR"},
    TVShow: {"show_title": "S", "video_type": "full"},
    VideoId: {"value": "1", "type": "url"},
    Video: {"thumbnail_loc": "/t.jpg", "title": "T", "description": "D", "content_loc": "/v.mp4"},
}


@pytest.mark.parametrize(
    ("kind", "field", "value", "code"),
    [
        pytest.param(kind, field, value, code, id=f"{kind.__name__}.{field}")
        for kind, fields in WRONG.items()
        for field, (value, code) in fields.items()
    ],
)
def test_each_field_refuses_an_invalid_value(kind, field, value, code):
    assert refused(kind, **{**RIGHT[kind], field: value}) == code
    with pytest.raises(InvalidEntry, match=code):
        kind(**{**RIGHT[kind], field: F("column")}).builder()([_never_empty(value)])


def _never_empty(value: Any) -> Any:
    # An empty required field of a row means no value, which is no error.
    return " " if value in ("", None) else value


@pytest.mark.parametrize("kind", VALUES)
def test_every_field_has_an_invalid_value_here(kind):
    assert set(WRONG[kind]) == {field.name for field in dataclasses.fields(kind)}
    assert kind(**RIGHT[kind])


def test_the_error_for_a_ticker_says_what_the_schema_allows():
    with pytest.raises(InvalidEntry) as raised:
        news(stock_tickers=["NASDAQ:AMAT", "NYSE:BRK.B"])

    assert str(raised.value) == (
        "News.stock_tickers contains 'NYSE:BRK.B'; write EXCHANGE:SYMBOL in letters and digits, as in NASDAQ:AMAT. "
        "Leave out symbols with other characters: the schema does not allow them. [E-NEWS-TICKERS]"
    )


def test_an_unknown_field_of_another_name_is_a_type_error():
    with pytest.raises(TypeError, match="caption_text"):
        Image(loc="/a.jpg", caption_text="x")


@pytest.mark.parametrize("kind", VALUES)
def test_every_field_has_a_rule_and_is_keyword_only(kind):
    assert {field.name for field in dataclasses.fields(kind)} == set(kind._rules)
    with pytest.raises(TypeError):
        kind("by position")


@given(st.one_of(strategies.images(), strategies.news(), strategies.alternates(), strategies.videos()))
def test_a_kept_value_is_accepted_again_and_unchanged(value):
    assert dataclasses.replace(value) == value
    assert hash(dataclasses.replace(value)) == hash(value)
    assert value.settled() is value
    assert value.expressions() == {}
    assert value.builder()([]) is value


# Files and lazy texts


def stored(name: str) -> FieldFile:
    field = FileField(storage=InMemoryStorage(base_url="https://cdn.example.net/"))
    field.attname = "file"
    return FieldFile(Model.__new__(Product), field, name)


def test_a_file_is_kept_as_its_url():
    assert Image(loc=stored("a b.jpg")).loc == "https://cdn.example.net/a%20b.jpg"
    assert video(content_loc=SimpleNamespace(url="/v.mp4")).content_loc == "/v.mp4"


@pytest.mark.parametrize(
    "given", [object(), Product(name="a").get_absolute_url, Product(pk=1), 5, 1.5, True, Path("/a.jpg"), [], date.max]
)
def test_a_value_that_is_not_a_url_is_refused_with_a_hint(given):
    with pytest.raises(InvalidEntry, match=r"Image\.loc is .*; give a URL as text, .*E-FIELD-TYPE") as caught:
        Image(loc=given)

    assert ("call it" in str(caught.value)) is callable(given)


def test_a_model_instance_with_a_url_is_not_a_file():
    product = Product(pk=1)
    product.url = "/a/"

    with pytest.raises(InvalidEntry, match=r"Video\.content_loc is <Product: > \(Product\).*E-FIELD-TYPE"):
        video(content_loc=product)


@pytest.mark.parametrize("given", ["yesterday", "2026-13-01", 5, "2026"])
def test_the_error_for_an_invalid_date_names_its_field(given):
    with pytest.raises(InvalidEntry, match=rf"Video\.publication_date.*{given!r}.*E-DATE") as caught:
        video(publication_date=given)

    assert str(caught.value).count("[E-DATE]") == 1


def test_an_empty_file_counts_as_empty():
    assert refused(Image, loc=stored("")) == "E-REQUIRED"
    assert Image(loc="/a.jpg", license=stored("")).license is None
    assert Image(loc=F("photo")).builder()([stored("")]) is None


def test_a_lazy_text_is_translated_when_it_is_written():
    made = video(title=gettext_lazy("Monday"), tags=[gettext_lazy("Tuesday")], uploader=gettext_lazy("Sunday"))

    with translation.override("de"):
        german = made.settled()

    assert (german.title, german.tags, german.uploader) == ("Montag", ("Dienstag",), Uploader(name="Sonntag"))
    assert made.settled().title == "Monday"


def test_a_lazy_text_is_not_evaluated_before_it_is_written():
    never: Any = lazy(_fail, str)()

    made = news(name=never, language=never, title=never, access=never, keywords=never, genres=[never])

    assert made.title is never
    Alternate(hreflang=never, href=never)
    Image(loc=never)
    Restriction(relationship=never, countries=[never])
    Price(value=1, currency=never)
    news(stock_tickers=[never])


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (video(description=lazystr(" ")), "E-REQUIRED"),
        (video(description=lazystr("d" * 2049)), "E-VIDEO-DESCRIPTION"),
        (Restriction(relationship="allow", countries=[lazystr("UK")]), "E-COUNTRY"),
        (Price(value=1, currency=lazystr("euro")), "E-VIDEO-PRICE"),
        (news(language=lazystr("gr")), "E-NEWS-LANGUAGE"),
        (news(keywords="x", stock_tickers=[lazystr("AMAT")]), "E-NEWS-TICKERS"),
        (news(access=lazystr("Open")), "E-NEWS-ACCESS"),
        (Alternate(hreflang=lazystr("gr"), href="https://a.de"), "E-HREFLANG-LANG"),
        (Alternate(hreflang="el", href=lazystr("/de/")), "E-URL-RELATIVE"),
    ],
)
def test_a_lazy_text_is_checked_when_it_is_written(value, code):
    with pytest.raises(InvalidEntry, match=code):
        value.settled()


def test_a_safe_string_becomes_plain_text():
    assert not isinstance(video(title=mark_safe("<b>")).title, SafeString)


def test_a_queryset_counts_as_a_list_and_not_as_an_expression(db):
    Product.objects.create(name="Chair", slug="chair", updated_at=datetime(2026, 1, 1, tzinfo=UTC))

    made = video(tags=Product.objects.values_list("name", flat=True))

    assert made.tags == ("Chair",)


def _fail() -> str:
    raise AssertionError("The text was read.")
