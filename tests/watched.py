"""Read the state and the alarms of the only site in tests."""

from sitemaps_plus.watch.alarms import SiteOverview, overview
from sitemaps_plus.watch.status import SectionStatus


def read_site() -> SiteOverview:
    (found,) = overview().sites
    return found


def section(label: str = "products") -> SectionStatus:
    return next(one for one in read_site().status.sections if one.label == label)


def alarms() -> list[tuple[str, str, str]]:
    return [(alarm.level, alarm.label, alarm.text) for alarm in read_site().alarms]
