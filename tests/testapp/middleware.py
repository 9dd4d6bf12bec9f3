"""Middleware as projects have it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase


def reads_the_session(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Read the session of every visitor, as a shop with a basket does: Django then varies by cookie."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        request.session.get("basket")
        response = get_response(request)
        response.set_cookie("seen", "yes")
        return response

    return answer
