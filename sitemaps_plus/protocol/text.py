"""Turn free text, priorities and change frequencies into the text of XML elements."""

import difflib
import html
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from sitemaps_plus.errors import InvalidEntry, shown

Warn = Callable[[str, str], None]
"""Called with the code of a rule and a text when a value was changed or looks wrong."""

CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
"""The seven values of ``<changefreq>`` (sitemaps.org)."""

# XML 1.0, 2.2 Char; a str contains only lone surrogates.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
# A context of our own: the decimal settings of a project must not change the output.
_ROUNDING = Context(prec=28, rounding=ROUND_HALF_UP)
_STEP = Decimal("0.0001")


def ignore(code: str, text: str) -> None:
    """Ignore a warning."""


def escape(text: str) -> str:
    """Return `text` with ``& < > " '`` as entities, exactly as Django's ``escape`` does."""
    return html.escape(text, quote=True)


def clean(text: str, *, warn: Warn = ignore, strict: bool = False) -> str:
    r"""Return `text` without the characters that XML 1.0 does not allow.

    ``\r\n`` and ``\r`` become ``\n``, as in any XML parser. Remove illegal characters (controls, lone surrogates,
    U+FFFE, U+FFFF) with ``W-XML-CHAR``; with `strict`, raise ``E-XML-CHAR``. The result is an exact `str`, because
    Django's templates do not escape a SafeString.
    """
    if found := _ILLEGAL.search(text):
        problem = f"{shown(text)} contains U+{ord(found[0]):04X}, which XML does not allow"
        if strict:
            raise InvalidEntry("E-XML-CHAR", f"{problem}; remove it.")
        warn("W-XML-CHAR", f"{problem}; it was removed.")
        text = _ILLEGAL.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return str.__str__(text)


def format_priority(value: object) -> str:
    """Return the text of a ``<priority>``: ``0.0`` to ``1.0`` with one to four decimals, never an exponent.

    `value` is an `int`, `float`, `Decimal` or plain decimal text. Four decimals are more than search engines
    distinguish, and hide the errors of float arithmetic. Raise `InvalidEntry` ``E-PRIORITY``.
    """
    number = number_of(value)
    if number is None:
        message = f"The priority {shown(value)} is not a number; give a number such as 0.5, or the text '0.5'."
        raise InvalidEntry("E-PRIORITY", message)
    if not (number.is_finite() and 0 <= number <= 1):
        raise InvalidEntry("E-PRIORITY", f"The priority {shown(value)} is not between 0.0 and 1.0.")
    whole, _, decimals = f"{number.quantize(_STEP, context=_ROUNDING).copy_abs():f}".partition(".")
    return f"{whole}.{decimals.rstrip('0') or '0'}"


def number_of(value: object) -> Decimal | None:
    """Return a float, an int, a Decimal or a text without exponent as a Decimal, or None for any other value."""
    if isinstance(value, float):
        # Float arithmetic may exceed a limit by very little: 1.0000000000000002 is meant as 1.
        return Decimal(float.__repr__(round(value, 9)))
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Decimal(value)
    return Decimal(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None


def check_changefreq(value: object) -> str:
    """Return `value` if it is one of `CHANGEFREQS`; else raise `InvalidEntry` ``E-CHANGEFREQ`` and suggest one."""
    if isinstance(value, str) and value in CHANGEFREQS:
        return str.__str__(value)
    guess = value.strip().lower()[:20] if isinstance(value, str) else ""
    close = difflib.get_close_matches(guess, CHANGEFREQS, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"use one of {', '.join(CHANGEFREQS)}."
    raise InvalidEntry("E-CHANGEFREQ", f"{shown(value)} is not a change frequency; {hint}")
