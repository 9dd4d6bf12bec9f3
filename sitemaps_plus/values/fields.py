"""Turn what a project gives for one field into the plain value that is written: one rule for each kind of field."""

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
    """Text that is made when it is used, in the language of that moment: what ``gettext_lazy`` gives."""

    def casefold(self) -> str:
        """Return the text without its case, as `str` has it."""


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
    """What knows its address: the value of a FileField."""

    @property
    def url(self) -> Any:
        """Return the address."""


Text: TypeAlias = str | LazyText | Expression | None
Url: TypeAlias = str | LazyText | File | Declared | Expression | None
Date: TypeAlias = date | str | Expression | None
Number: TypeAlias = int | float | Decimal | str | Expression | None
YesNo: TypeAlias = bool | str | Expression | None

Rule: TypeAlias = Callable[[str, Any], Any]
"""Called with the name of a field and what was given for it; returns what is kept, None for nothing."""


# No field takes numbers of more digits; reading them costs time.
_MOST_DIGITS = 100


def is_late(value: object) -> bool:
    """Return whether `value` becomes text only when it is written, in the language of that moment."""
    plain = (str, bytes, bytearray, int, float, Decimal, date, timedelta, list, tuple, set, frozenset, dict)
    return value is not None and not isinstance(value, plain)


def is_empty(value: object) -> bool:
    """Return whether `value` stands for nothing: None, no text, no file, an empty list."""
    if value is None or isinstance(value, (str, tuple, list)):
        return not value
    return is_file(value) and not value


def is_file(value: object) -> bool:
    """Return whether `value` has an address of its own, as that of a FileField has."""
    # Asking an empty file itself raises.
    return hasattr(type(value), "url") or "url" in getattr(value, "__dict__", ())


def text(where: str, value: Any) -> Any:
    """Keep text that is not blank; what becomes text later is checked then."""
    if is_late(value):
        return value
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise InvalidEntry("E-FIELD-TYPE", f"{where} is {shown(value)} ({type(value).__name__}); give text.")
    value = str.__str__(value)
    return value if clean(value).strip() else None


def short_text(most: int, code: str) -> Rule:
    """Return the rule for text of at most `most` characters."""

    def rule(where: str, value: Any) -> Any:
        kept = text(where, value)
        if isinstance(kept, str) and len(kept) > most and len(clean(kept)) > most:
            raise InvalidEntry(code, f"{where} has {len(clean(kept)):,} characters, more than {most:,}; shorten it.")
        return kept

    return rule


def url(where: str, value: Any) -> Any:
    """Keep an address, or that of a file; it is encoded when it is written."""
    if value is None or isinstance(value, str):
        return None if value is None else text(where, value)
    # An object of a model may have an attribute of that name too.
    if is_file(value) and not hasattr(value, "_meta"):
        return url(where, value.url) if value else None
    # Of what is no text only a lazy one has this.
    if hasattr(value, "casefold"):
        return value
    said = f"{where} is {shown(value)} ({type(value).__name__}); give an address as text, a file of the row, or UrlFor"
    raise InvalidEntry("E-FIELD-TYPE", f"{said}{' - or call it, as it is a method' if callable(value) else ''}.")


def moment(where: str, value: Any) -> Any:
    """Keep a date, a datetime or the text of a W3C date; a naive datetime gets its zone when it is written."""
    if value == "":
        return None
    try:
        is_date = format_date(value, tz=UTC) is not None
    except InvalidEntry as error:
        raise error.within(where, shown(value)) from error
    if not is_date:
        raise InvalidEntry("E-DATE", f"{where} is {shown(value)}; give the day too, as in 2026-10-01.")
    return value


def yes_no(where: str, value: Any) -> bool | None:
    """Keep a `bool`; 1 and 0 (databases), ``yes`` and ``no`` stand for one."""
    if value == "":
        return None
    word = value.strip().lower() if isinstance(value, str) else value
    if word in ("yes", "no"):
        return bool(word == "yes")
    if word in (True, False):
        return bool(word)
    raise InvalidEntry("E-YES-NO", f"{where} is {shown(value)}; give True or False.")


def whole(low: int, high: int | None, code: str) -> Rule:
    """Return the rule for whole numbers from `low` to `high`; a timedelta counts in seconds, rounded."""

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
    """Return the rule for decimal numbers from `low` to `high`, kept as text without exponent."""

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
    """Return the rule for one of some words, in the case in which they are given here."""
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
    """Return the rule for a list of what `rule` takes, kept as a tuple without what is empty.

    With `split`, a regular expression, it may be one text, and nothing is named twice; with `most` it is no longer
    than that.
    """

    def many(where: str, value: Any) -> Any:
        if split is not None and hasattr(value, "casefold"):
            if is_late(value):
                return value
            value = re.split(split, value.strip())
        # A lazy text is iterable too, by its letters.
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
