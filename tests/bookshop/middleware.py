"""The strict policy of a careful project."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase


def strict_policy(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let a page use only what comes from its own server."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response["Content-Security-Policy"] = "default-src 'self'"
        return response

    return answer
