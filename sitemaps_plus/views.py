"""Turn requests into sitemaps: the registered ones, and the classic dict of ``django.contrib.sitemaps``."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import lru_cache, wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.handlers.asgi import ASGIRequest
from django.db import InterfaceError, OperationalError, ProgrammingError, transaction
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotFound,
    HttpResponsePermanentRedirect,
    JsonResponse,
    StreamingHttpResponse,
)
from django.http.response import ResponseHeaders
from django.utils.cache import get_conditional_response
from django.utils.crypto import constant_time_compare
from django.utils.http import http_date
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import MissingTables, PageGone, PageNotFound, Unavailable, UnknownHost
from sitemaps_plus.models import explained
from sitemaps_plus.plan.sites import get_site
from sitemaps_plus.protocol.names import INDEX_ALIAS, index_file
from sitemaps_plus.serve.cached import Served, serve
from sitemaps_plus.serve.classic import index, sitemap
from sitemaps_plus.serve.crawlers import note_visit
from sitemaps_plus.serve.live import Wanted
from sitemaps_plus.stores.cache import AHEAD
from sitemaps_plus.stores.packing import unpack
from sitemaps_plus.watch.alarms import overview

__all__ = ["health", "index", "index_alias", "page", "section_index", "site_index", "sitemap"]

logger = logging.getLogger("sitemaps_plus")

RETRY_AFTER = 120
"""Seconds after which a crawler may try again when a sitemap cannot be served."""

WHOLE = 2_000_000
"""Most bytes of an unpacked document that is sent in one piece; a larger one is sent while it is unpacked."""

_CONTENT_TYPES = {
    "xml": "application/xml; charset=utf-8",
    "xml.gz": "application/gzip",
    "txt": "text/plain; charset=utf-8",
}
# They have precedence over the others (RFC 9110, 13.2.2).
_PRECONDITIONS = {"HTTP_IF_MATCH", "HTTP_IF_UNMODIFIED_SINCE"}
_CONDITIONS = {"HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", *_PRECONDITIONS}
# The headers of a 304 (RFC 9110, 15.4.5); a content type would describe content that is not there.
_WITHOUT_CONTENT = ("ETag", "Cache-Control", "Last-Modified", "Vary")
_PER_VISITOR = ("", "cookie", "accept-language")
_ZERO = re.compile(r";\s*q=0(?:\.0*)?\s*$")
# The same pages are requested again and again, and writing a date takes as long as all other headers.
_date_text = lru_cache(maxsize=1_000)(http_date)


class _PublicHeaders(ResponseHeaders):
    """Headers without a language, and without variation by cookie or language."""

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a header, unless it is about one visitor."""
        name = key.lower()
        if name == "vary":
            value = ", ".join(one for one in re.split(r"\s*,\s*", str(value)) if one.lower() not in _PER_VISITOR)
        if name != "content-language" and (value or name != "vary"):
            super().__setitem__(key, value)


class _Public(HttpResponseBase):
    """A response that is the same for everybody, whatever middleware does to it."""

    def __init__(self, *args: Any, headers: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        """Make a response with these headers and no others, or with those that Django gives it."""
        if headers is not None:
            # Else Django would make a content type of its settings.
            kwargs["content_type"] = ""
        super().__init__(*args, **kwargs)
        self.headers = _PublicHeaders(self.headers if headers is None else headers)

    def set_cookie(self, *args: Any, **kwargs: Any) -> None:
        """Ignore the cookie: a shared cache would hand it to all other visitors."""


class PublicResponse(_Public, HttpResponse):
    """A public response in one piece."""


class PublicRedirect(_Public, HttpResponsePermanentRedirect):
    """A public response that names another URL for good."""


class PublicStream(_Public, StreamingHttpResponse):
    """A public response in several pieces."""


def _for_everybody(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let a view answer GET and HEAD, without login and outside any transaction."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response["X-Robots-Tag"] = "noindex, noodp, noarchive"
        return response

    # csrf_exempt: a POST changes nothing, and gets a 405 that lists the allowed methods in place of a 403.
    return transaction.non_atomic_requests(login_not_required(csrf_exempt(require_safe(answer))))


def _public(parse: Callable[..., tuple[Wanted, str]]) -> Callable[..., HttpResponseBase]:
    """Make a view of a function that returns the document that a request asks for, and the extension of its URL.

    In the view an error becomes a plain text. It counts the visit.
    """

    @wraps(parse)
    @_for_everybody
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        wanted, status = None, 500
        try:
            wanted, extension = parse(request, *args, **kwargs)
            response = _respond(request, wanted, extension)
            status = response.status_code
        except (
            *(PageNotFound, PageGone, UnknownHost, Unavailable),
            *(OperationalError, InterfaceError, ProgrammingError),
        ) as error:
            response = _explain(error)
            status = response.status_code
        finally:
            if wanted is not None:
                note_visit(request, wanted.site.id, wanted.label, status)
        return response

    return view


@_public
def site_index(request: HttpRequest, extension: str = "xml") -> tuple[Wanted, str]:
    """Serve the index of the site of the request."""
    return Wanted(site=get_site(request)), extension


@_for_everybody
def index_alias(request: HttpRequest) -> HttpResponseBase:
    """Redirect to the index of the site: a crawler that guesses both names must not read all pages twice."""
    path, mark, query = request.get_full_path().partition("?")
    return PublicRedirect(f"{path.removesuffix(INDEX_ALIAS)}{index_file()}{mark}{query}")


@_public
def section_index(request: HttpRequest, label: str, extension: str = "xml") -> tuple[Wanted, str]:
    """Serve the index of one section, under the URL that the section has with Django's own sitemaps."""
    return Wanted(site=get_site(request), label=label), extension


@_public
def page(request: HttpRequest, label: str, number: str, extension: str = "xml") -> tuple[Wanted, str]:
    """Serve one page of one section as XML, as gzip file or as text."""
    if number != str(int(number)) or number == "0":
        raise PageNotFound(f"{number} is not a page number; the index lists all pages.")
    return Wanted(site=get_site(request), label=label, number=int(number), as_text=extension == "txt"), extension


@transaction.non_atomic_requests
@login_not_required
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Serve the state of the sitemaps to a monitor: status 503 if somebody must act now, else 200.

    Only for clients that send ``HEALTH_TOKEN``, as ``Authorization: Bearer`` or ``?token=``, and for users who may see
    the status page in the admin; all others get a 404.
    """
    if not _may_see_health(request):
        return HttpResponseNotFound("Not Found\n", content_type="text/plain")
    found = overview()
    response = JsonResponse(found.as_json(), status=200 if found.is_healthy else 503)
    response["Cache-Control"] = "no-store"
    return response


def _may_see_health(request: HttpRequest) -> bool:
    wanted = get_settings().HEALTH_TOKEN
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    given = bearer if scheme.lower() == "bearer" else request.GET.get("token", "")
    if wanted and constant_time_compare(given.strip(), wanted):
        return True
    user = getattr(request, "user", None)
    return bool(user and user.is_active and user.has_perm("sitemaps_plus.view_sitemappage"))


def _respond(request: HttpRequest, wanted: Wanted, extension: str) -> HttpResponseBase:
    is_conditional = not _CONDITIONS.isdisjoint(request.META)
    served = serve(wanted, with_bytes=not is_conditional and request.method != "HEAD")
    is_packed = extension == "xml.gz" or _accepts_gzip(request)
    headers = _headers(served, extension, is_packed)
    if is_conditional:
        status = _early_status(request, headers["ETag"], served)
        if status is not None:
            kept = {name: value for name, value in headers.items() if name in _WITHOUT_CONTENT}
            return PublicResponse(status=status, headers=kept)
        if request.method != "HEAD":
            served = serve(wanted)
            headers = _headers(served, extension, is_packed)
    if extension == "xml.gz":
        # Clients unpack the file once, so that GZipMiddleware must not pack it again.
        request.META.pop("HTTP_ACCEPT_ENCODING", None)
    if request.method == "HEAD":
        return PublicResponse(headers=headers)
    if is_packed:
        return PublicResponse(served.gzipped, headers=headers)
    chunks = unpack(served.gzipped)
    if served.size <= WHOLE:
        return PublicResponse(chunks, headers=headers)
    return PublicStream(_async(chunks) if isinstance(request, ASGIRequest) else chunks, headers=headers)


def _early_status(request: HttpRequest, etag: str, served: Served) -> int | None:
    """Return the status that the conditions of a request call for without content, 304 or 412, or None."""
    # Most crawlers send back the ETag; parsing it would take as long as reading the settings, the site and the headers.
    if request.META.get("HTTP_IF_NONE_MATCH") == etag and _PRECONDITIONS.isdisjoint(request.META):
        return 304
    early = get_conditional_response(request, etag, _last_modified(served))
    return None if early is None else early.status_code


def _headers(served: Served, extension: str, is_packed: bool) -> dict[str, str]:
    headers = {
        "Content-Type": _CONTENT_TYPES[extension],
        "Content-Length": str(served.packed if is_packed else served.size),
        # Weak: it is the same for packed and unpacked bytes, for a built file and a live page.
        "ETag": f'W/"{served.digest[:32]}"',
    }
    if extension != "xml.gz":
        headers["Vary"] = "Accept-Encoding"
        if is_packed:
            headers["Content-Encoding"] = "gzip"
    if control := get_settings().CACHE_CONTROL:
        headers["Cache-Control"] = control
    if (modified := _last_modified(served)) is not None:
        headers["Last-Modified"] = _date_text(modified)
    return headers


def _last_modified(served: Served) -> int | None:
    """Return when a document changed, in seconds since 1970; None if that is unknown, or in the future."""
    is_ahead = served.changed_at is not None and served.changed_at > time.time() + AHEAD
    return None if served.changed_at is None or is_ahead else int(served.changed_at)


async def _async(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _accepts_gzip(request: HttpRequest) -> bool:
    wanted = {
        coding.partition(";")[0].strip(): not _ZERO.search(coding)
        for coding in request.META.get("HTTP_ACCEPT_ENCODING", "").lower().split(",")
    }
    # A coding by name has precedence over "*" (RFC 9110, 12.5.3).
    return next((wanted[name] for name in ("gzip", "x-gzip", "*") if name in wanted), False)


def _explain(error: Exception) -> HttpResponse:
    """Return the text that replaces a sitemap.

    Raises an error of the database again while ``STRICT`` is on, and one that is in the code of the project.
    """
    if isinstance(error, PageGone):
        return _text(error, 410)
    if isinstance(error, PageNotFound | UnknownHost):
        return _text(error, 404)
    error = explained(error)
    if isinstance(error, ProgrammingError) or (get_settings().STRICT and not isinstance(error, Unavailable)):
        raise error
    # What to do about missing tables is clear without a traceback.
    logger.error("A sitemap cannot be served: %s", error, exc_info=None if isinstance(error, MissingTables) else error)
    # The message of a database is not for visitors.
    known = error if isinstance(error, Unavailable) else Unavailable("The database does not answer. Try again later.")
    response = _text(known, 503)
    response["Retry-After"] = str(RETRY_AFTER)
    response["Cache-Control"] = "no-store"
    return response


def _text(error: Exception, status: int) -> HttpResponse:
    return PublicResponse(f"{error}\n", status=status, content_type="text/plain; charset=utf-8")
