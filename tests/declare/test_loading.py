"""Loading related rows for many rows at once, and the addresses of a row in all of its languages."""

from typing import Any

import pytest

from sitemaps_plus.declare.loading import Addresses, absolute, load_columns
from sitemaps_plus.errors import InvalidEntry, NotTranslated


class Rows:
    """The values of two rows in three columns."""

    values = {"photos": [1, 2], "tags": [1, 2], "more photos": [1, 2]}

    def __init__(self) -> None:
        self.loaded: list[str] = []

    def photos(self, keys: Any, reader: Any) -> list[str]:
        self.loaded.append("photos")
        return [f"photo {key}" for key in keys]

    def tags(self, keys: Any, reader: Any) -> list[str]:
        self.loaded.append("tags")
        return [f"tag {key}" for key in keys]


def test_a_relation_that_several_columns_use_is_loaded_once() -> None:
    rows = Rows()
    loaders: Any = {"photos": rows.photos, "tags": rows.tags, "more photos": rows.photos}

    found = dict(load_columns(loaders, rows.values.__getitem__, reader=None))  # type: ignore[arg-type]

    assert found == {
        "photos": ["photo 1", "photo 2"],
        "tags": ["tag 1", "tag 2"],
        "more photos": ["photo 1", "photo 2"],
    }
    assert rows.loaded == ["photos", "tags"]


def test_an_address_is_made_once_per_language() -> None:
    made: list[str] = []
    addresses = Addresses()

    def locate(language: str) -> str:
        made.append(language)
        return f"https://example.com/{language}/"

    assert [addresses.find(code, locate) for code in ("en", "de", "en")] == [
        "https://example.com/en/",
        "https://example.com/de/",
        "https://example.com/en/",
    ]
    assert made == ["en", "de"]


def test_an_address_that_cannot_be_made_raises_its_error_each_time() -> None:
    made: list[str] = []
    addresses = Addresses()

    def locate(language: str) -> str:
        made.append(language)
        raise NotTranslated("E-URL-VALUE", "no slug")

    for _ in range(2):
        with pytest.raises(NotTranslated, match="no slug"):
            addresses.find("fr", locate)

    assert made == ["fr"]
    assert list(addresses.errors) == ["fr"]


def test_a_row_links_to_its_addresses_in_the_order_of_the_languages() -> None:
    addresses = Addresses({"de": "https://example.com/de/"}, elsewhere={"en": "https://example.org/"})

    assert list(addresses.linked(["en", "fr", "de"], None).items()) == [
        ("en", "https://example.org/"),
        ("de", "https://example.com/de/"),
    ]
    assert addresses.linked(["de"], "de") == {"de": "https://example.com/de/", "x-default": "https://example.com/de/"}


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/a/", "https://example.com/a/"),
        ("", "https://example.com"),
        ("?page=2", "https://example.com?page=2"),
        ("https://other.example/a/", "https://other.example/a/"),
        ("HTTP://other.example/a/", "HTTP://other.example/a/"),
        ("ftp://other.example/a/", "ftp://other.example/a/"),
    ],
)
def test_an_absolute_location_is_not_doubled(location, expected):
    assert absolute("https://example.com", location) == expected


@pytest.mark.parametrize(
    ("location", "code"),
    [(None, "E-URL-EMPTY"), ("a/", "E-URL-RELATIVE"), (".evil/", "E-URL-RELATIVE"), (5, "E-URL-RELATIVE")],
)
def test_a_location_that_would_name_another_host_is_an_error(location, code):
    with pytest.raises(InvalidEntry, match=r"give a path that begins with '/', or an absolute URL") as caught:
        absolute("https://example.com", location)

    assert caught.value.code == code
