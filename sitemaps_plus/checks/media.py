"""Check the files in the images and videos of a section."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.core.checks import Tags
from django.db.models import FileField

from sitemaps_plus.checks.classes import Found, check_each, queryset_of, values_of
from sitemaps_plus.declare.related import Related, find_relation
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.values.fields import Declared
from sitemaps_plus.values.xml import signature_in

_PROBE = "sitemaps-plus-check.jpg"
"""A file that need not exist: storages make URLs without looking for it."""

_OPTIONS = (
    "in the OPTIONS of the storage. All files of that storage must then be public; if some are not, give the images "
    "and videos a storage of their own."
)


class _File(NamedTuple):
    """A file of each row, and the field that has its URL."""

    hook: str
    path: str
    field: FileField


class _Signing(NamedTuple):
    """How a storage signs URLs, and how to stop it."""

    how: str
    remedy: str


@check_each(Tags.files)
def check_signed_files(sitemap: Any) -> Found:
    """sitemaps_plus.E017: the URLs of images and videos do not expire."""
    for file in _files(sitemap):
        if signing := _signing(file.field.storage):
            # Not type(): the default storage is wrapped in a lazy object.
            storage = file.field.storage.__class__.__name__
            text = f".{file.hook}: {file.path} is {file.field}, a file of {storage}, which signs its URLs"
            yield "E017", f"{text} ({signing.how}). Crawlers would get links that expire.", signing.remedy


def _files(sitemap: Any) -> Iterator[_File]:
    queryset = queryset_of(sitemap)
    if queryset is None:
        return
    for hook in ("images", "videos"):
        for given in values_of(sitemap, hook):
            value, rows = _unwrapped(given, queryset)
            for name, expression in value.expressions().items():
                field = _field(rows, expression)
                if isinstance(field, FileField):
                    yield _File(hook, f"{type(value).__name__}.{name}", field)


def _unwrapped(value: Any, rows: Any) -> tuple[Any, Any]:
    """Return a value and the rows that its expressions are computed for: for `Related`, those of another model."""
    if not isinstance(value, Related) or not isinstance(value.value, Declared):
        return value, rows
    try:
        return value.value, find_relation(rows.model, value.relation).model._default_manager.all()
    except InvalidSitemap:  # another check reports the relation
        return value, rows


def _field(queryset: Any, expression: Any) -> Any:
    try:
        return expression.resolve_expression(queryset.query.chain()).output_field
    except Exception:  # an expression of any kind; another check reports it
        return None


def _signing(storage: Any) -> _Signing | None:
    try:
        return _by_options(storage) if _has_options(storage) else _by_url(storage)
    except Exception:  # a storage of any kind; one that fails has no signed URLs
        return None


def _has_options(storage: Any) -> bool:
    """Return whether attributes are enough: url() of such a storage may contact a server for its key."""
    return hasattr(storage, "querystring_auth") or hasattr(storage, "expiration_secs")


def _by_options(storage: Any) -> _Signing | None:
    if getattr(storage, "expiration_secs", None):
        return _Signing("expiration_secs is set", f"Set expiration_secs=None {_OPTIONS}")
    # On Google Cloud, files with a public ACL have unsigned URLs all the same.
    if not getattr(storage, "querystring_auth", False) or getattr(storage, "default_acl", None) == "publicRead":
        return None
    if not getattr(storage, "custom_domain", None):
        return _Signing("querystring_auth is True", f"Set querystring_auth=False {_OPTIONS}")
    # With a custom domain S3 signs nothing, unless it has a key of CloudFront.
    if getattr(storage, "cloudfront_signer", None):
        return _Signing(
            "querystring_auth is True and it has a cloudfront_signer",
            f"Set querystring_auth=False, or remove cloudfront_signer or its key, {_OPTIONS}",
        )
    return None


def _by_url(storage: Any) -> _Signing | None:
    signature = signature_in(storage.url(_PROBE))
    if signature is None:
        return None
    return _Signing(
        f"they contain {signature}",
        "Give the field a storage whose url() signs nothing. In django-storages that is querystring_auth=False for S3, "
        "CloudFront and Google Cloud, and expiration_secs=None for Azure.",
    )
