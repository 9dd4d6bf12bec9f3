"""Turn the values of fields into plain values or refuse them: one rule for each kind of field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, timedelta
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.text import clean, number_of


@runtime_checkable
class Expression(Protocol):
    """A value that the database computes for each row: ``F``, ``Case``, ``Concat`` ..."""

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Any:
        """Return the expression bound to a query."""


class LazyText(Protocol):
    """Text that is translated when it is used, as from ``gettext_lazy``."""

    def casefold(self) -> str:
        """Return the text in lower case, as the method of `str` does."""


@runtime_checkable
class Declared(Protocol):
    """A value that holds expressions where it is declared, and is finished once they have values."""

    def expressions(self) -> Mapping[str, Any]:
        """Return the expressions by a name of their own."""

    def builder(self) -> Callable[[Sequence[Any]], Any]:
        """Return the function from the values of the expressions to the finished value."""


Gives: TypeAlias = Literal["value", "values", "path", "text", "texts", "links"]
"""The kind of thing that a declared value builds for one row; a class without the attribute `gives` builds a value.

``value``: an `Image`, `Video`, `News` or `Alternate`; ``values``: several of them. ``path``: a path of this site.
``text``: text in the language now active; ``texts``: a list of texts. ``links``: links to other rows.
"""


def gives_list(value: object) -> bool:
    """Return whether a declared value builds several things for one row."""
    return getattr(value, "gives", None) in ("values", "texts", "links")


class File(Protocol):
    """A file with a URL: the value of a FileField."""

    @property
    def url(self) -> Any:
        """Return the URL."""


Text: TypeAlias = str | LazyText | Expression | None
Url: TypeAlias = str | LazyText | File | Declared | Expression | None
Date: TypeAlias = date | str | Expression | None
Number: TypeAlias = int | float | Decimal | str | Expression | None
YesNo: TypeAlias = bool | str | Expression | None

Rule: TypeAlias = Callable[[str, Any], Any]
"""Called with the name of a field and the given value; returns the value to keep, or None if it is empty."""


# No field needs more digits, and parsing them takes time.
_MOST_DIGITS = 100


def is_late(value: object) -> bool:
    """Return whether `value` becomes text only when it is written, in the language active then."""
    plain = (str, bytes, bytearray, int, float, Decimal, date, timedelta, list, tuple, set, frozenset, dict)
    return value is not None and not isinstance(value, plain)


def is_empty(value: object) -> bool:
    """Return whether `value` is None, an empty text, an empty list or an empty file."""
    if value is None or isinstance(value, (str, tuple, list)):
        return not value
    return is_file(value) and not value


def is_file(value: object) -> bool:
    """Return whether `value` has a URL, as the value of a FileField does."""
    # Looked up on the class: the url of an empty file raises an error.
    return hasattr(type(value), "url") or "url" in getattr(value, "__dict__", ())


def text(where: str, value: Any) -> Any:
    """Keep text that is not blank; check lazy text when it is written."""
    if is_late(value):
        return value
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise InvalidEntry("E-FIELD-TYPE", f"{where} is {shown(value)} ({type(value).__name__}); give text.")
    value = str.__str__(value)
    return value if clean(value).strip() else None


def short_text(most: int, code: str) -> Rule:
    """Return the rule for text with at most `most` characters."""

    def rule(where: str, value: Any) -> Any:
        kept = text(where, value)
        if isinstance(kept, str) and len(kept) > most and len(clean(kept)) > most:
            raise InvalidEntry(code, f"{where} has {len(clean(kept)):,} characters, more than {most:,}; shorten it.")
        return kept

    return rule


def url(where: str, value: Any) -> Any:
    """Keep a URL, or the URL of a file; it is encoded when it is written."""
    if value is None or isinstance(value, str):
        return None if value is None else text(where, value)
    # A model instance may have an attribute of this name, too.
    if is_file(value) and not hasattr(value, "_meta"):
        return url(where, value.url) if value else None
    # Among objects that are not text, only lazy text has this method.
    if hasattr(value, "casefold"):
        return value
    message = f"{where} is {shown(value)} ({type(value).__name__}); give a URL as text, a file of the row, or UrlFor"
    raise InvalidEntry("E-FIELD-TYPE", f"{message}{', or call it: it is a method' if callable(value) else ''}.")


def moment(where: str, value: Any) -> Any:
    """Keep a date, a datetime or the text of a W3C date; a naive datetime gets a time zone when it is written."""
    if value == "":
        return None
    try:
        is_date = format_date(value, tz=UTC) is not None
    except InvalidEntry as error:
        raise error.within(where, shown(value)) from error
    if not is_date:
        raise InvalidEntry("E-DATE", f"{where} is {shown(value)}; give the day, too, as in 2026-10-01.")
    return value


def yes_no(where: str, value: Any) -> bool | None:
    """Keep a `bool`; convert 1 and 0, which databases give, and ``yes`` and ``no``."""
    if value == "":
        return None
    word = value.strip().lower() if isinstance(value, str) else value
    if word in ("yes", "no"):
        return bool(word == "yes")
    if word in (True, False):
        return bool(word)
    raise InvalidEntry("E-YES-NO", f"{where} is {shown(value)}; give True or False.")


def whole(low: int, high: int | None, code: str) -> Rule:
    """Return the rule for whole numbers from `low` to `high`; a timedelta is rounded to seconds."""

    def rule(where: str, value: Any) -> int | None:
        if value == "":
            return None
        number = Decimal(round(value.total_seconds())) if isinstance(value, timedelta) else _decimal(value)
        if number is None or number != number.to_integral_value() or number < low or (high and number > high):
            span = f"from {low:,} to {high:,}" if high else f"of at least {low}"
            raise InvalidEntry(code, f"{where} is {shown(value)}; give a whole number {span}.")
        return int(number)

    return rule


def decimal(low: int, high: int | None, code: str) -> Rule:
    """Return the rule for decimal numbers from `low` to `high`, which are kept as text without exponent."""

    def rule(where: str, value: Any) -> str | None:
        if value == "":
            return None
        number = _decimal(value)
        if number is None or number < low or (high and number > high):
            span = f"from {low} to {high}" if high else f"of at least {low}"
            raise InvalidEntry(code, f"{where} is {shown(value)}; give a number {span}, such as 4.5 or '4.5'.")
        return f"{number if number else number.copy_abs():f}"

    return rule


def one_of(words: Iterable[str], code: str) -> Rule:
    """Return the rule for one of `words` in any case; keeps the word as it is spelled in `words`."""
    known = {word.lower(): word for word in words}

    def rule(where: str, value: Any) -> Any:
        kept = text(where, value)
        if kept is None or is_late(kept):
            return kept
        if kept.strip().lower() not in known:
            raise InvalidEntry(code, f"{where} is {shown(value)}; give one of {', '.join(known.values())}.")
        return known[kept.strip().lower()]

    return rule


def several(rule: Rule, *, split: str | None = None, most: int | None = None, code: str = "E-FIELD-TYPE") -> Rule:
    """Return the rule for a list of values for `rule`; keeps a tuple without the empty ones.

    With `split`, a regular expression, the value may also be one text, and duplicates are removed. With `most`,
    refuse a longer list.
    """

    def many(where: str, value: Any) -> Any:
        if split is not None and hasattr(value, "casefold"):
            if is_late(value):
                return value
            value = re.split(split, value.strip())
        # Lazy text is iterable, too: letter by letter.
        if hasattr(value, "casefold") or isinstance(value, (bytes, dict)) or not isinstance(value, Iterable):
            raise InvalidEntry("E-FIELD-TYPE", f"{where} is {shown(value)}; give a list.")
        if isinstance(value, (set, frozenset)):
            # A stable order keeps the page's ETag stable.
            value = sorted(value, key=str)
        kept = tuple(one for part in value if part is not None and (one := rule(where, part)) is not None)
        if split is not None and not any(map(is_late, kept)):
            kept = tuple(dict.fromkeys(kept))
        if most is not None and len(kept) > most:
            raise InvalidEntry(code, f"{where} has {len(kept):,} parts, more than {most}; leave some out.")
        return kept or None

    return many


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, str):
        value = value.strip() if len(value) < _MOST_DIGITS else None
    number = number_of(value)
    is_usable = number is not None and number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS
    return number if is_usable else None
