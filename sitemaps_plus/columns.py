"""Turn a column of values into the column of their texts, as these stand in XML: many values at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, NamedTuple

from django.urls.converters import IntConverter, PathConverter, SlugConverter, StringConverter

from sitemaps_plus.date_text import DateText, as_text
from sitemaps_plus.entries import Cleaner, Newest
from sitemaps_plus.hooks import Hook
from sitemaps_plus.reports import Silence
from sitemaps_plus.sections import Section
from sitemaps_plus.text import escape
from sitemaps_plus.url_for import Compiled, Param, quoted

Texts = Sequence[str]
Columns = Sequence[Sequence[Any]]

# What a chunk of values, a line each, may not hold: characters that a path has in another form.
_ODD = re.compile(r"[^-A-Za-z0-9_.~\n]")
_ODD_IN_SLUG = re.compile(r"[^-A-Za-z0-9_\n]")
_ODD_IN_PATH = re.compile(r"[^-A-Za-z0-9_.~/\n]|(?<=\n)//|/\.")
_ODD_IN_NUMBER = re.compile(r"[^0-9\n]")
# By the class itself: a child may have another expression.
_ODD_BY_CONVERTER: dict[type, re.Pattern[str]] = {
    StringConverter: _ODD,
    PathConverter: _ODD,
    SlugConverter: _ODD_IN_SLUG,
    IntConverter: _ODD_IN_NUMBER,
}
_MONTH_AND_DAY = r"-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
# An earlier year is written too, with a warning.
_YEAR = r"(?:199|[2-9][0-9]{2})[0-9]"
_TIME = r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\+00:00"
_FIRST = datetime(1990, 1, 1, tzinfo=UTC)
_HASHABLE = (str, int, float, Decimal, NoneType)
_DATES = re.compile(rf"(?:{_YEAR}{_MONTH_AND_DAY}\n)*")
_DATETIMES = re.compile(rf"(?:{_YEAR}{_MONTH_AND_DAY}{_TIME}\n)*")
# February and the short months end earlier, except in years that four divides.
_DOUBTFUL_DAY = re.compile(r"(?<!0[48])(?<![2468][048])(?<![13579][26])-02-29|-02-3[01]|-(?:04|06|09|11)-31")


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
    if joined.count("\n") != len(texts) - 1 or not _has_names(joined):
        return [_text(param, value, at, bad) for at, value in enumerate(values)]
    for line in _lines(odd, joined):
        texts[line] = _text(param, values[line], line, bad)
    return texts


def _lines(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """Yield the numbers of the lines, from 0 on, in which something is found, each once."""
    line, last, told = 0, 0, -1
    for found in pattern.finditer(text):
        line += text.count("\n", last, found.start())
        last = found.start()
        if line != told:
            yield line
        told = line


def _has_names(joined: str) -> bool:
    """Return whether no line is empty, or a dot or two."""
    lines = f"\n{joined}\n"
    return not ("\n\n" in lines or "\n.\n" in lines or "\n..\n" in lines)


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
        self._newest = Newest()
        hook = section.hooks.lastmod
        if hook.kind == "constant":
            silent = replace(cleaner, report=Silence(section.label), newest=self._newest)
            text = silent.lastmod(None, hook.value)
            self._constant = f"<lastmod>{text}</lastmod>" if text else ""
        elif hook.kind == "expression" and section.hooks.path == "row":
            (alias,) = hook.columns
            text_of = None
            if not cleaner.profile.date_only:
                rows = section.sitemap.items()
                text_of = as_text(hook.value, rows.query, rows.db)
            if text_of is not None:
                self.select = {alias: text_of}
                self._is_date = isinstance(text_of, DateText)
                now = cleaner.now + timedelta(hours=14) if self._is_date else cleaner.now
                self._latest = now.isoformat()[:10] if self._is_date else now.isoformat(timespec="seconds")

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
        pattern = _DATES if self._is_date else _DATETIMES
        has_all = None not in given
        dated: Sequence[str] = given
        if bad or not has_all:
            dated = [text for at, text in enumerate(given) if text is not None and at not in bad]
        joined = "\n".join(dated) + "\n" if dated else ""
        newest = max(dated, default="")
        if newest > self._latest or not pattern.fullmatch(joined) or _DOUBTFUL_DAY.search(joined):
            one = re.compile(pattern.pattern.removesuffix(r"\n)*") + ")")
            for at, text in enumerate(given):
                if text is not None and (text > self._latest or not one.fullmatch(text) or _DOUBTFUL_DAY.search(text)):
                    bad.add(at)
            newest = max((text for at, text in enumerate(given) if text is not None and at not in bad), default="")
        if newest:
            self._cleaner.newest.see(_parsed(newest), self._cleaner.tz)
        texts["lastmod"] = given if has_all else [f"<lastmod>{text}</lastmod>" if text else "" for text in given]
        return has_all

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
        return ["<lastmod>", Place("lastmod"), "</lastmod>"] if has_all else [Place("lastmod")]

    def restore(self, values: list[Any]) -> None:
        """Put a date in place of its text."""
        if self.select and self._index is not None and values[self._index] is not None:
            values[self._index] = _parsed(values[self._index])


def _parsed(text: str) -> date:
    try:
        return datetime.fromisoformat(text) if len(text) > 10 else date.fromisoformat(text)
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
