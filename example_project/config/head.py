"""Return the links for the HTML head of a page: the canonical one and one for each language."""

from collections.abc import Iterator

from django.conf import settings
from django.http import HttpRequest
from django.urls import translate_url
from django.utils.encoding import escape_uri_path
from django.utils.translation import get_language_from_path


def links(request: HttpRequest) -> dict[str, object]:
    """Return ``canonical`` and ``alternates``: the URLs that the sitemap lists for this page."""
    base = settings.SITEMAPS_PLUS["ORIGIN"]
    path = escape_uri_path(request.path)
    number = request.GET.get("page", "")
    query = f"?page={number}" if number.isdecimal() and number != "1" else ""
    return {
        "canonical": f"{base}{path}{query}",
        "alternates": [(code, f"{base}{address}{query}") for code, address in _addresses(path)],
    }


def _addresses(path: str) -> Iterator[tuple[str, str]]:
    language = get_language_from_path(path)
    if language is None:
        return
    for code, _ in settings.LANGUAGES:
        yield code, translate_url(path, code)
    # A URL without a language in its path is answered in the visitor's language.
    yield "x-default", path.removeprefix(f"/{language}")
