"""URLs: the vectors U of the protocol, and properties of any text as a location."""

import builtins
import pickle
import re
import sys
from dataclasses import replace
from typing import Any

import pytest
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from hypothesis import event, example, given
from hypothesis import strategies as st

from sitemaps_plus.errors import InvalidEntry, MissingExtra
from sitemaps_plus.protocol import addresses
from sitemaps_plus.protocol.addresses import Origin, Scope, canonical, check_scope, normalize, quote_path
from sitemaps_plus.protocol.limits import MAX_LOC
from xml_checks import PLAIN

needs_idna = pytest.mark.skipif(PLAIN, reason="international hosts need the idna extra")

EXAMPLE = Origin(scheme="https", host="example.com")
# HttpUrl of schemas/sm-types.xsd.
HTTP_URL = re.compile(
    r"https?://[A-Za-z0-9\-._~!$&'()*+,;=:@%\[\]]+([/?]([A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*)?"
)
# Texts that resemble URLs; random Unicode text almost never does.
NEARLY_URLS = st.lists(
    st.one_of(
        st.sampled_from(
            ["http:", "HTTPS:", "//", "/", "example.com", "EXAMPLE.com", "bücher", "xn--", "%", "%20", "%zz"]
        ),
        st.sampled_from(
            [
                ":",
                "443",
                "@",
                "?",
                "#",
                "[",
                "]",
                "::1",
                "\\",
                ".",
                "..",
                "\u3002",
                "\uff05",
                "ß",
                "1",
                "\x0b",
                "\ud800",
            ]
        ),
        st.text(st.characters(exclude_categories=()), max_size=3),
    ),
    max_size=8,
).map("".join)
LOCATIONS = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.builds("/{}".format, st.text(st.characters(exclude_categories=()))),
    st.builds("https://{}".format, NEARLY_URLS),
    NEARLY_URLS,
)


def warnings_of(value: object) -> list[str]:
    codes: list[str] = []
    normalize(value, origin=EXAMPLE, warn=lambda code, _: codes.append(code))
    return codes


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("https://bücher.example/", "https://xn--bcher-kva.example/", id="U01", marks=needs_idna),
        pytest.param("https://faß.example/x", "https://xn--fa-hia.example/x", id="U02", marks=needs_idna),
        pytest.param(
            "https://ドメイン.テスト/道", "https://xn--eckwd4c7c.xn--zckzah/%E9%81%93", id="U03", marks=needs_idna
        ),
        pytest.param("https://EXAMPLE.com/Path", "https://example.com/Path", id="U04"),
        pytest.param("/ümlat.php?q=naïve&x=ß", "https://example.com/%C3%BCmlat.php?q=na%C3%AFve&x=%C3%9F", id="U05"),
        pytest.param("/a%20b/%C3%A9", "https://example.com/a%20b/%C3%A9", id="U06"),
        pytest.param("/%e4%bd%a0", "https://example.com/%e4%bd%a0", id="U07"),
        pytest.param("/100%", "https://example.com/100%25", id="U08"),
        pytest.param("/a b+c", "https://example.com/a%20b+c", id="U10"),
        pytest.param("/o'brien?x=1&y=2", "https://example.com/o'brien?x=1&y=2", id="U12"),
        pytest.param('/?q=a[b]&t=<x>"', "https://example.com/?q=a%5Bb%5D&t=%3Cx%3E%22", id="U13"),
        pytest.param("/😀", "https://example.com/%F0%9F%98%80", id="U15"),
        pytest.param("/a\x0bb", "https://example.com/a%0Bb", id="U16"),
        pytest.param("https://example.com", "https://example.com/", id="U18"),
        pytest.param("https://example.com:443/a", "https://example.com/a", id="U19"),
        pytest.param("/a#top", "https://example.com/a", id="U28"),
        pytest.param("http://a.b/", "http://a.b/", id="U34"),
        pytest.param("/a?", "https://example.com/a?", id="U35 empty query"),
        pytest.param("/%7Euser", "https://example.com/%7Euser", id="U35 encoded tilde"),
        pytest.param("/~user", "https://example.com/~user", id="U35 tilde"),
        pytest.param("/e\u0301", "https://example.com/e%CC%81", id="decomposed stays decomposed"),
        pytest.param("/\\evil.example", "https://example.com/%5Cevil.example", id="backslash after the slash"),
        pytest.param("/%\u00e9%4", "https://example.com/%25%C3%A9%254", id="stray percents"),
        pytest.param("/a/../b/./c", "https://example.com/a/../b/./c", id="dot segments stay"),
        pytest.param("/https://example.org/", "https://example.com/https://example.org/", id="URL in a path"),
        pytest.param("/" + "^`{|}", "https://example.com/%5E%60%7B%7C%7D", id="never in a URI"),
        pytest.param("HTTPS://Example.COM?x=1", "https://example.com/?x=1", id="no path"),
        pytest.param("https://example.com//a", "https://example.com//a", id="two slashes in an absolute URL"),
        pytest.param("http://example.com:80/", "http://example.com/", id="default port of http"),
        pytest.param("http://example.com:443/", "http://example.com:443/", id="default port of the other scheme"),
        pytest.param("https://example.com:/a", "https://example.com/a", id="empty port"),
        pytest.param("https://example.com:08443/a", "https://example.com:8443/a", id="port with a zero"),
        pytest.param("http://[2001:DB8::0:1]:8000/a", "http://[2001:db8::1]:8000/a", id="IPv6"),
        pytest.param("http://127.0.0.1:8000/", "http://127.0.0.1:8000/", id="IPv4"),
        pytest.param("http://web_app.internal./x", "http://web_app.internal./x", id="underscore, final dot"),
        pytest.param("https://example.com.evil.example/", "https://example.com.evil.example/", id="same beginning"),
        pytest.param(lazystr("/lazy/"), "https://example.com/lazy/", id="lazy"),
        pytest.param(mark_safe("/safe/é"), "https://example.com/safe/%C3%A9", id="SafeString"),
    ],
)
def test_a_location_becomes_an_absolute_encoded_url(value: object, expected: str) -> None:
    url = normalize(value, origin=EXAMPLE)

    assert url == expected
    assert type(url) is str


@pytest.mark.parametrize(
    ("value", "code"),
    [
        pytest.param("javascript:alert(1)", "E-URL-SCHEME", id="U25 javascript"),
        pytest.param("ftp://example.com/a", "E-URL-SCHEME", id="U25 ftp"),
        pytest.param("data:,x", "E-URL-SCHEME", id="U25 data"),
        ("localhost:8000/x", "E-URL-SCHEME"),
        pytest.param("/" + "a" * (2048 - len("https://example.com/")), "E-URL-LENGTH", id="U30"),
        pytest.param("", "E-URL-EMPTY", id="U36 empty"),
        pytest.param("  ", "E-URL-EMPTY", id="U36 blank"),
        pytest.param(None, "E-URL-EMPTY", id="U36 None"),
        ("foo", "E-URL-RELATIVE"),
        ("example.com/x", "E-URL-RELATIVE"),
        ("?page=2", "E-URL-RELATIVE"),
        ("#top", "E-URL-RELATIVE"),
        ("\N{NO-BREAK SPACE}/a", "E-URL-RELATIVE"),
        (5, "E-URL-RELATIVE"),
        pytest.param("//de/", "E-URL-RELATIVE", id="H17 without scheme"),
        ("///x", "E-URL-RELATIVE"),
        ("\\\\example.com\\x", "E-URL-RELATIVE"),
        ("https://user:secret@example.com/", "E-URL-USERINFO"),
        ("https://@example.com/", "E-URL-USERINFO"),
        ("https://example.com\\@evil.example/", "E-URL-USERINFO"),
        ("https:///x", "E-URL-HOST"),
        ("https:/example.com/x", "E-URL-HOST"),
        ("https:example.com", "E-URL-HOST"),
        ("https://:8000/", "E-URL-HOST"),
        ("https://exa mple.com/", "E-URL-HOST"),
        ("https://example.com\\evil/", "E-URL-HOST"),
        ("https://ex%41mple.com/", "E-URL-HOST"),
        ("https://a..b/", "E-URL-HOST"),
        ("https://.example.com/", "E-URL-HOST"),
        ("https://-a.example/", "E-URL-HOST"),
        pytest.param(f"https://{'a' * 64}.example/", "E-URL-HOST", id="label of 64"),
        pytest.param(f"https://{'a.' * 127}b/", "E-URL-HOST", id="host of 255"),
        ("https://example.com:x/", "E-URL-HOST"),
        ("https://example.com:0/", "E-URL-HOST"),
        ("https://example.com:65536/", "E-URL-HOST"),
        ("https://example.com:٨٠/", "E-URL-HOST"),
        pytest.param(f"https://example.com:{'1' * 5000}/", "E-URL-HOST", id="port of 5,000 digits"),
        ("https://1.2.3.256/", "E-URL-HOST"),
        ("https://1.2.3/", "E-URL-HOST"),
        ("https://[::1/", "E-URL-HOST"),
        ("https://[1.2.3.4]/", "E-URL-HOST"),
        ("https://[fe80::1%25eth0]/", "E-URL-HOST"),
        pytest.param("https://😀.example/", "E-URL-HOST", marks=needs_idna),
        pytest.param("https://ex\uff0561mple.com/", "E-URL-HOST", id="percent by mapping", marks=needs_idna),
        pytest.param(f"https://{'ü' * 300}.example/", "E-URL-HOST", id="long international host"),
        pytest.param("/a\ud800", "E-URL-CHARS", id="surrogate in the path"),
        pytest.param("https://a\udfff.example/", "E-URL-CHARS", id="surrogate in the host"),
        pytest.param("/a#\ud800", "E-URL-CHARS", id="surrogate in the fragment"),
        (b"/a", "E-URL-CHARS"),
    ],
)
def test_an_invalid_location_is_refused(value: object, code: str) -> None:
    with pytest.raises(InvalidEntry) as caught:
        normalize(value, origin=EXAMPLE)

    assert caught.value.code == code
    assert "secret" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("path", ["/", "/é", "https://EXAMPLE.com/"], ids=["as it is", "encoded", "other host case"])
def test_a_url_may_have_2047_characters_and_no_more(path: str) -> None:
    short = normalize(path, origin=EXAMPLE)
    room = MAX_LOC - len(short)

    assert len(normalize(path + "a" * room, origin=EXAMPLE)) == 2047  # U29
    with pytest.raises(InvalidEntry, match=r"2048 characters.*\[E-URL-LENGTH\]"):  # U30
        normalize(path + "a" * (room + 1), origin=EXAMPLE)


def test_a_profile_may_shorten_urls() -> None:
    path = "/" + "a" * (1025 - len("https://example.com/"))

    assert len(normalize(path, origin=EXAMPLE)) == 1025  # U33, default
    with pytest.raises(InvalidEntry, match=r"\[E-URL-LENGTH\]"):  # U33, Yandex
        normalize(path, origin=EXAMPLE, max_length=1024)


def test_a_fragment_is_removed_with_a_warning() -> None:
    assert warnings_of("/a#top") == ["W-URL-FRAGMENT"]
    assert warnings_of("https://example.com/a#") == ["W-URL-FRAGMENT"]
    assert warnings_of("/a") == []


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r\n", "\v", "\f", "  \t "])
@pytest.mark.parametrize("value", ["/a", "/a b", "https://example.com/a", "/ä", "https://example.com"])
def test_spaces_around_a_url_are_removed_with_a_warning(value: str, space: str) -> None:
    for spaced in (f"{space}{value}", f"{value}{space}", f"{space}{value}{space}"):
        assert normalize(spaced, origin=EXAMPLE) == normalize(value, origin=EXAMPLE)
        assert warnings_of(spaced) == ["W-URL-SPACE"]


def test_spaces_within_a_url_stay_and_are_encoded() -> None:
    assert normalize(" /a b#c ", origin=EXAMPLE) == "https://example.com/a%20b"
    assert warnings_of(" /a b#c ") == ["W-URL-SPACE", "W-URL-FRAGMENT"]
    assert warnings_of("/a b") == []


def test_spaces_that_are_not_ascii_are_part_of_a_url() -> None:
    assert normalize("/a\N{NO-BREAK SPACE}", origin=EXAMPLE) == "https://example.com/a%C2%A0"


def test_spaces_that_are_removed_do_not_count_for_the_length() -> None:
    path = "/" + "a" * (2047 - len("https://example.com/"))

    assert len(normalize(f"  {path}  ", origin=EXAMPLE)) == 2047


@given(LOCATIONS)
@example("https://xn--ßß/")
@example("https://\uff11.\uff11/")
@example("https://a\u3002b/")
@example("https://[::ffff:1.2.3.4]/")
def test_any_location_becomes_a_stable_url_or_raises_invalid_entry(value: str) -> None:
    try:
        url = normalize(value, origin=EXAMPLE)
    except (InvalidEntry, MissingExtra) as error:
        event(getattr(error, "code", "extra"))
        return

    assert HTTP_URL.fullmatch(url)
    assert len(url) <= MAX_LOC
    assert normalize(url, origin=EXAMPLE) == url


@given(st.text(max_size=60))
def test_a_path_is_encoded_the_same_way_with_and_without_its_origin(text: str) -> None:
    path = "/a" + text.replace("#", "")

    assert normalize(path, origin=EXAMPLE) == normalize(f"https://example.com{path}", origin=EXAMPLE)


@given(st.text())
def test_an_encoded_path_is_not_encoded_again(path: str) -> None:
    assert quote_path(quote_path(path)) == quote_path(path)


def test_a_hash_in_a_path_is_encoded() -> None:
    assert quote_path("/c#/?x=1") == "/c%23/?x=1"


def test_a_path_that_utf_8_cannot_encode_is_refused() -> None:
    with pytest.raises(InvalidEntry, match=r"lone surrogate.*\[E-URL-CHARS\]"):
        quote_path("/\ud800")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        pytest.param("https://example.com:8443/a", "E-URL-PORT", id="U20"),
        pytest.param("http://example.com/a", "E-URL-SCHEME", id="U22"),
        pytest.param("https://www.example.com/a", "E-URL-HOST", id="U23"),
        ("https://example.com.evil.example/a", "E-URL-HOST"),
    ],
)
def test_a_sitemap_may_list_only_urls_of_its_own_origin(url: str, code: str) -> None:
    with pytest.raises(InvalidEntry) as caught:
        check_scope(normalize(url, origin=EXAMPLE), Scope(origin=EXAMPLE))

    assert caught.value.code == code


@pytest.mark.parametrize("path", ["/", "/catalog/x", "/.well-known/x", "/%20/", "/?next=/../x"])
def test_a_sitemap_at_the_root_may_list_every_path(path: str) -> None:
    check_scope(normalize(path, origin=EXAMPLE), Scope(origin=EXAMPLE))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/catalog/x", id="U27"),
        "/catalog/",
        "/catalog/?page=2",
        "/catalog/.hidden",
        "/catalog/a/../b",
        "/x/../catalog/a",
        "/../catalog/a",
        "/catalog/a/..",
        "/catalog/./",
        "/catalog/%20",
        "/catalog/?next=/../",
    ],
)
def test_a_sitemap_may_list_urls_in_and_below_its_directory(path: str) -> None:
    check_scope(normalize(path, origin=EXAMPLE), Scope(origin=EXAMPLE, directory="/catalog/"))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/image/x", id="U27 image"),
        pytest.param("/catalogue/x", id="U27 catalogue"),
        pytest.param("/", id="U27 root"),
        "/catalog",
        "/Catalog/x",
        "/catalog/../image/x",
        "/catalog/%2E%2e/x",
        "/catalog/..",
        "/catalog/a/../../..",
        "/?x=/catalog/",
    ],
)
def test_a_sitemap_may_not_list_urls_outside_of_its_directory(path: str) -> None:
    with pytest.raises(InvalidEntry, match=r"serve the sitemap higher up.*\[E-URL-SCOPE\]"):
        check_scope(normalize(path, origin=EXAMPLE), Scope(origin=EXAMPLE, directory="/catalog/"))


def test_a_directory_is_compared_in_its_encoded_form() -> None:
    scope = Scope(origin=EXAMPLE, directory="/bücher/")

    check_scope(normalize("/bücher/x", origin=EXAMPLE), scope)

    assert scope.directory == "/b%C3%BCcher/"


def test_cross_submission_compares_only_the_scheme() -> None:
    scope = Scope(origin=EXAMPLE, directory="/catalog/", any_host=True)

    check_scope("https://www.example.org:8443/x", scope)

    with pytest.raises(InvalidEntry, match=r"\[E-URL-SCHEME\]"):
        check_scope("http://www.example.org/x", scope)


@pytest.mark.parametrize("directory", ["", "catalog/", "/catalog", "/sitemap.xml"])
def test_a_directory_begins_and_ends_with_a_slash(directory: str) -> None:
    with pytest.raises(InvalidEntry, match=r"slash.*\[E-URL-SCOPE\]"):
        Scope(origin=EXAMPLE, directory=directory)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://bücher.example:8443", "https://xn--bcher-kva.example:8443", marks=needs_idna),
        ("https://example.com/", "https://example.com"),
        ("HTTP://Example.com:80", "http://example.com"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_read_from_text(text: str, expected: str) -> None:
    origin = Origin.parse(text)

    assert str(origin) == expected
    assert Origin.parse(str(origin)) == origin


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("https://example.com/shop/", "E-ORIGIN"),
        ("https://example.com//", "E-ORIGIN"),
        ("https://example.com?x=1", "E-ORIGIN"),
        ("https://example.com/?", "E-ORIGIN"),
        ("https://example.com#top", "E-ORIGIN"),
        ("https://me@example.com", "E-URL-USERINFO"),
        ("example.com", "E-URL-RELATIVE"),
        ("//example.com", "E-URL-RELATIVE"),
        ("", "E-URL-RELATIVE"),
        ("ftp://example.com", "E-URL-SCHEME"),
        ("https://", "E-URL-HOST"),
        pytest.param("https://\ud800", "E-URL-HOST", id="surrogate", marks=needs_idna),
    ],
)
def test_text_that_is_not_exactly_an_origin_is_refused(text: str, code: str) -> None:
    with pytest.raises(InvalidEntry) as caught:
        Origin.parse(text)

    assert caught.value.code == code


@pytest.mark.parametrize(
    "parts",
    [
        {"scheme": "HTTPS", "host": "example.com"},
        {"scheme": "https", "host": "Example.com"},
        {"scheme": "https", "host": ""},
        {"scheme": "https", "host": "example.com:80"},
        {"scheme": "https", "host": "example.com", "port": 0},
        {"scheme": "https", "host": "example.com", "port": 65536},
    ],
)
def test_an_invalid_origin_cannot_be_created(parts: dict[str, Any]) -> None:
    with pytest.raises(InvalidEntry):
        Origin(**parts)


def test_the_default_port_of_an_origin_is_none() -> None:
    assert Origin(scheme="https", host="example.com", port=443) == EXAMPLE
    assert hash(Origin(scheme="https", host="example.com", port=443)) == hash(EXAMPLE)


@pytest.mark.parametrize(("port", "expected"), [("", ""), (":8443", ":8443"), (":443", "")])
def test_an_origin_keeps_its_port_under_another_scheme(port: str, expected: str) -> None:
    assert str(Origin.parse(f"http://example.com{port}").with_scheme("https")) == f"https://example.com{expected}"


def test_an_origin_can_be_copied_and_pickled() -> None:
    origin = Origin.parse("https://example.com:8443")

    assert str(pickle.loads(pickle.dumps(origin))) == str(origin)  # noqa: S301 - our own bytes
    assert str(replace(origin, port=None)) == "https://example.com"


def test_an_international_host_without_the_idna_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def import_without_idna(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "idna":
            raise ModuleNotFoundError(name="idna")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_without_idna)
    monkeypatch.delitem(sys.modules, "sitemaps_plus.protocol.idn", raising=False)
    addresses._host.cache_clear()

    with pytest.raises(MissingExtra, match=re.escape('pip install "django-sitemaps-plus[idna]"')):
        normalize("https://missing-ü.example/", origin=EXAMPLE)
    assert normalize("https://xn--bcher-kva.example/", origin=EXAMPLE) == "https://xn--bcher-kva.example/"


def test_a_wrong_path_of_our_idna_module_is_not_reported_as_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "__package__", "sitemaps_plus.admin")
    addresses._host.cache_clear()

    with pytest.raises(ModuleNotFoundError, match=r"sitemaps_plus\.admin\.idn"):
        normalize("https://moved-ü.example/", origin=EXAMPLE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/b%c3%bc", "/bü"),
        ("/a%26b", "/a&b"),
        ("/%61", "/a"),
        ("/a?q=%61%c3%bc", "/a?q=aü"),
        ("/a%2fb", "/a/b"),
        ("https://[::1]/%7e", "https://[::1]/~"),
    ],
)
def test_all_encodings_of_a_url_have_the_same_canonical_form(one, other):
    assert canonical(normalize(one, origin=EXAMPLE)) == canonical(normalize(other, origin=EXAMPLE))


@pytest.mark.parametrize(("one", "other"), [("/a?q=%26", "/a?q=&"), ("/a%3Fq", "/a?q"), ("/A", "/a"), ("/a%25", "/a")])
def test_different_urls_have_different_canonical_forms(one, other):
    assert canonical(normalize(one, origin=EXAMPLE)) != canonical(normalize(other, origin=EXAMPLE))


@given(st.text())
def test_the_canonical_form_of_a_canonical_url_is_itself(path):
    try:
        url = canonical(normalize(f"/{path}", origin=EXAMPLE))
    except InvalidEntry:
        return

    assert canonical(url) == url
