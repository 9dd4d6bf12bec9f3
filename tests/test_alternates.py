"""Rows with a URL in each language: which ones, where they are, and which address is for everybody else."""

from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import F
from django.utils.translation import get_language

from samples import paths, section_of, text_of
from sitemaps_plus import ModelSitemap
from sitemaps_plus.addresses import Origin
from sitemaps_plus.origin import SiteOrigin
from sitemaps_plus.pages import Document, render_page
from testapp.models import Leaflet
from xml_checks import locs, validate

pytestmark = pytest.mark.django_db

S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
XHTML = "{http://www.w3.org/1999/xhtml}"
HOSTS = {"en": "https://example.com", "de": "https://example.de", "fr": "https://example.de:8443"}


class Leaflets(ModelSitemap):
    queryset = Leaflet.objects.all()
    i18n = alternates = True
    languages: Any = ["en", "de"]


class OnManyHosts(Leaflets):
    languages: Any = ["en", "de", "fr"]

    def location(self, item: Leaflet) -> str:
        return f"{HOSTS[get_language() or 'en']}/{item.slug}/"


def sitemap(base: Any = Leaflets, **attributes: Any) -> Any:
    return type("Made", (base,), attributes)


def render(made: Any, host: str = "https://example.com", **options: Any) -> Document:
    site = SiteOrigin(id=1, origin=Origin.parse(host))
    return render_page(section_of(made, "leaflets", site), 1, **options)


def rendered(document: Document) -> list[str]:
    return locs(text_of(document))


def linked(document: Document) -> list[dict[str, str]]:
    urls = validate(text_of(document)).findall(f"{S}url")
    return [{one.attrib["hreflang"]: one.attrib["href"] for one in url.findall(f"{XHTML}link")} for url in urls]


def leaflet(slug: str, **values: Any) -> Leaflet:
    made: Leaflet = Leaflet.objects.create(slug=slug, **values)
    return made


@pytest.mark.parametrize(("host", "own"), [("https://example.com", "en"), ("https://example.de", "de")])
def test_h16_each_site_lists_its_own_languages_and_links_to_the_others(host: str, own: str) -> None:
    leaflet("a")

    document = render(OnManyHosts, host, strict=True)

    assert rendered(document) == [f"{HOSTS[own]}/a/"]
    assert linked(document) == [{code: f"{address}/a/" for code, address in HOSTS.items()}]


def test_a_class_of_django_links_to_other_hosts_too() -> None:
    class Contrib(contrib.Sitemap):
        i18n = alternates = True
        languages = ("en", "de")

        def items(self) -> Any:
            return Leaflet.objects.order_by("pk")

        location = OnManyHosts.location

    leaflet("a")

    document = render(Contrib, strict=True)

    assert rendered(document) == ["https://example.com/a/"]
    assert linked(document) == [{"en": "https://example.com/a/", "de": "https://example.de/a/"}]


def test_without_alternates_an_address_on_another_host_is_an_error() -> None:
    row = leaflet("a")

    document = render(sitemap(OnManyHosts, alternates=False))

    assert rendered(document) == ["https://example.com/a/"]
    assert {(one.key, one.code) for one in document.report.problems} == {
        (str(row.pk), "E-URL-HOST"),
    }


def test_a_row_that_is_only_on_other_hosts_is_left_out_and_reported() -> None:
    row = leaflet("a")
    leaflet("b")

    class Elsewhere(OnManyHosts):
        def location(self, item: Leaflet) -> str:
            return f"https://example.org/{item.slug}/" if item.pk == row.pk else super().location(item)

    document = render(Elsewhere)

    assert rendered(document) == ["https://example.com/b/"]
    assert [(one.key, one.hook, one.code) for one in document.report.problems] == [
        (str(row.pk), "location", "E-URL-HOST")
    ]


@pytest.mark.parametrize(
    "languages",
    [F("languages"), F("fallback"), lambda self, item: item.languages, lambda self, item: item.fallback],
    ids=["list", "text", "method with a list", "method with a text"],
)
def test_a_row_says_which_languages_it_has(languages: Any) -> None:
    leaflet("a", languages=["de"], fallback="de")
    leaflet("b", languages=["en", "fr"], fallback="en, fr")
    leaflet("c", languages=[], fallback="")

    document = render(sitemap(languages=languages), strict=True)

    assert paths(rendered(document)) == ["/de/a/", "/en/b/", "/fr/b/"]
    assert [sorted(links) for links in linked(document)] == [["de"], ["en", "fr"], ["en", "fr"]]


def test_languages_that_are_none_are_reported() -> None:
    row = leaflet("a", languages=["de", 7])
    leaflet("b", languages=["de"])

    document = render(sitemap(languages=F("languages")))

    assert paths(rendered(document)) == ["/de/b/"]
    assert [(one.key, one.hook, one.code) for one in document.report.problems] == [
        (str(row.pk), "languages", "ValueError")
    ]


def by_method(self: Any, item: Leaflet) -> str:
    return item.fallback


def absolute(self: Any, item: Leaflet) -> str:
    return f"https://example.org/{item.slug}"


@pytest.mark.parametrize(
    ("x_default", "expected"),
    [
        (True, "https://example.com/a/"),
        (False, None),
        ("de", "https://example.com/de/a/"),
        ("/choose/", "https://example.com/choose/"),
        (F("fallback"), "https://example.com/de/a/"),
        (by_method, "https://example.com/de/a/"),
        (absolute, "https://example.org/a"),
        ("fr", None),
        (F("translation_key"), None),
    ],
    ids=["yes", "no", "language", "path", "column", "method", "absolute", "not spoken", "null"],
)
def test_each_row_may_have_its_own_x_default(x_default: Any, expected: str | None) -> None:
    leaflet("a", fallback="de")

    document = render(sitemap(x_default=x_default), strict=True)

    assert [links.get("x-default") for links in linked(document)] == [expected] * 2


def test_an_x_default_that_raises_costs_only_itself() -> None:
    leaflet("a")

    def x_default(self: Any, item: Leaflet) -> str:
        raise LookupError("no such page")

    document = render(sitemap(x_default=x_default))

    assert [sorted(links) for links in linked(document)] == [["de", "en"]] * 2
    assert [(one.hook, one.code) for one in document.report.problems] == [("x_default", "LookupError")]


@pytest.mark.parametrize("x_default", [F("fallback"), by_method])
def test_the_classic_view_asks_each_item_too(x_default: Any) -> None:
    leaflet("a", languages=["en", "de"], fallback="de")
    leaflet("b", languages=["fr"])
    made = sitemap(languages=F("languages"), x_default=x_default)()

    infos = made.get_urls(protocol="https", site=type("Site", (), {"domain": "example.com"}))

    assert paths(info["location"] for info in infos) == ["/en/a/", "/de/a/", "/fr/b/"]
    assert [{one["lang_code"]: one["location"] for one in info["alternates"]} for info in infos] == [
        {
            "en": "https://example.com/en/a/",
            "de": "https://example.com/de/a/",
            "x-default": "https://example.com/de/a/",
        }
    ] * 2 + [{"fr": "https://example.com/fr/b/"}]


def test_languages_may_share_an_hreflang_or_have_none(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"HREFLANG": {"es-419": "es", "gsw": None}}
    leaflet("a")

    document = render(sitemap(languages=["en", "es-419", "gsw"]), strict=True)

    assert paths(rendered(document)) == ["/en/a/", "/es-419/a/", "/gsw/a/"]
    # None links to the last one, and so it links to none.
    assert [sorted(links) for links in linked(document)] == [["en", "es"], ["en", "es"], []]
