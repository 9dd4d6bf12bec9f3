"""Make the URLs that the status page links to: its own views, rows in the admin, live sitemaps and built files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.utils import quote
from django.db.models import Model
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.http import urlencode

from sitemaps_plus.models import Build
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.names import page_path
from sitemaps_plus.stores.files import get_store

VIEWS = "sitemaps_plus_sitemappage"
"""Beginning of the names of the status page's views."""

MakeUrl = Callable[..., str]
"""Takes the name of a view and its arguments; returns its URL, "" if there is none."""

ObjectUrl = Callable[[Section | None, str], str]
"""Takes a section and the key of a row; returns the URL of the row in the admin, "" if there is none."""


class AdminUrls:
    """The URLs in one admin site that one user may see."""

    def __init__(self, admin_site: AdminSite, request: HttpRequest) -> None:
        self._admin_site = admin_site
        self._request = request

    def make_url(self, name: str, *args: Any) -> str:
        """Return the URL of a view of the status page.

        The name ``history`` stands for the list of builds, or for one build whose id is given. It has the URL "" if the
        user may not see the builds.
        """
        if name != "history":
            return self._reverse(f"{VIEWS}_{name}", *args)
        if not self._may_see_history:
            return ""
        return self._reverse(f"sitemaps_plus_build_{'change' if args else 'changelist'}", *args)

    def object_url(self, section: Section | None, key: str) -> str:
        """Return the URL of a row in this admin; "" if its model is not registered or the user may not see it."""
        model = _model_of(section)
        if section is None or model is None or not self._may_see(model):
            return ""
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        columns = section.key.names if section.paged_by == "key" else (model._meta.pk.attname,)
        if columns == (model._meta.pk.attname,):
            return self._reverse(f"{name}_change", quote(key))
        if len(columns) == 1:
            return f"{self._reverse(f'{name}_changelist')}?{urlencode({columns[0]: key})}"
        return ""

    @cached_property
    def _may_see_history(self) -> bool:
        is_registered = self._admin_site.is_registered(Build)
        return is_registered and self._admin_site.get_model_admin(Build).has_view_permission(self._request)

    def _may_see(self, model: type[Model]) -> bool:
        if not self._admin_site.is_registered(model):
            return False
        return self._admin_site.get_model_admin(model).has_view_or_change_permission(self._request)

    def _reverse(self, name: str, *args: Any) -> str:
        return reverse(f"admin:{name}", args=args, current_app=self._admin_site.name)


def live_url(request: HttpRequest, site: SiteOrigin, name: str, *args: Any) -> str:
    """Return the URL at which this project serves a sitemap; "" if its URLconf does not include the sitemaps."""
    try:
        names = ("label", "number", "extension") if name == "page" else ("label", "extension")
        url = reverse(f"sitemaps_plus:{name}", kwargs=dict(zip(names, [*args, "xml"], strict=False)))
    except NoReverseMatch:
        return ""
    # The host of this request may serve another site.
    own = getattr(settings, "SITE_ID", None)
    is_other = site.model and (site.id != own if own else site.domain != request.get_host())
    return f"{site.origin}{url}" if is_other else url


def built_file(section: Section, number: int) -> str:
    """Return where the built file of a page is, for people to read; "" if the storage cannot say."""
    try:
        return get_store().where(page_path(section.site.domain, section.label, number))
    except Exception:  # each storage has errors of its own
        return ""


def _model_of(section: Section | None) -> type[Model] | None:
    try:
        return section.model if section else None
    except Exception:  # the project's code; the page shows its error elsewhere
        return None
