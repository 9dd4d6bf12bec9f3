"""Check the settings and the URLs of the project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse

from sitemaps_plus import views
from sitemaps_plus.conf import NAMES, Settings, get_settings, wrong_values
from sitemaps_plus.declare.registry import REGISTER_REMEDY, registry
from sitemaps_plus.errors import InvalidEntry, NoOrigin, SitemapError
from sitemaps_plus.plan.sites import SiteOrigin, distinct_sites
from sitemaps_plus.protocol.addresses import Origin, is_local, normalize
from sitemaps_plus.protocol.names import index_file
from sitemaps_plus.stores.files import get_store, has_own_storage

_ANY_ORIGIN = Origin(scheme="https", host="example.com")


@register()
def check_setting_names(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E001: SITEMAPS_PLUS is a dict of known names."""
    given = getattr(settings, "SITEMAPS_PLUS", {})
    if not isinstance(given, Mapping):
        return [
            Error(
                f"SITEMAPS_PLUS is a {type(given).__name__}, not a dict.",
                hint='Write SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}.',
                id="sitemaps_plus.E001",
            )
        ]
    return [
        Error(
            f"SITEMAPS_PLUS has an unknown setting {name!r}.",
            hint=f"Remove it, or use one of {', '.join(NAMES)}.",
            id="sitemaps_plus.E001",
        )
        for name in given
        if name not in NAMES
    ]


@register()
def check_setting_values(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E002: each setting has a value that can work."""
    return [
        Error(f'SITEMAPS_PLUS["{name}"] cannot be {value!r}.', hint=hint, id="sitemaps_plus.E002")
        for name, value, hint in wrong_values(get_settings())
    ]


@register()
def check_origin(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E003: URLs can begin with ORIGIN and PUBLIC_URL, and their keys are ids of sites."""
    given = get_settings()
    return [
        *_check_addresses("ORIGIN", given.ORIGIN, _origin_error, "https://example.com"),
        *_check_addresses("PUBLIC_URL", given.PUBLIC_URL, _public_url_error, "https://cdn.example.com/sitemaps/"),
    ]


def _check_addresses(name: str, given: Any, error_of: Any, example: str) -> Iterator[CheckMessage]:
    if isinstance(given, Mapping):
        texts, ids = list(given.values()), list(given)
    else:
        texts, ids = [] if given is None else [given], []
    for text in texts:
        if reason := error_of(text):
            yield Error(
                f'SITEMAPS_PLUS["{name}"] has {text!r}: {reason}',
                hint=f'It should look like "{example}".',
                id="sitemaps_plus.E003",
            )
    if isinstance(given, Mapping) and not _has_ids(given):
        problem = (
            f"has the keys {ids!r}, which should be ids of sites."
            if ids
            else "is empty; give one URL for each site id."
        )
        yield Error(
            f'SITEMAPS_PLUS["{name}"] {problem}',
            hint=f'Write {{1: "{example}"}}, with the ids of the Sites framework, or without it with any numbers; or '
            "write one string for the only site.",
            id="sitemaps_plus.E003",
        )


@register()
def check_origin_is_known(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W004: a setting or the Sites framework names the host."""
    if not len(registry) or get_settings().ORIGIN is not None or apps.is_installed("django.contrib.sites"):
        return []
    return [
        Warning(
            "The host of the site is only known from requests: clients can forge it, and build_sitemaps cannot run.",
            hint='Set SITEMAPS_PLUS = {"ORIGIN": "https://example.com"} or install django.contrib.sites.',
            id="sitemaps_plus.W004",
        )
    ]


@register()
def check_one_origin_for_several_sites(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E005: if the request decides the site, each site has an origin of its own."""
    several = apps.is_installed("django.contrib.sites") and not getattr(settings, "SITE_ID", None)
    if not several or not isinstance(get_settings().ORIGIN, str):
        return []
    return [
        Error(
            'SITEMAPS_PLUS["ORIGIN"] is one origin, but without SITE_ID each request may belong to another site.',
            hint='Give one for each site id, {"ORIGIN": {1: "https://a.example", 2: "https://b.example"}}, or remove '
            "ORIGIN to use the domains of the Sites framework.",
            id="sitemaps_plus.E005",
        )
    ]


@register()
def check_origin_chooses(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E028: one entry of ORIGIN is the site of a request, and each has files of its own."""
    given = get_settings().ORIGIN
    if not isinstance(given, Mapping) or not _has_ids(given) or any(map(_origin_error, given.values())):
        return []
    fixed = getattr(settings, "SITE_ID", None)
    if fixed and fixed not in given:
        return [
            Error(
                f'SITEMAPS_PLUS["ORIGIN"] has no entry for SITE_ID = {fixed}, only for {list(given)}: every request of '
                "a sitemap fails.",
                hint=f'Add {fixed}: "https://example.com", or correct SITE_ID.',
                id="sitemaps_plus.E028",
            )
        ]
    found: list[NoOrigin] = []
    distinct_sites((SiteOrigin(id=key, origin=Origin.parse(text)) for key, text in given.items()), found.append)
    return [
        Error(
            f'SITEMAPS_PLUS["ORIGIN"]: {error}',
            hint="No request can choose between two entries with the same host: give each another host or port.",
            id="sitemaps_plus.E028",
        )
        for error in found
    ]


@register(Tags.security, deploy=True)
def check_origin_is_public(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W029: on a live site no origin is an address of the machine itself.

    Only ``check --deploy`` runs it: ``DEBUG`` is off in tests, too, and where somebody tries a site on an own machine.
    """
    given = get_settings().ORIGIN
    texts = given.values() if isinstance(given, Mapping) else () if given is None else (given,)
    local = [text for text in texts if not _origin_error(text) and is_local(Origin.parse(text).host)]
    if settings.DEBUG or not local:
        return []
    return [
        Warning(
            f'SITEMAPS_PLUS["ORIGIN"] has {text!r}: every URL in the sitemap leads crawlers to their own machine.',
            hint='Set it to the address of the live site, for example "https://example.com".',
            id="sitemaps_plus.W029",
        )
        for text in local
    ]


@register(Tags.files)
def check_storage(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E006: STORAGE names an entry of STORAGES."""
    alias = get_settings().STORAGE
    # STORAGES may lack the default alias: then files go to the default storage.
    if alias == Settings().STORAGE or has_own_storage():
        return []
    return [
        Error(
            f'SITEMAPS_PLUS["STORAGE"] is {alias!r}, which STORAGES does not define.',
            hint=f'Add STORAGES[{alias!r}] = {{"BACKEND": ...}} or choose one of {", ".join(settings.STORAGES)}.',
            id="sitemaps_plus.E006",
        )
    ]


@register(Tags.files)
def check_storage_overwrites(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W023: the storage can replace a file by a newer one."""
    try:
        store = get_store()
        if store.can_replace():
            return []
    except Exception:  # each storage has errors of its own, and a build reports them
        return []
    return [
        Warning(
            f"The storage of built files, {type(store.storage).__name__}, cannot overwrite a file, so that builds "
            "fail.",
            hint='Let SITEMAPS_PLUS["STORAGE"] name a FileSystemStorage, or a storage with an option to overwrite, '
            "such as S3 (file_overwrite) or Azure (overwrite_files). Without builds this does not matter.",
            id="sitemaps_plus.W023",
        )
    ]


@register(Tags.urls)
def check_urls(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W015, W016, W026, W030: the URLs are included at the root, lead to sections, and are not hidden."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    try:
        index = reverse("sitemaps_plus:index")
    except NoReverseMatch:
        return list(_check_included())
    return [
        *_check_registered(),
        *_check_root(index),
        *(message for label in (None, *registry) for message in _check_shadow(index, label)),
    ]


def _check_included() -> Iterator[CheckMessage]:
    # A project that only serves built files needs no URLs, and says where the files go.
    if len(registry) and not has_own_storage() and not get_settings().PUBLIC_URL:
        yield Warning(
            f"Sitemaps are registered, but {settings.ROOT_URLCONF} does not include sitemaps_plus.urls: no URL serves "
            "them.",
            hint='Add path("", include("sitemaps_plus.urls")) to its urlpatterns. If you only serve built files, '
            'define STORAGES["sitemaps"] for them, or put "sitemaps_plus.W026" into SILENCED_SYSTEM_CHECKS.',
            id="sitemaps_plus.W026",
        )


def _check_registered() -> Iterator[CheckMessage]:
    if not len(registry):
        yield Warning(
            f"{settings.ROOT_URLCONF} includes sitemaps_plus.urls, but no Sitemap class is registered: there is no "
            "sitemap to serve.",
            hint=REGISTER_REMEDY,
            id="sitemaps_plus.W030",
        )


def _check_root(index: str) -> Iterator[CheckMessage]:
    if index != f"{get_script_prefix()}{index_file()}":
        yield Warning(
            f"The index is at {index}, and a sitemap only covers URLs in its own directory and below.",
            hint='Include the URLconf at the root: path("", include("sitemaps_plus.urls")).',
            id="sitemaps_plus.W015",
        )


def _check_shadow(index: str, label: str | None) -> Iterator[CheckMessage]:
    path = index if label is None else f"{index.removesuffix(index_file())}{index_file(label)}"
    expected = views.site_index if label is None else views.section_index
    try:
        # resolve() takes the path after the script prefix.
        match = resolve(f"/{path.removeprefix(get_script_prefix())}")
    except Resolver404:
        yield Warning(
            f"No URL pattern answers {path}.",
            hint='Include the URLconf where all of its URLs match: path("", include("sitemaps_plus.urls")).',
            id="sitemaps_plus.W016",
        )
        return
    if match.func is not expected:
        yield Warning(
            f"{path} is answered by {match.view_name}, not by sitemaps_plus.",
            hint="Remove the other pattern from the URLconf, or put include('sitemaps_plus.urls') before it.",
            id="sitemaps_plus.W016",
        )


def _has_ids(given: Mapping[Any, Any]) -> bool:
    return bool(given) and all(type(site_id) is int for site_id in given)


def _origin_error(text: Any) -> str | None:
    if not isinstance(text, str):
        return f"it must be a string, not {type(text).__name__}."
    try:
        Origin.parse(text)
    except SitemapError as error:
        return str(error)
    return None


def _public_url_error(text: Any) -> str | None:
    if not isinstance(text, str):
        return f"it must be a string, not {type(text).__name__}."
    try:
        if text.startswith("/") or "?" in text or "#" in text:
            raise InvalidEntry("E-URL-RELATIVE", "it is not an absolute URL of a directory.")
        normalize(text, origin=_ANY_ORIGIN)
    except SitemapError as error:
        return str(error)
    return None
