"""Store built files in an S3 bucket, each with one request and with the headers that crawlers and CDNs need."""

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
    # Without the Content-Encoding that django-storages would guess: clients would decompress the file twice.
    ".gz": "application/gzip",
    ".xml": "application/xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
}

LARGEST = 64 * 1024 * 1024
"""Largest file in bytes that is uploaded with one request; the protocol allows 50 MiB."""


class SitemapS3Storage(S3Storage):  # type: ignore[misc]
    """django-storages' storage for built files, with all of its options.

    It always overwrites and never compresses (``file_overwrite``, ``gzip``). Headers in ``object_parameters`` take
    precedence over its own.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "file_overwrite": True, "gzip": False})

    def get_default_settings(self) -> dict[str, Any]:
        """Return the settings of django-storages; by default uploads have one part and no threads."""
        found: dict[str, Any] = super().get_default_settings()
        # The parts of an aborted upload would stay in the bucket and cost money.
        found["transfer_config"] = found["transfer_config"] or TransferConfig(
            multipart_threshold=LARGEST, use_threads=False
        )
        return found

    def get_object_parameters(self, name: str) -> dict[str, Any]:
        """Return the headers of a file: the content type by its suffix, and ``CACHE_CONTROL``."""
        headers = {"ContentType": _TYPES.get(PurePosixPath(name).suffix), "CacheControl": get_settings().CACHE_CONTROL}
        given = super().get_object_parameters(name)
        return {**{header: value for header, value in headers.items() if value}, **given}

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        if mode != "rb":
            opened: File[Any] = super()._open(name, mode)
            return opened
        # S3Storage would send three requests: for existence, size and content.
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
