"""Delete the records of retired pages, of which the highest number is enough to tell that a number is retired."""

from __future__ import annotations

from django.db.models import Max
from django.utils import timezone

from sitemaps_plus.plan.holds import is_held
from sitemaps_plus.plan.pages import numbered
from sitemaps_plus.plan.sections import Section

_AT_ONCE = 500


def forget_retired(section: Section, using: str | None) -> None:
    """Delete the records of retired pages that are no longer held, in the database `using`.

    A number up to the highest one that is not a page is retired. Number 1 stays because it is the lock. Pages by
    position come back under their numbers.
    """
    if section.paged_by == "position":
        return
    known = numbered(section, using)
    retired = list(known.exclude(retired_at=None).only("number", "shown_until"))
    highest = known.aggregate(highest=Max("number"))["highest"] if retired else None
    now = timezone.now()
    over = [one.pk for one in retired if one.number not in (1, highest) and not is_held(one, now)]
    for at in range(0, len(over), _AT_ONCE):
        known.filter(pk__in=over[at : at + _AT_ONCE]).exclude(retired_at=None).delete()
