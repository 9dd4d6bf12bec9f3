"""The XML of images: the vectors I of the protocol."""

from typing import Any

import pytest
from django.utils.functional import lazy

from element_samples import (
    Codes,
    address,
    context,
    document,
    names,
    parsed,
    text,
)
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.text import clean
from sitemaps_plus.values import Image
from sitemaps_plus.values.image import image_element, image_elements
from xml_checks import validate


def test_an_image_may_be_on_any_host():
    """I03."""
    element = parsed(image_element(Image(loc="https://cdn.example.net/ä b.jpg?x=1&y=2"), context()))

    assert text(element, "image:loc") == "https://cdn.example.net/%C3%A4%20b.jpg?x=1&y=2"


def test_a_path_gets_the_origin():
    assert text(parsed(image_element(Image(loc="/media/a.jpg"), context())), "image:loc") == address("/media/a.jpg")


def test_deprecated_fields_of_an_image_are_written_only_with_emit_deprecated():
    """I05."""
    image = Image(loc="/a.jpg", caption="C", geo_location="Limerick, Ireland", title="T & U", license="/l?a&b")
    codes = Codes()

    plain = parsed(image_element(image, context(warn=codes.warn)))
    full = parsed(image_element(image, context(warn=codes.warn, emit_deprecated=True)))

    assert names(plain) == ["loc"]
    assert names(full) == ["loc", "caption", "geo_location", "title", "license"]
    assert [child.text for child in full] == [
        "https://example.com/a.jpg", "C", "Limerick, Ireland", "T & U", "https://example.com/l?a&b",
    ]  # fmt: skip
    assert codes == ["W-DEPRECATED"]


@pytest.mark.parametrize(
    ("strict", "expected"),
    [
        pytest.param(False, ["W-IMAGE-COUNT"], id="I02 cut"),
        pytest.param(True, ["E-IMAGE-COUNT"], id="I02 strict"),
    ],
)
def test_a_page_has_at_most_a_thousand_images(strict, expected):
    """I01, I02."""
    codes = Codes()
    images = [Image(loc=f"/{number}.jpg") for number in range(1001)]
    where = context(warn=codes.warn, strict=strict)

    thousand = validate(document(image_elements(images[:1000], where, codes.drop)))
    assert codes == []
    more = validate(document(image_elements(images, where, codes.drop)))

    # The address of the page stands before them.
    assert len(thousand[0]) == len(more[0]) == 1 + 1000
    assert codes == expected


@pytest.mark.parametrize("emit_deprecated", [True, False])
def test_the_same_image_is_listed_once_with_one_warning(emit_deprecated):
    warnings: list[tuple[str, str]] = []
    again = [Image(loc="https://example.com/a.jpg?x=1&y=2"), Image(loc="/a.jpg?x=1&y=2", title="Another text")]
    images = [Image(loc="/a.jpg?x=1&y=2"), Image(loc="/b.jpg"), *again, Image(loc=" /b.jpg")]
    where = context(warn=lambda *warning: warnings.append(warning), emit_deprecated=emit_deprecated)

    page = validate(document(image_elements(images, where, Codes().drop)))[0]

    assert [text(image, "image:loc") for image in page[1:]] == [address("/a.jpg?x=1&y=2"), address("/b.jpg")]
    (repeated,) = [text for code, text in warnings if code == "W-IMAGE-REPEATED"]
    assert "images more than once, such as https://example.com/a.jpg?x=1&y=2; each was listed once." in repeated


def test_an_image_that_is_repeated_does_not_count():
    codes = Codes()
    images = [Image(loc=f"/{number}.jpg") for number in range(1000)]

    page = validate(document(image_elements([*images, *images], context(warn=codes.warn, strict=True), codes.drop)))

    assert len(page[0]) == 1001
    assert codes == ["W-IMAGE-REPEATED"]


def test_a_broken_image_is_dropped_and_the_others_stay():
    codes = Codes()
    images = [
        Image(loc="/a.jpg"),
        None,
        Image(loc="ftp://example.com/b.jpg"),
        Image(loc="http://"),
        Image(loc=lazy(_fail, str)()),
        Image(loc="/c.jpg"),
    ]

    page = validate(document(image_elements(images, context(), codes.drop)))[0]

    assert [text(image, "image:loc") for image in page[1:]] == [address("/a.jpg"), address("/c.jpg")]
    assert codes == ["E-URL-SCHEME", "E-URL-HOST", "ZeroDivisionError"]


@pytest.mark.parametrize("given", ["a.jpg", "ftp://example.com/b.jpg", "http://", "https://example.com:x/"])
def test_the_error_for_an_invalid_url_names_its_field_and_value(given):
    errors: list[Exception] = []

    image_elements([Image(loc=given)], context(), errors.append)

    (error,) = errors
    assert str(error).startswith("Image.loc")
    assert repr(given) in str(error)
    assert str(error).count("[E-URL-") == 1


def test_an_error_does_not_show_a_password_in_a_url():
    errors: list[Exception] = []

    image_elements([Image(loc="https://me:secret@example.com/")], context(), errors.append)

    assert "Image.loc" in str(errors[0])
    assert "secret" not in str(errors[0])


def test_images_that_are_dropped_do_not_count():
    images = [Image(loc="ftp://x/")] * 5 + [Image(loc=f"/{number}.jpg") for number in range(1000)]
    codes = Codes()

    page = validate(document(image_elements(images, context(warn=codes.warn), codes.drop)))

    assert len(page[0]) == 1001
    assert codes == ["E-URL-SCHEME"] * 5


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        ("X-Amz-Expires=60&X-Amz-Signature=0a", "X-Amz-Signature"),
        ("X-Goog-Expires=60&X-Goog-Signature=0a", "X-Goog-Signature"),
        ("AWSAccessKeyId=x&Signature=0a&Expires=60", "Signature+Expires"),
        ("se=2026-10-01&sp=r&sig=0a", "sig+se"),
        ("token=0a", "token"),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"title": "T"}], ids=["plain", "with a title"])
def test_a_signed_image_is_written_with_a_warning(query, signature, fields):
    warnings: list[tuple[str, str]] = []
    where = context(warn=lambda code, text: warnings.append((code, text)), emit_deprecated=True, strict=True)
    loc = f"https://cdn.example.net/a.jpg?{query}"

    element = parsed(image_element(Image(loc=loc, **fields), where))

    assert text(element, "image:loc") == loc
    message = f"Image.loc: the URL 'https://cdn.example.net/a.jpg' is signed ({signature}) and will expire"
    assert warnings == [("W-URL-SIGNED", f"{message}; give a public URL that does not expire.")]


@pytest.mark.parametrize(
    "rest", ["", "?", "?v=2", "?Signature=0a", "?Expires=60", "?sig=0a", "?sign=0a&expiry=60", "/token=0a", "?q=token"]
)
def test_an_image_that_is_not_signed_has_no_warning(rest):
    codes = Codes()

    image_element(Image(loc=f"https://cdn.example.net/a.jpg{rest}"), context(warn=codes.warn))

    assert codes == []


def test_urls_of_images_have_the_limit_of_the_profile():
    with pytest.raises(InvalidEntry, match="E-URL-LENGTH"):
        image_element(Image(loc="/" + "a" * 1024), context(max_loc=1024))


def _fail() -> str:
    raise ZeroDivisionError


def _joined(parts: Any) -> str:
    return clean(", ".join(parts))
