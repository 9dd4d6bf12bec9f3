"""Turn the state of the sites into what the status page shows: words, bars, links and charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sitemaps_plus.admin.build_charts import site_charts
from sitemaps_plus.admin.charts import Chart
from sitemaps_plus.admin.links import MakeUrl, ObjectUrl
from sitemaps_plus.admin.numbers import number
from sitemaps_plus.build.results import BuildProgress
from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.plan.pages import url_count
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.protocol.reports import PROBLEMS_PER_SECTION, Problem
from sitemaps_plus.watch.alarms import LEVELS, Alarm, Overview, SiteOverview, silent_alarm
from sitemaps_plus.watch.readable import readable
from sitemaps_plus.watch.status import Fullest, SectionStatus, failure_of
from sitemaps_plus.watch.visits import CrawlerSummary, Visits


class Bar(NamedTuple):
    """How close a value is to its limit."""

    label: str
    """For people who cannot see the bar."""
    value: int
    limit: int
    shown: str
    """The value, with its unit."""
    text: str
    """The value and the limit."""

    @property
    def share(self) -> str:
        """The value as a share of the limit."""
        return _("%(number)s%%") % {"number": number(100 * self.value / self.limit)}

    @property
    def is_drawn(self) -> bool:
        """Whether half of the limit is reached; before that, a bar tells nothing."""
        return 2 * self.value >= self.limit


class Progress(NamedTuple):
    """How much of a build is done."""

    text: str
    done: int
    known: int
    """0 if it is not known."""


class ShownAlarm(NamedTuple):
    """An alarm with the name and URL of its section or site."""

    level: str
    word: str
    """The level in the active language; "" for a notice."""
    where: str
    url: str
    text: str
    remedy: str


class LeftOut(NamedTuple):
    """A row that is not listed, or not with all of its parts."""

    label: str
    page: int
    key: str
    url: str
    hook: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRow:
    """One section in the table of its site."""

    status: SectionStatus
    problems: list[Alarm]
    """Its alarms without notices."""
    url: str
    build_url: str
    """URL of the last build of the section, in the list of builds."""
    visits: Sequence[CrawlerSummary] = ()
    """The last visit of each crawler."""

    @property
    def urls(self) -> str:
        """The number of URLs; "about" if it is an estimate."""
        if not self.status.is_counted:
            return "-" if self.status.error else _("not counted yet")
        shown = number(self.status.urls)
        return _("about %(count)s") % {"count": shown} if self.status.is_estimated else shown

    @property
    def pages(self) -> str:
        """The number of pages."""
        return number(self.status.pages) if self.status.is_counted else "-"

    @property
    def bytes(self) -> str:
        """The size, with its unit."""
        return filesizeformat(self.status.bytes) if self.status.bytes else "-"

    @property
    def fullest(self) -> Bar | None:
        """The page that is closest to the limit of URLs or of bytes."""
        by_urls, by_bytes = self.status.fullest_by_urls, self.status.fullest_by_bytes
        bars = [_bar(_("URLs"), by_urls, number)] if by_urls else []
        bars += [_bar(_("Size"), by_bytes, filesizeformat)] if by_bytes else []
        return max(bars, key=lambda bar: bar.value / bar.limit, default=None)

    @property
    def level(self) -> str:
        """The worst level of its alarms: ``error``, ``warning`` or ``good``."""
        return min((alarm.level for alarm in self.problems), key=LEVELS.index, default="good")

    @property
    def left_out(self) -> str:
        """The number of rows that are not listed, and of parts that other rows lack."""
        rows, parts = self.status.left_out, self.status.dropped
        if not parts:
            return number(rows)
        shown = ngettext("%(rows)s, and %(parts)s part", "%(rows)s, and %(parts)s parts", parts)
        return shown % {"rows": number(rows), "parts": number(parts)}

    @property
    def currency(self) -> str:
        """Whether the built files are up to date."""
        return {
            "current": _("current"),
            "stale": _("%(count)s stale") % {"count": number(len(self.status.stale))},
            "never built": _("never built"),
            "undecided": _("undecided"),
            "live": _("on request"),
            "empty": _("no URLs"),
            "failed": _("failed"),
            "held back": _("held back"),
        }.get(self.status.currency, _("unknown"))

    @property
    def speed(self) -> str:
        """Whether the database computes the rows, or methods that need an object for each."""
        if self.status.decided_by:
            return _("slow: %(method)s") % {"method": ", ".join(f"{name}()" for name in self.status.decided_by)}
        return _("fast") if self.status.path else "-"

    @property
    def failure(self) -> str:
        """How its last build ended that did not publish it; "" if it was published."""
        return shown_failure(self.status.outcome)

    @property
    def tried_at(self) -> datetime | None:
        """When its last build began."""
        return self.status.build.started_at if self.status.build else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePanel:
    """One site on the status page."""

    overview: SiteOverview
    rows: list[SectionRow]
    left_out: list[LeftOut]
    charts: list[Chart]
    visits: Sequence[CrawlerSummary] = ()
    """The last visit of each crawler to the index of the site."""
    build_url: str = ""
    """URL of the last build, in the list of builds."""
    is_starting: bool = False
    """Whether a build was started that has not begun yet."""

    @property
    def id(self) -> int:
        """Id of the site."""
        return self.overview.status.site.id

    @property
    def domain(self) -> str:
        """Host of the site, for people to read."""
        return readable(self.overview.status.site.domain)

    @property
    def is_built(self) -> bool:
        """Whether a build of the site was ever started."""
        return self.overview.status.is_built

    @property
    def last_build(self) -> Build | None:
        """The newest build that has ended."""
        return self.overview.status.last_ended

    @property
    def has_visits(self) -> bool:
        """Whether a crawler visited one of its sections."""
        return any(row.visits for row in self.rows)

    @property
    def running(self) -> Build | None:
        """The build that is running."""
        return self.overview.status.running

    @property
    def silence(self) -> Alarm | None:
        """What to say of the running build if it gives no sign of life."""
        seconds = self.overview.status.silence
        return silent_alarm(self.running, seconds) if self.running and seconds else None

    @property
    def progress(self) -> Progress | None:
        """The progress of the running build."""
        return progress_of(self.running) if self.running else None

    @property
    def summary(self) -> str:
        """The number of URLs and sections, in one or two sentences."""
        urls, sections = self.overview.status.urls, sum(row.status.is_counted for row in self.rows)
        uncounted = sum(not row.status.is_counted and not row.status.error for row in self.rows)
        sentences = []
        if sections:
            shown = {
                "urls": ngettext("%(count)s URL", "%(count)s URLs", urls) % {"count": number(urls)},
                # Translators: follows "in".
                "sections": ngettext("%(count)s section", "%(count)s sections", sections) % {"count": number(sections)},
            }
            sentences.append(_("%(urls)s in %(sections)s.") % shown)
        if uncounted:
            text = ngettext(
                "%(count)s section is not counted yet: the first request or build counts it.",
                "%(count)s sections are not counted yet: the first request or build counts them.",
                uncounted,
            )
            sentences.append(text % {"count": number(uncounted)})
        return " ".join(sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One page in the table of its section."""

    record: SitemapPage
    url: str
    currency: str
    bars: list[Bar] = field(default_factory=list)


def shown_alarms(known: Overview, make_url: MakeUrl) -> list[ShownAlarm]:
    """Return the alarms of all sites, the worst first."""
    found = [_alarm(alarm, "", "") for alarm in known.alarms]
    for site in known.sites:
        labels = {section.label for section in site.status.sections}
        for alarm in site.alarms:
            url = make_url("section", site.status.site.id, alarm.label) if alarm.label in labels else ""
            domain = readable(site.status.site.domain)
            found.append(_alarm(alarm, f"{domain}: {alarm.label}" if alarm.label else domain, url))
    return sorted(found, key=lambda one: LEVELS.index(one.level))


def section_alarms(site: SiteOverview, label: str) -> list[ShownAlarm]:
    """Return the alarms of one section."""
    return [_alarm(alarm, "", "") for alarm in site.alarms if alarm.label == label]


def site_panel(
    overview: SiteOverview,
    make_url: MakeUrl,
    object_url: ObjectUrl,
    *,
    is_starting: bool,
    visits: Visits,
) -> SitePanel:
    """Return the panel of a site; `visits` may be those of other sites, too."""
    status = overview.status
    rows = [
        SectionRow(
            status=one,
            problems=[alarm for alarm in overview.alarms if alarm.label == one.label and alarm.level != "notice"],
            url=make_url("section", status.site.id, one.label),
            build_url=make_url("history", one.build.pk) if one.build else "",
            visits=visits.get((status.site.id, one.label), ()),
        )
        for one in status.sections
    ]
    return SitePanel(
        overview=overview,
        rows=rows,
        left_out=[
            row
            for one in status.sections
            for row in left_out_rows(one.problems[:PROBLEMS_PER_SECTION], one.section, object_url)
        ],
        charts=site_charts(status.builds, f"site-{status.site.id}"),
        visits=visits.get((status.site.id, ""), ()),
        build_url=make_url("history", status.last_ended.pk) if status.last_ended else "",
        is_starting=is_starting,
    )


def left_out_rows(
    problems: Iterable[tuple[int, Problem]], section: Section | None, object_url: ObjectUrl
) -> list[LeftOut]:
    """Return the rows of a section that are left out, or listed without a part, from page numbers and problems."""
    return [
        LeftOut(one.label, number, one.key, object_url(section, one.key), one.hook, one.reason)
        for number, one in problems
    ]


def page_rows(
    status: SectionStatus, section: Section, records: Iterable[SitemapPage], make_url: MakeUrl
) -> list[PageRow]:
    """Return the rows of the table of pages."""
    rows = []
    unbuilt = _("on request") if status.currency == "live" else _("never built")
    for record in records:
        urls = Fullest(record.number, url_count(section, record), section.urls_limit)
        size = Fullest(record.number, record.bytes or 0, section.profile.max_bytes)
        is_undecided = record.number in status.undecided
        built = _("stale") if record.number in status.stale else _("undecided") if is_undecided else _("current")
        rows.append(
            PageRow(
                record=record,
                url=make_url("page", record.site, record.label, record.number),
                currency=built if record.built_at else unbuilt,
                bars=[_bar(_("URLs"), urls, number), _bar(_("Size"), size, filesizeformat)],
            )
        )
    return rows


def limits_of(section: Section) -> tuple[str, str]:
    """Return the most URLs and the most bytes that a page of a section may have."""
    return number(section.urls_limit), filesizeformat(section.profile.max_bytes)


def shown_failure(outcome: Mapping[str, Any]) -> str:
    """Return how a build ended that did not publish a section, in the active language; "" if it was published."""
    failure = failure_of(outcome)
    return {"failed": _("failed"), "held back": _("held back"), "stopped": _("stopped")}[failure] if failure else ""


def progress_of(build: Build) -> Progress:
    """Return the progress of a build."""
    found = BuildProgress.from_text(build.progress)
    if not found:
        return Progress(build.progress or _("The build has begun."), 0, 0)
    return Progress(build.progress, found.done, found.known)


def _alarm(alarm: Alarm, where: str, url: str) -> ShownAlarm:
    word = {"error": _("Error"), "warning": _("Warning")}.get(alarm.level, "")
    return ShownAlarm(alarm.level, word, where, url, alarm.text, alarm.remedy)


def _bar(label: str, fullest: Fullest, show: Callable[[int], str]) -> Bar:
    label = _("%(what)s of page %(number)s") % {"what": label, "number": fullest.number}
    value, limit = show(fullest.value), show(fullest.limit)
    text = _("%(value)s of %(limit)s") % {"value": value, "limit": limit}
    return Bar(label, fullest.value, fullest.limit, value, text)
