"""Patterns of every kind: converters of Django's and of the project's own, constants, an expression."""

from typing import Any

from django.http import HttpResponse
from django.urls import include, path, re_path, register_converter
from django.urls.converters import IntConverter


class FourDigits(IntConverter):
    regex = "[0-9]{4}"


class Loud:
    regex = "[A-Z]+"

    def to_python(self, value: str) -> str:
        return value.lower()

    def to_url(self, value: str) -> str:
        if value == "silent":
            raise ValueError(value)
        return value.upper()


register_converter(FourDigits, "four_digits")
register_converter(Loud, "loud")


def view(request: Any, **kwargs: Any) -> HttpResponse:
    return HttpResponse()


urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    path("str/<str:value>/", view, name="str"),
    path("slug/<slug:value>.html", view, name="slug"),
    path("path/<path:value>", view, name="path"),
    path("int/<int:value>/", view, name="int"),
    path("four/<four_digits:value>/", view, name="four"),
    path("loud/<loud:value>/", view, name="loud"),
    path("two/<str:first>-and-<int:second>/it's&more/", view, name="two"),
    path("<str:value>/", view, name="bare"),
    re_path(r"^words/(?P<value>\w+)/$", view, name="words"),
]
