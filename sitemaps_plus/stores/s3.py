"""Keep built files in a bucket of S3, each with one request and with headers that crawlers and CDNs understand."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from django.core.files.base import ContentFile, File

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import MissingExtra

try:
    from boto3.s3.transfer import TransferConfig
    from botocore.exceptions import ClientError
    from s3transfer.constants import ALLOWED_DOWNLOAD_ARGS
    from storages.backends.s3 import S3Storage
except ImportError as error:
    said = f'{__name__} needs django-storages and boto3 ({error}); run: pip install "django-sitemaps-plus[s3]"'
    raise MissingExtra(said) from error

_TYPES = {
    # Without Content-Encoding, which django-storages would guess: readers would unpack the file twice.
    ".gz": "application/gzip",
    ".xml": "application/xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
}

LARGEST = 64 * 1024 * 1024
"""Bytes up to which a file is one request; the protocol allows 50 MiB."""


class SitemapS3Storage(S3Storage):  # type: ignore[misc]
    """django-storages' storage for built files, with all of its options.

    It always overwrites, and packs nothing by itself (``file_overwrite``, ``gzip``). Headers that ``object_parameters``
    names go before those that it sends by itself.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "file_overwrite": True, "gzip": False})

    def get_default_settings(self) -> dict[str, Any]:
        """Return the settings of django-storages; unless configured, uploads have one part and no threads."""
        found: dict[str, Any] = super().get_default_settings()
        # Parts of an upload that broke off would stay in the bucket, unseen, and be paid for.
        found["transfer_config"] = found["transfer_config"] or TransferConfig(
            multipart_threshold=LARGEST, use_threads=False
        )
        return found

    def get_object_parameters(self, name: str) -> dict[str, Any]:
        """Return the headers of a file by the end of its name, and ``Cache-Control`` of the setting."""
        headers = {"ContentType": _TYPES.get(PurePosixPath(name).suffix), "CacheControl": get_settings().CACHE_CONTROL}
        given = super().get_object_parameters(name)
        return {**{header: value for header, value in headers.items() if value}, **given}

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        if mode != "rb":
            opened: File[Any] = super()._open(name, mode)
            return opened
        # S3Storage asks three times: whether it is there, how large it is, and for the content.
        given = self.get_object_parameters(name)
        options = {key: value for key, value in given.items() if key in ALLOWED_DOWNLOAD_ARGS}
        key = self._normalize_name(name)
        try:
            found = self.connection.meta.client.get_object(Bucket=self.bucket_name, Key=key, **options)
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                raise FileNotFoundError(f"File does not exist: {key}") from error
            raise
        return ContentFile(found["Body"].read(), name=name)
