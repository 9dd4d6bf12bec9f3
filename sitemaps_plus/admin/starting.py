"""Start builds for users of the admin, and remember in their session the builds that have not begun yet."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.db.models import Max
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from sitemaps_plus.build import start
from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.watch.status import SiteStatus

PATIENCE = timedelta(seconds=60)
"""How long a build that was started here may take to begin."""

_SESSION_KEY = "sitemaps_plus_started"


def start_build(request: HttpRequest, site: SiteOrigin, label: str, *, full: bool, warm_cache: bool) -> None:
    """Start a build of one section, or of all sections for the label ""; raise BuildNotStarted if that fails."""
    newest = newest_build(site.id)
    start.start(
        [label] if label else [],
        site=site,
        started_by=_started_by(request),
        full=full,
        warm_cache=warm_cache,
    )
    started = {**request.session.get(_SESSION_KEY, {}), str(site.id): [newest, timezone.now().timestamp()]}
    request.session[_SESSION_KEY] = started


def starting_sites(request: HttpRequest, sites: Iterable[SiteStatus]) -> set[int]:
    """Return the ids of the sites with a build that this user started and that has not begun yet.

    Show a message once for each build that did not begin in time.
    """
    started, waiting = request.session.get(_SESSION_KEY), {}
    if not started:
        return set()
    user = _started_by(request)
    builds = {status.site.id: status.builds for status in sites}
    for site_id, (newest, at) in started.items():
        if any(build.pk > newest and build.started_by == user for build in builds.get(int(site_id), ())):
            continue
        if timezone.now().timestamp() - at < PATIENCE.total_seconds():
            waiting[site_id] = [newest, at]
        else:
            messages.error(request, _("The build that you started has not begun. See the log of the web server."))
    if waiting != started:
        request.session[_SESSION_KEY] = waiting
    return {int(site_id) for site_id in waiting}


def log_build(request: HttpRequest, name: str, text: str) -> None:
    """Write the start of a build to the admin's log."""
    LogEntry.objects.create(
        user_id=request.user.pk or 0,
        content_type_id=get_content_type_for_model(SitemapPage).pk,
        object_repr=name[:200],
        action_flag=CHANGE,
        change_message=text,
    )


def newest_build(site_id: int | None = None) -> int:
    """Return the id of the newest build, of one site or of all; 0 if there is none."""
    builds = Build.objects.all() if site_id is None else Build.objects.filter(site=site_id)
    return builds.aggregate(newest=Max("pk"))["newest"] or 0


def _started_by(request: HttpRequest) -> str:
    return f"{request.user.get_username()} (admin)"
