"""Turn a chunk of rows into text at once: only rows that are not plain are looked at one by one."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import get_script_prefix
from django.urls.converters import IntConverter, PathConverter, SlugConverter, StringConverter
from django.utils import translation
from django.utils.translation import get_language

from sitemaps_plus.date_text import DateText, as_text
from sitemaps_plus.entries import Block, Cleaner, Entry, Newest
from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.hooks import Getter, Hook
from sitemaps_plus.keys import as_shown
from sitemaps_plus.languages import same_language, without_language
from sitemaps_plus.rendering import Renderer, Row
from sitemaps_plus.reports import Silence
from sitemaps_plus.sections import Section
from sitemaps_plus.text import escape
from sitemaps_plus.url_for import Compiled, Param, UrlFor, quoted
from sitemaps_plus.writer import url_element

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
# February and the short months end earlier.
_DOUBTFUL_DAY = re.compile(r"-(?:02-(?:29|3[01])|(?:04|06|09|11)-31)")


class _Place(NamedTuple):
    """A column of text among the constant texts of a row."""

    name: str


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
        self._max_length = max_length

    def columns(self, values: Columns, bad: set[int]) -> list[Texts]:
        """Return the texts of each parameter, as they stand in XML; `bad` gets the rows that have none here."""
        columns = [_texts(param, values[index], bad) for index, param in self.params]
        if sum(max(map(len, texts), default=0) for texts in columns) > self._room:
            sizes = map(sum, zip(*(map(len, texts) for texts in columns), strict=True))
            bad.update(at for at, size in enumerate(sizes) if size > self._room)
        return columns

    def parts(self, names: Sequence[str]) -> list[str | _Place]:
        """Return the address as constant text and the columns of `names`."""
        found: list[str | _Place] = [self.head]
        for name, literal in zip(names, self.literals, strict=True):
            found += [_Place(name), literal]
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


class Failed(NamedTuple):
    """What a hook gave that raised."""

    error: Exception


class Blocks:
    """Makes blocks of the rows of one section, for as long as its language, URLconf and script prefix stay active."""

    def __init__(self, cleaner: Cleaner, renderer: Renderer, slow: Renderer, plan: _Plan) -> None:
        section = self.section = renderer.section
        self.renderer = renderer
        self.slow = slow
        self.is_loaded = slow is not renderer
        self.addresses = plan.addresses
        self.languages = _spoken(section)
        self._dates = _Dates(section, cleaner, plan.columns.get("lastmod"))
        self._words = [
            _Words(hook, section, cleaner, plan.columns.get(hook.name))
            for hook in (section.hooks.changefreq, section.hooks.priority)
        ]
        self._plan = plan
        # A URL that none links to links to none.
        self._linked = [at for at, code in enumerate(self.languages) if plan.links and code and cleaner.hreflang(code)]
        self._size = len(section.key.names) if section.paged_by == "key" else 0
        self._parts: dict[bool, list[str | _Place]] = {has: self._lay_out(has_all_dates=has) for has in (True, False)}

    @property
    def select(self) -> dict[str, Any]:
        """The columns to read behind those of the key."""
        return {**self.section.hooks.columns, **self._dates.select}

    def of_records(self, records: Sequence[Sequence[Any]]) -> Block:
        """Return the block of `records`, each of key and columns."""
        by_column = list(zip(*records, strict=True))
        keys: Sequence[object] = list(map(as_shown, zip(*by_column[: self._size], strict=True)))

        def row(at: int) -> Row:
            values = list(records[at][self._size :])
            self._dates.restore(values)
            return Row(keys[at], values)

        return self._block(keys, by_column[self._size :], row)

    def of_rows(self, rows: Sequence[Row]) -> Block:
        """Return the block of rows that are objects; each hook is asked once, here."""
        rows = self.renderer.loaded(rows)
        given = self._given(rows)

        def row(at: int) -> Row:
            return Row(rows[at].key, [*rows[at].values, *(column[at] for column in given)], rows[at].item)

        return self._block([row.key for row in rows], given, row)

    def _given(self, rows: Sequence[Row]) -> list[list[Any]]:
        """Return what the hooks give: the location in each language, then the others."""
        columns = []
        for language in self.languages:
            with translation.override(language or get_language() or settings.LANGUAGE_CODE):
                columns.append(_asked(self.renderer.getter("location"), rows))
        return columns + [_asked(self.renderer.getter(name), rows) for name in self._plan.asked]

    def _block(self, keys: Sequence[object], columns: Columns, row: Callable[[int], Row]) -> Block:
        bad: set[int] = set()
        texts: dict[str, Texts] = {}
        for at, address in enumerate(self.addresses):
            for number, column in enumerate(address.columns(columns, bad)):
                texts[f"{at}.{number}"] = column
        for words in self._words:
            texts.update(words.columns(columns, bad))
        if self._plan.default is not None:
            texts["x-default"] = _unprefixed(texts[f"{self._plan.default}.0"])
        has_all = self._dates.column(keys, columns, texts, bad)
        rows = _Rows(self, keys, row, bad)
        if self.section.hooks.media:
            texts.update(rows.extras(texts))
        return rows.block(self._parts[has_all], texts)

    def _lay_out(self, *, has_all_dates: bool) -> list[str | _Place]:
        parts: list[str | _Place] = []
        for at, address in enumerate(self.addresses):
            parts += ["<url><loc>", *address.parts(_names(at, address)), "</loc>"]
            parts += self._dates.parts(has_all=has_all_dates)
            for words in self._words:
                parts += words.parts
            if at in self._linked:
                parts += self._plan.links
            if self.section.hooks.media:
                parts.append(_Place(f"extra.{at}"))
            parts.append("</url>\n")
        return _merged(parts)


def _merged(parts: Iterable[str | _Place]) -> list[str | _Place]:
    """Return the parts with neighbouring constants as one."""
    merged: list[str | _Place] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return merged


class _Rows:
    """One chunk on its way to a block."""

    def __init__(self, blocks: Blocks, keys: Sequence[object], row: Callable[[int], Row], bad: set[int]) -> None:
        self._blocks = blocks
        self._keys = keys
        self._row = row
        self._bad = sorted(bad)

    def extras(self, texts: dict[str, Texts]) -> dict[str, Texts]:
        """Return images, videos, news and given links of the rows in each language."""
        blocks, skipped = self._blocks, set(self._bad)
        rows = [self._row(at) for at in range(len(self._keys))]
        if not blocks.is_loaded:
            rows = list(blocks.renderer.loaded(rows))
        found: dict[str, Texts] = {}
        for at, language in enumerate(blocks.languages):
            locs = self._locs(at, texts)
            with translation.override(language or settings.LANGUAGE_CODE):
                add = blocks.renderer.media_adder()
                found[f"extra.{at}"] = [
                    "" if index in skipped else add(row, Entry(_unescaped(loc)), language).extra
                    for index, (row, loc) in enumerate(zip(rows, locs, strict=True))
                ]
        return found

    def _locs(self, at: int, texts: dict[str, Texts]) -> list[str]:
        """Return the addresses of all rows in one language, as they stand in XML."""
        address = self._blocks.addresses[at]
        columns = [texts[name] for name in _names(at, address)]
        template = "".join([_percent(address.head), *("%s" + _percent(literal) for literal in address.literals)])
        if not columns:
            return [address.head] * len(self._keys)
        return list(map(template.__mod__, zip(*columns, strict=True)))

    def block(self, parts: Sequence[str | _Place], texts: dict[str, Texts]) -> Block:
        """Return the finished block."""
        count, stride = len(self._keys), len(parts)
        flat: list[str] = [""] * (count * stride)
        for at, part in enumerate(parts):
            flat[at::stride] = texts[part.name] if isinstance(part, _Place) else [part] * count
        names = [self._names(at, texts) for at in range(len(self._blocks.addresses))]
        slow = self._slow()
        for index in self._bad:
            entries = slow.get(index, [])
            flat[index * stride : (index + 1) * stride] = ["".join(text for _, text in entries), *[""] * (stride - 1)]

        def rows() -> Iterator[tuple[object, list[tuple[str, str]]]]:
            for index, key in enumerate(self._keys):
                if index in slow or index in bad:
                    yield key, slow.get(index, [])
                else:
                    text = "".join(flat[index * stride : (index + 1) * stride])
                    yield key, list(zip([name[index] for name in names], _entries(text), strict=True))

        bad = set(self._bad)
        every = _every(names, bad, [name for entries in slow.values() for name, _ in entries])
        return Block("".join(flat).encode(), every.urls, every.names, rows)

    def _names(self, at: int, texts: dict[str, Texts]) -> Texts:
        """Return what tells the addresses apart."""
        if len(self._blocks.addresses) == 1 and len(self._blocks.addresses[0].literals) == 1:
            return texts["0.0"]
        return self._locs(at, texts)

    def _slow(self) -> dict[int, list[tuple[str, str]]]:
        """Return name and text of the entries of each row that is not plain, by its place; none for one left out."""
        if not self._bad:
            return {}
        blocks = self._blocks
        found: dict[int, list[tuple[str, str]]] = {}
        # Named by their place: objects of a list may look the same.
        for index in self._bad:
            for group in blocks.slow.groups([self._row(index)]):
                found[index] = [(self._name(entry.loc), url_element(entry)) for entry in group.entries]
        return found

    def _name(self, loc: str) -> str:
        escaped = escape(loc)
        if len(self._blocks.addresses) != 1 or len(self._blocks.addresses[0].literals) != 1:
            return escaped
        (address,) = self._blocks.addresses
        (tail,) = address.literals
        if escaped.startswith(address.head) and escaped.endswith(tail):
            return escaped[len(address.head) : len(escaped) - len(tail)]
        return escaped


class _Every(NamedTuple):
    """All addresses of a chunk."""

    urls: int
    names: set[str] | None


def _every(names: Sequence[Texts], bad: set[int], slow: Sequence[str]) -> _Every:
    """Return how many addresses there are, and their set unless one is there twice."""
    found: set[str] = set()
    count = len(slow)
    for texts in names:
        plain = [text for at, text in enumerate(texts) if at not in bad] if bad else texts
        found.update(plain)
        count += len(plain)
    found.update(slow)
    return _Every(count, found if len(found) == count else None)


def _entries(text: str) -> list[str]:
    return [f"{part}</url>\n" for part in text.split("</url>\n")[:-1]]


def _percent(text: str) -> str:
    return text.replace("%", "%%")


def _unescaped(text: str) -> str:
    return html.unescape(text) if "&" in text else text


class _Dates:
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

    def parts(self, *, has_all: bool) -> list[str | _Place]:
        """Return the tag as constants and columns."""
        if self._index is None:
            return [self._constant]
        return ["<lastmod>", _Place("lastmod"), "</lastmod>"] if has_all else [_Place("lastmod")]

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


class _Words:
    """The changefreq or priority of rows: few values, each looked at once."""

    def __init__(self, hook: Hook, section: Section, cleaner: Cleaner, column: int | None) -> None:
        self._name = hook.name
        self._clean = getattr(cleaner, hook.name)
        self._silent = getattr(replace(cleaner, report=Silence(section.label)), hook.name)
        self._known: dict[Any, str | None] = {None: "", "": ""}
        self._index = column
        self.parts: list[str | _Place] = []
        if hook.kind == "constant":
            text = self._silent(None, hook.value)
            self.parts = [f"<{hook.name}>{text}</{hook.name}>" if text else ""]
        elif column is not None:
            self.parts = [_Place(hook.name)]

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


class _Plan(NamedTuple):
    """What the text of a row is made of."""

    addresses: Sequence[Address]
    columns: Mapping[str, int]
    """Where the values of a hook are that differs from row to row."""
    links: Sequence[str | _Place]
    default: int | None = None
    """The address whose path without its prefix is the one for everybody else."""
    asked: Sequence[str] = ()
    """The hooks that objects are asked for, behind the location."""


def compile_blocks(section: Section, cleaner: Cleaner, renderer: Renderer) -> Blocks | None:
    """Return what makes blocks of a section's rows, or None where each row has to be looked at."""
    hooks = section.hooks
    if hooks.siblings or section.has_languages_per_item or not _are_sound(section, cleaner):
        return None
    asked = [
        hook.name for hook in (hooks.lastmod, hooks.changefreq, hooks.priority) if hook.kind in ("expression", "method")
    ]
    spoken = _spoken(section)
    if hooks.path == "object":
        addresses: list[Address | None] = [GivenAddress(at, cleaner) for at in range(len(spoken))]
        columns = {name: len(spoken) + at for at, name in enumerate(asked)}
    else:
        addresses = [_address(renderer, cleaner, code) for code in spoken]
        columns = {name: _column_of(section, getattr(hooks, name)) for name in asked}
    made = [address for address in addresses if address is not None]
    links = _links(section, cleaner, made) if len(made) == len(addresses) else None
    if links is None:
        return None
    slow = _Asked(renderer, columns) if hooks.path == "object" else renderer
    return Blocks(cleaner, renderer, slow, _Plan(made, columns, links.parts, links.default, asked))


class _Asked(Renderer):
    """A renderer of rows whose hooks have been asked already: what they gave stands behind the values."""

    def __init__(self, renderer: Renderer, columns: Mapping[str, int]) -> None:
        super().__init__(renderer.section, renderer.cleaner, renderer.fetch)
        self._first = len(renderer.section.hooks.columns)
        self._columns = columns

    def loaded(self, rows: Sequence[Row], but: int | None = None) -> Sequence[Row]:
        """Return the rows, which have all that belongs to them."""
        return rows

    def getter(self, name: str) -> Getter:
        """Return the function that gives what a hook gave for a row, or raises what it raised."""
        if name == "location":
            languages = _spoken(self.section)
            place = self._first + (languages.index(get_language()) if self.section.sitemap.i18n else 0)
        elif name in self._columns:
            place = self._first + self._columns[name]
        else:
            return super().getter(name)
        return lambda values, item: _given(values[place])


def _given(value: Any) -> Any:
    if type(value) is Failed:
        raise value.error
    return value


def _asked(get: Getter, rows: Sequence[Row]) -> list[Any]:
    """Return what a hook gives for each row."""
    found = []
    for row in rows:
        try:
            found.append(get(row.values, row.item))
        except Exception as error:  # user code of any kind: one bad row must not hurt the others
            found.append(Failed(error))
    return found


def _unprefixed(paths: Texts) -> Texts:
    """Return paths without the prefix of the default language."""
    before = get_script_prefix()
    prefix = f"{before}{settings.LANGUAGE_CODE}/"
    return [before + path[len(prefix) :] if path.startswith(prefix) else path for path in paths]


def _column_of(section: Section, hook: Hook) -> int:
    (alias,) = hook.columns
    return list(section.hooks.columns).index(alias)


def _spoken(section: Section) -> Sequence[str | None]:
    return section.languages if section.sitemap.i18n else (None,)


def _address(renderer: Renderer, cleaner: Cleaner, language: str | None) -> Address | None:
    section = renderer.section
    hook: Hook = section.hooks.location
    if hook.kind == "expression" and language is None and not renderer.has_files(hook):
        return GivenAddress(_column_of(section, hook), cleaner)
    if not isinstance(hook.value, UrlFor):
        return None
    position = {alias: index for index, alias in enumerate(section.hooks.columns)}
    with translation.override(language or settings.LANGUAGE_CODE):
        compiled = hook.value.compiled()
    if compiled is None:
        return None
    indices = [position.get(hook.aliases[param.position]) for param in compiled.params]
    if None in indices:
        return None
    wanted = [index for index in indices if index is not None]
    return Address(str(cleaner.scope.origin), compiled, wanted, cleaner.profile.max_loc)


def _are_sound(section: Section, cleaner: Cleaner) -> bool:
    """Return whether nothing is to be said of the constants: else it is said of each row."""
    silence = Silence(section.label)
    silent = replace(cleaner, report=silence, newest=Newest())
    for hook in (section.hooks.lastmod, section.hooks.changefreq, section.hooks.priority):
        if hook.kind == "declared":
            return False
        if hook.kind == "constant":
            getattr(silent, hook.name)(None, hook.value)
    return not (silence.dropped or silence.warned)


class _Links(NamedTuple):
    """The links to the languages of a row, which all of them have."""

    parts: Sequence[str | _Place] = ()
    default: int | None = None
    """The address whose path without its prefix is the one for everybody else."""


def _links(section: Section, cleaner: Cleaner, addresses: Sequence[Address]) -> _Links | None:
    """Return the links, None where rows differ in them."""
    sitemap, x_default = section.sitemap, section.hooks.x_default
    if not (sitemap.i18n and sitemap.alternates):
        return _Links()
    try:
        codes = [cleaner.hreflang(code) for code in section.languages]
    except InvalidEntry:
        return None
    linked = [code for code in codes if code is not None]
    if len(linked) != len(set(linked)) or x_default.kind not in ("missing", "constant"):
        return None
    parts: list[str | _Place] = []
    for at, (code, address) in enumerate(zip(codes, addresses, strict=True)):
        if code is not None:
            parts += [_link(code), *address.parts(_names(at, address)), '"/>']
    return _with_x_default(section, addresses, parts) if x_default.value else _Links(parts)


def _with_x_default(section: Section, addresses: Sequence[Address], parts: Sequence[str | _Place]) -> _Links | None:
    """Return the links and the one for everybody else, None where a row has to tell it."""
    given, default = section.hooks.x_default.value, settings.LANGUAGE_CODE
    at = next((at for at, code in enumerate(section.languages) if same_language(code, given)), None)
    if given is True and default in section.languages:
        at = section.languages.index(default)
    if at is None:
        return None
    address = addresses[at]
    head, *rest = address.parts(_names(at, address))
    if given is True:
        if isinstance(address, GivenAddress):
            return _Links([*parts, _link("x-default"), head, _Place("x-default"), '"/>'], at)
        path = address.head.partition("://")[2].partition("/")[2]
        if "/" not in path.removeprefix(get_script_prefix().lstrip("/")):
            # The first part of the path is one of the row.
            return None
        head = without_language(address.head, default)
    return _Links([*parts, _link("x-default"), head, *rest, '"/>'])


def _names(at: int, address: Address) -> list[str]:
    return [f"{at}.{number}" for number in range(len(address.literals))]


def _link(hreflang: str) -> str:
    return f'<xhtml:link rel="alternate" hreflang="{hreflang}" href="'
