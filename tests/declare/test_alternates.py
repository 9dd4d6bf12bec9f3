"""Rows with a URL in each language: which ones, where they are, and which address is for everybody else."""

from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import F
from django.utils.translation import get_language

from samples import paths, render_page, section_of, text_of
from sitemaps_plus import Alternate, ModelSitemap, register
from sitemaps_plus.errors import InvalidSitemap, StrictError
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.stores.packing import Document
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


def test_links_of_a_hook_do_not_repeat_those_of_the_languages(settings: Any) -> None:
    row = leaflet("a")
    given = [
        Alternate(hreflang="en", href="https://example.org/"),
        Alternate(hreflang="de", href="https://example.com/de/a/"),
        Alternate(hreflang="fr", href="https://example.fr/a/"),
    ]

    for made in (sitemap(hreflang=given), sitemap(hreflang=lambda self, item: given)):
        document = render(made)

        # An element is read for each code: a repeated one would hide.
        assert text_of(document).count(b"<xhtml:link") == 6
        assert [sorted(links.values()) for links in linked(document)] == [
            ["https://example.com/de/a/", "https://example.com/en/a/", "https://example.fr/a/"]
        ] * 2
        assert {(one.key, one.hook, one.code) for one in document.report.problems} == {
            (str(row.pk), "hreflang", "E-HREFLANG-REPEATED")
        }


def test_h02_links_that_do_not_name_their_own_page_are_questionable() -> None:
    row = leaflet("a")
    away = Alternate(hreflang="de", href="https://example.de/a/")
    home = Alternate(hreflang="en", href="https://example.com/en/a/")

    alone = render(sitemap(i18n=False, alternates=False, hreflang=[away]))
    both = render(sitemap(i18n=False, alternates=False, hreflang=[away, home]), strict=True)

    assert [(one.key, one.hook, one.code) for one in alone.report.problems] == [
        (str(row.pk), "hreflang", "W-HREFLANG-SELF")
    ]
    assert linked(alone) == [{"de": "https://example.de/a/"}]
    assert not both.report.problems


@pytest.mark.parametrize("languages", ["en, de", ["en", "de"], ("en", "de", "en")])
def test_languages_may_be_one_text_for_all_rows(languages: Any) -> None:
    leaflet("a")

    assert paths(rendered(render(sitemap(languages=languages)))) == ["/en/a/", "/de/a/"]


def test_an_empty_language_among_others_is_passed_over() -> None:
    leaflet("a", languages=["de", None, "", "en"])

    assert paths(rendered(render(sitemap(languages=F("languages")), strict=True))) == ["/de/a/", "/en/a/"]


def test_a_class_of_django_cannot_read_languages_from_rows() -> None:
    for languages in (F("languages"), lambda self, item: ["en"]):
        made = type("Made", (contrib.GenericSitemap,), {"i18n": True, "languages": languages})

        with pytest.raises(InvalidSitemap, match="override get_languages_for_item"):
            register("languages", made({"queryset": Leaflet.objects.all()}))


class OfDjango(contrib.Sitemap):
    i18n = alternates = True
    languages = ("en", "de")

    def items(self) -> Any:
        return Leaflet.objects.order_by("pk")

    def get_languages_for_item(self, item: Leaflet) -> list[str]:
        return {"a": ["en", "de"], "c": ["de"]}[item.slug]


def test_an_item_of_django_whose_languages_raise_is_reported_on_the_page_where_it_would_be() -> None:
    rows = [leaflet(slug) for slug in ("a", "b", "c")]
    section = section_of(type("Made", (OfDjango,), {"limit": 2}), "leaflets")

    first, second = (render_page(section, number, strict=False) for number in (1, 2))

    assert [paths(rendered(page)) for page in (first, second)] == [["/en/a/", "/de/a/"], ["/de/c/"]]
    assert not first.report.problems
    assert [(one.label, one.key, one.hook) for one in second.report.problems] == [
        ("leaflets", str(rows[1].pk), "get_languages_for_item")
    ]
    with pytest.raises(StrictError):
        render_page(section, 2, strict=True)


def test_an_item_of_django_without_any_address_is_left_out_once() -> None:
    leaflet("a")
    row = leaflet("c")

    class Partly(OfDjango):
        get_languages_for_item = contrib.Sitemap.get_languages_for_item

        def location(self, item: Leaflet) -> str:
            if item.pk == row.pk:
                raise LookupError("no address")
            return f"/{get_language()}/{item.slug}/"

    document = render(Partly)

    assert paths(rendered(document)) == ["/en/a/", "/de/a/"]
    assert (document.report.left_out, document.report.dropped) == (1, 0)
