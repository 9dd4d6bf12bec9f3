"""Built files in a bucket, of moto's server on loopback: each request over HTTP, as it would go to S3."""

import gzip
import io
import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.request import ProxyHandler, build_opener
from uuid import uuid4

import pytest
from django.core.files.storage import storages
from django.test import Client

if os.environ.get("TOX_ENV_NAME") != "s3":
    for package in ("storages.backends.s3", "moto.server"):
        pytest.importorskip(package, reason="is not in this environment; tox -e s3 has it")

from boto3.s3.transfer import TransferConfig
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError
from moto.server import ThreadedMotoServer
from storages.backends.s3 import S3Storage

from clock import Clock
from samples import DAY, Products, make_products, paths
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.stores.files import FileStore, get_store
from sitemaps_plus.stores.s3 import SitemapS3Storage
from testapp.models import Product
from xml_checks import locs

NAME = "example.com/sitemap-products-1.xml.gz"


class Bucket:
    """A bucket of its own for a test, and what was asked of it."""

    def __init__(self, endpoint: str) -> None:
        self.name = f"bucket-{uuid4()}"
        self.options = {
            "bucket_name": self.name,
            "endpoint_url": endpoint,
            "access_key": "a",
            "secret_key": "b",
            "region_name": "us-east-1",
            # Without the proxies of the environment; an error is told at once.
            "client_config": Config(proxies={}, retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        }
        self.requests: list[str] = []
        """Method and what follows the bucket in the address."""
        self.fail: Callable[[str], Any] = lambda request: None
        """Called with each of them; gives the answer, or raises, in place of the server."""
        self._storages: list[SitemapS3Storage] = []
        self.client = self.storage().connection.meta.client
        self.client.create_bucket(Bucket=self.name)
        self.client.put_bucket_policy(Bucket=self.name, Policy=json.dumps(self._policy()))
        self.requests.clear()

    def storage(self, **options: Any) -> SitemapS3Storage:
        return self.watch(SitemapS3Storage(**{**self.options, **options}))

    def watch(self, storage: Any) -> Any:
        self._storages.append(storage)
        storage.connection.meta.client.meta.events.register("before-send.s3", self._sending)
        return storage

    def store(self, **options: Any) -> FileStore:
        return FileStore(self.storage(**options))

    def objects(self) -> dict[str, bytes]:
        """Return the bytes of every object, as anybody gets them."""
        found = self.client.list_objects_v2(Bucket=self.name).get("Contents", [])
        return {one["Key"]: self.get(one["Key"])[1] for one in found}

    def get(self, key: str) -> tuple[dict[str, str], bytes]:
        """Return headers and bytes of an object, as anybody gets them."""
        address = f"{self.options['endpoint_url']}/{self.name}/{key}"
        with build_opener(ProxyHandler({})).open(address, timeout=10) as answer:
            return {name.lower(): value for name, value in answer.headers.items()}, answer.read()

    def _policy(self) -> dict[str, Any]:
        """Return what lets anybody read, as on a bucket of files for crawlers."""
        resource = f"arn:aws:s3:::{self.name}/*"
        allowed = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": resource}
        return {"Version": "2012-10-17", "Statement": [allowed]}

    def close(self) -> None:
        for storage in self._storages:
            storage.connection.meta.client.close()

    def _sending(self, request: Any, **kwargs: Any) -> Any:
        self.requests.append(f"{request.method} {request.url.partition(self.name)[2].lstrip('/')}")
        return self.fail(self.requests[-1])


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> Iterator[Bucket]:
    bucket = Bucket(endpoint)
    yield bucket
    bucket.close()


def busy(request: str) -> AWSResponse:
    """Answer as S3 does when it has too much to do."""
    body = io.BytesIO(b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>")
    body.stream = lambda: iter([body.getvalue()])  # type: ignore[attr-defined]
    return AWSResponse(request, 503, {}, body)


def broken(request: str) -> Any:
    raise ConnectionClosedError(endpoint_url=request)


# Headers


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sitemap-products-1.xml.gz", "application/gzip"),
        ("sitemap-products-1.txt.gz", "application/gzip"),
        ("sitemap.xml", "application/xml; charset=utf-8"),
        ("sitemap-products-1.txt", "text/plain; charset=utf-8"),
        ("sitemaps-manifest.json", "application/json"),
    ],
)
def test_every_file_has_the_type_of_its_content_and_is_not_said_to_be_packed(
    bucket: Bucket, name: str, kind: str
) -> None:
    bucket.store().publish(f"example.com/{name}", b"data")

    headers, data = bucket.get(f"example.com/{name}")

    assert headers["content-type"] == kind
    assert "content-encoding" not in headers
    assert data == b"data"


def test_without_this_storage_a_page_would_be_said_to_be_packed(bucket: Bucket) -> None:
    FileStore(bucket.watch(S3Storage(**bucket.options))).publish(NAME, b"data")

    headers, _ = bucket.get(NAME)
    assert headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("given", ["public, max-age=300, stale-while-revalidate=3600", "public, max-age=60"])
def test_caches_are_told_what_the_setting_says(bucket: Bucket, settings: Any, given: str) -> None:
    if "stale" not in given:
        settings.SITEMAPS_PLUS = {"CACHE_CONTROL": given}

    bucket.store().publish(NAME, b"data")

    assert bucket.get(NAME)[0]["cache-control"] == given


def test_without_the_setting_caches_are_told_nothing(bucket: Bucket, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"CACHE_CONTROL": ""}

    bucket.store().publish(NAME, b"data")

    assert "cache-control" not in bucket.get(NAME)[0]


def test_the_options_of_the_storage_go_first(bucket: Bucket) -> None:
    given = {"CacheControl": "max-age=1", "ContentType": "application/x-gzip", "Metadata": {"made-by": "us"}}

    bucket.store(object_parameters=given, default_acl="public-read").publish(NAME, b"data")

    headers, _ = bucket.get(NAME)
    assert headers["cache-control"] == "max-age=1"
    assert headers["content-type"] == "application/x-gzip"
    assert headers["x-amz-meta-made-by"] == "us"
    grants = bucket.client.get_object_acl(Bucket=bucket.name, Key=NAME)["Grants"]
    assert "READ" in [grant["Permission"] for grant in grants]


def test_an_option_for_writing_is_none_for_reading(bucket: Bucket) -> None:
    store = bucket.store(object_parameters={"StorageClass": "STANDARD_IA", "RequestPayer": "requester"})
    sent = []
    client = store.storage.connection.meta.client
    client.meta.events.register("before-send.s3", lambda request, **kwargs: sent.append(request.headers))

    store.publish(NAME, b"data")
    data = store.read(NAME)

    assert data == b"data"
    assert [("x-amz-storage-class" in headers, "x-amz-request-payer" in headers) for headers in sent] == [
        (True, True),
        (False, True),
    ]


def test_files_are_replaced_and_never_packed_whatever_the_project_says_of_its_media(
    bucket: Bucket, settings: Any
) -> None:
    settings.AWS_S3_FILE_OVERWRITE = False
    settings.AWS_IS_GZIPPED = True
    settings.GZIP_CONTENT_TYPES = ("application/xml; charset=utf-8",)
    store = bucket.store(file_overwrite=False, gzip=True)

    for data in (b"old", b"new"):
        store.publish("example.com/sitemap.xml", data)

    assert bucket.objects() == {"example.com/sitemap.xml": b"new"}
    assert "content-encoding" not in bucket.get("example.com/sitemap.xml")[0]


# Requests


def test_each_operation_costs_what_it_has_to(bucket: Bucket) -> None:
    store = bucket.store(location="maps")
    costs = {}

    def count(name: str, operation: Callable[..., Any], *args: Any) -> Any:
        bucket.requests.clear()
        found = operation(*args)
        costs[name] = [request.partition("?")[0] for request in bucket.requests]
        return found

    assert count("read nothing", store.read, NAME) is None
    count("publish", store.publish, NAME, b"old")
    count("publish again", store.publish, NAME, b"new")
    assert count("read", store.read, NAME) == b"new"
    assert count("holds", store.holds, NAME, b"new")
    assert count("has", store.has, NAME)
    assert count("list", store.list, "example.com") == {"sitemap-products-1.xml.gz"}
    count("sweep", store.sweep, "example.com")
    count("remove", store.remove, NAME)
    count("remove nothing", store.remove, NAME)

    key = f"maps/{NAME}"
    assert costs == {
        "read nothing": [f"GET {key}"],
        "publish": [f"PUT {key}"],
        "publish again": [f"PUT {key}"],
        "read": [f"GET {key}"],
        "holds": [f"GET {key}"],
        "has": [f"HEAD {key}"],
        "list": ["GET "],
        "sweep": [],
        "remove": [f"HEAD {key}", f"DELETE {key}"],
        "remove nothing": [f"HEAD {key}"],
    }
    assert bucket.objects() == {}


def test_the_largest_file_that_there_may_be_is_one_request(bucket: Bucket) -> None:
    data = os.urandom(1_048_576) * 50

    bucket.store().publish(NAME, data)

    assert bucket.requests == [f"PUT {NAME}"]
    assert bucket.get(NAME)[1] == data


def test_how_files_are_sent_can_be_configured(bucket: Bucket) -> None:
    config = TransferConfig(multipart_threshold=5 * 1024 * 1024, use_threads=False)

    bucket.store(transfer_config=config).publish(NAME, bytes(6 * 1024 * 1024))

    assert [request.partition(" ")[0] for request in bucket.requests] == ["POST", "PUT", "POST"]


def test_the_names_in_a_directory_are_listed_and_no_others(bucket: Bucket) -> None:
    store = bucket.store()
    for name in (NAME, "example.com/sitemap.xml", "example.com/deeper/sitemap.xml", "example.com.au/sitemap.xml"):
        store.publish(name, b"data")

    assert store.list("example.com") == {"sitemap-products-1.xml.gz", "sitemap.xml"}
    assert store.list("example.net") == set()


# Errors


@pytest.mark.parametrize("fail", [busy, broken])
def test_what_could_not_be_sent_leaves_the_old_file_and_is_completed_the_next_time(
    bucket: Bucket, fail: Callable[[str], Any]
) -> None:
    store = bucket.store()
    store.publish(NAME, b"old")
    bucket.fail = fail

    with pytest.raises((ClientError, BotoCoreError)):
        store.publish(NAME, b"new")

    assert not store.holds(NAME, b"old")
    bucket.fail = lambda request: None
    assert bucket.objects() == {NAME: b"old"}
    store.publish(NAME, b"new")
    assert bucket.objects() == {NAME: b"new"}


def test_a_bucket_that_does_not_exist_is_no_missing_file(bucket: Bucket) -> None:
    storage = bucket.storage(bucket_name=f"no-{bucket.name}")

    with pytest.raises(ClientError, match="NoSuchBucket"):
        storage.open(NAME)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        FileStore(storage).publish(NAME, b"data")


def test_a_file_can_still_be_written_piece_by_piece(bucket: Bucket) -> None:
    storage = bucket.storage()

    with storage.open("example.com/sitemap.xml", "wb") as file:
        file.write(b"<xml/>")

    assert bucket.get("example.com/sitemap.xml")[0]["content-type"] == "application/xml; charset=utf-8"
    assert bucket.objects() == {"example.com/sitemap.xml": b"<xml/>"}


# Builds


@pytest.fixture
def built(bucket: Bucket, settings: Any) -> Bucket:
    """Let builds go to the bucket."""
    backend = {"BACKEND": "sitemaps_plus.stores.s3.SitemapS3Storage", "OPTIONS": bucket.options}
    settings.STORAGES = {**settings.STORAGES, "sitemaps": backend}
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "EXTENSION": "xml.gz"}
    bucket.watch(storages["sitemaps"])
    register("products", Products)
    make_products(25)
    return bucket


def uploads(bucket: Bucket) -> list[str]:
    """Return which objects were sent since the last question."""
    found = sorted({request.removeprefix("PUT ") for request in bucket.requests if request.startswith("PUT")})
    bucket.requests.clear()
    return found


def listed_rows(bucket: Bucket) -> list[str]:
    """Return the addresses on all pages that the index lists; each must be there."""
    names = paths(locs(bucket.get("example.com/sitemap.xml")[1]))
    pages = [bucket.get(f"example.com{name}")[1] for name in names]
    return sorted(path for page in pages for path in paths(locs(gzip.decompress(page))))


def rows() -> list[str]:
    return sorted(f"/{slug}/" for slug in Product.objects.values_list("slug", flat=True))


@pytest.mark.django_db
def test_a_build_sends_what_changed_and_nothing_else(built: Bucket) -> None:
    assert build().is_complete
    assert listed_rows(built) == rows()
    assert "example.com/sitemap-products-3.xml.gz" in uploads(built)

    assert build().is_complete
    asked = [request.partition("?")[0] for request in built.requests]
    assert asked == ["GET example.com/sitemaps-manifest.json", "GET "]
    uploads(built)

    Product.objects.filter(slug="product-12").update(slug="changed", updated_at="2026-02-01T00:00Z")
    assert build().is_complete
    assert [name for name in uploads(built) if "products-" in name] == ["example.com/sitemap-products-2.xml.gz"]
    assert listed_rows(built) == rows()


def fail_at(bucket: Bucket, number: int) -> Callable[[], int]:
    """Let the upload of that number fail, counted from 0, and return what says how many were tried."""
    sent: list[str] = []

    def fail(request: str) -> Any:
        if not request.startswith("PUT"):
            return None
        sent.append(request)
        return busy(request) if len(sent) == number + 1 else None

    bucket.fail = fail
    return lambda: len(sent)


@pytest.mark.django_db
@pytest.mark.parametrize("is_first", [True, False], ids=["first build", "later build"])
def test_whichever_upload_fails_the_set_stays_whole_and_the_next_build_completes_it(
    built: Bucket, clock: Clock, is_first: bool
) -> None:
    failed = 0
    while True:
        # The dates of the index differ from those of the round before.
        clock.pass_(minutes=1)
        if is_first:
            for key in built.objects():
                built.client.delete_object(Bucket=built.name, Key=key)
        else:
            assert build().is_complete
            Product.objects.update(updated_at=DAY + timedelta(days=failed + 1))
            Product.objects.order_by("pk")[0].delete()
        tried = fail_at(built, failed)

        is_complete = build().is_complete

        built.fail = lambda request: None
        if tried() <= failed:
            break
        assert not is_complete
        # Every page that is listed is there, and whole; of a first build perhaps nothing is.
        if not is_first or "example.com/sitemap.xml" in built.objects():
            assert set(rows()) <= set(listed_rows(built))
        failed += 1
        assert build().is_complete
        assert listed_rows(built) == rows()
        uploads(built)
        assert build().is_complete
        assert uploads(built) == []
    # Three pages, an index of the section and one of the site in two forms each, the manifest.
    assert is_complete
    assert failed >= 8


@pytest.mark.django_db
def test_pages_may_wait_in_the_bucket(built: Bucket, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "STAGING": "staging"}

    assert build().is_complete

    assert any(request.startswith("PUT staging/") for request in built.requests)
    assert listed_rows(built) == rows()
    assert not any(key.startswith("staging/") for key in built.objects())


@pytest.mark.django_db
def test_views_hand_out_the_built_file_for_one_request(built: Bucket, client: Client, rendered: list[int]) -> None:
    build()
    built.requests.clear()
    rendered.clear()

    answer = client.get("/sitemap-products-2.xml.gz")

    assert answer.content == get_store().read("example.com/sitemap-products-2.xml.gz")
    assert rendered == []
    assert built.requests == ["GET example.com/sitemap-products-2.xml.gz"] * 2
