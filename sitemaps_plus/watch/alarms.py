"""Find problems of the sitemaps and their remedies, for people and for monitors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from django.db import OperationalError, ProgrammingError
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import MissingTables, NoOrigin
from sitemaps_plus.models import Build, explained
from sitemaps_plus.plan.sites import SiteOrigin, chosen_sites
from sitemaps_plus.plan.validators import moment
from sitemaps_plus.watch.status import SectionStatus, SiteStatus, read_statuses

LATE = timedelta(days=2)
"""How long a built page may be stale before it is a problem."""


LONG = 1.0
"""Seconds of rendering only to compare pages from which on a section gets a notice."""

LEVELS = ("error", "warning", "notice")
"""The levels of alarms, the worst first."""


class Alarm(NamedTuple):
    """A problem that a person should solve, or a notice: a fact that may be intended."""

    level: Literal["error", "warning", "notice"]
    label: str
    """The section; "" for the whole site."""
    text: str
    """The problem, in the active language."""
    remedy: str
    """What to do about it."""


@dataclass(slots=True, kw_only=True)
class SiteOverview:
    """One site and its alarms, the worst first."""

    status: SiteStatus
    alarms: list[Alarm]

    def as_json(self) -> dict[str, Any]:
        """Return the site for a monitor."""
        status = self.status
        return {
            "site": status.site.domain,
            "healthy": _is_healthy(self.alarms),
            "urls": status.urls,
            "building": status.running is not None,
            "silent_for": status.silence or None,
            "last_build": _build_as_json(status.last_ended),
            "alarms": [alarm._asdict() for alarm in self.alarms],
            "sections": [
                {
                    "label": one.label,
                    "state": one.currency,
                    "undecided": sorted(one.undecided),
                    "unseen": {str(number): count for number, count in one.unseen.items()},
                    "stale_since": _iso(one.stale_since),
                    "urls": one.urls,
                    "pages": one.pages,
                    "left_out": one.left_out,
                    "changed_at": _iso(one.newest),
                    "built_at": _iso(one.built_at),
                }
                for one in status.sections
            ],
        }


@dataclass(slots=True, kw_only=True)
class Overview:
    """All sites and their alarms."""

    sites: list[SiteOverview] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    """Problems that are not about one site."""

    @property
    def is_healthy(self) -> bool:
        """Whether there is no error; warnings and notices do not count."""
        return _is_healthy(self.alarms) and all(_is_healthy(site.alarms) for site in self.sites)

    def as_json(self) -> dict[str, Any]:
        """Return all sites for a monitor; `docs/reference/commands.md` explains the keys."""
        return {
            "healthy": self.is_healthy,
            "alarms": [alarm._asdict() for alarm in self.alarms],
            "sites": [site.as_json() for site in self.sites],
        }


def overview(names: Sequence[str] = ()) -> Overview:
    """Return the state and the alarms of all sites, or of those with these ids or domains, in the active language.

    Raises NoOrigin for a name that no site has.
    """
    try:
        return _overview(names)
    except (OperationalError, ProgrammingError) as error:
        found = explained(error)
        if not isinstance(found, MissingTables):
            raise
        return Overview(alarms=[Alarm("error", "", found.text, found.remedy)])


def unseen_alarm(label: str, told_by: str, unseen: Mapping[int, int]) -> Alarm:
    """Return what to say of URLs that changed although the database told of no change: how many, by page."""
    # At least one, where the last version is not there to be compared with.
    count = sum(max(1, number) for number in unseen.values())
    pages = ngettext("page %(pages)s", "pages %(pages)s", len(unseen)) % {"pages": ", ".join(map(str, sorted(unseen)))}
    text = ngettext(
        "%(count)d URL changed without %(column)s: %(pages)s.",
        "%(count)d URLs changed without %(column)s: %(pages)s.",
        count,
    ) % {"count": count, "column": told_by, "pages": pages}
    remedy = _(
        "The sitemap is up to date. Rows were changed by update() or SQL that left the date as it was, a related row "
        "changed, or code or a template did. To see such changes sooner, let `changed` name a date, or an expression, "
        "that moves with them."
    )
    return Alarm("notice", label, text, remedy)


def silent_alarm(build: Build, seconds: int) -> Alarm:
    """Return what to say of a build that has given no sign of life for so many seconds."""
    text = _("No sign of life for %(count)d seconds of the build that began on %(when)s: %(holder)s.")
    text %= {"count": seconds, "holder": build.holder, "when": _localized(build.started_at)}
    remedy = _("There is nothing to do: if it died, the next build takes over, from %(when)s on.")
    # Shown without seconds, so rounded up.
    return Alarm("notice", "", text, remedy % {"when": _localized(build.expires_at + timedelta(minutes=1))})


def _overview(names: Sequence[str]) -> Overview:
    errors: list[NoOrigin] = []
    try:
        sites: list[SiteOrigin] = chosen_sites(names, errors.append)
    except NoOrigin as error:
        if names:
            raise
        sites, errors = [], [error]
    found = Overview(
        sites=[SiteOverview(status=one, alarms=_sorted(_site_alarms(one))) for one in read_statuses(sites)]
    )
    found.alarms = [Alarm("error", "", str(error), _("Correct the site or the setting ORIGIN.")) for error in errors]
    if not registry:
        text = _("No Sitemap class is registered.")
        remedy = _(
            "Register one in the sitemaps.py of an app in INSTALLED_APPS. Classes in the URLconf, as in "
            "django.contrib.sitemaps, work without it, but are not watched."
        )
        found.alarms.append(Alarm("notice", "", text, remedy))
    return found


def _site_alarms(status: SiteStatus) -> Iterator[Alarm]:
    if status.storage_error:
        yield Alarm(
            "error",
            "",
            _("The storage of the built files cannot be read: %(error)s") % {"error": status.storage_error},
            _("Check STORAGES and the permissions of the files. Until then, the views render the pages."),
        )
    yield from _build_alarms(status)
    yield from _file_alarms(status)
    for label, urls in status.unregistered.items():
        text = ngettext(
            "%(label)s is no longer registered, but %(count)d of its URLs is still published.",
            "%(label)s is no longer registered, but %(count)d of its URLs are still published.",
            urls,
        ) % {"label": label, "count": urls}
        remedy = _(
            "Register it again. If its removal is intended, build again; if the build refuses, add --allow-shrink."
        )
        yield Alarm("warning", label, text, remedy)
    for section in status.sections:
        yield from _section_alarms(status, section)


def _build_alarms(status: SiteStatus) -> Iterator[Alarm]:
    if status.died:
        yield Alarm(
            "error",
            "",
            _("A build that started on %(when)s died: %(holder)s.")
            % {"holder": status.died.holder, "when": _localized(status.died.started_at)},
            _("Build again; the next build completes it. If this happens often, check the memory of the machine."),
        )
    if status.running and status.silence:
        yield silent_alarm(status.running, status.silence)
    last = status.last_ended
    for error in last.errors if last else ():
        text = _("The last build failed: %(error)s") % {"error": error}
        yield Alarm("error", "", text, _("Correct this and build again. The last good files stay published."))


def _file_alarms(status: SiteStatus) -> Iterator[Alarm]:
    if status.is_manifest_lost:
        text = _("The manifest of the built files is missing or cannot be read.")
        yield Alarm("error", "", text, _("Build again. The build renders all pages and compares them with the files."))
    if status.is_database_lost:
        text = _("Files are published that the database knows nothing of.")
        yield Alarm("error", "", text, _("Build again. The build renders all pages and compares them with the files."))
    if status.missing_indexes:
        text = _("Indexes are missing: %(files)s") % {"files": ", ".join(status.missing_indexes)}
        yield Alarm("error", "", text, _("Build again to restore them."))


def _section_alarms(site: SiteStatus, status: SectionStatus) -> Iterator[Alarm]:
    if status.error:
        remedy = _("Correct the Sitemap class. Until then, this section cannot be rendered.")
        yield Alarm("error", status.label, status.error, remedy)
    yield from _outcome_alarms(status)
    if status.missing_files:
        text = ngettext(
            "The file of %(count)d published page is missing.",
            "The files of %(count)d published pages are missing.",
            status.missing_files,
        ) % {"count": status.missing_files}
        yield Alarm("error", status.label, text, _("Build this section to restore the files."))
    yield from _row_alarms(status)
    yield from _currency_alarms(site, status)
    if status.unseen:
        yield unseen_alarm(status.label, status.told_by, status.unseen)
    if status.comparing > LONG and status.max_age is None:
        yield _comparing_alarm(status)


def _comparing_alarm(status: SectionStatus) -> Alarm:
    count = len(status.undecided)
    text = ngettext(
        "Only rendering tells whether %(count)d page changed, which takes %(seconds)s s each time.",
        "Only rendering tells whether %(count)d pages changed, which takes %(seconds)s s each time.",
        count,
    ) % {"count": count, "seconds": formats.number_format(round(status.comparing, 1), 1)}
    remedy = _(
        "Set `changed` to a DateTimeField that moves with every change of a row. If there is none, max_age says for "
        "how many seconds a page may be old."
    )
    return Alarm("notice", status.label, text, remedy)


def _outcome_alarms(status: SectionStatus) -> Iterator[Alarm]:
    """Yield alarms of the last build of a section, or of rows that are lost since."""
    outcome = status.outcome
    if objection := outcome.get("objection"):
        yield Alarm("error", status.label, objection["problem"], objection["advice"])
    elif outcome.get("error"):
        text = _("The last build of this section failed: %(error)s") % {"error": outcome["error"]}
        remedy = _("Correct this and build again. The section keeps its last good files.")
        yield Alarm("error", status.label, text, remedy)
    elif status.published_urls and status.is_counted and not status.urls and not status.error:
        text = ngettext(
            "The section has no URLs any more; %(count)d URL is still published.",
            "The section has no URLs any more; %(count)d URLs are still published.",
            status.published_urls,
        ) % {"count": status.published_urls}
        remedy = _("Check its queryset. If this is intended, build the section with --allow-shrink.")
        yield Alarm("error", status.label, text, remedy)


def _row_alarms(status: SectionStatus) -> Iterator[Alarm]:
    if status.left_out:
        text = ngettext("%(count)d row is left out.", "%(count)d rows are left out.", status.left_out)
        text %= {"count": status.left_out}
        first = status.first_left_out
        if first:
            reason = _("Row %(key)s, %(hook)s: %(reason)s") % first._asdict()
            text += " " + (_("The first: %(first)s") % {"first": reason} if status.left_out > 1 else reason)
        remedy = _("Correct the rows, which the status page lists, or exclude them from the queryset.")
        if first and not first.code.startswith("E-"):
            remedy = _("Correct the code of the class or the model, which raised this.")
        yield Alarm("warning", status.label, text, remedy)


def _currency_alarms(site: SiteStatus, status: SectionStatus) -> Iterator[Alarm]:
    is_late = status.stale_since and moment(timezone.now()) - moment(status.stale_since) > LATE
    if status.currency == "stale" and is_late and not site.running:
        text = _("The section changed on %(when)s and has not been built since.")
        text %= {"when": _localized(status.stale_since)}
        yield Alarm("warning", status.label, text, _("Check that cron or a timer still runs build_sitemaps."))
    is_new = status.currency == "never built" and not status.outcome
    if is_new and any(section.built_at for section in site.sections):
        text = _("This section was never built.")
        yield Alarm("warning", status.label, text, _("Build it. Until then, the built index does not list it."))


def _sorted(alarms: Iterator[Alarm]) -> list[Alarm]:
    # Sections keep their order.
    return sorted(alarms, key=lambda alarm: LEVELS.index(alarm.level))


def _is_healthy(alarms: list[Alarm]) -> bool:
    return not any(alarm.level == "error" for alarm in alarms)


def _build_as_json(build: Build | None) -> dict[str, Any] | None:
    if build is None:
        return None
    return {
        "result": build.result,
        "started_by": build.started_by,
        "started_at": _iso(build.started_at),
        "ended_at": _iso(build.ended_at),
        "urls": build.urls,
        "errors": build.errors,
    }


def _iso(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def _localized(value: datetime | None) -> str:
    if value is None:
        return ""
    return formats.localize(timezone.localtime(value) if timezone.is_aware(value) else value)
