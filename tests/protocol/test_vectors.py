"""The vectors of the protocol for whole pages."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from django.utils.translation import get_language

from factories import ArticleFactory
from samples import make_products, paths, render_page, section_of, text_of
from sitemaps_plus import ModelSitemap, NewsSitemap, Sitemap
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol import limits
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.protocol.codes import LANGUAGES
from sitemaps_plus.protocol.limits import Profile
from sitemaps_plus.render.pages import render_planned
from sitemaps_plus.stores.packing import Document
from testapp.models import Article, Product
from xml_checks import locs, validate

pytestmark = pytest.mark.django_db

SITE = "https://example.com"
LINK = "{http://www.w3.org/1999/xhtml}link"


def page_of(*locations: Any, site: str = SITE, **options: Any) -> Document:
    """Return a page that lists these locations."""

    class Listed(Sitemap):
        def items(self) -> list[Any]:
            return list(locations)

        def location(self, item: Any) -> Any:
            return item

    return render_page(section_of(Listed, site=SiteOrigin(id=1, origin=Origin.parse(site))), 1, **options)


def codes(document: Document) -> list[str]:
    return [problem.code for problem in document.report.problems]


def links(document: Document) -> list[dict[str, str]]:
    """Return the links of each URL, by hreflang."""
    return [
        {link.attrib["hreflang"]: link.attrib["href"] for link in url.iter(LINK)} for url in validate(text_of(document))
    ]


# URLs


@pytest.mark.parametrize(
    ("location", "raw"),
    [
        pytest.param("/ümlat.php?q=naïve&x=ß", b"/%C3%BCmlat.php?q=na%C3%AFve&amp;x=%C3%9F</loc>", id="U05"),
        pytest.param("/o'brien?x=1&y=2", b"/o&#x27;brien?x=1&amp;y=2</loc>", id="U12"),
    ],
)
def test_an_address_is_escaped_in_the_bytes_of_the_file(location: str, raw: bytes) -> None:
    assert raw in text_of(page_of(location))


def test_urls_that_differ_only_in_their_fragment_are_one_page() -> None:
    """U28."""
    document = page_of("/a#top", "/a")

    assert locs(text_of(document)) == [f"{SITE}/a"]
    assert codes(document) == ["W-URL-FRAGMENT", "E-URL-REPEATED"]


@pytest.mark.parametrize(
    ("locations", "warned"),
    [
        pytest.param(["/a", f"{SITE}/a"], ["E-URL-REPEATED"], id="U35 the same"),
        pytest.param(["/a", "/a?"], [], id="U35 empty query"),
        pytest.param(["/%7Euser", "/~user"], [], id="U35 tilde"),
    ],
)
def test_only_identical_urls_are_merged(locations: list[str], warned: list[str]) -> None:
    document = page_of(*locations)

    assert len(locs(text_of(document))) == 2 - len(warned)
    assert codes(document) == warned


@pytest.mark.parametrize(
    ("profile", "code"),
    [pytest.param("default", [], id="U33 default"), pytest.param("yandex", ["E-URL-LENGTH"], id="U33 yandex")],
)
def test_the_profile_limits_the_length_of_urls(settings: Any, profile: str, code: list[str]) -> None:
    settings.SITEMAPS_PLUS = {"PROFILE": profile}
    long = f"/{'a' * (1025 - len(SITE) - 1)}"

    document = page_of("/", long)

    assert [len(loc) for loc in locs(text_of(document))] == [len(SITE) + 1, *([] if code else [1025])]
    assert codes(document) == code


def test_the_shortest_url_is_listed() -> None:
    """U34."""
    assert b"<loc>http://a.b/</loc>" in text_of(page_of("/", site="http://a.b"))


@pytest.mark.parametrize("location", ["", "  ", None])
def test_a_row_with_an_invalid_url_is_left_out(location: Any) -> None:
    """U36."""
    document = page_of("/", location)

    assert locs(text_of(document)) == [f"{SITE}/"]
    assert codes(document) == ["E-URL-EMPTY"]


def test_a_file_begins_with_its_declaration_and_is_utf_8() -> None:
    """X12."""
    document = text_of(page_of("/ä", "/😀"))

    assert document.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset ')
    assert f"<loc>{SITE}/%C3%A4</loc>" in document.decode("utf-8")
    validate(document)


# News


class News(NewsSitemap):
    queryset = Article.objects.all()
    date_field = "published_at"

    def location(self, item: Article) -> str:
        return f"/{item.pk}/"


@pytest.mark.parametrize(
    ("articles", "pages"), [pytest.param(1000, [1000], id="N04 1,000"), pytest.param(1001, [1000, 1], id="N04 1,001")]
)
def test_a_page_holds_a_thousand_articles(articles: int, pages: list[int]) -> None:
    ArticleFactory.bulk(articles, published_at=timezone.now())
    section = section_of(News)

    documents = [render_page(section, number) for number in range(1, len(refresh(section).pages) + 1)]

    assert [len(locs(text_of(document))) for document in documents] == pages
    assert len({loc for document in documents for loc in locs(text_of(document))}) == articles


def test_a_page_without_articles_is_valid() -> None:
    """N07."""
    document = render_page(section_of(News), 1)

    assert locs(text_of(document)) == []
    assert document.report.problems == []


# Languages


class Translated(ModelSitemap):
    queryset = Product.objects.all()
    i18n = True
    alternates = True
    x_default = True
    languages = ["en", "de"]

    def location(self, item: Product) -> str:
        if item.slug == "product-2" and get_language() == "de":
            raise LookupError("not translated")
        return f"/{get_language()}/{item.slug}/"


def test_every_translation_of_a_page_links_to_all_translations_and_itself() -> None:
    """H01, H02."""
    make_products(1)

    document = render_page(section_of(Translated), 1)

    versions = {code: f"{SITE}/{code}/product-1/" for code in ("en", "de")}
    assert links(document) == [{**versions, "x-default": f"{SITE}/product-1/"}] * 2
    assert locs(text_of(document)) == list(versions.values())


def test_a_missing_translation_is_not_linked() -> None:
    """H03, H04: no link without its return or its entry comes about where the section knows its languages."""
    make_products(2)

    document = render_page(section_of(Translated), 1, strict=False)

    named = dict(zip(locs(text_of(document)), links(document), strict=True))
    assert paths(named) == ["/en/product-1/", "/de/product-1/", "/en/product-2/"]
    for loc, versions in named.items():
        versions.pop("x-default")
        assert loc in versions.values()
        assert all(loc in named[href].values() for href in versions.values())


def documents_of(section: Any) -> Iterator[Document]:
    """Yield every page, including those that a split creates."""
    plan, done = refresh(section), set[int]()
    while waiting := [page.number for page in plan.pages if page.number not in done]:
        document, plan = render_planned(section, waiting[0], plan=plan)
        done.add(waiting[0])
        yield document


def test_forty_languages_are_split_by_bytes_and_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """H19."""
    many = ["en", *sorted(LANGUAGES - {"en"})[:39]]
    made = type(
        "Many", (Translated,), {"languages": many, "location": lambda self, item: f"/{get_language()}/{item.pk}/"}
    )
    make_products(5)
    section = section_of(made)
    assert (section.urls_limit, section.rows_limit) == (50_000, 1_250)
    whole = render_page(section, 1)
    # Two rows fill a page to the default of 90 %; links count by their bytes alone.
    monkeypatch.setitem(limits.PROFILES, "default", Profile(max_bytes=whole.size // 2))

    parts = list(documents_of(section_of(made, "parts")))

    assert whole.urls == 200
    assert whole.size * 250 > limits.MAX_BYTES
    assert len(parts) > 2
    assert all(part.size <= whole.size // 2 and part.urls % 40 == 0 for part in parts)
    assert sorted(loc for part in parts for loc in locs(text_of(part))) == sorted(locs(text_of(whole)))
    assert all(set(versions) == {*many, "x-default"} for part in parts for versions in links(part))
