"""Find the sites and where each is served: by the settings, else the Sites framework, else the request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest
from django.urls import NoReverseMatch, get_script_prefix, reverse

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import InvalidEntry, NoOrigin, UnknownHost
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.protocol.names import index_file, site_directory

_SETTING = 'SITEMAPS_PLUS["ORIGIN"]'

NO_SITE = 0
"""Id of the only site of a project without the Sites framework, with one ORIGIN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOrigin:
    """One site and where it is served."""

    id: int
    """Its id in the Sites framework or in ORIGIN; 0 without either."""

    origin: Origin

    is_configured: bool = True
    """False if only the request names the host, which a client can forge."""

    model: Any = None
    """The ``Site`` object of the Sites framework, if it is installed."""

    @property
    def domain(self) -> str:
        """The host, with the port unless it is the default of the scheme."""
        return str(self.origin).partition("://")[2]

    @property
    def base(self) -> str:
        """The start of the site's URLs: the origin and the active script prefix."""
        return f"{self.origin}{get_script_prefix()}".rstrip("/")

    @property
    def name(self) -> str:
        """The domain; ``Site`` objects have this attribute, too."""
        return self.domain

    @property
    def public_url(self) -> str | None:
        """The ``PUBLIC_URL`` of the site with a slash at the end, or None."""
        given = get_settings().PUBLIC_URL
        if isinstance(given, Mapping):
            given = given.get(self.id)
        return f"{given.rstrip('/')}/" if given else None


def get_site(request: HttpRequest | None = None) -> SiteOrigin:
    """Return the site of a request, or that of ``SITE_ID``; raise NoOrigin if nothing names its host."""
    model = _current_model(request)
    given = get_settings().ORIGIN
    if isinstance(given, Mapping):
        site_id = _chosen_id(given, model, request)
        return SiteOrigin(id=site_id, origin=parse_origin(given[site_id], _SETTING), model=_model(site_id, model))
    if given is not None:
        only_id = model.pk if model else getattr(settings, "SITE_ID", None)
        return SiteOrigin(id=only_id or NO_SITE, origin=parse_origin(given, _SETTING), model=model)
    scheme = (request.scheme if request else None) or "https"
    if model is not None:
        return SiteOrigin(id=model.pk, origin=parse_origin(f"{scheme}://{model.domain}", "Site.domain"), model=model)
    if request is None:
        raise NoOrigin(
            "The scheme and host of the site are unknown. Set SITEMAPS_PLUS = "
            '{"ORIGIN": "https://example.com"}, or install django.contrib.sites and add a Site.'
        )
    return SiteOrigin(id=NO_SITE, origin=_requested(request), is_configured=False)


def get_sites(unusable: Callable[[NoOrigin], None] | None = None) -> Iterator[SiteOrigin]:
    """Yield every site that a build writes files for; raise NoOrigin if there is none.

    `unusable` is called with the error of a ``Site`` whose domain is invalid; without it the error is raised.
    """
    given = get_settings().ORIGIN
    models = _models()
    if isinstance(given, Mapping) and given:
        for site_id, text in given.items():
            yield SiteOrigin(id=site_id, origin=parse_origin(text, _SETTING), model=models.get(site_id))
    elif given is not None or not models:
        yield get_site()
    else:
        for site_id, model in models.items():
            try:
                origin = parse_origin(f"https://{model.domain}", f"Site.domain of the site {site_id}")
            except NoOrigin as error:
                if unusable is None:
                    raise
                unusable(error)
            else:
                yield SiteOrigin(id=site_id, origin=origin, model=model)


def _chosen_id(given: Mapping[int, str], model: Any, request: HttpRequest | None) -> int:
    """Return the id of the entry of ORIGIN that SITE_ID, the Sites framework or the host of the request chooses."""
    fixed = getattr(settings, "SITE_ID", None) or None
    site_id: Any = model.pk if model else fixed
    if site_id in given:
        return site_id  # type: ignore[no-any-return]
    if fixed:
        raise NoOrigin(
            f"{_SETTING} has no entry for the site {fixed}, only for {list(given)}. Add "
            f'{fixed}: "https://example.com", or correct SITE_ID.'
        )
    if model is None and len(given) == 1:
        return next(iter(given))
    if request is None:
        raise NoOrigin(
            f"{_SETTING} names the sites {list(given)}, and SITE_ID does not say which of them this is. Set SITE_ID."
        )
    return _id_of_host(given, request)


def _id_of_host(given: Mapping[int, str], request: HttpRequest) -> int:
    asked = _requested(request)
    origins = {site_id: parse_origin(text, _SETTING) for site_id, text in given.items()}
    for site_id, origin in origins.items():
        if (origin.host, origin.port) == (asked.host, asked.port):
            return site_id
    # As the Sites framework does: the port of a development server, or of a proxy, says nothing about the site.
    same_host = [site_id for site_id, origin in origins.items() if origin.host == asked.host]
    if len(same_host) == 1:
        return same_host[0]
    raise UnknownHost(f"There is no site for {request.get_host()!r}: {_SETTING} has no entry with this host.")


def _requested(request: HttpRequest) -> Origin:
    try:
        return parse_origin(f"{request.scheme or 'https'}://{request.get_host()}", "Host header")
    except NoOrigin as error:
        raise UnknownHost(str(error)) from error


def _model(site_id: int, known: Any) -> Any:
    """Return the ``Site`` of an entry of ORIGIN; None without one, or while the database is down."""
    if getattr(settings, "SITE_ID", None) or not apps.is_installed("django.contrib.sites"):
        return known
    if known is not None and known.pk == site_id:
        return known
    try:
        return apps.get_model("sites.Site").objects.filter(pk=site_id).first()
    except (OperationalError, InterfaceError):
        return None


def _current_model(request: HttpRequest | None) -> Any:
    if not apps.is_installed("django.contrib.sites"):
        return None
    site_class = apps.get_model("sites.Site")
    site_id = getattr(settings, "SITE_ID", None)
    if not site_id and request is None:
        return site_class.objects.order_by("pk").first()
    try:
        return site_class.objects.get_current(request)
    except (OperationalError, InterfaceError):
        if get_settings().ORIGIN is None:
            raise
        # ORIGIN names the site, and cached pages can be served without the database.
        return None
    except site_class.DoesNotExist as error:
        if get_settings().ORIGIN is not None:
            return None
        wanted = f"the id {site_id}, which is SITE_ID" if site_id else "the host of this request as its domain"
        raise (NoOrigin if site_id else UnknownHost)(
            f"No Site of the Sites framework has {wanted}. Add it in the admin under Sites, or set "
            'SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}.'
        ) from error


def _models() -> dict[int, Any]:
    if not apps.is_installed("django.contrib.sites"):
        return {}
    return {model.pk: model for model in apps.get_model("sites.Site").objects.order_by("pk")}


def parse_origin(text: str, where: str) -> Origin:
    """Return the origin in `text`; raise NoOrigin if there is none, with the setting or field `where` it was found."""
    try:
        return Origin.parse(text)
    except (InvalidEntry, TypeError) as error:
        raise NoOrigin(f"{where} cannot be used: {error} It should look like https://example.com.") from error


def directory() -> str:
    """Return the path below which the sitemap URLs lie: "/" where the URLconf is included at the root."""
    try:
        return reverse("sitemaps_plus:index").removesuffix(index_file())
    except NoReverseMatch:
        # The project serves only built files, which are published at the root.
        return get_script_prefix()


def chosen_sites(names: Sequence[str], unusable: Callable[[NoOrigin], None]) -> list[SiteOrigin]:
    """Return the sites with these ids or domains; all sites if `names` is empty.

    Then `unusable` is called with the error of each site that has no usable domain of its own. Raises NoOrigin if there
    is no site, or no site of a given name.
    """
    errors: list[NoOrigin] = []
    sites = distinct_sites(get_sites(errors.append), errors.append)
    known = {name: site for site in sites for name in (str(site.id), site.domain)}
    if missing := [name for name in names if name not in known]:
        available = ", ".join(f"{site.id} ({site.domain})" for site in sites)
        others = "".join(f" {error}" for error in errors)
        raise NoOrigin(f"There is no site {missing[0]!r}. Name one by its id or its domain: {available}.{others}")
    if not names:
        for error in errors:
            unusable(error)
    chosen = {known[name].id for name in names}
    return [site for site in sites if not names or site.id in chosen]


def distinct_sites(sites: Iterable[SiteOrigin], unusable: Callable[[NoOrigin], None]) -> list[SiteOrigin]:
    """Return the sites without those whose host is that of an earlier one; call `unusable` with the error of each."""
    found: dict[str, SiteOrigin] = {}
    for site in sites:
        # The directory of the files has the name of the host.
        other = found.setdefault(site_directory(site.domain), site)
        if other is not site:
            unusable(
                NoOrigin(
                    f"The sites {other.id} and {site.id} have the same host, {site.domain}, and would overwrite each "
                    f"other's files: site {site.id} is not built. Give each a domain of its own."
                )
            )
    return list(found.values())
