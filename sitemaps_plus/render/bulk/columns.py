"""Turn a column of values into the column of their texts, as these stand in XML: many values at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

from django.urls.converters import IntConverter, PathConverter, SlugConverter, StringConverter

from sitemaps_plus.declare.hooks import Hook
from sitemaps_plus.declare.url_for import Compiled, Param, quoted
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.protocol.entries import Cleaner, Newest
from sitemaps_plus.protocol.reports import Silence
from sitemaps_plus.protocol.text import escape
from sitemaps_plus.render.bulk.sql import DateText, as_text

UTC_OFFSET = "+00:00"
"""What stands behind every text of a datetime."""

_SHAPE = b"0000-00-00 00:00:00\n"
_ANY_DIGIT = bytes.maketrans(b"123456789", b"000000000")

# Which digits may not stand at which places of a text, all those of one line together. Years before 1990 get a
# warning, and of the full centuries only 2000 is known here for its leap day: Python looks at the others.
_LEAP_DAY = {5: "0", 6: "2", 8: "2", 9: "9"}
_NONE = (
    {0: "0"},
    {0: "1", 1: "012345678"},
    {0: "1", 2: "012345678"},
    {5: "0", 6: "0"},
    {5: "1", 6: "3456789"},
    {5: "23456789"},
    {8: "0", 9: "0"},
    {8: "3", 9: "23456789"},
    {8: "456789"},
    {5: "0", 6: "2", 8: "3"},
    {2: "02468", 3: "1235679", **_LEAP_DAY},
    {2: "13579", 3: "01345789", **_LEAP_DAY},
    {1: "123456789", 2: "0", 3: "0", **_LEAP_DAY},
    {0: "13456789", 2: "0", 3: "0", **_LEAP_DAY},
    {5: "0", 6: "469", 8: "3", 9: "1"},
    {5: "1", 6: "1", 8: "3", 9: "1"},
)
_NONE_IN_TIMES = ({11: "2", 12: "456789"}, {11: "3456789"}, {14: "6789"}, {17: "6789"})

Texts = Sequence[str]
Columns = Sequence[Sequence[Any]]

_DIGITS = b"0123456789"
_IN_SLUG = b"-_" + _DIGITS + b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _marks(plain: bytes) -> bytes:
    """Return the table that turns `plain` characters into dots and the others into marks; lines stay lines."""
    return bytes(10 if code == 10 else 46 if code in plain else 33 for code in range(256))


# Characters that a path has in another form are marked, in a chunk of values, a line each.
_ODD = _marks(_IN_SLUG + b".~")
_ODD_IN_SLUG = _marks(_IN_SLUG)
_ODD_IN_PATH = _marks(_IN_SLUG + b".~/")
_ODD_IN_NUMBER = _marks(_DIGITS)
# By the class itself: a child may have another expression.
_ODD_BY_CONVERTER: dict[type, bytes] = {
    StringConverter: _ODD,
    PathConverter: _ODD,
    SlugConverter: _ODD_IN_SLUG,
    IntConverter: _ODD_IN_NUMBER,
}
_FIRST = datetime(1990, 1, 1, tzinfo=UTC)
_HASHABLE = (str, int, float, Decimal, NoneType)


class Place(NamedTuple):
    """A column of text among the constant texts of a row."""

    name: str


class Failed(NamedTuple):
    """What a hook gave that raised."""

    error: Exception


class _Parameter(NamedTuple):
    """A parameter of an address: which column it is, and what its values have to be."""

    column: int
    param: Param


class Address:
    """The addresses of rows in one language: constant text and parameters, of which only plain ones are made here."""

    def __init__(self, origin: str, compiled: Compiled, indices: Sequence[int], max_length: int) -> None:
        self.head = escape(origin + compiled.head)
        self.params = [_Parameter(index, param) for index, param in zip(indices, compiled.params, strict=True)]
        self.literals = [escape(param.literal) for param in compiled.params]
        self._room = max_length - len(self.head) - sum(map(len, self.literals))

    def columns(self, values: Columns, bad: set[int]) -> list[Texts]:
        """Return the texts of each parameter, as they stand in XML; `bad` gets the rows that have none here."""
        columns = [_texts(param, values[index], bad) for index, param in self.params]
        if sum(max(map(len, texts), default=0) for texts in columns) > self._room:
            sizes = map(sum, zip(*(map(len, texts) for texts in columns), strict=True))
            bad.update(at for at, size in enumerate(sizes) if size > self._room)
        return columns

    def parts(self, names: Sequence[str]) -> list[str | Place]:
        """Return the address as constant text and the columns of `names`."""
        found: list[str | Place] = [self.head]
        for name, literal in zip(names, self.literals, strict=True):
            found += [Place(name), literal]
        return found


class GivenAddress(Address):
    """The addresses of rows in one language, as a hook gives them: paths, of which only plain ones are made here."""

    def __init__(self, column: int, cleaner: Cleaner) -> None:
        self._column = column
        self._origin = str(cleaner.scope.origin)
        self._silence = Silence("")
        self._cleaner = replace(cleaner, report=self._silence)
        self.head = escape(self._origin)
        self.params = []
        self.literals = [""]
        self._room = cleaner.profile.max_loc - len(self.head)

    def columns(self, values: Columns, bad: set[int]) -> list[Texts]:
        """Return the texts of the paths, as they stand in XML; `bad` gets the rows that have none here."""
        given = values[self._column]
        texts = self._with_odd(given, bad)
        if texts is None:
            return [[self._path(value, at, bad) for at, value in enumerate(given)]]
        if max(map(len, texts), default=0) > self._room:
            bad.update(at for at, text in enumerate(texts) if len(text) > self._room)
        return [texts]

    def _with_odd(self, given: Sequence[Any], bad: set[int]) -> list[str] | None:
        """Return plain paths as they are and the others looked at; None where they are not all paths."""
        try:
            lines = "\n" + "\n".join(given)
        except TypeError:
            return None
        if not lines.count("\n") == lines.count("\n/") == len(given):
            return None
        texts = list(given)
        if "\n//" in lines or "/." in lines:
            return None
        for at in _lines(_ODD_IN_PATH, lines):
            texts[at - 1] = self._path(given[at - 1], at - 1, bad)
        return texts

    def _path(self, value: Any, at: int, bad: set[int]) -> str:
        try:
            loc = self._cleaner.loc(None, value)
        except Exception:  # whatever a hook gives: it is looked at again
            loc = ""
        if self._silence.warned or not loc.startswith(f"{self._origin}/"):
            self._silence.warned = 0
            bad.add(at)
            return ""
        return escape(loc[len(self._origin) :])


def _texts(param: Param, values: Sequence[Any], bad: set[int]) -> Texts:
    converter = type(getattr(param.to_url, "__self__", None))
    odd = _ODD_BY_CONVERTER.get(converter)
    if odd is None:
        return [_text(param, value, at, bad) for at, value in enumerate(values)]
    try:
        texts: list[str] = list(map(str, values)) if converter is IntConverter else list(values)
        joined = "\n".join(texts)
    except TypeError:
        return [_text(param, value, at, bad) for at, value in enumerate(values)]
    if joined.count("\n") != len(texts) - 1 or not all(texts) or ("." in joined and not {".", ".."}.isdisjoint(texts)):
        return [_text(param, value, at, bad) for at, value in enumerate(values)]
    lines = list(_lines(odd, joined))
    shown = _quoted([texts[line] for line in lines]) if lines and converter is StringConverter else None
    for at, line in enumerate(lines):
        texts[line] = shown[at] if shown else _text(param, values[line], line, bad)
    return texts


def _quoted(texts: Sequence[str]) -> list[str] | None:
    """Return texts of one line as they stand in XML, None where one of them is no name in a path."""
    joined = "\n".join(texts)
    try:
        # All but a slash suits the converter of text.
        return None if "/" in joined else escape(quoted(joined, also="\n")).split("\n")
    except UnicodeEncodeError:
        return None


def _lines(marks: bytes, text: str) -> Iterator[int]:
    """Yield the numbers of the lines, from 0 on, in which a character is marked, each once."""
    marked = text.encode("ascii", "replace").translate(marks)
    line, last = 0, 0
    while (at := marked.find(b"!", last)) >= 0:
        line += marked.count(b"\n", last, at)
        yield line
        last = marked.find(b"\n", at)
        if last < 0:
            return


def _text(param: Param, value: Any, at: int, bad: set[int]) -> str:
    """Return one value as it stands in XML, or "" for a row that has to be looked at."""
    try:
        given = None if value is None else param.to_url(value)
        text = given if type(given) is str or given is None else str(given)
        if text is not None and param.suits(text) and "/" not in text and text not in ("", ".", ".."):
            return escape(quoted(text))
    except Exception:  # whatever a converter raises
        text = None
    bad.add(at)
    return ""


class Dates:
    """The lastmod of rows."""

    def __init__(self, section: Section, cleaner: Cleaner, column: int | None) -> None:
        self._cleaner = cleaner
        self.select: dict[str, Any] = {}
        self._index = column
        self._constant = ""
        self._offset = ""
        self._newest = Newest()
        hook = section.hooks.lastmod
        if hook.kind == "constant":
            silent = replace(cleaner, report=Silence(section.label), newest=self._newest)
            text = silent.lastmod(None, hook.value)
            self._constant = f"<lastmod>{text}</lastmod>" if text else ""
        elif hook.kind == "expression" and section.reads_values:
            (alias,) = hook.columns
            text_of = None
            if not cleaner.profile.date_only:
                rows = section.sitemap.items()
                text_of = as_text(hook.value, rows.query, rows.db)
            if text_of is not None:
                self.select = {alias: text_of}
                self._is_date = isinstance(text_of, DateText)
                self._offset = "" if self._is_date else UTC_OFFSET
                now = cleaner.now + timedelta(hours=14) if self._is_date else cleaner.now
                self._latest = now.isoformat(" ")[: 10 if self._is_date else 19]

    def column(self, keys: Sequence[object], columns: Columns, texts: dict[str, Texts], bad: set[int]) -> bool:
        """Add the texts of the dates of rows; return whether all have one."""
        if self._index is None:
            if self._newest.value and len(bad) < len(keys):
                self._cleaner.newest.see(self._newest.value, self._cleaner.tz)
            return True
        given = columns[self._index]
        if not self.select:
            texts["lastmod"] = self._made(keys, given, bad)
            return False
        newest = "" if bad or not all(given) else max(given, default="")
        plain = as_w3c(given, is_date=self._is_date) if "" < newest <= self._latest else None
        if plain:
            self._see(newest)
            texts["lastmod"] = plain
            return True
        dated = [at for at, text in enumerate(given) if text and at not in bad]
        odd = set(odd_lines([given[at] for at in dated], is_date=self._is_date))
        bad.update(at for index, at in enumerate(dated) if index in odd or given[at] > self._latest)
        self._see(max((given[at] for at in dated if at not in bad), default=""))
        texts["lastmod"] = [self._tag(text) for text in given]
        return False

    def _see(self, newest: str) -> None:
        if newest:
            self._cleaner.newest.see(_parsed(newest, is_date=self._is_date), self._cleaner.tz)

    def _tag(self, text: str | None) -> str:
        if not text:
            return ""
        return f"<lastmod>{text.replace(' ', 'T')}{self._offset}</lastmod>"

    def _made(self, keys: Sequence[object], given: Sequence[Any], bad: set[int]) -> list[str]:
        """Return the tags of dates as Python has them."""
        found = []
        cleaner, newest = self._cleaner, None
        is_plain = not cleaner.profile.date_only
        for at, (key, value) in enumerate(zip(keys, given, strict=True)):
            text: str | None = None
            if type(value) is Failed:
                bad.add(at)
            elif at not in bad and value is not None:
                if is_plain and type(value) is datetime and value.tzinfo is UTC and _FIRST <= value <= cleaner.now:
                    text = value.isoformat(timespec="seconds")
                    newest = value if newest is None or value > newest else newest
                else:
                    text = cleaner.lastmod(key, value)
            found.append(f"<lastmod>{text}</lastmod>" if text else "")
        if newest is not None:
            cleaner.newest.see(newest, cleaner.tz)
        return found

    def parts(self, *, has_all: bool) -> list[str | Place]:
        """Return the tag as constants and columns."""
        if self._index is None:
            return [self._constant]
        return ["<lastmod>", Place("lastmod"), f"{self._offset}</lastmod>"] if has_all else [Place("lastmod")]

    def restore(self, values: list[Any]) -> None:
        """Put a date in place of its text."""
        if self.select and self._index is not None:
            text = values[self._index]
            values[self._index] = _parsed(text, is_date=self._is_date) if text else None


def _parsed(text: str, *, is_date: bool) -> date:
    try:
        if is_date:
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    except ValueError:
        # The cleaner says what is wrong with it.
        return text  # type: ignore[return-value]


class Words:
    """The changefreq or priority of rows: few values, each looked at once."""

    def __init__(self, hook: Hook, section: Section, cleaner: Cleaner, column: int | None) -> None:
        self._name = hook.name
        self._silent = getattr(replace(cleaner, report=Silence(section.label)), hook.name)
        self._known: dict[Any, str | None] = {None: "", "": ""}
        self._index = column
        self.parts: list[str | Place] = []
        if hook.kind == "constant":
            text = self._silent(None, hook.value)
            self.parts = [f"<{hook.name}>{text}</{hook.name}>" if text else ""]
        elif column is not None:
            self.parts = [Place(hook.name)]

    @property
    def differs(self) -> bool:
        """Whether it differs from row to row."""
        return self._index is not None

    def columns(self, columns: Columns, bad: set[int]) -> dict[str, Texts]:
        """Return the tags of all rows; a broken value makes its row bad."""
        if self._index is None:
            return {}
        found = []
        for at, value in enumerate(columns[self._index]):
            text = self._known.get(value, self) if isinstance(value, _HASHABLE) else None
            if text is self:
                text = self._learn(value)
            if not isinstance(text, str):
                bad.add(at)
                text = ""
            found.append(text)
        return {self._name: found}

    def _learn(self, value: Any) -> str | None:
        text = self._silent(None, value)
        if len(self._known) > 1000:
            self._known = {None: "", "": ""}
        self._known[value] = f"<{self._name}>{text}</{self._name}>" if text else None
        return self._known[value]


def as_w3c(texts: Sequence[str], *, is_date: bool) -> list[str] | None:
    """Return dates, or datetimes, as W3C has them, but for the offset; None where one is none from 1990 on."""
    data = ("\n".join(texts) + "\n").encode("ascii", "replace")
    if _odd(data, is_date) != 0:
        return None
    if is_date:
        return list(texts)
    lines = bytearray(data)
    lines[10 :: len(_SHAPE)] = b"T" * len(texts)
    return lines.decode("ascii").split("\n")[:-1]


def odd_lines(texts: Sequence[str], *, is_date: bool) -> Iterator[int]:
    """Yield which of `texts` are no dates, or no datetimes, from 1990 on."""
    odd = _odd("".join(f"{text}\n" for text in texts).encode("ascii", "replace"), is_date)
    if odd is None:
        yield from (at for at, text in enumerate(texts) if len(texts) == 1 or [*odd_lines([text], is_date=is_date)])
    else:
        yield from (at for at, mark in enumerate(odd.to_bytes(len(texts), "little")) if mark)


def _odd(data: bytes, is_date: bool) -> int | None:
    """Return a number with one byte a line, zero where it is a date; None where it has not the shape of one."""
    shape = _SHAPE[:10] + b"\n" if is_date else _SHAPE
    if data.translate(_ANY_DIGIT) != shape * (len(data) // len(shape)):
        return None
    # All lines are compared at once: a number has a one in the byte of each line where a digit stands.
    masks: dict[tuple[int, str], int] = {}
    odd = 0
    for digits in _NONE if is_date else _NONE + _NONE_IN_TIMES:
        found = -1
        for which in digits.items():
            if which not in masks:
                place, wanted = which
                masks[which] = int.from_bytes(data[place :: len(shape)].translate(_ones(wanted)), "little")
            found &= masks[which]
        odd |= found
    return odd


@cache
def _ones(digits: str) -> bytes:
    """Return the table that turns `digits` into one, and all else into zero."""
    return bytes(chr(code) in digits for code in range(256))
