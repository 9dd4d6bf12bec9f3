"""The list of builds in Django's admin, read only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.contrib import admin, messages
from django.db import OperationalError, ProgrammingError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sitemaps_plus.admin.build_charts import seconds_of
from sitemaps_plus.admin.numbers import duration, number
from sitemaps_plus.admin.panels import shown_failure
from sitemaps_plus.models import Build, explained
from sitemaps_plus.watch.readable import readable
from sitemaps_plus.watch.status import TIME_LEFT, silence_of


def explaining(view: Callable[..., HttpResponse], admin_site: admin.AdminSite) -> Callable[..., HttpResponse]:
    """Return `view`; where tables are missing, it leads to the index of the admin, which says to run ``migrate``."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except (OperationalError, ProgrammingError) as error:
            found = explained(error)
            if found is error:
                raise
            messages.error(request, str(found))
            return HttpResponseRedirect(reverse("admin:index", current_app=admin_site.name))

    return answer


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # at run time it takes none
    """The admin of rows that nobody adds, changes or deletes by hand."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list."""
        return explaining(super().changelist_view, self.admin_site)(request, extra_context)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False."""
        return False


class BuildAdmin(ReadOnlyAdmin):
    """The list of builds, read only."""

    list_display = (
        *("started_at", "outcome", "left_out", "urls", "rendered", "took"),
        *("started_by", "wanted", "site_name"),
    )
    list_filter = ("result", "site", "started_at")
    ordering = ("-pk",)
    fields = (
        *("site_name", "wanted", "started_by", "holder", "started_at", "ended_at", "took", "outcome", "progress"),
        *("pages", "rendered", "skipped", "written", "urls", "bytes", "left_out", "failures", "each_section"),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Build | None = None) -> tuple[str, ...]:
        """Return every field."""
        return self.fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the builds with the time that their leases hold."""
        found: QuerySet[Any] = super().get_queryset(request).annotate(time_left=TIME_LEFT)
        return found

    @admin.display(description=gettext_lazy("result"), ordering="result")
    def outcome(self, build: Build) -> str:
        """Return the result of the build; of a running one, whether it gives a sign of life."""
        if build.lease and (seconds := silence_of(build)):
            return _("no sign of life for %(count)d seconds") % {"count": seconds}
        return build.get_result_display()

    @admin.display(description=gettext_lazy("site"), ordering="site")
    def site_name(self, build: Build) -> str:
        """Return the host that the build used, or the id of the site."""
        return next((readable(str(one["site"])) for one in build.sections if one.get("site")), str(build.site))

    @admin.display(description=gettext_lazy("requested sections"))
    def wanted(self, build: Build) -> str:
        """Return the labels, or "all"."""
        return ", ".join(map(str, build.labels)) or _("all")

    @admin.display(description=gettext_lazy("duration"))
    def took(self, build: Build) -> str:
        """Return the duration of the build."""
        seconds = seconds_of(build)
        # Never broken into two lines.
        return "" if seconds is None else duration(seconds).replace(" ", "\u00a0")

    @admin.display(description=gettext_lazy("errors"))
    def failures(self, build: Build) -> SafeString:
        """Return the errors outside of the sections, one a line."""
        return format_html_join("", "<p>{}</p>", ((error,) for error in build.errors))

    @admin.display(description=gettext_lazy("sections"))
    def each_section(self, build: Build) -> SafeString:
        """Return the result of each section, one a line."""
        lines = ((one.get("label", ""), _result(one)) for one in build.sections)
        return format_html_join("", "<p><strong>{}</strong>: {}</p>", lines)


def _result(outcome: Mapping[str, Any]) -> str:
    """Return the result of a section in words."""
    names = ("urls", "pages", "rendered", "left_out")
    counts = {name: number(outcome.get(name) or 0) for name in names}
    if failure := shown_failure(outcome):
        text = _("%(failure)s: %(error)s Published: URLs: %(urls)s, pages: %(pages)s, rows left out: %(left_out)s")
        return text % {**counts, "failure": failure, "error": outcome["error"]}
    return _("URLs: %(urls)s, pages: %(pages)s, rendered: %(rendered)s, rows left out: %(left_out)s") % counts
