"""Addresses for people: characters in place of their codes, but nothing that looks like something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.protocol.addresses import Origin, normalize
from sitemaps_plus.watch.readable import readable


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("https://example.com/caf%C3%A9/%E6%9D%B1%E4%BA%AC/?q=%C3%BC", "https://example.com/café/東京/?q=ü"),
        ("/stra%C3%9Fe/", "/straße/"),
        ("https://xn--bcher-kva.example:8443/a/", "https://bücher.example:8443/a/"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("shop.xn--strae-oqa.example", "shop.straße.example"),
        ("", ""),
    ],
)
def test_codes_become_characters(address: str, text: str) -> None:
    assert readable(address) == text


@pytest.mark.parametrize(
    "address",
    [
        "https://example.com/a%2Fb%3Fc%23d%25e%20f/",
        # No UTF-8, and half of a character.
        "/%FF/%C3/",
        # A mark that reverses the direction, a space that does not break, a line break.
        "/%E2%80%AEgnp.exe",
        "/a%C2%A0b",
        "/a%0Ab",
        # No Punycode, and a character that looks like a slash.
        "https://xn--!.example/",
        "https://xn--ab-6bv.example/",
        "https://[2001:db8::1]:8000/",
    ],
)
def test_what_would_change_the_meaning_or_hide_it_stays_encoded(address: str) -> None:
    assert readable(address) == address


@given(st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=40))
def test_a_readable_url_is_the_same_address_for_a_browser(path: str) -> None:
    origin = Origin.parse("https://example.com")
    url = normalize(f"/{path}/", origin=origin)

    assert normalize(readable(url), origin=origin) == url


def test_a_text_that_is_no_address_is_shown_as_it_is() -> None:
    assert readable("No address at all: 100 %") == "No address at all: 100 %"
