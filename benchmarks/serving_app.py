"""Call the project of ``serving_settings.py`` as a server does, after filling its caches."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ["DJANGO_SETTINGS_MODULE"] = "serving_settings"

from django.conf import settings  # noqa: E402 - knows its module only now
from django.core.cache import caches  # noqa: E402
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

PAGE = "/sitemap-products-1.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a crawler."""

    path: str
    method: str = "GET"
    gzip: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The response to a request."""

    status: int
    headers: Mapping[str, str]
    size: int


def environ_of(request: Request) -> dict[str, Any]:
    """Return the WSGI environ of a request."""
    more = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in sent(request).items()}
    return {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": request.path,
        "QUERY_STRING": "",
        "SERVER_NAME": settings.HOST,
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **more,
    }


def sent(request: Request) -> dict[str, str]:
    """Return the headers of a request."""
    packed = {"Accept-Encoding": "gzip"} if request.gzip else {}
    return {"Host": settings.HOST, "User-Agent": "benchmark", "Accept": "*/*", **packed, **request.headers}


def ask(request: Request) -> Answer:
    """Call the application without a server and read the whole response."""
    told: list[Any] = []
    chunks = application(environ_of(request), lambda status, headers: told.extend((status, headers)))
    try:
        size = sum(map(len, chunks))
    finally:
        chunks.close()
    return Answer(status=int(told[0][:3]), headers=dict(told[1]), size=size)


def as_bytes(request: Request) -> bytes:
    """Return the bytes of a request after whose response the server closes the connection."""
    lines = [f"{request.method} {request.path} HTTP/1.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in sent(request).items()]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def keep_in(alias: str) -> None:
    """Use a cache for the pages of this project from now on."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "CACHE": alias}


def warm() -> WSGIHandler:
    """Return the application with filled caches."""
    cases()
    return application


def cases(*, with_contrib: bool = True) -> dict[str, Request]:
    """Return the requests to measure, by their names in the tables; fill the caches first."""
    tag = ask(Request(path=PAGE)).headers["ETag"]
    ask(Request(path="/sitemap.xml"))
    caches[settings.SITEMAPS_PLUS["CACHE"]].set("bytes", os.urandom(ask(Request(path=PAGE)).size))
    found = {
        "empty view": Request(path="/empty"),
        "empty view that asks the cache": Request(path="/asking"),
        "empty view that reads a page's bytes": Request(path="/reading"),
        "page": Request(path=PAGE),
        "page, not packed": Request(path=PAGE, gzip=False),
        "page, 304": Request(path=PAGE, headers={"If-None-Match": tag}),
        "page, HEAD": Request(path=PAGE, method="HEAD"),
        "index": Request(path="/sitemap.xml"),
    }
    if with_contrib:
        kept = {
            "contrib, cache_page": Request(path="/contrib-cached.xml", gzip=False),
            "contrib, cache_page, GZipMiddleware": Request(path="/contrib-packed.xml"),
        }
        for request in kept.values():
            ask(request)
        found |= {**kept, "contrib, no cache": Request(path="/contrib.xml", gzip=False)}
    return found


application = get_wsgi_application()
