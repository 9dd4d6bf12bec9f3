"""Pages that answer with the template that a request carries: under language prefixes, without one, and translated."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.template import RequestContext, Template
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.utils.translation import get_language

from testapp.models import Product


class _Translated:
    """A route in the active language."""

    def __init__(self, **routes: str) -> None:
        self.routes = routes

    def __str__(self) -> str:
        return self.routes.get((get_language() or "en").partition("-")[0], self.routes["en"])


def show(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
    product = Product.objects.filter(slug=kwargs.get("slug", "")).first()
    template = Template("{% load sitemaps_plus %}" + request.headers["template"])
    return HttpResponse(template.render(RequestContext(request, {"product": product})))


_pages: list[URLPattern | URLResolver] = [
    path("products/<slug:slug>/", show, name="product"),
    path(_Translated(en="offers/<slug:slug>/", de="angebote/<slug:slug>/"), show, name="offer"),  # type: ignore[arg-type]
    path("also/<slug:slug>/", show, name="also"),
    path("text/<str:text>/", show, name="text"),
    path("extra/", show, {"colour": "red"}, name="extra"),
    path("shop/", include(([path("", show, name="home")], "shop"), namespace="second-shop")),
    path("nameless/", show),
    re_path(r"^(?P<owner>[a-z]+)/", include([re_path(r"^([0-9]+)/mixed/$", show, name="mixed")])),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("sitemaps_plus.urls")),
    *i18n_patterns(*_pages),
    path("plain/<path:text>", show, name="plain"),
]


class UnprefixedDefault:
    """A URLconf whose default language has no prefix."""

    urlpatterns = i18n_patterns(*_pages, prefix_default_language=False)


class Unprefixed:
    """A URLconf whose routes are translated, without any prefix, and without sitemaps."""

    urlpatterns = [
        path(_Translated(en="offers/<slug:slug>/", de="angebote/<slug:slug>/"), show, name="offer"),  # type: ignore[arg-type]
        path("products/<slug:slug>/", show, name="product"),
    ]
