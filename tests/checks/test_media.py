"""Messages about files with signed URLs: storages of every kind, and that of django-storages itself."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage, Storage, default_storage
from django.db.models import F
from django.db.models.functions import Coalesce

from check_messages import parts, register_rows
from sitemaps_plus import GenericSitemap, Image, Related, Sitemap, Video, register
from sitemaps_plus.values import Player
from testapp.models import Note, Product, Tag


class Remote(Storage):
    """Has the attributes of a storage of django-storages; its url() would ask a server."""

    def __init__(self, **options: Any) -> None:
        vars(self).update(options)

    def url(self, name: str | None) -> str:
        raise AssertionError("a check must not ask a server")


class Signing(Storage):
    """Has no attribute that tells."""

    def __init__(self, query: str) -> None:
        self.query = query

    def url(self, name: str | None) -> str:
        return f"https://cdn.example.net/{name}?{self.query}"


class Broken(Storage):
    def url(self, name: str | None) -> str:
        raise ConnectionError("no server")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def store(monkeypatch: pytest.MonkeyPatch, storage: Any) -> None:
    """Make a storage that of the files of products."""
    # Not by setattr: to look at one that cannot be made would make it.
    monkeypatch.setitem(vars(Product._meta.get_field("file")), "storage", storage)


def problems() -> list[tuple[str, str]]:
    """Return the text and the hint of each message about files."""
    return [(text, hint) for _, text, hint in parts("E017")]


def film(**fields: Any) -> Video:
    return Video(**{"thumbnail_loc": "/t.jpg", "title": "T", "description": "D", "content_loc": "/v.mp4", **fields})


def test_e017_names_class_hook_field_storage_and_option(monkeypatch: pytest.MonkeyPatch) -> None:
    store(monkeypatch, Remote(querystring_auth=True))
    register_rows(images=[Image(loc="/logo.png"), Image(loc=F("file"))])

    ((text, hint),) = problems()

    assert text == (
        "Rows.images: Image.loc is testapp.Product.file, a file of Remote, which signs its URLs "
        "(querystring_auth is True). Crawlers would get links that expire."
    )
    assert hint.startswith("Set querystring_auth=False in the OPTIONS of the storage.")


@pytest.mark.parametrize(
    ("options", "how", "remedy"),
    [
        ({"querystring_auth": True}, "querystring_auth is True", "querystring_auth=False"),
        ({"querystring_auth": True, "custom_domain": None}, "querystring_auth is True", "querystring_auth=False"),
        ({"querystring_auth": True, "default_acl": "public-read"}, "querystring_auth", "querystring_auth=False"),
        (
            {"querystring_auth": True, "custom_domain": "cdn.example.net", "cloudfront_signer": object()},
            "it has a cloudfront_signer",
            "querystring_auth=False, or remove cloudfront_signer",
        ),
        ({"expiration_secs": 3600}, "expiration_secs is set", "expiration_secs=None"),
    ],
    ids=["S3 or Google Cloud", "S3 without a domain", "S3 with an ACL", "CloudFront", "Azure"],
)
def test_e017_recognises_a_storage_that_signs_by_its_options(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], how: str, remedy: str
) -> None:
    store(monkeypatch, Remote(**options))
    register_rows(images=Image(loc=F("file")))

    ((text, hint),) = problems()

    assert how in text
    assert remedy in hint


@pytest.mark.parametrize(
    "storage",
    [
        Remote(querystring_auth=False),
        Remote(querystring_auth=False, custom_domain="cdn.example.net", cloudfront_signer=object()),
        Remote(querystring_auth=True, custom_domain="cdn.example.net", cloudfront_signer=None),
        Remote(querystring_auth=True, default_acl="publicRead"),
        Remote(expiration_secs=None),
        Signing("width=300"),
        Signing("Expires=1"),
        Signing("sig=1"),
        FileSystemStorage(base_url=None),
        InMemoryStorage(base_url="/media/"),
        Broken(),
        None,
    ],
    ids=[
        "S3", "CloudFront with open files", "S3 with a domain", "Google Cloud with an ACL", "Azure", "a size", "half",
        "a sum", "no addresses", "in memory", "broken", "nothing",
    ],
)  # fmt: skip
def test_e017_is_silent_where_addresses_stay(monkeypatch: pytest.MonkeyPatch, storage: Any) -> None:
    store(monkeypatch, storage)
    register_rows(images=Image(loc=F("file")))

    assert problems() == []


@pytest.mark.parametrize(
    ("query", "how"),
    [
        ("X-Amz-Algorithm=x&X-Amz-Expires=60&X-Amz-Signature=0a", "X-Amz-Signature"),
        ("X-Amz-Expires=60", "X-Amz-Expires"),
        ("X-Goog-Algorithm=x&X-Goog-Signature=0a", "X-Goog-Signature"),
        ("X-Goog-Expires=60", "X-Goog-Expires"),
        ("AWSAccessKeyId=x&Signature=0a&Expires=60", "Signature+Expires"),
        ("Policy=x&Signature=0a&Key-Pair-Id=x", "Signature+Policy"),
        ("sp=r&se=2026-10-01&sig=0a", "sig+se"),
        ("sv=2024-01-01&si=read&sig=0a", "sig+sv"),
        ("width=300&token=0a", "token"),
        ("x-amz-signature=0a", "X-Amz-Signature"),
    ],
)
def test_e017_looks_for_signatures_in_a_url_of_any_other_storage(
    monkeypatch: pytest.MonkeyPatch, query: str, how: str
) -> None:
    store(monkeypatch, Signing(query))
    register_rows(images=Image(loc=F("file")))

    ((text, hint),) = problems()

    assert f"which signs its URLs (they contain {how})" in text
    assert "querystring_auth=False for S3, CloudFront and Google Cloud, and expiration_secs=None for Azure" in hint


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        ({"images": [Image(loc=F("product__file"))]}, "Rows.images: Image.loc"),
        ({"images": Image(loc=Coalesce(F("product__file"), F("product__file")))}, "Rows.images: Image.loc"),
        ({"images": Image(loc="/a.jpg", license=F("product__file"))}, "Rows.images: Image.license"),
        ({"videos": film(thumbnail_loc=F("product__file"))}, "Rows.videos: Video.thumbnail_loc"),
        ({"videos": (film(content_loc=F("product__file")),)}, "Rows.videos: Video.content_loc"),
        ({"videos": film(player_loc=Player(loc=F("product__file")))}, "Rows.videos: Video.player_loc.loc"),
    ],
    ids=["image", "function", "licence", "thumbnail", "file", "player"],
)
def test_e017_files_of_related_rows_count(monkeypatch: pytest.MonkeyPatch, declared: Any, place: str) -> None:
    store(monkeypatch, Remote(querystring_auth=True))
    register_rows(Note, **declared)

    ((text, _),) = problems()

    assert text.startswith(f"{place} is testapp.Product.file")


@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "in a list"])
def test_e017_files_of_many_related_rows_count(monkeypatch: pytest.MonkeyPatch, wrapped: bool) -> None:
    store(monkeypatch, Remote(querystring_auth=True))
    related = Related("products", Image(loc=F("file")))
    register_rows(Tag, images=[related] if wrapped else related)

    ((text, _),) = problems()

    assert text.startswith("Rows.images: Image.loc is testapp.Product.file")


def test_e017_a_relation_that_does_not_exist_is_not_for_this_check(monkeypatch: pytest.MonkeyPatch) -> None:
    store(monkeypatch, Remote(querystring_auth=True))
    register_rows(images=Related("nothing", Image(loc=F("file"))))

    assert problems() == []


def test_e017_each_file_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store(monkeypatch, Remote(expiration_secs=60))
    register_rows(images=Image(loc=F("file")), videos=film(thumbnail_loc=F("file"), duration=timedelta(minutes=1)))

    assert [text.partition(" is ")[0] for text, _ in problems()] == [
        "Rows.images: Image.loc",
        "Rows.videos: Video.thumbnail_loc",
    ]


def test_e017_a_generic_sitemap_has_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Generic(GenericSitemap):
        images = Image(loc=F("file"))

    store(monkeypatch, Remote(querystring_auth=True))
    register("rows", Generic({"queryset": Product.objects.all()}))

    ((text, _),) = problems()

    assert text.startswith("Generic.images: Image.loc is testapp.Product.file")


def test_e017_annotations_of_the_queryset_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    store(monkeypatch, Remote(querystring_auth=True))
    register_rows(queryset=Product.objects.annotate(photo=F("file")), images=Image(loc=F("photo")))

    ((text, _),) = problems()

    assert "testapp.Product.file" in text


def test_e017_the_default_storage_is_named_by_its_class(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": f"{__name__}.Remote", "OPTIONS": {"querystring_auth": True}},
    }
    store(monkeypatch, default_storage)
    register_rows(images=Image(loc=F("file")))

    ((text, _),) = problems()

    assert "a file of Remote" in text


def test_e017_a_storage_that_cannot_be_made_is_not_for_this_check(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "nowhere.Storage"}}
    store(monkeypatch, default_storage)
    register_rows(images=Image(loc=F("file")))

    assert problems() == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"images": lambda self, item: []},
        {"images": Image(loc="/a.jpg")},
        {"images": Image(loc=F("nothing"))},
        {"images": Image(loc=F("name"))},
        {"images": Image(loc=F("file")), "queryset": None, "get_queryset": lambda self: Product.objects.all()},
    ],
    ids=["method", "constant", "unknown column", "text", "rows of a method"],
)
def test_e017_is_silent_where_no_file_is_known(monkeypatch: pytest.MonkeyPatch, attributes: dict[str, Any]) -> None:
    store(monkeypatch, Remote(querystring_auth=True))
    register_rows(**attributes)

    assert problems() == []


def test_e017_asks_neither_properties_nor_methods_nor_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(self: Any) -> Any:
        raise AssertionError("a check must not run this")

    members = {"images": property(forbidden), "videos": property(forbidden), "items": forbidden}
    register("pages", type("Pages", (Sitemap,), members))
    store(monkeypatch, Remote(querystring_auth=True))
    register_rows(images=Image(loc=F("file")))

    # A test without the mark for it must not touch the database.
    assert len(problems()) == 1


@pytest.mark.parametrize(
    ("options", "signs"),
    [
        ({}, True),
        ({"querystring_auth": False}, False),
        ({"custom_domain": "cdn.example.net"}, False),
        ({"custom_domain": "cdn.example.net", "cloudfront_signer": object()}, True),
        ({"custom_domain": "cdn.example.net", "cloudfront_signer": object(), "querystring_auth": False}, False),
    ],
    ids=["as it comes", "open", "domain", "CloudFront", "CloudFront, open"],
)
def test_e017_agrees_with_what_django_storages_does_for_s3(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], signs: bool
) -> None:
    s3 = pytest.importorskip("storages.backends.s3", reason="django-storages[s3] is not installed")
    storage = s3.S3Storage(bucket_name="files", **options)
    monkeypatch.setattr(type(storage), "url", lambda self, name: pytest.fail("a check must not ask a server"))
    monkeypatch.setattr(type(storage), "connection", property(lambda self: pytest.fail("nor connect to one")))
    store(monkeypatch, storage)
    register_rows(images=Image(loc=F("file")))

    assert len(problems()) == signs
