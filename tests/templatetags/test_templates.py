from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib import sitemaps as contrib
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.template import Context, Template
from django.template.loader import get_template, render_to_string
from django.utils import timezone, translation
from django.utils.functional import lazy
from django.utils.translation import get_language, gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

import sitemaps_plus
import strategies
from samples import made_cleaner, make_products, render_page, section_of, text_of, written
from sitemaps_plus import Alternate, Image, ModelSitemap, News, Sitemap, Video
from sitemaps_plus.errors import InvalidEntry, SitemapError
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.overrides import INDEX, PAGE
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.protocol.addresses import Origin, normalize
from sitemaps_plus.protocol.entries import Cleaner, Group
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.text import CHANGEFREQS
from sitemaps_plus.protocol.writer import IndexItem, Tally, write_index, write_urlset
from sitemaps_plus.render.indexes import make_index
from sitemaps_plus.render.object_path import read_groups
from sitemaps_plus.render.own_template import write_with_template
from sitemaps_plus.values import Restriction
from testapp.models import Product
from xml_checks import validate

moments = st.dates() | st.datetimes(timezones=st.none() | st.just(UTC) | st.timezones())
lastmods = st.none() | moments | moments.map(str) | moments.map(lambda moment: moment.isoformat())
priorities = st.none() | st.sampled_from(["", 0, 1, "0.50", "high", True]) | st.floats() | st.decimals()
# An address that is finished: absolute and encoded, as Django's views get it from reverse().
addresses = (
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("&'<>\""), max_size=20)
    .map(lambda text: finished(f"/p{text}"))
    .filter(bool)
)
codes = st.sampled_from(["en", "de", "pt-BR", "zh-Hans", "x-default"])
infos = st.fixed_dictionaries(
    {
        "location": addresses,
        "lastmod": lastmods,
        "changefreq": st.sampled_from(["", None, *CHANGEFREQS]),
        "priority": priorities,
        "alternates": st.lists(st.fixed_dictionaries({"lang_code": codes, "location": addresses}), max_size=3),
    }
)


def finished(path: str) -> str:
    """Return the address of a page, or nothing where none may be listed, as at "/p/."."""
    try:
        return made_cleaner().loc(1, path)
    except InvalidEntry:
        return ""


@pytest.mark.parametrize("tag", ["sitemap_alternates", "sitemap_images", "sitemap_videos", "sitemap_news"])
@pytest.mark.parametrize("given", [None, "", Product(pk=1), {"item": 1}], ids=["none", "unknown", "object", "a dict"])
def test_tags_say_that_they_need_a_url(tag: str, given: Any) -> None:
    template = Template(f"{{% load sitemaps_plus %}}{{% {tag} url %}}")

    with pytest.raises(SitemapError, match=rf"\{{% {tag} %\}} got .*, which is not a dict of urlset"):
        template.render(Context({"url": given}))


@given(st.lists(infos, max_size=4, unique_by=lambda info: info["location"]))
def test_the_shipped_page_template_gives_the_bytes_of_the_writer(urlset: list[dict[str, Any]]) -> None:
    rendered = render_to_string("sitemap.xml", {"urlset": urlset}).encode()

    assert rendered == written(urlset)
    validate(rendered)


@given(st.lists(st.tuples(addresses, lastmods), min_size=1, max_size=4, unique_by=lambda item: item[0]))
def test_the_shipped_index_template_gives_the_bytes_of_the_writer(items: list[tuple[str, Any]]) -> None:
    sitemaps = [{"location": location, "last_mod": last_mod} for location, last_mod in items]

    rendered = render_to_string("sitemap_index.xml", {"sitemaps": sitemaps}).encode()

    cleaner = made_cleaner()
    assert rendered == b"".join(write_index(IndexItem(loc, cleaner.lastmod(1, last_mod)) for loc, last_mod in items))
    validate(rendered)


@pytest.mark.parametrize("hostile", ["</loc><loc>", "]]>", "&amp;", "\"'<>&"])
def test_nothing_in_an_address_breaks_a_template(hostile: str) -> None:
    location = f"https://example.com/{hostile}"
    url = {"location": location, "changefreq": hostile, "alternates": [{"lang_code": "de", "location": location}]}

    # Well-formed; what is no address is the writer's to leave out.
    root = ElementTree.fromstring(render_to_string("sitemap.xml", {"urlset": [url]}))  # noqa: S314

    assert root[0][0].text == location
    assert root[0][2].attrib["href"] == normalize(location, origin=Origin.parse("https://example.com"))


def test_the_language_of_the_visitor_does_not_reach_numbers_and_dates(settings: Any) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    url = {"location": "https://example.com/", "lastmod": date(2026, 1, 1), "priority": 0.5}

    with translation.override("de"), timezone.override("Asia/Tokyo"):
        rendered = render_to_string("sitemap.xml", {"urlset": [url]})

    assert "<lastmod>2026-01-01</lastmod><priority>0.5</priority>" in rendered


def test_a_date_that_cannot_be_used_is_no_tag() -> None:
    url = {"location": "https://example.com/", "lastmod": "yesterday", "priority": "2.0"}
    later = {"location": "https://example.com/", "lastmod": datetime(2999, 1, 1, tzinfo=UTC)}

    rendered = render_to_string("sitemap.xml", {"urlset": [url, later]})

    assert "<lastmod>" not in rendered
    assert "<priority>" not in rendered


# A template of the project's own in place of the shipped one


@pytest.fixture
def copied(write_template: Any) -> Callable[[], None]:
    """Return what makes copies of the shipped templates the project's own."""

    def copy() -> None:
        for name in (PAGE, INDEX):
            write_template(name, (Path(sitemaps_plus.__file__).parent / "templates" / name).read_text())

    return copy


def film(**fields: Any) -> Video:
    return Video(**{"thumbnail_loc": "/t.jpg", "title": "T", "description": "D", "content_loc": "/v.mp4", **fields})


class Declared(ModelSitemap):
    """Everything that a section can declare, on the row path; some of it broken."""

    queryset = Product.objects.all()
    location = Concat(Value("/ä'&/"), F("slug"), output_field=CharField())
    lastmod = F("updated_at")
    changefreq = "weekly"
    priority = 0.5
    images = [Image(loc=F("file")), Image(loc="/logo.png", caption="<old>")]
    videos = [film(title=F("name")), film(title="Two", restriction=Restriction(relationship="allow", countries=["DE"]))]
    news = News(name="The Times (online)", language="en", title=F("name"), publication_date=F("updated_at"))
    hreflang = [Alternate(hreflang="de", href="https://example.de/")]


class Methods(Declared):
    """The same on the object path: iterators that can be read once, values that are none, an error."""

    def images(self, item: Product) -> Iterator[Any]:
        yield Image(loc="/a.png")
        yield Image(loc="ftp://example.com/b.png")
        yield "/c.png"
        yield None
        if item.slug == "product-2":
            raise RuntimeError("no more images today")

    def videos(self, item: Product) -> Any:
        if item.pk % 2:
            raise RuntimeError("no film today")
        return [film(title=gettext_lazy("Monday")), film(title=lazy(lambda: 1 // 0, str)())]

    def news(self, item: Product) -> News:
        return News(name="The Times", language="en", title=item.name, publication_date=item.updated_at)


class Languages(Methods):
    i18n = True
    alternates = True
    x_default = True
    languages = ["en", "de", "pt-br"]
    emit_deprecated = True

    def location(self, item: Product) -> str:
        return f"/{get_language()}/{item.slug}/"


class ByPosition(Languages):
    def get_queryset(self) -> Any:
        return Product.objects.order_by("pk")[:3]


class PairsByPosition(contrib.Sitemap):
    i18n = True
    alternates = True
    x_default = True
    languages = ["en", "de"]
    images, videos = Methods.images, Methods.videos

    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def location(self, item: Product) -> str:
        return f"/{get_language()}/{item.slug}/"


class OwnUrls(contrib.Sitemap):
    def items(self) -> list[int]:
        return [1, 2]

    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[dict[str, Any]]:
        return [
            {
                "item": number,
                "location": f"{protocol}://{site.domain}/{number}",
                "lastmod": date(2026, 1, number),
                "images": (image for image in [Image(loc=f"/{number}.png"), "none"]),
                "alternates": [{"location": f"/de/{number}", "lang_code": "de"}],
                "emit_deprecated": True,
                "colour": "red",
            }
            for number in (1, 2)
        ]


class Elsewhere(Declared):
    """Addresses on another host; those of images stay on the section's own."""

    cross_submission = True
    location = Concat(Value("https://shop.example/"), F("slug"), output_field=CharField())


class NoMedia(ModelSitemap):
    queryset = Product.objects.all()
    location = Concat(Value("/"), F("slug"), output_field=CharField())


SECTIONS = [Declared, Methods, Languages, ByPosition, PairsByPosition, OwnUrls, Elsewhere, NoMedia]


@pytest.mark.django_db
@pytest.mark.parametrize("sitemap", SECTIONS, ids=lambda sitemap: sitemap.__name__)
def test_a_copy_of_the_shipped_template_gives_the_bytes_of_the_writer(
    sitemap: Any, copied: Callable[[], None], settings: Any
) -> None:
    # The second would be taken away if it were asked for as a language once more.
    settings.SITEMAPS_PLUS = {"HREFLANG": {"pt-br": "de-AT", "de": "es", "es": None}}
    make_products(3, file="photo.jpg", updated_at=timezone.now())

    expected = render_page(section_of(sitemap), 1, strict=False)
    copied()
    found = render_page(section_of(sitemap), 1, strict=False)

    assert text_of(found) == text_of(expected)
    assert (found.digest, found.urls, found.size) == (expected.digest, expected.urls, expected.size)
    assert sorted(found.report.problems) == sorted(expected.report.problems)
    assert found.changed_at == expected.changed_at
    validate(text_of(found))


@pytest.mark.django_db
def test_a_copy_of_the_shipped_index_gives_the_bytes_of_the_writer(copied: Callable[[], None]) -> None:
    items = [
        IndexItem("https://example.com/a'&.xml", "2026-01-01"),
        IndexItem("https://example.com/b.xml", "2026-01-01T12:00:00+02:00"),
        IndexItem("https://example.com/c.xml"),
    ]

    expected = make_index(items)
    copied()

    assert text_of(make_index(items)) == text_of(expected)


class Given(Sitemap):
    """Lists what a test gives."""

    given: list[dict[str, Any]] = []

    def items(self) -> list[dict[str, Any]]:
        return self.given

    def location(self, item: dict[str, Any]) -> Any:
        return item["location"]

    def lastmod(self, item: dict[str, Any]) -> Any:
        return item["lastmod"]

    def priority(self, item: dict[str, Any]) -> Any:
        return item["priority"]

    def images(self, item: dict[str, Any]) -> Any:
        return item["images"]

    def videos(self, item: dict[str, Any]) -> Any:
        return item["videos"]

    def news(self, item: dict[str, Any]) -> Any:
        return item["news"]

    def hreflang(self, item: dict[str, Any]) -> Any:
        return item["hreflang"]


media = {
    "images": st.lists(strategies.images(), max_size=2) | strategies.images(),
    "videos": st.lists(strategies.videos(), max_size=1),
    "news": st.none() | strategies.news(),
    "hreflang": st.lists(strategies.alternates(), max_size=2),
}


@given(
    st.lists(
        st.fixed_dictionaries({"location": addresses, "lastmod": lastmods, "priority": priorities, **media}),
        max_size=3,
    )
)
def test_whatever_a_section_lists_the_shipped_template_gives_the_bytes_of_the_writer(
    rows: list[dict[str, Any]],
) -> None:
    section = section_of(type("Rows", (Given,), {"given": rows}))
    page = Page(record=SitemapPage(number=1))
    now = timezone.now()

    def read(report: Report) -> tuple[Cleaner, Iterator[Group]]:
        cleaner = replace(section.cleaner(report), now=now)
        return cleaner, read_groups(section, page, cleaner, keeps_given=True)

    first, second = Report("rows"), Report("rows")
    _, groups = read(first)
    expected = b"".join(write_urlset(groups, prefixes=section.prefixes, report=first, tally=Tally()))
    cleaner, groups = read(second)
    template = get_template(PAGE)
    found = b"".join(
        write_with_template(
            groups, template=template, prefixes=section.prefixes, cleaner=cleaner, report=second, tally=Tally()
        )
    )

    assert found == expected
    assert sorted(second.problems) == sorted(first.problems)
