"""The status page in Django's admin: how the sitemaps are, what to do about it, and buttons that start builds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import OperationalError, ProgrammingError
from django.db.models import Max, Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from sitemaps_plus.admin import found, panels
from sitemaps_plus.admin.builds import ReadOnly
from sitemaps_plus.admin.links import file_of, live_address
from sitemaps_plus.build import start
from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import BuildNotStarted, InvalidPlace, NoOrigin
from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.plan.pages import Page, active, make_plan, stored_plan
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin, chosen_sites
from sitemaps_plus.protocol.names import page_file
from sitemaps_plus.render.pages import base_of
from sitemaps_plus.serve.crawlers import CrawlerSummary, visits_of
from sitemaps_plus.stores.cache import is_for_one_process
from sitemaps_plus.watch.alarms import Overview, SiteOverview, missing_tables, overview
from sitemaps_plus.watch.entries import read_entries
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.status import SectionStatus, read_running

if TYPE_CHECKING:
    _Base = admin.ModelAdmin[SitemapPage]
else:
    _Base = admin.ModelAdmin

logger = logging.getLogger("sitemaps_plus")

PAGES_SHOWN = 100
"""Pages of a section that its table has at once."""

PATIENCE = timedelta(seconds=60)
"""For how long a build that was started here may say nothing."""

_STARTED = "sitemaps_plus_started"
_VIEWS = "sitemaps_plus_sitemappage"


class StatusAdmin(ReadOnly, _Base):
    """The status page in place of a list of `SitemapPage`, and what it leads to."""

    status_template = "sitemaps_plus/admin/status.html"
    section_template = "sitemaps_plus/admin/section.html"
    page_template = "sitemaps_plus/admin/page.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the status page, its sections and pages, and what its buttons ask for."""
        routes: tuple[tuple[str, Callable[..., HttpResponse], str], ...] = (
            ("", self.changelist_view, "changelist"),
            ("progress/", self.progress_view, "progress"),
            ("build/", self.build_view, "build"),
            ("warm/", self.warm_view, "warm"),
            ("<int:site_id>/<slug:label>/", self.section_view, "section"),
            ("<int:site_id>/<slug:label>/<int:number>/", self.page_view, "page"),
        )
        return [path(route, self.admin_site.admin_view(view), name=f"{_VIEWS}_{name}") for route, view, name in routes]

    def has_build_permission(self, request: HttpRequest) -> bool:
        """Return whether the user sees buttons, and may use them."""
        return self.has_view_permission(request) and request.user.has_perm("sitemaps_plus.build_sitemappage")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show all sites: what is wrong first."""
        self._require_view(request)
        known = overview()
        starting = self._starting(request, known)
        sites = [one.status.site for one in known.sites]
        object_link, visits = self._object_links(request), self._visits([site.id for site in sites])
        link = self._links(request)
        shown = [
            panels.site_panel(
                site,
                link,
                object_link,
                is_starting=site.status.site.id in starting,
                visits=None if visits is None else visits.get(site.status.site.id, {}),
            )
            for site in known.sites
        ]
        context = {
            "title": _("Sitemap status"),
            "alarms": panels.shown_alarms(known, self._link),
            "panels": shown,
            "shows_visits": visits is not None,
            "find": request.GET.get("find", ""),
            "finding": self._finding(request, sites),
            "is_live": any(panel.running or panel.is_starting for panel in shown),
            **(extra_context or {}),
        }
        return self._shown(request, self.status_template, context)

    def section_view(self, request: HttpRequest, site_id: int, label: str) -> HttpResponse:
        """Show the pages of one section."""
        self._require_view(request)
        known = overview()
        site, status = _find(known, site_id, label)
        starting = self._starting(request, known)
        object_link = self._object_links(request)
        panel = panels.site_panel(site, self._links(request), object_link, is_starting=site_id in starting)
        pages = stored_plan(status.section).listed if status.section and not status.error else []
        shown = Paginator(pages, PAGES_SHOWN).get_page(request.GET.get("p"))
        context = {
            "title": _("%(section)s of %(site)s") % {"section": label, "site": panel.domain},
            "alarms": panels.section_alarms(site, label),
            "panel": panel,
            "row": next(row for row in panel.rows if row.status.label == label),
            "pages": self._page_rows(status, [page.record for page in shown]),
            "shown": shown,
            "left_out": list(panels.left_out_rows(status, object_link)),
            "charts": panels.section_charts(site.status.builds, label),
            "live_url": live_address(request, panel.overview.status.site, "section", label),
            "is_live": bool(panel.running or panel.is_starting),
        }
        return self._shown(request, self.section_template, context)

    def page_view(self, request: HttpRequest, site_id: int, label: str, number: int) -> HttpResponse:
        """Show one page: its facts, where it is, and what it lists."""
        self._require_view(request)
        _site, status = _find(overview(), site_id, label)
        if status.section is None:
            raise Http404(status.error)
        records = [record for record in active(status.section) if record.layout]
        if not any(record.number == number for record in records):
            raise Http404(f"The sitemap {label!r} has no page {number}.")
        plan = make_plan(status.section, records)
        page = next((page for page in plan.pages if page.number == number), None)
        if page is None:
            raise Http404(f"The sitemap {label!r} has no page {number}.")
        record = page.record
        context = {
            "title": _("Page %(number)s of %(section)s") % {"number": number, "section": label},
            "site": status.section.site,
            "label": label,
            "row": self._page_rows(status, [record])[0],
            "left_out": list(panels.problems_of(record, status.section, self._object_links(request))),
            "live_url": live_address(request, status.section.site, "page", label, number, "xml"),
            "public_url": base_of(status.section) + page_file(label, number, "xml"),
            "file": file_of(status.section, number) if record.built_digest else "",
            "section_link": self._link("section", site_id, label),
            "entries": self._entries(request, status.section, page),
        }
        return self._shown(request, self.page_template, context)

    def progress_view(self, request: HttpRequest) -> HttpResponse:
        """Say in JSON how far builds are; ``state`` differs as soon as the page would."""
        self._require_view(request)
        running = read_running()
        builds = [{"site": build.site, "build": build.pk, **panels.progress_of(build)._asdict()} for build in running]
        return JsonResponse({"state": _state(running), "builds": builds})

    @method_decorator(require_POST)
    def build_view(self, request: HttpRequest) -> HttpResponse:
        """Start a build of one section, or of all; ``full`` renders every page."""
        is_full = bool(request.POST.get("full"))
        said = _("A build of every page of %(what)s was started.") if is_full else _("A build of %(what)s was started.")
        return self._start(request, said, full=is_full)

    @method_decorator(require_POST)
    def warm_view(self, request: HttpRequest) -> HttpResponse:
        """Start a build that also puts what it publishes into the cache."""
        if self.has_build_permission(request) and is_for_one_process():
            text = _("The cache is of each process alone, and cannot be filled for all. Let CACHE name a shared one.")
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect(self._link("changelist"))
        return self._start(request, _("Filling the cache with %(what)s was started."), warm_cache=True)

    def _start(self, request: HttpRequest, said: str, *, full: bool = False, warm_cache: bool = False) -> HttpResponse:
        if not self.has_build_permission(request):
            raise PermissionDenied
        site, label = _asked_for(request)
        running = next((build for build in read_running() if build.site == site.id), None)
        answer = HttpResponseRedirect(
            self._link("section", site.id, label) if request.POST.get("from") == "section" else self._link("changelist")
        )
        if running:
            text = _("Another build of %(site)s is running: %(holder)s. Start this one when it has ended.")
            self.message_user(request, text % {"site": site.domain, "holder": running.holder}, messages.WARNING)
            return answer
        newest = _newest(site.id)
        try:
            start.start(
                [label] if label else [],
                site=site,
                started_by=_started_by(request),
                full=full,
                warm_cache=warm_cache,
            )
        except BuildNotStarted as error:
            self.message_user(request, str(error), messages.ERROR)
            return answer
        what = _("%(section)s of %(site)s") % {"section": label, "site": site.domain} if label else site.domain
        text = said % {"what": what}
        _log(request, what, text)
        started = {**request.session.get(_STARTED, {}), str(site.id): [newest, timezone.now().timestamp()]}
        request.session[_STARTED] = started
        self.message_user(request, text, messages.SUCCESS)
        return answer

    def _starting(self, request: HttpRequest, known: Overview) -> set[int]:
        """Return the sites where this user has started a build that has not begun yet; warn of one that never did."""
        started, waiting = request.session.get(_STARTED), {}
        if not started:
            return set()
        ours = _started_by(request)
        builds = {site.status.site.id: site.status.builds for site in known.sites}
        for site_id, (newest, at) in started.items():
            if any(one.pk > newest and one.started_by == ours for one in builds.get(int(site_id), ())):
                continue
            if timezone.now().timestamp() - at < PATIENCE.total_seconds():
                waiting[site_id] = [newest, at]
            else:
                text = _("The build that you started has not begun. The log of the web server says why.")
                self.message_user(request, text, messages.ERROR)
        if waiting != started:
            request.session[_STARTED] = waiting
        return {int(site_id) for site_id in waiting}

    def _finding(self, request: HttpRequest, sites: list[SiteOrigin]) -> found.ShownFinding | None:
        """Return what is known of the URL that is searched for; None where none is."""
        url = request.GET.get("find", "").strip()
        if not url:
            return None
        return found.shown_finding(find_url(url, sites=sites), self._link, self._object_links(request))

    def _visits(self, site_ids: list[int]) -> dict[int, dict[str, list[CrawlerSummary]]] | None:
        """Return the last visits of crawlers to each section of each site; None where nobody counts them."""
        if not get_settings().CRAWLER_VISITS:
            return None
        by_site: dict[int, dict[str, list[CrawlerSummary]]] = {}
        if not site_ids:
            return by_site
        for (site_id, label), visits in visits_of(site_ids).items():
            by_site.setdefault(site_id, {})[label] = visits
        return by_site

    def _entries(self, request: HttpRequest, section: Section, page: Page) -> found.ShownEntries:
        """Return what the page would list now, some entries at a time."""
        after = request.GET.get("after") or None
        try:
            entries = read_entries(section, page, after=after)
        except InvalidPlace as error:
            return found.ShownEntries([], None, bool(after), str(error))
        except Exception as error:  # code of the project
            logger.warning("Page %s of the sitemap %s cannot be shown", page.number, section.label, exc_info=error)
            return found.ShownEntries([], None, bool(after), f"{type(error).__name__}: {error}")
        return found.shown_entries(entries, section, self._object_links(request), is_later=bool(after))

    def _shown(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        request.current_app = self.admin_site.name
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "can_build": self.has_build_permission(request),
            "can_warm": not is_for_one_process(),
            "state": _state_now(),
            "status_link": self._link("changelist"),
            "build_action": self._link("build"),
            "warm_action": self._link("warm"),
            "progress_link": self._link("progress"),
            "history_link": self._history_link(request),
            **context,
        }
        return TemplateResponse(request, template, context)

    def _page_rows(self, status: SectionStatus, records: list[SitemapPage]) -> list[panels.PageRow]:
        return panels.page_rows(status.section, records, self._link) if status.section else []

    def _require_view(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def _link(self, name: str, *args: Any) -> str:
        return self._reverse(f"{_VIEWS}_{name}", *args)

    def _links(self, request: HttpRequest) -> panels.Link:
        """Return what gives addresses, also of a build in the history, where the user may see that."""
        may_see = self._may_see_history(request)

        def link(name: str, *args: Any) -> str:
            if name == "history":
                return self._reverse("sitemaps_plus_build_change", *args) if may_see else ""
            return self._link(name, *args)

        return link

    def _may_see_history(self, request: HttpRequest) -> bool:
        is_there = self.admin_site.is_registered(Build)
        return is_there and self.admin_site.get_model_admin(Build).has_view_permission(request)

    def _history_link(self, request: HttpRequest) -> str:
        return self._reverse("sitemaps_plus_build_changelist") if self._may_see_history(request) else ""

    def _reverse(self, name: str, *args: Any) -> str:
        return reverse(f"admin:{name}", args=args, current_app=self.admin_site.name)

    def _object_links(self, request: HttpRequest) -> panels.ObjectLink:
        return partial(self._object_link, request)

    def _object_link(self, request: HttpRequest, section: Section | None, key: str) -> str:
        """Return where the row of a key is in this admin; "" where it is not, or the user may not see it."""
        model = _model_of(section)
        if section is None or model is None or not self.admin_site.is_registered(model):
            return ""
        if not self.admin_site.get_model_admin(model).has_view_or_change_permission(request):
            return ""
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        columns = section.key.names if section.paged_by == "key" else (model._meta.pk.attname,)
        if columns == (model._meta.pk.attname,):
            return self._reverse(f"{name}_change", quote(key))
        if len(columns) == 1:
            return f"{self._reverse(f'{name}_changelist')}?{urlencode({columns[0]: key})}"
        return ""


def _find(known: Overview, site_id: int, label: str) -> tuple[SiteOverview, SectionStatus]:
    for site in known.sites:
        for section in site.status.sections:
            if (site.status.site.id, section.label) == (site_id, label):
                return site, section
    raise Http404(f"There is no sitemap section {label!r} of the site {site_id}.")


def _asked_for(request: HttpRequest) -> tuple[SiteOrigin, str]:
    """Return the site and the label, "" for all, of a form."""
    label = request.POST.get("label", "")
    if label and label not in registry:
        raise Http404(f"There is no sitemap section {label!r}.")
    try:
        (site,) = chosen_sites([request.POST.get("site", "")], lambda _error: None)
    except NoOrigin as error:
        raise Http404(str(error)) from error
    return site, label


def _model_of(section: Section | None) -> type[Model] | None:
    try:
        return section.model if section else None
    except Exception:  # code of the project, whose error the page shows elsewhere
        return None


def _started_by(request: HttpRequest) -> str:
    return f"{request.user.get_username()} (admin)"


def _newest(site_id: int) -> int:
    return Build.objects.filter(site=site_id).aggregate(newest=Max("pk"))["newest"] or 0


def _state(running: Iterable[Build]) -> str:
    """Return what differs as soon as a build begins or ends, however short it was."""
    newest = Build.objects.aggregate(newest=Max("pk"))["newest"] or 0
    return f"{newest}:{','.join(str(build.pk) for build in running)}"


def _state_now() -> str:
    try:
        return _state(read_running())
    except (OperationalError, ProgrammingError):
        if not missing_tables():
            raise
        # The page says so.
        return ""


def _log(request: HttpRequest, what: str, text: str) -> None:
    LogEntry.objects.create(
        user_id=request.user.pk or 0,
        content_type_id=get_content_type_for_model(SitemapPage).pk,
        object_repr=what[:200],
        action_flag=CHANGE,
        change_message=text,
    )
