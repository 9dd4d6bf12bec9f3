"""Answers that are the same for everybody, whatever the middleware of a project adds for a visitor."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.http.response import ResponseHeaders

_OF_VISITORS = ("", "cookie", "accept-language")


class _PublicHeaders(ResponseHeaders):
    """Headers without a language, and without variation by cookie or language."""

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a header, as far as it is meant for everybody."""
        name = key.lower()
        if name == "vary":
            value = ", ".join(one for one in re.split(r"\s*,\s*", str(value)) if one.lower() not in _OF_VISITORS)
        if name != "content-language" and (value or name != "vary"):
            super().__setitem__(key, value)


class _Public(HttpResponseBase):
    """What both kinds of answers have in common."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.headers = _PublicHeaders(dict(self.headers.items()))

    def set_cookie(self, *args: Any, **kwargs: Any) -> None:
        """Set none: whoever keeps the answer would hand one visitor's cookie to all others."""


class PublicResponse(_Public, HttpResponse):
    """An answer at once."""


class PublicStream(_Public, StreamingHttpResponse):
    """An answer piece by piece."""
