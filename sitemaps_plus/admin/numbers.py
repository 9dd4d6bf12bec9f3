"""Write numbers and durations as the active language does."""

from __future__ import annotations

from django.utils import formats
from django.utils.translation import gettext as _


def number(value: float) -> str:
    """Return a whole number as the active language writes it."""
    return formats.number_format(round(value), force_grouping=True)


def duration(value: float) -> str:
    """Return seconds as text."""
    if value < 120:
        digits = 1 if value < 10 else 0
        # Rounded here, because number_format cuts off the digits that are too many.
        return _("%(count)s s") % {"count": formats.number_format(round(value, digits), digits)}
    if value < 7200:
        return _("%(count)s min") % {"count": number(value / 60)}
    return _("%(count)s h") % {"count": number(value / 3600)}
