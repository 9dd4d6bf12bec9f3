"""An answer for everybody stays one, whatever is done to it afterwards."""

import pytest
from django.utils.cache import patch_vary_headers

from sitemaps_plus.views import PublicResponse, PublicStream


@pytest.mark.parametrize("answer", [PublicResponse, PublicStream])
def test_headers_of_visitors_are_not_taken(answer: type[PublicResponse] | type[PublicStream]) -> None:
    response = answer([b"<urlset/>"], headers={"Vary": "Accept-Encoding", "ETag": '"a"'})

    patch_vary_headers(response, ["Cookie", "Accept-Language", "Origin"])
    response.headers.setdefault("Content-Language", "de")
    response["Content-Language"] = "de"
    response["X-Frame-Options"] = "DENY"

    assert response.headers["Vary"] == "Accept-Encoding, Origin"
    assert "Content-Language" not in response.headers
    assert (response.headers["ETag"], response.headers["X-Frame-Options"]) == ('"a"', "DENY")
    assert b"".join(response) == b"<urlset/>"


@pytest.mark.parametrize("answer", [PublicResponse, PublicStream])
def test_no_header_says_what_is_only_for_visitors(answer: type[PublicResponse] | type[PublicStream]) -> None:
    response = answer(b"")

    patch_vary_headers(response, ["cookie"])

    assert "Vary" not in response.headers


@pytest.mark.parametrize("answer", [PublicResponse, PublicStream])
def test_no_cookie_is_set_or_deleted(answer: type[PublicResponse] | type[PublicStream]) -> None:
    response = answer(b"")

    response.set_cookie("sessionid", "secret")
    response.set_signed_cookie("signed", "secret")
    response.delete_cookie("sessionid")

    assert not response.cookies
