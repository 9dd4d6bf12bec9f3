"""Turn dates, datetimes and texts into W3C dates that every search engine and schema accepts."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.text import Warn, ignore

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING = timedelta()
_MINUTE = timedelta(minutes=1)
# A build takes less: a date so little later was made while it ran.
_AN_HOUR = timedelta(hours=1)
# XSD 1.0 dateTime ends at 14 hours; it is also the largest offset in use.
_MAX_OFFSET = timedelta(hours=14)
_FIRST_ZONE = timezone(_MAX_OFFSET)
# An earlier year is a default or a mistake: there were no web pages.
_FIRST_YEAR = 1990
_YEAR_OR_MONTH = re.compile(r"[0-9]{4}(?:-(?:0[1-9]|1[0-2]))?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Hours end at 23: Python 3.14 reads 24:00 as midnight, but W3C dates do not allow it.
_DATETIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2})(?:(:[0-9]{2})(?:\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})"
)


def format_date(
    value: object, *, tz: tzinfo, now: datetime | None = None, warn: Warn = ignore, date_only: bool = False
) -> str | None:
    """Return `value` as a W3C date (``2026-10-01`` or ``2026-10-01T12:00:00+02:00``), or None to omit the tag.

    A `date` stays a date. A datetime is written to the second and keeps its offset; a naive one is in `tz`. An offset
    that XML cannot express (parts of a minute, more than 14 hours) becomes UTC. Text must be a W3C date; ``2026`` and
    ``2026-10``, which the schemas reject, give None with ``W-DATE-XSD``. None and ``""`` give None.

    With `now` (aware), a later date gives None with ``W-LASTMOD-FUTURE``; a `date` is later only if it has not begun
    anywhere on earth (UTC+14). A year before 1990 is written, with ``W-DATE-IMPLAUSIBLE``. `date_only` cuts a datetime
    to the date in its own offset (Baidu). Any other value raises `InvalidEntry` ``E-DATE``.
    """
    if isinstance(value, str):
        value = _parse(value, warn)
    if value is None:
        return None
    moment = value if isinstance(value, date) and not isinstance(value, datetime) else as_datetime(value, tz=tz)
    if now is not None and _is_later(moment, now):
        text = f"The date {moment.isoformat()} is in the future; it was left out."
        if not _is_later(moment, now, by=_AN_HOUR):
            text += " If a method returns the current time: it does not say when the row changed. Return that, or None."
        warn("W-LASTMOD-FUTURE", text)
        return None
    if moment.year < _FIRST_YEAR:
        warn("W-DATE-IMPLAUSIBLE", f"The date {moment.isoformat()} is older than the first web page; check it.")
    if date_only or not isinstance(moment, datetime):
        return moment.isoformat()[:10]
    return _writable(moment).isoformat(timespec="seconds")


def as_datetime(value: object, *, tz: tzinfo) -> datetime:
    """Return `value` as an aware datetime: a date is midnight in UTC, a naive datetime is in `tz`.

    Raise `InvalidEntry` ``E-DATE`` for any other value.
    """
    if isinstance(value, datetime):
        return value.replace(tzinfo=tz) if value.utcoffset() is None else value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    message = (
        f"{shown(value)} ({type(value).__name__}) is not a date; give a date, a datetime or the text of a W3C date."
    )
    raise InvalidEntry("E-DATE", message)


def parse_w3c(text: str) -> date:
    """Return the date or datetime of a text that `format_date` returned."""
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def newest(values: Iterable[date | datetime | None], *, tz: tzinfo) -> datetime | None:
    """Return the latest of `values` as an aware datetime (see `as_datetime`), or None if all are None."""
    moments = (as_datetime(value, tz=tz) for value in values if value is not None)
    return max(moments, key=_since_epoch, default=None)


def _since_epoch(moment: datetime) -> timedelta:
    # Python compares two datetimes of one tzinfo by wall clock and ignores fold; a difference to UTC does not.
    return moment - _EPOCH


def _is_later(moment: date, now: datetime, by: timedelta = _NOTHING) -> bool:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=_FIRST_ZONE)
    return _since_epoch(moment) - _since_epoch(now) > by


def _writable(moment: datetime) -> datetime:
    """Return `moment` with an offset that XML can express."""
    offset = moment.utcoffset() or timedelta()
    if abs(offset) <= _MAX_OFFSET and not offset % _MINUTE:
        return moment
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        message = f"The date {moment.isoformat()} cannot be written in UTC, and XML cannot express its offset."
        raise InvalidEntry("E-DATE", message) from error


def _parse(text: str, warn: Warn) -> date | None:
    if not text:
        return None
    if _YEAR_OR_MONTH.fullmatch(text):
        warn("W-DATE-XSD", f"The date {shown(text)} was left out: the sitemap schema requires a day.")
        return None
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
        if match := _DATETIME.fullmatch(text):
            return _parse_datetime(match, warn)
    except ValueError as error:
        raise InvalidEntry("E-DATE", f"The date {shown(text)} does not exist ({error}).") from error
    message = f"{shown(text)} is not a W3C date; write 2026-10-01, or 2026-10-01T12:00:00+02:00 with its zone."
    raise InvalidEntry("E-DATE", message)


def _parse_datetime(match: re.Match[str], warn: Warn) -> datetime:
    minutes, seconds, zone = match.groups()
    if seconds is None:
        warn("W-DATE-XSD", f"The date {shown(match[0])} has no seconds, which the schema requires; ':00' was added.")
    return datetime.fromisoformat(f"{minutes}{seconds or ':00'}{zone}")
