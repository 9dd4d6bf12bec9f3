"""Turn dates, datetimes and date texts into the W3C dates that every engine and schema accepts."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.text import Warn, ignore

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
# XSD 1.0 dateTime ends at 14 hours; it is also the largest offset in use.
_MAX_OFFSET = timedelta(hours=14)
_FIRST_ZONE = timezone(_MAX_OFFSET)
# Before the first web page: a default or a mistake.
_FIRST_YEAR = 1990
_YEAR_OR_MONTH = re.compile(r"[0-9]{4}(?:-(?:0[1-9]|1[0-2]))?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Hours end at 23: Python 3.14 reads 24:00 as midnight, W3C dates do not know it.
_DATETIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2})(?:(:[0-9]{2})(?:\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})"
)


def format_date(
    value: object, *, tz: tzinfo, now: datetime | None = None, warn: Warn = ignore, date_only: bool = False
) -> str | None:
    """Return `value` as a W3C date (``2026-10-01`` or ``2026-10-01T12:00:00+02:00``), or None to omit the tag.

    A `date` stays a date. A datetime keeps its offset, written to the second; a naive one is in `tz`; an offset that
    XML cannot hold (parts of a minute, beyond 14 hours) becomes UTC. Text must be a W3C date itself; of ``2026`` and
    ``2026-10``, which the schemas reject, comes None and ``W-DATE-XSD``. None and ``""`` give None.

    With `now` (aware) what is later gives None and ``W-LASTMOD-FUTURE``; a `date` counts as later only before it has
    begun anywhere on earth (UTC+14). A year before 1990 is written, with ``W-DATE-IMPLAUSIBLE``. `date_only` cuts a
    datetime to the date that its own offset shows (Baidu). Everything else raises `InvalidEntry` ``E-DATE``.
    """
    if isinstance(value, str):
        value = _parse(value, warn)
    if value is None:
        return None
    moment = value if isinstance(value, date) and not isinstance(value, datetime) else as_datetime(value, tz=tz)
    if now is not None and _is_later(moment, now):
        warn("W-LASTMOD-FUTURE", f"The date {moment.isoformat()} is in the future and was left out.")
        return None
    if moment.year < _FIRST_YEAR:
        warn("W-DATE-IMPLAUSIBLE", f"The date {moment.isoformat()} is before the first web page.")
    if date_only or not isinstance(moment, datetime):
        return moment.isoformat()[:10]
    return _writable(moment).isoformat(timespec="seconds")


def as_datetime(value: object, *, tz: tzinfo) -> datetime:
    """Return the aware datetime that `value` stands for: a date is its midnight in UTC, a naive datetime is in `tz`.

    Anything but a date or datetime raises `InvalidEntry` ``E-DATE``.
    """
    if isinstance(value, datetime):
        return value.replace(tzinfo=tz) if value.utcoffset() is None else value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    said = f"{shown(value)} ({type(value).__name__}) is no date; give a date, a datetime or the text of a W3C date."
    raise InvalidEntry("E-DATE", said)


def parse_w3c(text: str) -> date:
    """Return the date or datetime that `format_date` has written as `text`."""
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def newest(values: Iterable[date | datetime | None], *, tz: tzinfo) -> datetime | None:
    """Return the latest of `values` as an aware datetime (see `as_datetime`), or None if there is none."""
    moments = (as_datetime(value, tz=tz) for value in values if value is not None)
    return max(moments, key=_since_epoch, default=None)


def _since_epoch(moment: datetime) -> timedelta:
    # Two datetimes of one tzinfo are compared by wall clock, without fold; a difference to UTC counts both.
    return moment - _EPOCH


def _is_later(moment: date, now: datetime) -> bool:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=_FIRST_ZONE)
    return _since_epoch(moment) > _since_epoch(now)


def _writable(moment: datetime) -> datetime:
    """Return `moment` under an offset that XML can hold."""
    offset = moment.utcoffset() or timedelta()
    if abs(offset) <= _MAX_OFFSET and not offset % _MINUTE:
        return moment
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        said = f"The date {moment.isoformat()} cannot be written in UTC, and its offset not in XML."
        raise InvalidEntry("E-DATE", said) from error


def _parse(text: str, warn: Warn) -> date | None:
    if not text:
        return None
    if _YEAR_OR_MONTH.fullmatch(text):
        warn("W-DATE-XSD", f"The date {shown(text)} was left out: the sitemap schema wants at least a day.")
        return None
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
        if match := _DATETIME.fullmatch(text):
            return _parse_datetime(match, warn)
    except ValueError as error:
        raise InvalidEntry("E-DATE", f"The date {shown(text)} does not exist ({error}).") from error
    said = f"{shown(text)} is not a W3C date; write 2026-10-01 or, always with its zone, 2026-10-01T12:00:00+02:00."
    raise InvalidEntry("E-DATE", said)


def _parse_datetime(match: re.Match[str], warn: Warn) -> datetime:
    minutes, seconds, zone = match.groups()
    if seconds is None:
        warn("W-DATE-XSD", f"The date {shown(match[0])} has no seconds, which the schema wants; ':00' was added.")
    return datetime.fromisoformat(f"{minutes}{seconds or ':00'}{zone}")
