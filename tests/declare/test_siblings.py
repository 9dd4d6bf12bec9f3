"""Rows that are translations of each other: clusters whose links are mutual, on whatever pages their rows are."""

from contextlib import suppress
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language
from hypothesis import given
from hypothesis import strategies as st

from samples import listed_paths, paths, render_page, section_of, text_of
from sitemaps_plus import Alternate, ModelSitemap, Siblings, UrlFor
from sitemaps_plus.errors import InvalidSitemap, PageNotFound
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.stores.packing import Document
from testapp.models import Leaflet
from xml_checks import validate

pytestmark = [pytest.mark.django_db, pytest.mark.urls("testapp.urls_languages")]

S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
XHTML = "{http://www.w3.org/1999/xhtml}"
LINKS = Siblings("translation_key", language=F("locale"))


class Leaflets(ModelSitemap):
    queryset = Leaflet.objects.all()
    location: Any = UrlFor("product", slug=F("slug"))
    hreflang: Any = LINKS


class ByMethod(ModelSitemap):
    """The same by a method, which sees the language of its row."""

    queryset = Leaflet.objects.all()
    hreflang = LINKS

    def location(self, item: Leaflet) -> str:
        return f"/{get_language()}/products/{item.slug}/"


def sitemap(base: Any = Leaflets, **attributes: Any) -> Any:
    return type("Made", (base,), attributes)


def render(made: Any, number: int = 1, **options: Any) -> Document:
    return render_page(section_of(made, "leaflets"), number, **options)


def linked(*documents: Document) -> dict[str, dict[str, str]]:
    """Return the links of each URL, by hreflang."""
    urls = [url for document in documents for url in validate(text_of(document)).findall(f"{S}url")]
    return {
        paths([url.findtext(f"{S}loc", "")])[0]: {
            link.attrib["hreflang"]: paths([link.attrib["href"]])[0] for link in url.findall(f"{XHTML}link")
        }
        for url in urls
    }


def leaflets(*rows: str) -> list[Leaflet]:
    """Store a row for each "key locale slug"."""
    return [
        Leaflet.objects.create(translation_key=key.strip("-"), locale=locale.strip("-"), slug=slug)
        for key, locale, slug in (row.split() for row in rows)
    ]


@pytest.mark.parametrize("made", [Leaflets, ByMethod])
def test_rows_with_one_key_link_to_each_other_and_themselves(made: Any) -> None:
    leaflets("a en chair", "b en table", "a de stuhl", "a pt_BR cadeira", "- fr lampe", "c de allein")

    document = render(made, strict=True)

    cluster = {"en": "/en/products/chair/", "de": "/de/products/stuhl/", "pt-BR": "/pt-br/products/cadeira/"}
    assert linked(document) == {
        "/en/products/chair/": cluster,
        "/en/products/table/": {},
        "/de/products/stuhl/": cluster,
        "/pt-br/products/cadeira/": cluster,
        "/fr/products/lampe/": {},
        "/de/products/allein/": {},
    }


def test_both_paths_give_the_same_bytes() -> None:
    leaflets("a en chair", "a de stuhl", "b en table", "b de tisch")

    assert text_of(render(Leaflets)) == text_of(render(ByMethod))


@pytest.mark.parametrize("made", [Leaflets, ByMethod])
def test_clusters_are_whole_across_pages(made: Any) -> None:
    leaflets("a en chair", "b en table", "b de tisch", "a de stuhl", "a pt-br cadeira")
    small = sitemap(made, limit=2, fill=1.0)
    section = section_of(small, "leaflets")

    pages = [render_page(section, page.number) for page in refresh(section).pages]

    assert len(pages) == 3
    found = linked(*pages)
    cluster = {"en": "/en/products/chair/", "de": "/de/products/stuhl/", "pt-BR": "/pt-br/products/cadeira/"}
    assert [found[path] for path in cluster.values()] == [cluster] * 3
    assert list(found["/de/products/tisch/"]) == ["en", "de"]


@pytest.mark.parametrize("made", [Leaflets, ByMethod])
def test_a_row_that_is_left_out_leaves_its_cluster_too(made: Any) -> None:
    rows = leaflets("a en chair", "a de stuhl", "a fr chaise")
    Leaflet.objects.filter(pk=rows[1].pk).update(slug="..")

    document = render(made)

    assert [sorted(links) for links in linked(document).values()] == [["en", "fr"]] * 2
    # Once, by the row itself.
    assert document.report.left_out == 1
    assert {problem.key for problem in document.report.problems} == {str(rows[1].pk)}


@pytest.mark.parametrize("made", [Leaflets, ByMethod])
def test_a_row_in_a_language_that_the_site_does_not_have_is_left_out(made: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    rows = leaflets("a en chair", "a de stuhl", "a fr chaise")

    document = render(made)

    assert listed_paths(document) == ["/en/products/chair/", "/de/products/stuhl/"]
    assert [sorted(links) for links in linked(document).values()] == [["de", "en"]] * 2
    assert [(one.key, one.code) for one in document.report.problems] == [(str(rows[2].pk), "E-LANGUAGE")]
    assert document.report.left_out == 1


def test_a_row_outside_the_queryset_is_in_no_cluster() -> None:
    rows = leaflets("a en chair", "a de stuhl", "a fr chaise")

    document = render(sitemap(queryset=Leaflet.objects.exclude(pk=rows[2].pk)), strict=True)

    assert [sorted(links) for links in linked(document).values()] == [["de", "en"]] * 2


def test_the_second_row_of_a_language_has_no_links_and_is_reported() -> None:
    rows = leaflets("a en chair", "a de stuhl", "a de sessel")

    document = render(Leaflets)

    found = linked(document)
    assert found["/de/products/stuhl/"] == found["/en/products/chair/"]
    assert found["/en/products/chair/"]["de"] == "/de/products/stuhl/"
    assert found["/de/products/sessel/"] == {}
    assert [(one.key, one.hook, one.code) for one in document.report.problems] == [
        (str(rows[2].pk), "hreflang", "E-HREFLANG-REPEATED")
    ]


def test_a_language_that_search_engines_do_not_know_is_in_no_cluster(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("es-419", "Latin American Spanish"), ("de", "German")]
    rows = leaflets("a en chair", "a es-419 silla", "a de stuhl")

    document = render(Leaflets)

    assert [sorted(links) for links in linked(document).values()] == [["de", "en"], [], ["de", "en"]]
    assert [(one.key, one.code) for one in document.report.problems] == [(str(rows[1].pk), "E-HREFLANG-REGION")]

    settings.SITEMAPS_PLUS = {"HREFLANG": {"es-419": "es", "de": None}}
    assert [sorted(links) for links in linked(render(Leaflets, strict=True)).values()] == [["en", "es"]] * 2 + [[]]


@pytest.mark.parametrize(
    ("x_default", "expected"),
    [
        (True, "/en/products/chair/"),
        ("de", "/de/products/stuhl/"),
        ("/choose/", "/choose/"),
        (F("fallback"), "/choose-a/"),
        (lambda self, item: item.fallback, "/choose-a/"),
        (False, None),
        ("fr", None),
    ],
)
def test_x_default_is_the_same_for_the_whole_cluster(x_default: Any, expected: str | None) -> None:
    rows = leaflets("a en chair", "a de stuhl")
    Leaflet.objects.filter(pk=rows[1].pk).update(fallback="/choose-a/")

    found = linked(render(sitemap(x_default=x_default), strict=True))

    assert [links.get("x-default") for links in found.values()] == [expected] * 2


def test_other_links_may_stand_beside_them() -> None:
    leaflets("a en chair", "a de stuhl")
    elsewhere = Alternate(hreflang="fr", href="https://example.fr/")

    found = linked(render(sitemap(hreflang=[LINKS, elsewhere]), strict=True))

    assert [sorted(links) for links in found.values()] == [["de", "en", "fr"]] * 2


@pytest.mark.parametrize("made", [Leaflets, ByMethod])
def test_a_chunk_costs_one_more_query(made: Any, django_assert_num_queries: Any) -> None:
    leaflets(*(f"{key} {code} {code}-{key}" for key in range(20) for code in ("en", "de")))
    section, plain = section_of(made, "linked"), section_of(sitemap(made, hreflang=None), "plain")
    for one in (section, plain):
        render_page(one, 1)

    with CaptureQueriesContext(connection) as without:
        render_page(plain, 1)
    with django_assert_num_queries(len(without) + 1):
        document = render_page(section, 1)

    assert all(len(links) == 2 for links in linked(document).values())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", "", None]),
            st.sampled_from(["en", "de", "fr", "pt_BR", "es-419", "xx", ""]),
            st.sampled_from(["one", "two", "..", ""]),
        ),
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_whatever_the_rows_hold_clusters_name_themselves_and_lead_back(rows: list[Any], limit: int) -> None:
    Leaflet.objects.all().delete()
    for number, (key, locale, slug) in enumerate(rows):
        unique = f"{slug}-{number}" if slug.isalpha() else slug
        Leaflet.objects.create(translation_key=key, locale=locale, slug=unique)
    section = section_of(sitemap(limit=limit, x_default=True), "leaflets")
    documents = []
    for page in refresh(section, force=True, repack=True).pages:
        with suppress(PageNotFound):
            documents.append(render_page(section, page.number))

    found = linked(*documents)

    for path, links in found.items():
        for code, href in links.items():
            assert path in links.values()
            assert code == "x-default" or found[href] == links


def test_the_classic_view_gives_the_same_links() -> None:
    leaflets("a en chair", "a de stuhl", "- fr lampe")
    made = sitemap(x_default=True)()

    infos = made.get_urls(protocol="https", site=type("Site", (), {"domain": "example.com"}))

    assert paths(info["location"] for info in infos) == [
        "/en/products/chair/",
        "/de/products/stuhl/",
        "/fr/products/lampe/",
    ]
    links = [{link.hreflang: link.href for link in info["hreflang"]} for info in infos]
    cluster = {code: info["location"] for code, info in zip(("en", "de"), infos[:2], strict=True)}
    assert links == [{**cluster, "x-default": cluster["en"]}] * 2 + [{}]


def test_rows_in_all_languages_and_rows_in_one_do_not_go_together() -> None:
    with pytest.raises(InvalidSitemap, match="Remove one of the two"):
        render(sitemap(i18n=True))


@pytest.mark.parametrize(("key", "language"), [("key", "de"), (F("key"), F("locale")), ("key", None)])
def test_a_value_that_is_not_a_column_is_an_error(key: Any, language: Any) -> None:
    with pytest.raises(InvalidSitemap, match="give the name of a column and the language as an expression"):
        Siblings(key, language=language)


def test_a_class_of_django_may_have_them_as_a_method() -> None:
    leaflets("a en chair")

    class Contrib(contrib.Sitemap):
        def items(self) -> Any:
            return Leaflet.objects.all()

        def hreflang(self, item: Leaflet) -> list[Alternate]:
            return [Alternate(hreflang="de", href="https://example.de/stuhl/")]

    assert linked(render(Contrib)) == {"/en/chair/": {"de": "https://example.de/stuhl/"}}
