"""Turn the builds of a site or a section into charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from sitemaps_plus.admin.charts import Chart
from sitemaps_plus.admin.numbers import duration, number
from sitemaps_plus.models import Build


def section_charts(builds: Sequence[Build], label: str) -> list[Chart]:
    """Return the charts of a section, over the builds that included it."""
    found = [outcome for build in reversed(builds) if (outcome := _outcome(build, label))]
    series = (
        ("urls", _("URLs"), number, "line"),
        ("bytes", _("Size"), filesizeformat, "line"),
        ("rendered", _("Pages rendered"), number, "bars"),
    )
    return [
        Chart(name=name, title=title, values=[one.get(name) for one in found], show=show, kind=kind)  # type: ignore[arg-type]
        for name, title, show, kind in series
    ]


def site_charts(builds: Sequence[Build], name: str) -> list[Chart]:
    """Return the charts of a site, over the builds of all sections."""
    # A build of some sections has no totals of the site.
    whole = [build for build in reversed(builds) if build.ended_at and not build.labels]
    return [
        Chart(name=f"{name}-urls", title=_("URLs"), values=[build.urls for build in whole], show=number),
        Chart(name=f"{name}-bytes", title=_("Size"), values=[build.bytes for build in whole], show=filesizeformat),
        Chart(
            name=f"{name}-seconds",
            title=_("Build time"),
            values=[seconds_of(build) for build in whole],
            show=duration,
            kind="bars",
        ),
    ]


def seconds_of(build: Build) -> float | None:
    """Return how long a build took; None if it is running or died."""
    if not build.ended_at or build.result == Build.Result.LOST:
        return None
    return max(0.0, (build.ended_at - build.started_at).total_seconds())


def _outcome(build: Build, label: str) -> dict[str, Any] | None:
    return next((one for one in build.sections if one.get("label") == label), None)
