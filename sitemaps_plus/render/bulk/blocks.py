"""Turn a chunk of rows into text at once: only rows that are not plain are looked at one by one."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import get_script_prefix
from django.utils import translation
from django.utils.translation import get_language

from sitemaps_plus.declare.hooks import Getter
from sitemaps_plus.plan.keys import as_shown
from sitemaps_plus.protocol.entries import Block, Cleaner, Entry
from sitemaps_plus.protocol.text import escape
from sitemaps_plus.protocol.writer import url_element
from sitemaps_plus.render.bulk.columns import Columns, Dates, Failed, Place, Texts, Words
from sitemaps_plus.render.bulk.patterns import Pattern, compile_pattern, names_of, spoken_in
from sitemaps_plus.render.renderer import Renderer, Row

Again = Callable[[], Iterator[tuple[object, list[tuple[str, str]]]]]


def compile_blocks(cleaner: Cleaner, renderer: Renderer) -> Blocks | None:
    """Return what makes blocks of a section's rows, or None where each row has to be looked at."""
    pattern = compile_pattern(cleaner, renderer)
    if pattern is None:
        return None
    slow = _Asked(renderer, pattern.columns) if not renderer.section.reads_values else renderer
    return Blocks(cleaner, renderer, slow, pattern)


class Blocks:
    """Makes blocks of the rows of one section, for as long as its language, URLconf and script prefix stay active."""

    def __init__(self, cleaner: Cleaner, renderer: Renderer, slow: Renderer, pattern: Pattern) -> None:
        section = self.section = renderer.section
        self.renderer = renderer
        self.slow = slow
        self.is_loaded = slow is not renderer
        self.addresses = pattern.addresses
        self.languages = spoken_in(section)
        self._dates = Dates(section, cleaner, pattern.columns.get("lastmod"))
        self._words = [
            Words(hook, section, cleaner, pattern.columns.get(hook.name))
            for hook in (section.hooks.changefreq, section.hooks.priority)
        ]
        self._pattern = pattern
        # A URL that none links to links to none.
        self._linked = [
            at for at, code in enumerate(self.languages) if pattern.links and code and cleaner.hreflang(code)
        ]
        self._size = len(section.key.names) if section.paged_by == "key" else 0
        self._parts: dict[bool, list[str | Place]] = {has: self._lay_out(has_all_dates=has) for has in (True, False)}

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

    @property
    def takes_texts(self) -> bool:
        """Whether `of_texts` can make a block: all that differs from row to row is an address or a date."""
        has_words = any(words.differs for words in self._words)
        has_dates = self._pattern.columns.get("lastmod") is not None
        return not (self.section.hooks.media or has_words or (has_dates and not self._dates.select))

    def of_texts(self, columns: Columns, again: Again) -> Block | None:
        """Return the block of rows whose columns are texts, or None where a row has to be looked at.

        `again` yields the rows as `Block.rows` does; it is only called where they are asked for.
        """
        bad: set[int] = set()
        rows = range(len(columns[0]))
        texts, has_all = self._texts(rows, columns, bad)
        return (
            None if bad else _Rows(self, rows, _not_asked, bad).block(self._parts[has_all], texts)._replace(rows=again)
        )

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
        return columns + [_asked(self.renderer.getter(name), rows) for name in self._pattern.asked]

    def _block(self, keys: Sequence[object], columns: Columns, row: Callable[[int], Row]) -> Block:
        bad: set[int] = set()
        texts, has_all = self._texts(keys, columns, bad)
        rows = _Rows(self, keys, row, bad)
        if self.section.hooks.media:
            texts.update(rows.extras(texts))
        return rows.block(self._parts[has_all], texts)

    def _texts(self, keys: Sequence[object], columns: Columns, bad: set[int]) -> tuple[dict[str, Texts], bool]:
        """Return the columns of texts, and whether all rows have a date; `bad` gets the rows to be looked at."""
        texts: dict[str, Texts] = {}
        for at, address in enumerate(self.addresses):
            for number, column in enumerate(address.columns(columns, bad)):
                texts[f"{at}.{number}"] = column
        for words in self._words:
            texts.update(words.columns(columns, bad))
        if self._pattern.default is not None:
            texts["x-default"] = _unprefixed(texts[f"{self._pattern.default}.0"])
        return texts, self._dates.column(keys, columns, texts, bad)

    def _lay_out(self, *, has_all_dates: bool) -> list[str | Place]:
        parts: list[str | Place] = []
        for at, address in enumerate(self.addresses):
            parts += ["<url><loc>", *address.parts(names_of(at, address)), "</loc>"]
            parts += self._dates.parts(has_all=has_all_dates)
            for words in self._words:
                parts += words.parts
            if at in self._linked:
                parts += self._pattern.links
            if self.section.hooks.media:
                parts.append(Place(f"extra.{at}"))
            parts.append("</url>\n")
        return _merged(parts)


def _merged(parts: Iterable[str | Place]) -> list[str | Place]:
    """Return the parts with neighbouring constants as one."""
    merged: list[str | Place] = []
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
        columns = [texts[name] for name in names_of(at, address)]
        template = "".join([_percent(address.head), *("%s" + _percent(literal) for literal in address.literals)])
        if not columns:
            return [address.head] * len(self._keys)
        return list(map(template.__mod__, zip(*columns, strict=True)))

    def block(self, parts: Sequence[str | Place], texts: dict[str, Texts]) -> Block:
        """Return the finished block."""
        count, stride = len(self._keys), len(parts)
        flat: list[str] = [""] * (count * stride)
        for at, part in enumerate(parts):
            flat[at::stride] = texts[part.name] if isinstance(part, Place) else [part] * count
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
        rows = [self._row(index) for index in self._bad]
        places = dict(zip((row.key for row in rows), self._bad, strict=True))
        # Objects of a list may look the same: one after the other then, so as not to take one for another.
        chunks = [rows] if len(places) == len(rows) else [[row] for row in rows]
        found: dict[int, list[tuple[str, str]]] = {}
        for index, chunk in zip(self._bad, chunks, strict=False):
            for group in self._blocks.slow.groups(chunk):
                place = places[group.key] if len(chunk) > 1 else index
                found[place] = [(self._name(entry.loc), url_element(entry)) for entry in group.entries]
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


def _not_asked(at: int) -> Row:
    raise AssertionError("Rows that are all plain have nothing to be asked for.")


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
            languages = spoken_in(self.section)
            place = self._first + (languages.index(get_language()) if self.section.sitemap.i18n else 0)
        elif name in self._columns:
            place = self._first + self._columns[name]
        else:
            return super().getter(name)
        return lambda values, item: _value(values[place])


def _value(value: Any) -> Any:
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
