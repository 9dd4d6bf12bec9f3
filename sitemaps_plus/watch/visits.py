"""Sum up which crawlers fetched the sitemaps of a site."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Max, Q, Sum
from django.db.models.functions import Coalesce

from sitemaps_plus.models import CrawlerVisit

SUMMED = 30
"""Days that a summary covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlerSummary:
    """The visits of one crawler to one section."""

    crawler: str
    """Its name as in ``serve.crawlers.CRAWLERS``, or ``other``."""

    last_at: datetime
    """Its last visit within ``VISIT_HISTORY``."""

    count_200: int
    """Documents that it got in the last 30 days, as for the other counts."""

    count_304: int
    """Responses "not modified"."""

    count_other: int
    """Other responses, such as errors."""


Visits = Mapping[tuple[int, str], Sequence[CrawlerSummary]]
"""By site and label, with the latest visitor first; "" is the label of the site's index."""


def visits_of(site_ids: Iterable[int]) -> Visits:
    """Return the visits to some sites.

    Takes one query. Visits that a process has not written yet are not included.
    """
    is_recent = Q(day__gt=datetime.fromtimestamp(time.time(), UTC).date() - timedelta(days=SUMMED))
    names = ("count_200", "count_304", "count_other")
    sums = {f"sum_of_{name}": Coalesce(Sum(name, filter=is_recent), 0) for name in names}
    found: dict[tuple[int, str], list[CrawlerSummary]] = {}
    rows = CrawlerVisit.objects.filter(site__in=list(site_ids)).values_list("site", "label", "crawler")
    summed = rows.annotate(last=Max("last_at"), **sums).order_by("-last", "crawler")
    for site, label, crawler, last_at, *counts in summed:
        summary = CrawlerSummary(crawler=crawler, last_at=last_at, **dict(zip(names, counts, strict=True)))
        found.setdefault((site, label), []).append(summary)
    return found
