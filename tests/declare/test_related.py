"""Related rows: read once per chunk, and the same on both paths and in the classic views."""

from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import CharField, Exists, F, OuterRef, Q, Value
from django.db.models.functions import Concat, Upper
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from samples import AllProducts, make_products, paths, render_page, section_of, text_of
from sitemaps_plus import Image, PerLanguage, Related, UrlFor, Video
from sitemaps_plus.declare.related import find_relation
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.stores.packing import Document
from testapp.models import Article, Bundle, Note, Photo, Product, Remark, Tag, Token, Translation
from xml_checks import locs, validate

pytestmark = pytest.mark.django_db

S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"
VIDEO = "{http://www.google.com/schemas/sitemap-video/1.1}"


PHOTOS = Related("photos", Image(loc=F("file")))


def sitemap(base: Any = AllProducts, **attributes: Any) -> Any:
    return type("Made", (base,), attributes)


def by_object(made: Any) -> Any:
    """Return the same class with a method, so that it takes the object path."""
    return type("ByObject", (made,), {"changefreq": lambda self, item: None})


def render(made: Any, **options: Any) -> Document:
    return render_page(section_of(made), 1, **options)


def images(document: Document) -> list[list[str]]:
    urls = validate(text_of(document)).findall(f"{S}url")
    return [[path.lstrip("/") for path in paths(loc.text or "" for loc in url.iter(f"{IMAGE}loc"))] for url in urls]


def photos(product: Product, *names: str, **values: Any) -> list[Photo]:
    return Photo.objects.bulk_create(
        Photo(product=product, file=name, position=-at, **values) for at, name in enumerate(names)
    )


@pytest.fixture
def two_products() -> list[Product]:
    first, second = make_products(2)
    photos(first, "a.jpg", "b.jpg")
    photos(second, "c.jpg", "", "d e.jpg")
    return [first, second]


@pytest.mark.usefixtures("two_products")
@pytest.mark.parametrize("path", [lambda made: made, by_object])
def test_each_related_row_gives_a_value_in_the_order_of_its_model(path: Any) -> None:
    made = path(sitemap(images=PHOTOS))

    # The row without a file has no image, which is no error.
    assert images(render(made, strict=True)) == [["b.jpg", "a.jpg"], ["d%20e.jpg", "c.jpg"]]


@pytest.mark.usefixtures("two_products")
def test_both_paths_give_the_same_bytes() -> None:
    made = sitemap(
        images=[Image(loc=F("file")), Related("photos", Image(loc=F("file"), caption=Upper("caption")))],
        videos=Video(
            thumbnail_loc="https://example.com/t.jpg",
            title=F("name"),
            description=F("name"),
            content_loc="https://example.com/v.mp4",
            tags=Related("notes", F("text")),
        ),
        emit_deprecated=True,
    )
    Photo.objects.update(caption="in the hall")
    Product.objects.filter(slug="product-2").update(file="own.jpg")
    Note.objects.bulk_create(Note(product=product, text=f"of {product}") for product in Product.objects.all())

    document = render(made)

    assert text_of(document) == text_of(render(by_object(made)))
    assert images(document) == [["b.jpg", "a.jpg"], ["own.jpg", "d%20e.jpg", "c.jpg"]]
    assert b"<video:tag>of Product 1</video:tag>" in text_of(document)
    assert b"<image:caption>IN THE HALL</image:caption>" in text_of(document)


def test_related_rows_stand_among_other_parts_of_a_list() -> None:
    (product,) = make_products(1)
    Note.objects.bulk_create(Note(product=product, text=text) for text in ("a", "", "b"))
    made = sitemap(
        videos=Video(
            thumbnail_loc="/t.jpg",
            title=F("name"),
            description=F("name"),
            content_loc="/v.mp4",
            tags=["film", Related("notes", F("text"), order_by="pk"), F("slug")],
        )
    )

    document = render(made, strict=True)

    tags = validate(text_of(document)).iter(f"{VIDEO}tag")
    assert [tag.text for tag in tags] == ["film", "a", "b", product.slug]


def test_a_list_is_refused_by_a_field_of_one_value() -> None:
    with pytest.raises(InvalidSitemap) as caught:
        Image(loc=Related("photos", F("file")))

    assert "Image.loc is Related(" in str(caught.value)
    assert "as in Related('photos', Image(loc=F(file))), or choose one with language=." in str(caught.value)
    assert Image(loc=Related("photos", F("file"), language=F("caption"))).expressions()


@pytest.mark.parametrize("path", [lambda made: made, by_object])
def test_a_chunk_costs_one_more_query(path: Any, django_assert_num_queries: Any) -> None:
    for product in make_products(30):
        photos(product, "a.jpg", "b.jpg")
    plain, with_photos = section_of(path(AllProducts)), section_of(path(sitemap(images=PHOTOS)))
    for section in (plain, with_photos):
        render_page(section, 1)

    with CaptureQueriesContext(connection) as without:
        render_page(plain, 1)
    with django_assert_num_queries(len(without) + 1):
        document = render_page(with_photos, 1)

    assert images(document) == [["b.jpg", "a.jpg"]] * 30


@pytest.mark.usefixtures("two_products")
def test_related_rows_can_be_filtered_and_ordered() -> None:
    made = sitemap(images=Related("photos", Image(loc=F("file")), filter=~Q(file="a.jpg"), order_by="file"))

    assert images(render(made)) == [["b.jpg"], ["c.jpg", "d%20e.jpg"]]
    descending = sitemap(images=Related("photos", Image(loc=F("file")), order_by=["-position", "-file"]))
    assert images(render(descending)) == [["a.jpg", "b.jpg"], ["c.jpg", "d%20e.jpg"]]


@pytest.mark.usefixtures("two_products")
def test_a_broken_related_row_hurts_neither_the_page_nor_the_others() -> None:
    made = sitemap(images=Related("photos", Image(loc=F("caption"))))
    Photo.objects.update(caption=Concat(Value("/ok-"), "file"))
    Photo.objects.filter(file="b.jpg").update(caption="javascript:alert(1)")

    document = render(made)

    assert images(document) == [["ok-a.jpg"], ["ok-d%20e.jpg", "ok-", "ok-c.jpg"]]
    assert [(one.key, one.hook, one.code) for one in document.report.problems] == [
        (str(Product.objects.get(slug="product-1").pk), "images", "E-URL-SCHEME")
    ]


def test_many_to_many_is_read_from_either_side() -> None:
    first, second = make_products(2)
    red, blue = Tag.objects.create(name="red"), Tag.objects.create(name="blue")
    red.products.set([first, second])
    blue.products.set([second])
    of_products = sitemap(images=Related("tags", Image(loc=Concat(Value("/"), F("name"))), order_by="name"))
    of_tags = sitemap(
        queryset=Tag.objects.all(),
        location=Concat(Value("/"), F("name"), output_field=CharField()),
        images=Related("products", Image(loc=Concat(Value("/"), F("slug"), output_field=CharField()))),
    )

    assert images(render(of_products)) == [["red"], ["blue", "red"]]
    assert images(render(of_tags)) == [["product-1", "product-2"], ["product-2"]]


def test_a_generic_relation_is_read_too() -> None:
    article = Article.objects.create(title="A", published_at="2026-01-01T00:00Z")
    other = Article.objects.create(title="B", published_at="2026-01-01T00:00Z")
    of_articles, of_products = (ContentType.objects.get_for_model(model) for model in (Article, Product))
    Remark.objects.create(content_type=of_articles, object_id=other.pk, text="/b.jpg")
    Remark.objects.create(content_type=of_products, object_id=article.pk, text="/none.jpg")

    made = sitemap(queryset=Article.objects.all(), images=Related("remarks", Image(loc=F("text"))))

    assert images(render(made)) == [[], ["b.jpg"]]


def test_a_child_has_what_hangs_on_its_parent() -> None:
    bundle = Bundle.objects.create(name="B", slug="b")
    photos(bundle, "a.jpg")

    made = sitemap(queryset=Bundle.objects.all(), images=PHOTOS)

    assert images(render(made)) == [["a.jpg"]]


def test_the_name_of_the_attribute_will_do_as_well() -> None:
    assert find_relation(ContentType, "remark_set") == find_relation(ContentType, "remark")
    assert find_relation(ContentType, "remark").model is Remark
    assert find_relation(Token, "label").parent == "token__pk"


@pytest.mark.parametrize("name", ["photo", "photos__file", "name", "nothing"])
def test_a_name_that_leads_nowhere_is_an_error_that_lists_those_that_do(name: str) -> None:
    with pytest.raises(InvalidSitemap, match=r"Product has no relation .* It has: .*photos"):
        find_relation(Product, name)


def test_a_relation_to_one_row_is_written_as_an_expression() -> None:
    with pytest.raises(InvalidSitemap, match="no relation 'product' to many rows"):
        find_relation(Photo, "product")


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"filter": {"ok": True}}, "a condition, as in filter=Q"),
        ({"filter": F("ok")}, "a condition, as in filter=Q"),
        ({"order_by": 5}, "names of columns"),
        ({"order_by": [5]}, "names of columns"),
        ({"order_by": {"position": 1}}, "names of columns"),
        ({"language": "en"}, "an expression of the related model"),
        ({"language": PerLanguage("slug_{}")}, "an expression of the related model"),
    ],
)
def test_what_the_database_cannot_filter_or_sort_by_is_refused(wrong: Any, remedy: str) -> None:
    (name,) = wrong

    with pytest.raises(InvalidSitemap, match=rf"Related\('photos', \.\.\., {name}=.*: give {remedy}"):
        Related("photos", Image(loc=F("file")), **wrong)


@pytest.mark.usefixtures("two_products")
def test_expressions_sort_and_filter_too() -> None:
    has_notes = Exists(Note.objects.filter(product=OuterRef("product")))

    for order in (F("file").desc(), [F("file").desc()]):
        made = sitemap(images=Related("photos", Image(loc=F("file")), filter=~has_notes, order_by=order))

        assert images(render(made))[0] == ["b.jpg", "a.jpg"]


@pytest.mark.parametrize("value", ["file", Image(loc="/a.jpg"), Image, None, Related("photos", F("file"))])
def test_a_value_without_columns_of_the_other_model_is_an_error(value: Any) -> None:
    with pytest.raises(InvalidSitemap, match="give the name of a relation, and a value or an expression"):
        Related("photos", value)


def translations(product: Product, **slugs: str) -> None:
    Translation.objects.bulk_create(
        Translation(product=product, language_code=code.replace("_", "-"), slug=slug, title=f"{code} {slug}")
        for code, slug in slugs.items()
    )


TITLE = Related("translations", F("title"), language=F("language_code"))


class Translated(AllProducts):
    i18n = alternates = x_default = True
    languages: Any = ("en", "de", "pt-br")
    location = UrlFor("product", slug=Related("translations", F("slug"), language=F("language_code")))
    videos = Video(
        thumbnail_loc="https://example.com/t.jpg",
        title=TITLE,
        description=TITLE,
        content_loc="https://example.com/v.mp4",
    )


@pytest.mark.urls("testapp.urls_languages")
def test_a_table_of_translations_gives_each_language_its_own_address_and_texts() -> None:
    first, second = make_products(2)
    translations(first, en="chair", de="stuhl", pt_br="cadeira")
    translations(second, de="tisch", fr="table")

    document = render(Translated, strict=True)

    found = {
        paths([url.findtext(f"{S}loc", "")])[0]: url.findtext(f".//{VIDEO}title")
        for url in validate(text_of(document)).findall(f"{S}url")
    }
    assert found == {
        "/en/products/chair/": "en chair",
        "/de/products/stuhl/": "de stuhl",
        "/pt-br/products/cadeira/": "pt_br cadeira",
        "/de/products/tisch/": "de tisch",
    }
    assert text_of(document) == text_of(render(by_object(Translated), strict=True))
    assert b'hreflang="pt-BR" href="https://example.com/pt-br/products/cadeira/"' in text_of(document)


@pytest.mark.urls("testapp.urls_languages")
def test_a_row_without_any_translation_is_left_out_and_reported() -> None:
    (row,) = make_products(1)
    (other,) = make_products(1, first=2)
    translations(other, en="table")

    document = render(Translated)

    assert paths(locs(text_of(document))) == ["/en/products/table/"]
    assert [(one.key, one.hook, one.code) for one in document.report.problems] == [
        (str(row.pk), "location", "E-URL-VALUE")
    ]


@pytest.mark.urls("testapp.urls_languages")
def test_the_languages_of_a_row_may_be_those_of_its_translations(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    first, second = make_products(2)
    translations(first, en="chair", fr="chaise")
    translations(second, de="tisch")
    made = sitemap(Translated, languages=Related("translations", F("language_code"), order_by="language_code"))

    document = render(made, strict=True)

    assert paths(locs(text_of(document))) == ["/en/products/chair/", "/fr/products/chaise/", "/de/products/tisch/"]
    assert text_of(document) == text_of(render(by_object(made), strict=True))


def test_of_several_values_one_has_to_be_chosen_for_an_address() -> None:
    with pytest.raises(InvalidSitemap, match="gives several values for one row; choose one"):
        UrlFor("product", slug=Related("translations", F("slug")))


def test_columns_for_other_languages_are_not_read(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("xx", "A language without a column")]
    (product,) = make_products(1)
    photos(product, "a.jpg")
    per_language = PerLanguage({"en": "file", "xx": "missing"})

    assert images(render(sitemap(images=Related("photos", Image(loc=per_language))))) == [["a.jpg"]]


@pytest.mark.urls("testapp.urls_languages")
def test_the_classic_views_read_them_once_for_a_page(django_assert_num_queries: Any) -> None:
    for product in make_products(20):
        photos(product, "a.jpg", "b.jpg")
        translations(product, en=f"chair-{product.pk}", de=f"stuhl-{product.pk}")
    made = sitemap(Translated, images=PHOTOS, languages=("en", "de"))()

    # The site, count, rows, photos, slugs, titles.
    with django_assert_num_queries(6):
        infos = made.get_urls(protocol="https")

    assert [info["location"].split("/")[3] for info in infos] == ["en", "de"] * 20
    assert {tuple(image.loc for image in info["images"]) for info in infos} == {("/b.jpg", "/a.jpg")}
    assert {info["videos"][0].title.split()[0] for info in infos} == {"en", "de"}


def test_one_object_at_a_time_works_too() -> None:
    (product,) = make_products(1)
    photos(product, "a.jpg")
    made = sitemap(images=PHOTOS)()
    (item,) = made._items()

    with override("de"):
        assert [image.loc for image in made._get("images", item)] == ["/a.jpg"]


def test_its_declaration_is_the_same_in_every_process() -> None:
    one, other = (Related("photos", Image(loc=F("file")), filter=Q(position=1), order_by=["-pk"]) for _ in range(2))

    assert repr(one) == repr(other)
    assert one == other
    assert hash(one) == hash(other)
