"""The status page in Django's admin: the state of the sitemaps, problems with remedies, and buttons for builds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import OperationalError, ProgrammingError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from sitemaps_plus.admin import build_charts, found, panels, starting
from sitemaps_plus.admin.builds import ReadOnlyAdmin, explaining
from sitemaps_plus.admin.links import VIEWS, AdminUrls, built_file, live_url
from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import BuildNotStarted, InvalidPlace, NoOrigin
from sitemaps_plus.models import Build, SitemapPage, explained
from sitemaps_plus.plan.pages import Page, active, make_plan, stored_plan
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.plan.sites import SiteOrigin, chosen_sites
from sitemaps_plus.protocol.names import page_file
from sitemaps_plus.protocol.reports import Problem
from sitemaps_plus.stores.cache import is_for_one_process
from sitemaps_plus.watch.alarms import Overview, SiteOverview, overview, silent_alarm
from sitemaps_plus.watch.entries import read_entries
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.readable import readable
from sitemaps_plus.watch.status import SectionStatus, read_running, silence_of
from sitemaps_plus.watch.visits import Visits, visits_of

logger = logging.getLogger("sitemaps_plus")

PAGES_SHOWN = 100
"""Pages of a section in one part of its table."""


class StatusAdmin(ReadOnlyAdmin):
    """The status page, in place of the list of `SitemapPage` rows, with the views of sections and pages."""

    status_template = "sitemaps_plus/admin/status.html"
    section_template = "sitemaps_plus/admin/section.html"
    page_template = "sitemaps_plus/admin/page.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the URL patterns of the status page, of sections and pages, and of the actions."""
        routes: tuple[tuple[str, Callable[..., HttpResponse], str], ...] = (
            ("", self.changelist_view, "changelist"),
            ("progress/", self.progress_view, "progress"),
            ("build/", self.build_view, "build"),
            ("warm/", self.warm_view, "warm"),
            ("<int:site_id>/<slug:label>/", self.section_view, "section"),
            ("<int:site_id>/<slug:label>/<int:number>/", self.page_view, "page"),
        )
        return [
            path(route, self.admin_site.admin_view(explaining(view, self.admin_site)), name=f"{VIEWS}_{name}")
            for route, view, name in routes
        ]

    def has_build_permission(self, request: HttpRequest) -> bool:
        """Return whether the user sees the buttons and may use them."""
        return self.has_view_permission(request) and request.user.has_perm("sitemaps_plus.build_sitemappage")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show all sites: problems first."""
        self._require_view(request)
        known, urls = overview(), self._urls(request)
        sites = [one.status.site for one in known.sites]
        counts_visits = get_settings().CRAWLER_VISITS
        shown = self._site_panels(request, known, visits_of(site.id for site in sites) if counts_visits else {})
        context = {
            "title": _("Sitemap status"),
            **_alarms(panels.shown_alarms(known, urls.make_url)),
            "panels": shown,
            "shows_visits": counts_visits,
            "is_live": any(panel.running or panel.is_starting for panel in shown),
            **_search(request, sites, urls),
            **(extra_context or {}),
        }
        return self._respond(request, self.status_template, context)

    def section_view(self, request: HttpRequest, site_id: int, label: str) -> HttpResponse:
        """Show the pages of one section."""
        self._require_view(request)
        known, urls = overview(), self._urls(request)
        site, status = _find(known, site_id, label)
        (panel,) = self._site_panels(request, known, {}, only=site)
        pages = stored_plan(status.section).listed if status.section and not status.error else []
        shown = Paginator(pages, PAGES_SHOWN).get_page(request.GET.get("p"))
        context = {
            "title": _("%(section)s of %(site)s") % {"section": label, "site": panel.domain},
            **_alarms(panels.section_alarms(site, label)),
            "panel": panel,
            "row": next(row for row in panel.rows if row.status.label == label),
            "limits": panels.limits_of(status.section) if status.section else (),
            "pages": _page_rows(status, [page.record for page in shown], urls),
            "shown": shown,
            "left_out": panels.left_out_rows(status.problems, status.section, urls.object_url),
            "charts": build_charts.section_charts(site.status.builds, label),
            "live_url": live_url(request, site.status.site, "section", label),
            "is_live": bool(panel.running or panel.is_starting),
        }
        return self._respond(request, self.section_template, context)

    def page_view(self, request: HttpRequest, site_id: int, label: str, number: int) -> HttpResponse:
        """Show one page: its facts, its URLs and file, and its entries."""
        self._require_view(request)
        urls = self._urls(request)
        _site, status = _find(overview(), site_id, label)
        if status.section is None:
            raise Http404(status.error)
        section, page = status.section, _find_page(status.section, number)
        record = page.record
        problems = [(number, Problem.from_list(label, values)) for values in record.problems]
        context = {
            "title": _("Page %(number)s of %(section)s") % {"number": number, "section": label},
            "site": section.site,
            "label": label,
            "row": _page_rows(status, [record], urls)[0],
            "left_out": panels.left_out_rows(problems, section, urls.object_url),
            "live_url": live_url(request, section.site, "page", label, number, "xml"),
            "public_url": f"{section.public_base}{page_file(label, number, 'xml')}",
            "file": built_file(section, number) if record.built_digest else "",
            "section_url": urls.make_url("section", site_id, label),
            **_entries(request, section, page, urls),
        }
        return self._respond(request, self.page_template, context)

    def progress_view(self, request: HttpRequest) -> HttpResponse:
        """Return the progress of builds as JSON; ``state`` changes whenever the page would."""
        self._require_view(request)
        running = read_running()
        builds = [{"site": build.site, "build": build.pk, **panels.progress_of(build)._asdict()} for build in running]
        return JsonResponse({"state": _state(running), "builds": builds})

    @method_decorator(require_POST)
    def build_view(self, request: HttpRequest) -> HttpResponse:
        """Start a build of one section or of all; ``full`` renders every page."""
        if request.POST.get("full"):
            return self._start(request, _("A build of every page of %(what)s was started."), full=True)
        return self._start(request, _("A build of %(what)s was started."))

    @method_decorator(require_POST)
    def warm_view(self, request: HttpRequest) -> HttpResponse:
        """Start a build that also puts the published pages into the cache."""
        if self.has_build_permission(request) and is_for_one_process():
            text = _("The cache cannot be filled: each process has its own. Set CACHE to one that all processes share.")
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect(self._urls(request).make_url("changelist"))
        return self._start(request, _("A build of %(what)s that also fills the cache was started."), warm_cache=True)

    def _start(
        self, request: HttpRequest, message: str, *, full: bool = False, warm_cache: bool = False
    ) -> HttpResponse:
        """Start a build of what the form names, and go back to the page with the form."""
        if not self.has_build_permission(request):
            raise PermissionDenied
        site, label = _wanted(request)
        text, level = self._try_to_start(request, site, label, message, full=full, warm_cache=warm_cache)
        self.message_user(request, text, level)
        make_url = self._urls(request).make_url
        is_from_section = request.POST.get("from") == "section"
        return HttpResponseRedirect(make_url("section", site.id, label) if is_from_section else make_url("changelist"))

    def _try_to_start(
        self, request: HttpRequest, site: SiteOrigin, label: str, message: str, **options: bool
    ) -> tuple[str, int]:
        """Return a message about the start of a build, and its level."""
        running = next((build for build in read_running() if build.site == site.id), None)
        if running and (seconds := silence_of(running)):
            alarm = silent_alarm(running, seconds)
            text = _("No build of %(site)s can start yet.") % {"site": readable(site.domain)}
            return f"{text} {alarm.text} {alarm.remedy}", messages.WARNING
        if running:
            text = _("Another build of %(site)s is running: %(holder)s. Start this one when it has ended.")
            return text % {"site": readable(site.domain), "holder": running.holder}, messages.WARNING
        try:
            starting.start_build(request, site, label, **options)
        except BuildNotStarted as error:
            return str(error), messages.ERROR
        name = domain = readable(site.domain)
        if label:
            name = _("%(section)s of %(site)s") % {"section": label, "site": domain}
        text = message % {"what": name}
        starting.log_build(request, name, text)
        return text, messages.SUCCESS

    def _site_panels(
        self,
        request: HttpRequest,
        known: Overview,
        visits: Visits,
        only: SiteOverview | None = None,
    ) -> list[panels.SitePanel]:
        """Return the panels of all sites, or of one."""
        urls = self._urls(request)
        awaited = starting.starting_sites(request, (site.status for site in known.sites))
        return [
            panels.site_panel(
                site,
                urls.make_url,
                urls.object_url,
                is_starting=site.status.site.id in awaited,
                visits=visits,
            )
            for site in ([only] if only else known.sites)
        ]

    def _respond(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        request.current_app = self.admin_site.name
        make_url = self._urls(request).make_url
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "can_build": self.has_build_permission(request),
            "can_warm": not is_for_one_process(),
            "state": _state_now(),
            "status_url": make_url("changelist"),
            **{f"{name}_url": make_url(name) for name in ("build", "warm", "progress", "history")},
            **context,
        }
        return TemplateResponse(request, template, context)

    def _require_view(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def _urls(self, request: HttpRequest) -> AdminUrls:
        return AdminUrls(self.admin_site, request)


def _alarms(alarms: list[panels.ShownAlarm]) -> dict[str, Any]:
    return {"alarms": alarms, "has_problems": any(alarm.level != "notice" for alarm in alarms)}


def _search(request: HttpRequest, sites: list[SiteOrigin], urls: AdminUrls) -> dict[str, Any]:
    """Return the URL that is searched for, and the result if there is such a URL."""
    url = request.GET.get("find", "")
    if not url.strip():
        return {"find": url}
    finding = find_url(url.strip(), sites=sites)
    return {
        "find": url,
        "finding": finding,
        "matches": found.shown_matches(finding.matches, urls.make_url, urls.object_url),
    }


def _entries(request: HttpRequest, section: Section, page: Page, urls: AdminUrls) -> dict[str, Any]:
    """Return some of the entries that the page would list now, or the error of reading them."""
    after = request.GET.get("after") or None
    context: dict[str, Any] = {"is_later": bool(after)}
    try:
        entries = read_entries(section, page, after=after)
    except InvalidPlace as error:
        return {**context, "entries_error": str(error)}
    except Exception as error:  # the project's code
        logger.warning("Page %s of the sitemap %s cannot be shown", page.number, section.label, exc_info=error)
        return {**context, "entries_error": f"{type(error).__name__}: {error}"}
    return {**context, "entries": found.shown_items(entries.items, section, urls.object_url), "next": entries.next}


def _page_rows(status: SectionStatus, records: list[SitemapPage], urls: AdminUrls) -> list[panels.PageRow]:
    return panels.page_rows(status, status.section, records, urls.make_url) if status.section else []


def _find(known: Overview, site_id: int, label: str) -> tuple[SiteOverview, SectionStatus]:
    for site in known.sites:
        for section in site.status.sections:
            if (site.status.site.id, section.label) == (site_id, label):
                return site, section
    raise Http404(f"The site {site_id} has no sitemap section {label!r}.")


def _find_page(section: Section, number: int) -> Page:
    records = [record for record in active(section) if record.layout]
    # Without such a record there is no reason to make a plan, which runs the project's code.
    if any(record.number == number for record in records):
        for page in make_plan(section, records).pages:
            if page.number == number:
                return page
    raise Http404(f"The sitemap {section.label!r} has no page {number}.")


def _wanted(request: HttpRequest) -> tuple[SiteOrigin, str]:
    """Return the site and the label that a form names; the label is "" for all sections."""
    label = request.POST.get("label", "")
    if label and label not in registry:
        raise Http404(f"There is no sitemap section {label!r}.")
    try:
        (site,) = chosen_sites([request.POST.get("site", "")], lambda _error: None)
    except NoOrigin as error:
        raise Http404(str(error)) from error
    return site, label


def _state(running: Iterable[Build]) -> str:
    """Return a text that changes whenever a build begins, ends or falls silent, however short it was."""
    builds = (f"{build.pk}{'?' if silence_of(build) else ''}" for build in running)
    return f"{starting.newest_build()}:{','.join(builds)}"


def _state_now() -> str:
    try:
        return _state(read_running())
    except (OperationalError, ProgrammingError) as error:
        if explained(error) is error:
            raise
        # The page shows an alarm about the tables.
        return ""
