"""Turn the results of build_sitemaps into lines of text, JSON and a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.files.storage import FileSystemStorage
from django.core.management.base import OutputWrapper
from django.core.management.color import Style

from sitemaps_plus.build.due import Due
from sitemaps_plus.build.results import BuildResult, SectionResult, totals
from sitemaps_plus.plan.currency import UNDECIDED
from sitemaps_plus.protocol.reports import PROBLEMS_PER_SECTION
from sitemaps_plus.stores.files import FileStore
from sitemaps_plus.watch.alarms import Alarm, Overview, unseen_alarm
from sitemaps_plus.watch.status import SectionStatus, failure_of

_BAR_WIDTH = 24


class ProgressBar:
    """A bar on one line of standard error, for terminals."""

    def __init__(self, stderr: OutputWrapper) -> None:
        self._stderr = stderr

    def __call__(self, text: str, done: int, known: int) -> None:
        """Draw how many of the known pages are done, or only the text if their number is not known."""
        if known:
            bar = "#" * (_BAR_WIDTH * done // known)
            text = f"[{bar:<{_BAR_WIDTH}}] {text} page {done} of {known}"
        self._draw(f"\r\033[K{text}")

    def clear(self) -> None:
        """Remove the bar."""
        self._draw("\r\033[K")

    def _draw(self, text: str) -> None:
        # Not in red, which is the default of standard error.
        self._stderr.write(text, style_func=str, ending="")
        self._stderr.flush()


class WaitNotice:
    """Report once on standard error which build the command waits for, when there is no progress bar."""

    def __init__(self, stderr: OutputWrapper) -> None:
        self._stderr = stderr
        self._reported: set[str] = set()

    def __call__(self, text: str, _done: int, known: int) -> None:
        """Report a text that does not count pages."""
        if not known and text not in self._reported:
            self._reported.add(text)
            self._stderr.write(text, style_func=str)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 page``, ``1,200 pages``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def build_lines(result: BuildResult, style: Style) -> Iterator[str]:
    """Yield the report of a build."""
    for section in result.sections:
        yield _section_line(section, style)
        if section.unseen:
            alarm = unseen_alarm(section.label, section.told_by, section.unseen)
            yield f"    {style.WARNING(alarm.text)} {alarm.remedy}"
        for problem in section.report.problems[:PROBLEMS_PER_SECTION]:
            # The error of a section may name its first row.
            if (line := f"row {problem.key}, {problem.hook}: {problem.reason}") not in (section.error or ""):
                yield f"    {line}"
    for index in result.indexes:
        yield f"Index: {index}"
    if result.locked and not (result.sections or result.indexes):
        return
    found = totals(result.sections)
    yield (
        f"{_urls_on_pages(found['urls'], found['pages'])}: {_rendered(result.sections)}, "
        f"{found['skipped']:,} unchanged, {found['written']:,} written, "
        f"{count(found['bytes'], 'byte')} uncompressed, {result.seconds:.1f} s, "
        f"{count(found['left_out'], 'row')} left out"
    )


def failure_lines(result: BuildResult) -> list[str]:
    """Return what failed and why; an unexpected error with its traceback, which ends with the error."""
    lines = [(f"{section.site} {section.label}: ", section.error) for section in result.sections if section.error]
    lines += [(f"{where}{colon}", error) for where, colon, error in (line.partition(": ") for line in result.errors)]
    return [f"{where}{result.tracebacks.get(error, error)}" for where, error in lines]


def default_storage_lines(store: FileStore) -> Iterator[str]:
    """Yield where the files are and who can read them, for the first build into the default storage."""
    storage = store.storage
    yield f'The files are in {store.where("")}, in the default storage: STORAGES has no "sitemaps".'
    if not isinstance(storage, FileSystemStorage):
        yield "Whoever can read the default storage can read them."
    elif (storage.base_url or "/") != "/":
        yield f"If your web server serves {storage.base_url}, anybody can read them at {storage.url(store.prefix)}."
    yield 'To keep them elsewhere, define STORAGES["sitemaps"], build again, and delete these.'


def build_json(result: BuildResult) -> dict[str, Any]:
    """Return the report of a build for programs."""
    return {
        "complete": result.is_complete,
        "stopped": result.is_stopped,
        "seconds": round(result.seconds, 3),
        "indexes": result.indexes,
        "errors": result.errors,
        "locked": result.locked,
        "sections": [
            {**section.as_json(), "problems": [problem._asdict() for problem in section.report.problems]}
            for section in result.sections
        ],
    }


def due_lines(found: Sequence[Due], *, is_check: bool) -> Iterator[str]:
    """Yield the pages that a build would render or remove, with the reasons, and how many they are.

    With `is_check` only those that are stale, and how many are undecided.
    """
    undecided = sum(due.reason == UNDECIDED.text for due in found)
    found = [due for due in found if due.is_stale] if is_check else found
    for due in found:
        name = f"{due.label} page {due.number}" if due.number else f"{due.label} index".strip()
        yield f"{due.site} {name}: {due.reason}"
    yield count_stale(found) if is_check else f"{_count_due(found)} would be rendered or removed"
    if is_check and undecided:
        yield f"{count(undecided, 'page')} undecided: only a build, which renders them, tells whether they changed"


def count_stale(found: Sequence[Due]) -> str:
    """Return how many pages and indexes are stale, as a sentence without a full stop."""
    return f"{_count_due(found)} {'is' if len(found) == 1 else 'are'} stale"


def _count_due(found: Sequence[Due]) -> str:
    return f"{len(found):,} {'page or index' if len(found) == 1 else 'pages or indexes'}"


def due_json(found: Sequence[Due], *, is_check: bool) -> dict[str, Any]:
    """Return the pages that a build would render or remove, for programs."""
    pages = [due._asdict() for due in found if due.is_stale or not is_check]
    undecided = sum(due.reason == UNDECIDED.text for due in found)
    return {"stale": any(due.is_stale for due in found), "undecided": undecided, "pages": pages}


def status_lines(found: Overview, style: Style) -> Iterator[str]:
    """Yield the state of each section, then all problems with their remedies."""
    for site in found.sites:
        if site.status.running and not site.status.silence:
            yield f"{site.status.site.domain}: a build is running: {site.status.running.holder}"
        for section in site.status.sections:
            yield _status_line(site.status.site.domain, section)
    for domain, alarm in _alarms(found):
        paint = {"error": style.ERROR, "warning": style.WARNING}.get(alarm.level, style.NOTICE)
        name = " ".join(filter(None, (domain, alarm.label)))
        yield paint(": ".join(filter(None, (name, alarm.text)))) + f"\n    {alarm.remedy}"


def count_errors(found: Overview) -> int:
    """Return the number of errors; warnings and notices do not count."""
    return sum(alarm.level == "error" for _, alarm in _alarms(found))


def _section_line(section: SectionResult, style: Style) -> str:
    counts = _urls_on_pages(section.urls, section.pages)
    if failure := failure_of(section.as_json()):
        kept = f"the last good files are published, {counts}" if section.pages else "nothing is published"
        return f"{style.ERROR(f'{section.site} {section.label}: {failure}')}, {kept}"
    counts += f", {_rendered([section])}"
    missing = ", ".join(
        f"{count(number, noun)} {how}"
        for number, noun, how in ((section.left_out, "row", "left out"), (section.report.dropped, "part", "dropped"))
        if number
    )
    return f"{section.site} {section.label}: {counts}" + (f", {style.WARNING(missing)}" if missing else "")


def _urls_on_pages(urls: int, pages: int) -> str:
    return f"{count(urls, 'URL')} on {count(pages, 'page')}"


def _rendered(sections: Sequence[SectionResult]) -> str:
    """Return how many pages were rendered, and apart from them how many only to verify them."""
    verified = sum(section.verified for section in sections)
    rendered = sum(section.rendered for section in sections) - verified
    return f"{rendered:,} rendered" + (f", {verified:,} verified" if verified else "")


def _status_line(site: str, section: SectionStatus) -> str:
    date = f"{section.built_at:%Y-%m-%d %H:%M %Z}" if section.built_at else ""
    counts = _urls_on_pages(section.urls, section.pages)
    if section.is_unpublished:
        kept = f"last good files of {date} are published, {counts}" if section.pages else "nothing is published"
        return f"{site} {section.label}: {section.currency}, {kept}"
    since = f" since {section.stale_since:%Y-%m-%d %H:%M %Z}" if section.stale_since else ""
    counts = f"{'about ' if section.is_estimated else ''}{counts}" if section.is_counted else "not counted yet"
    built = f", built {date}" if date else ""
    return f"{site} {section.label}: {section.currency}{since}, {counts}{built}{_comparing(section)}"


def _comparing(section: SectionStatus) -> str:
    if not section.undecided:
        return ""
    pace = "" if section.max_age is None else f", at most every {section.max_age:g} s (max_age)"
    return f", {count(len(section.undecided), 'page')} undecided: comparing takes {section.comparing:.1f} s{pace}"


def _alarms(found: Overview) -> list[tuple[str, Alarm]]:
    of_sites = [(site.status.site.domain, alarm) for site in found.sites for alarm in site.alarms]
    return [("", alarm) for alarm in found.alarms] + of_sites
