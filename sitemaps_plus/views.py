"""Turn requests into sitemaps: the registered ones, and the classic dict of ``django.contrib.sitemaps``."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.handlers.asgi import ASGIRequest
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.http import http_date
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from sitemaps_plus.classic import index, sitemap
from sitemaps_plus.errors import PageGone, PageNotFound, UnknownHost
from sitemaps_plus.origin import get_site
from sitemaps_plus.pages import Document, render_index, render_page
from sitemaps_plus.sections import get_section

__all__ = ["index", "page", "section_index", "site_index", "sitemap"]

_CONTENT_TYPES = {
    "xml": "application/xml; charset=utf-8",
    "xml.gz": "application/gzip",
    "txt": "text/plain; charset=utf-8",
}
_ZERO = re.compile(r";\s*q=0(?:\.0*)?\s*$")


def _public(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Make a view answer GET and HEAD, without login, outside any transaction, and with a clear text for no sitemap."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response = view(request, *args, **kwargs)
        except PageGone as error:
            response = _explain(error, 410)
        except (PageNotFound, UnknownHost) as error:
            response = _explain(error, 404)
        response["X-Robots-Tag"] = "noindex, noodp, noarchive"
        return response

    # Exempt, so that a POST is told what it may do: nothing is ever changed here.
    return transaction.non_atomic_requests(login_not_required(csrf_exempt(require_safe(answer))))


@_public
def site_index(request: HttpRequest, extension: str = "xml") -> HttpResponseBase:
    """Answer with the index of the site that the request belongs to."""
    return _send(request, render_index(get_site(request)), extension)


@_public
def section_index(request: HttpRequest, label: str, extension: str = "xml") -> HttpResponseBase:
    """Answer with the index of one section: what its URL was with Django's own sitemaps."""
    return _send(request, render_index(get_site(request), label=label), extension)


@_public
def page(request: HttpRequest, label: str, number: str, extension: str = "xml") -> HttpResponseBase:
    """Answer with one page of one section, as XML, gzip file or text."""
    section = get_section(label, get_site(request))
    if number != str(int(number)) or number == "0":
        raise PageNotFound(f"{number} is no page number; the index lists those there are.")
    return _send(request, render_page(section, int(number), form="txt" if extension == "txt" else "xml"), extension)


def _send(request: HttpRequest, document: Document, extension: str) -> HttpResponseBase:
    is_file = extension == "xml.gz"
    is_packed = is_file or _accepts_gzip(request)
    response = HttpResponse(document.gzipped) if is_packed else _unpacked(request, document)
    response["Content-Type"] = _CONTENT_TYPES[extension]
    response["Content-Length"] = str(len(document.gzipped) if is_packed else document.size)
    if is_file:
        # Readers unpack the file once: a middleware must not pack it again.
        request.META.pop("HTTP_ACCEPT_ENCODING", None)
    else:
        patch_vary_headers(response, ["Accept-Encoding"])
        if is_packed:
            response["Content-Encoding"] = "gzip"
    if document.changed_at is not None:
        response["Last-Modified"] = http_date(document.changed_at.timestamp())
    return response


def _unpacked(request: HttpRequest, document: Document) -> HttpResponseBase:
    if request.method == "HEAD":
        return HttpResponse()
    if isinstance(request, ASGIRequest):
        return StreamingHttpResponse(_each(document.chunks()))
    return StreamingHttpResponse(document.chunks())


async def _each(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _accepts_gzip(request: HttpRequest) -> bool:
    wanted = {
        coding.partition(";")[0].strip(): not _ZERO.search(coding)
        for coding in request.headers.get("Accept-Encoding", "").lower().split(",")
    }
    # What is named goes before "*" (RFC 9110, 12.5.3).
    return next((wanted[name] for name in ("gzip", "x-gzip", "*") if name in wanted), False)


def _explain(error: Exception, status: int) -> HttpResponse:
    return HttpResponse(f"{error}\n", status=status, content_type="text/plain; charset=utf-8")
