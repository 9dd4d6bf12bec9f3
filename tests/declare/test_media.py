import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.core.files.storage import InMemoryStorage
from django.db.models import F
from django.db.models.fields.files import FieldFile
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import timezone
from django.utils.translation import get_language
from hypothesis import given
from hypothesis import strategies as st

import strategies
from samples import make_products, render_page, section_of, text_of, written
from sitemaps_plus import Alternate, Image, ModelSitemap, News, Sitemap, UrlFor, Video, views
from sitemaps_plus.declare.hooks import read_hooks
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, StrictError
from sitemaps_plus.values import Restriction, Uploader
from testapp.models import Product
from xml_checks import validate

pytestmark = pytest.mark.django_db

NAMES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
}


def found(document: bytes, path: str) -> list[str | None]:
    return [element.text for element in validate(document).iterfind(f".//{path}", NAMES)]


class Declared(ModelSitemap):
    queryset = Product.objects.all()
    location = "/product/"
    images = [Image(loc=F("file")), Image(loc="/logo.png")]
    videos = Video(
        thumbnail_loc="/thumb.png",
        title=F("name"),
        description="All about it",
        content_loc="https://cdn.example.net/film.mp4",
        duration=timedelta(minutes=2),
    )
    news = News(name="The Times", language="en", title=F("name"), publication_date=F("updated_at"))
    hreflang = [
        Alternate(hreflang="de", href="https://example.de/"),
        Alternate(hreflang="en", href="https://example.com/product/"),
    ]


class Methods(Declared):
    def images(self, item: Any) -> list[Image]:
        return [Image(loc=item.file), Image(loc="/logo.png")] if item.file else [Image(loc="/logo.png")]

    def videos(self, item: Any) -> Iterator[Video]:
        yield Video(
            thumbnail_loc="/thumb.png",
            title=item.name,
            description="All about it",
            content_loc="https://cdn.example.net/film.mp4",
            duration=120,
        )

    def news(self, item: Any) -> News:
        return News(name="The Times", language="en", title=item.name, publication_date=item.updated_at)

    def hreflang(self, item: Any) -> Alternate:
        return Declared.hreflang


class ContribMethods(contrib.Sitemap):
    location = "/product/"
    images, videos, news, hreflang = Methods.images, Methods.videos, Methods.news, Methods.hreflang

    def items(self) -> Any:
        return Product.objects.all()


def test_all_four_stand_on_one_url() -> None:
    make_products(1, file="photo.jpg", updated_at=timezone.now())

    document = text_of(render_page(section_of(Declared), 1))

    assert found(document, "image:loc") == ["https://example.com/photo.jpg", "https://example.com/logo.png"]
    assert found(document, "video:title") == found(document, "news:title") == ["Product 1"]
    assert found(document, "video:duration") == ["120"]
    assert len(found(document, "xhtml:link")) == 2


@pytest.mark.parametrize("made_by", [Methods, ContribMethods])
def test_methods_give_the_bytes_of_declared_values(made_by: Any) -> None:
    make_products(1, file="photo.jpg", updated_at=timezone.now())

    assert read_hooks(Declared()).path == "row"
    assert read_hooks(made_by()).path == "object"
    assert text_of(render_page(section_of(made_by), 1)) == text_of(render_page(section_of(Declared), 1))


def test_an_empty_photo_is_no_image_and_no_error() -> None:
    make_products(1, file="")

    document = render_page(section_of(Declared), 1)

    assert found(text_of(document), "image:loc") == ["https://example.com/logo.png"]
    assert document.report.dropped == 0


def test_an_invalid_image_is_dropped_and_reported_and_the_others_stay() -> None:
    class Products(Methods):
        def images(self, item: Any) -> Any:
            return [Image(loc="/a.png"), Image(loc="ftp://example.com/b.png"), "/c.png", None, Image(loc="/d.png")]

    make_products(1, updated_at=timezone.now())

    document = render_page(section_of(Products), 1, strict=False)

    assert found(text_of(document), "image:loc") == ["https://example.com/a.png", "https://example.com/d.png"]
    problems = {(problem.hook, problem.code) for problem in document.report.problems}
    assert problems == {("images", "E-FIELD-TYPE"), ("images", "E-URL-SCHEME")}
    with pytest.raises(StrictError, match="images"):
        render_page(section_of(Products), 1, strict=True)


def film(**fields: Any) -> Video:
    return Video(**{"thumbnail_loc": "/t.jpg", "title": "T", "description": "D", "content_loc": "/v.mp4", **fields})


class LongTitles(ModelSitemap):
    queryset = Product.objects.order_by("pk")
    location = "/product/"
    videos = film(title=F("name"))


class LongTitlesByMethod(LongTitles):
    def videos(self, item: Any) -> Video:
        return film(title=item.name)


class Many(ModelSitemap):
    queryset = Product.objects.order_by("pk")
    location = "/product/"

    def images(self, item: Any) -> Iterator[Image]:
        return (Image(loc=f"/{number}.jpg") for number in range(1001))


@pytest.mark.parametrize(
    ("made_by", "name", "hook", "code", "path", "kept"),
    [
        pytest.param(LongTitles, "t" * 101, "videos", "VIDEO-TITLE", "video:title", ["t" * 99 + "…"], id="V06"),
        pytest.param(
            LongTitlesByMethod, "t" * 101, "videos", "VIDEO-TITLE", "video:title", ["t" * 99 + "…"], id="V06 method"
        ),
        pytest.param(LongTitles, "a\x0bb", "videos", "XML-CHAR", "video:title", ["ab"], id="X04"),
        pytest.param(LongTitlesByMethod, "a\ufffeb", "videos", "XML-CHAR", "video:title", ["ab"], id="X06 method"),
        pytest.param(
            Many, "M", "images", "IMAGE-COUNT", "image:loc", [f"https://example.com/{n}.jpg" for n in range(1000)],
            id="I02",
        ),
    ],
)  # fmt: skip
def test_a_warning_is_an_error_under_strict(
    made_by: Any, name: str, hook: str, code: str, path: str, kept: list[str]
) -> None:
    (row,) = make_products(1, name=name)

    document = render_page(section_of(made_by), 1, strict=False)

    assert found(text_of(document), path) == kept
    problems = [(problem.key, problem.hook, problem.code) for problem in document.report.problems]
    assert problems == [(str(row.pk), hook, f"W-{code}")]
    assert (document.report.left_out, document.report.dropped, document.report.warned) == (0, 0, 1)
    with pytest.raises(StrictError, match=rf"{hook} of row {row.pk} was dropped: .*\[E-{code}\]"):
        render_page(section_of(made_by), 1, strict=True)


def test_strict_is_silent_where_all_is_right() -> None:
    make_products(1, file="photo.jpg", name="t" * 100, updated_at=timezone.now())

    document = render_page(section_of(Declared), 1, strict=True)

    assert document.report.problems == []
    assert found(text_of(document), "video:title") == ["t" * 100]


def test_a_video_whose_countries_are_empty_is_dropped_and_reported() -> None:
    class Films(ModelSitemap):
        queryset = Product.objects.order_by("pk")
        location = F("slug")
        videos = film(restriction=Restriction(relationship="allow", countries=F("name")))

    rows = [Product.objects.create(name=name, slug=f"/{at}/") for at, name in enumerate(["IE GB", "", "IE"])]

    document = render_page(section_of(Films), 1, strict=False)

    assert found(text_of(document), "video:restriction") == ["IE GB", "IE"]
    assert len(found(text_of(document), "video:video")) == 2
    assert len(validate(text_of(document))) == 3
    (problem,) = document.report.problems
    assert (problem.key, problem.hook, problem.code) == (str(rows[1].pk), "videos", "E-REQUIRED")
    assert "Restriction.countries is empty for this row" in problem.reason


@pytest.mark.urls("testapp.urls_hostile")
def test_pages_in_other_languages_may_be_named_by_their_url_pattern() -> None:
    class Products(ModelSitemap):
        queryset = Product.objects.order_by("pk")
        location = UrlFor("slug", value=F("slug"))
        hreflang = [
            Alternate(hreflang="en", href=UrlFor("slug", value=F("slug"))),
            Alternate(hreflang="de", href=UrlFor("slug", value=F("name"))),
            Alternate(hreflang="x-default", href=UrlFor("about")),
        ]

    Product.objects.create(name="stuhl", slug="chair")
    Product.objects.create(name="", slug="table")

    document = render_page(section_of(Products), 1, strict=True)

    assert read_hooks(Products()).path == "row"
    links = [
        [(link.get("hreflang"), link.get("href")) for link in url.iterfind("xhtml:link", NAMES)]
        for url in validate(text_of(document))
    ]
    site = "https://example.com"
    assert links == [
        [("en", f"{site}/slug/chair/"), ("de", f"{site}/slug/stuhl/"), ("x-default", f"{site}/about/")],
        [("en", f"{site}/slug/table/"), ("x-default", f"{site}/about/")],
    ]


class Bucket(InMemoryStorage):
    def url(self, name: str | None) -> str:
        return f"https://bucket.example.net/{name}?X-Amz-Expires=60&X-Amz-Signature=secret"


class Signed(ModelSitemap):
    queryset = Product.objects.order_by("pk")
    location = "/product/"
    images = [Image(loc=F("file")), Image(loc="/logo.png?v=2")]


class SignedByMethod(Signed):
    def images(self, item: Any) -> list[Image]:
        return [Image(loc=item.file), Image(loc="/logo.png?v=2")]


@pytest.mark.parametrize("made_by", [Signed, SignedByMethod])
def test_a_signed_url_is_written_and_reported(made_by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Product._meta.get_field("file"), "storage", Bucket())
    (row,) = make_products(1, file="a.jpg")

    document = render_page(section_of(made_by), 1, strict=True)

    assert found(text_of(document), "image:loc") == [
        "https://bucket.example.net/a.jpg?X-Amz-Expires=60&X-Amz-Signature=secret",
        "https://example.com/logo.png?v=2",
    ]
    (problem,) = document.report.problems
    assert (problem.key, problem.hook, problem.code) == (str(row.pk), "images", "W-URL-SIGNED")
    assert "'https://bucket.example.net/a.jpg' is signed (X-Amz-Signature)" in problem.reason
    assert "secret" not in problem.reason


def test_a_hook_that_raises_leaves_the_url_and_the_others() -> None:
    class Products(Methods):
        def images(self, item: Any) -> Any:
            raise RuntimeError("no photos today")

    make_products(1, updated_at=timezone.now())

    document = render_page(section_of(Products), 1, strict=False)

    assert found(text_of(document), "video:title") == ["Product 1"]
    assert "no photos today" in document.report.problems[0].reason


def test_an_old_article_keeps_its_url_without_news() -> None:
    make_products(1, updated_at=timezone.now() - timedelta(days=2, seconds=5))

    document = text_of(render_page(section_of(Declared), 1))

    assert found(document, "news:news") == []
    assert len(validate(document)) == 1


def test_a_page_with_news_holds_1000_urls() -> None:
    assert section_of(Declared).urls_limit == 1000


class _Unopened(FieldFile):
    def __iter__(self) -> Any:
        raise AssertionError("a file must not be opened")

    open = __iter__


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("/a.jpg", r"images gave '/a\.jpg' \(str\); give Image\(\.\.\.\), as in Image\(loc=p\.photo\)\."),
        (
            Image(loc=F("file")),
            r"images gave Image\(.*which the database would have to compute\. Return finished values from a method",
        ),
        (F("file"), r"images gave F\(file\), which the database would have to compute"),
        (
            _Unopened(Product(pk=1), Product._meta.get_field("file"), "a.jpg"),
            r"images gave <_Unopened: a\.jpg>; give Image\(\.\.\.\), as in Image\(loc=p\.photo\) for an object p\.",
        ),
    ],
    ids=["text", "image with an expression", "expression", "file"],
)
def test_the_message_says_what_a_method_returned_in_place_of_an_image(given: Any, said: str) -> None:
    make_products(1)
    made = type("Made", (ModelSitemap,), {"queryset": Product.objects.all(), "images": lambda self, item: given})

    (problem,) = render_page(section_of(made), 1).report.problems

    assert problem.code == "E-FIELD-TYPE"
    assert re.match(said, problem.reason)


def test_values_are_needed_not_strings() -> None:
    class Products(ModelSitemap):
        queryset = Product.objects.all()
        images = ["/logo.png"]

    with pytest.raises(InvalidSitemap, match=r"Products\.images .* images = \[Image"):
        read_hooks(Products())


def test_each_language_of_a_row_has_the_images() -> None:
    class Products(ModelSitemap):
        queryset = Product.objects.all()
        i18n = alternates = True
        languages = ["en", "de"]
        images = Image(loc=F("file"))

        def location(self, item: Any) -> str:
            return f"/{get_language()}/{item.slug}/"

    make_products(1, file="photo.jpg")

    document = text_of(render_page(section_of(Products), 1))

    assert found(document, "image:loc") == ["https://example.com/photo.jpg"] * 2
    assert len(found(document, "xhtml:link")) == 4


@pytest.mark.parametrize("made_by", [Declared, Methods, ContribMethods])
def test_the_classic_views_show_them_too(made_by: Any) -> None:
    make_products(1, file="photo.jpg", updated_at=timezone.now())

    response: Any = views.sitemap(RequestFactory().get("/sitemap.xml"), {"products": made_by}).render()

    assert found(response.content, "image:loc") == ["http://example.com/photo.jpg", "http://example.com/logo.png"]
    assert found(response.content, "video:title") == found(response.content, "news:title") == ["Product 1"]


@given(
    st.fixed_dictionaries(
        {
            "location": st.just("https://example.com/page/"),
            "images": st.lists(strategies.images(), max_size=2),
            "videos": st.lists(strategies.videos(), max_size=2),
            "news": st.none() | strategies.news(),
        }
    )
)
def test_the_tags_give_the_bytes_of_the_writer(info: dict[str, Any]) -> None:
    rendered = render_to_string("sitemap.xml", {"urlset": [info]}).encode()

    assert b"".join(rendered.splitlines(True)[2:]) == b"".join(written([info]).splitlines(True)[2:])
    validate(rendered)


def test_a_sitemap_without_media_costs_nothing_more() -> None:
    class Plain(Sitemap):
        def items(self) -> list[str]:
            return ["/"]

        def location(self, item: str) -> str:
            return item

    assert section_of(Plain).prefixes == {}
    assert read_hooks(Plain()).media == ()


def test_deprecated_elements_are_written_on_request() -> None:
    class Products(ModelSitemap):
        queryset = Product.objects.all()
        location = "/product/"
        images = Image(loc="/a.png", caption="A picture")

    class Asked(Products):
        emit_deprecated = True

    make_products(1, updated_at=datetime(2026, 1, 1, tzinfo=UTC))

    assert found(text_of(render_page(section_of(Products), 1)), "image:caption") == []
    assert found(text_of(render_page(section_of(Asked), 1)), "image:caption") == ["A picture"]


def test_a_broken_value_in_the_list_of_a_method_hurts_none_of_the_others() -> None:
    (row,) = make_products(1)

    class Listing(ModelSitemap):
        queryset = Product.objects.all()

        def images(self, item: Product) -> list[Image]:
            return [Image(loc=loc) for loc in ("/a.jpg", "", None, "/b.jpg")]

        def videos(self, item: Product) -> Iterator[Video]:
            for duration in (5, 0, 7):
                yield Video(
                    thumbnail_loc="/t.jpg",
                    title=item.name,
                    description="x",
                    content_loc=f"/{duration}.mp4",
                    duration=duration,
                    uploader=Uploader(name="x" * (300 if duration == 7 else 3)),
                )

    document = render_page(section_of(Listing), 1, strict=False)
    infos = Listing().get_urls(protocol="https", site=type("Site", (), {"domain": "example.com"}))

    root = validate(text_of(document))
    assert [loc.text for loc in root.iter(f"{{{NAMES['image']}}}loc")] == [
        "https://example.com/a.jpg",
        "https://example.com/b.jpg",
    ]
    assert [loc.text for loc in root.iter(f"{{{NAMES['video']}}}content_loc")] == ["https://example.com/5.mp4"]
    assert [(one.key, one.hook, one.code) for one in document.report.problems] == [
        (str(row.pk), "images", "E-REQUIRED"),
        (str(row.pk), "images", "E-REQUIRED"),
        (str(row.pk), "videos", "E-VIDEO-DURATION"),
        (str(row.pk), "videos", "E-VIDEO-UPLOADER"),
    ]
    assert [len(list(info["images"])) for info in infos] == [4]
    # Everywhere else a wrong one cannot be made.
    with pytest.raises(InvalidEntry, match="E-REQUIRED"):
        Image(loc="")
