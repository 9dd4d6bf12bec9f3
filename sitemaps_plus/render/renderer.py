"""Turn the hook values of a chunk of rows into entries, for the row path and the object path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet
from django.utils import translation

from sitemaps_plus.declare.hooks import (
    Column,
    Getter,
    Hook,
    Member,
    Values,
    depends_on_language,
    languages_of,
    overrides_languages,
)
from sitemaps_plus.declare.languages import known_languages, languages_in, own_language
from sitemaps_plus.declare.loading import Addresses, file_url, load_columns, location_error, storages_of
from sitemaps_plus.errors import InvalidEntry, NotTranslated, shown
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.protocol.entries import Cleaner, Entry, Group, Link
from sitemaps_plus.protocol.reports import Silence
from sitemaps_plus.values.extensions import elements, links_of, usable

CHUNK = 2000
"""URLs made at a time: as fast as a server-side cursor, and with bounded memory."""

_CLUSTERS = 500
# Error codes of a URL on another host.
_OTHER_HOST = ("E-URL-HOST", "E-URL-PORT")


@dataclass(frozen=True, slots=True)
class Row:
    """One row as the hooks get it."""

    key: object
    values: Sequence[Any]
    """The values of the hooks' columns."""
    item: Any = None
    """The object; None on the row path."""


Fetch = Callable[[QuerySet[Any]], Iterable[Row]]
"""Reads rows with the values of the hooks' columns: as plain values, or as objects."""


class Renderer:
    """Turn rows of one section into groups of entries."""

    def __init__(self, section: Section, cleaner: Cleaner, fetch: Fetch, *, keeps_given: bool = False) -> None:
        """Prepare; with `keeps_given` entries have also the values that a template of the project may use."""
        self.section = section
        self.cleaner = cleaner
        self.fetch = fetch
        self._keeps_given = keeps_given
        self._position = {alias: index for index, alias in enumerate(section.hooks.columns)}
        self._storages = _storages(section)
        self._loads = {
            self._position[alias]: column.load
            for alias, column in section.hooks.columns.items()
            if isinstance(column, Column) and column.load
        }

    @property
    def rows(self) -> QuerySet[Any]:
        """All rows of the section."""
        return self.section.sitemap.items()  # type: ignore[no-any-return]

    @property
    def languages(self) -> Sequence[str]:
        """The languages that rows may have."""
        return languages_of(self.section.sitemap)

    def groups(self, rows: Sequence[Row]) -> Iterator[Group]:
        """Yield one group for each of `rows` that has a URL."""
        rows = self.loaded(rows)
        if self.section.sitemap.i18n or self.section.hooks.siblings:
            return self._in_all_languages(rows)
        return self._plain(rows)

    def pair_groups(self, rows: Sequence[Row], languages: Sequence[str]) -> Iterator[Group]:
        """Yield one group for each row of (row, language) pairs; the pairs of a row follow each other."""
        finish = self._finisher()
        for row, found, linked, codes in self._founds_of_pairs(self.loaded(rows), languages):
            wanted = [code for code in codes if code in found.locs]
            if not wanted:
                continue
            base, links, entries = finish(row, ""), self._links(row, found, linked), []
            for code in wanted:
                entry = _linked(base._replace(loc=found.locs[code]), links)
                with translation.override(code):
                    entries.append(self.media_adder()(row, entry, code))
            yield Group(row.key, entries)

    def _founds_of_pairs(
        self, rows: Sequence[Row], languages: Sequence[str]
    ) -> Iterator[tuple[Row, Addresses, Sequence[str], Sequence[str]]]:
        """Yield each row with its URLs, their languages, and the languages of its pairs."""
        # Adjacent pairs with the same object are one row.
        starts = [at for at, row in enumerate(rows) if not at or row.item is not rows[at - 1].item]
        spans = list(zip(starts, [*starts[1:], len(rows)], strict=True))
        firsts = [rows[start] for start, _ in spans]
        wanted = [
            list(dict.fromkeys([*(self._languages(row) if self.section.sitemap.alternates else ()), *languages[a:b]]))
            for row, (a, b) in zip(firsts, spans, strict=True)
        ]
        for row, (start, end), found, linked in zip(firsts, spans, self._found(firsts, wanted), wanted, strict=True):
            self._report(row, found)
            yield row, found, linked, languages[start:end]

    def members(self, clusters: Iterable[Any]) -> Iterator[Member]:
        """Yield the rows of `clusters` that have a URL, in the order of the key."""
        cluster, row, language = (self._position[alias] for alias in self.section.hooks.siblings)
        column = self.section.hooks.hreflang.columns[self.section.hooks.siblings[0]].expression.name
        # Silence: each row is reported on its own page.
        silent = Renderer(self.section, replace(self.cleaner, report=Silence(self.section.label)), self.fetch)
        given = list(clusters)
        for start in range(0, len(given), _CLUSTERS):
            wanted = self.section.queryset().filter(**{f"{column}__in": given[start : start + _CLUSTERS]})
            for found, loc, x_default in silent._urls(wanted.order_by(*self.section.key.names)):
                yield Member(found.values[cluster], found.values[row], found.values[language], loc, x_default)

    def _urls(self, wanted: QuerySet[Any]) -> Iterator[tuple[Row, str, Any]]:
        """Yield rows that have one language each, with their URL and their ``x-default``."""
        rows = self.loaded(list(self.fetch(wanted)), but=self._position[self.section.hooks.siblings[0]])
        x_default = self.getter("x_default")
        for row, found in zip(rows, self._found(rows, [self._languages(row) for row in rows]), strict=True):
            for loc in found.locs.values():
                yield row, loc, self._value(row, "x_default", x_default)

    def loaded(self, rows: Sequence[Row], but: int | None = None) -> Sequence[Row]:
        """Return rows with their related rows, which are loaded once for all of them."""
        loaders = {index: load for index, load in self._loads.items() if index != but}
        if not loaders or not rows:
            return rows
        values = [list(row.values) for row in rows]
        for index, found in load_columns(loaders, lambda at: [one[at] for one in values], self):
            for one, loaded in zip(values, found, strict=True):
                one[index] = loaded
        return [Row(row.key, one, row.item) for row, one in zip(rows, values, strict=True)]

    def getter(self, name: str) -> Getter:
        """Return the function that returns the value of a hook for one row, in the language now active."""
        hook: Hook = getattr(self.section.hooks, name)
        getter = hook.getter(self._position)
        files = [self._position[alias] for alias in hook.columns if alias in self._storages]
        return self._with_urls(getter, files) if files else getter

    def has_files(self, hook: Hook) -> bool:
        """Return whether a hook has file columns, which it gets as URLs."""
        return any(alias in self._storages for alias in hook.columns)

    def _with_urls(self, getter: Getter, files: Sequence[int]) -> Getter:
        """Return a getter that gets the URL of a file in place of its name."""
        storages = {self._position[alias]: storage for alias, storage in self._storages.items()}

        def get(values: Values, item: Any) -> Any:
            seen = list(values)
            for index in files:
                seen[index] = file_url(storages[index], seen[index])
            return getter(seen, item)

        return get

    def _plain(self, rows: Sequence[Row]) -> Iterator[Group]:
        finish, add_media = self._finisher(), self.media_adder()
        location = self.getter("location")
        for row in rows:
            loc = self._loc(row, location)
            if loc is not None:
                yield Group(row.key, (add_media(row, finish(row, loc), None),))

    def _in_all_languages(self, rows: Sequence[Row]) -> Iterator[Group]:
        wanted = [self._languages(row) for row in rows]
        founds = self._found(rows, wanted)
        links = [self._links(*one) if one[1].locs else () for one in zip(rows, founds, wanted, strict=True)]
        for row, found, entries in zip(rows, founds, self._entries(rows, founds, links), strict=True):
            self._report(row, found)
            if entries:
                yield Group(row.key, [entries[code] for code in found.locs])

    def _entries(
        self, rows: Sequence[Row], founds: Sequence[Addresses], links: Sequence[Sequence[Link]]
    ) -> list[dict[str, Entry]]:
        """Return the entries of each row by language."""
        entries: list[dict[str, Entry]] = [{} for _ in rows]
        finish = None if self._has_dates_per_language else self._finisher()
        bases = [finish(row, "") if finish and found.locs else None for row, found in zip(rows, founds, strict=True)]
        for language in dict.fromkeys(code for found in founds for code in found.locs):
            with translation.override(language):
                complete, add_media = self._finisher(), self.media_adder()
                for row, found, base, made, linked in zip(rows, founds, bases, entries, links, strict=True):
                    if language in found.locs:
                        loc = found.locs[language]
                        entry = complete(row, loc) if base is None else base._replace(loc=loc)
                        made[language] = add_media(row, _linked(entry, linked), language)
        return entries

    def media_adder(self) -> Callable[[Row, Entry, str | None], Entry]:
        """Return the function that adds images, videos, news and the links of a hook, in the language now active."""
        getters = [(hook.name, self.getter(hook.name)) for hook in self.section.hooks.media]
        deprecated = self.section.emit_deprecated
        if not getters and not self._keeps_given:
            return lambda row, entry, language: entry

        def add(row: Row, entry: Entry, language: str | None) -> Entry:
            media = {name: self._value(row, name, get) for name, get in getters}
            if self._keeps_given:
                media = usable(media, row.key, self.cleaner)
            entry = entry._replace(
                more_links=links_of(media, row.key, entry.loc, self.cleaner, links=entry.links),
                media=elements(media, row.key, entry.loc, self.cleaner, emit_deprecated=deprecated),
            )
            if not self._keeps_given:
                return entry
            item = (row.item, language) if self.section.sitemap.i18n else row.item
            return entry._replace(given={"item": item, **media, "emit_deprecated": deprecated})

        return add

    def _languages(self, row: Row) -> Sequence[str]:
        hooks = self.section.hooks
        if hooks.siblings:
            return self._own_language(row)
        if not self.section.has_languages_per_item:
            return self.section.languages
        try:
            if overrides_languages(self.section.sitemap):
                return languages_in(self.section.sitemap.get_languages_for_item(row.item))
            return known_languages(languages_in(self.getter("languages")(row.values, row.item)))
        except Exception as error:  # user code of any kind
            name = "get_languages_for_item" if overrides_languages(self.section.sitemap) else "languages"
            self.cleaner.report.leave_out(row.key, name, error)
            return ()

    def _own_language(self, row: Row) -> Sequence[str]:
        """Return the language of a row that has only one, or nothing if it is not in ``LANGUAGES``."""
        given = row.values[self._position[self.section.hooks.siblings[2]]]
        language = own_language(given)
        if given and not known_languages([language]):
            said = f"The row is in {shown(given)}, which is not in LANGUAGES. Add the language, or exclude such rows."
            self.cleaner.report.leave_out(row.key, "hreflang", InvalidEntry("E-LANGUAGE", said))
            return ()
        return (language,)

    def _found(self, rows: Sequence[Row], wanted: Sequence[Sequence[str]]) -> list[Addresses]:
        """Return the URL of each row in each of its languages, one language after the other."""
        results = [Addresses(dict.fromkeys(languages, "")) for languages in wanted]
        for language in dict.fromkeys(code for languages in wanted for code in languages):
            with translation.override(language):
                location = self.getter("location")
                for row, languages, found in zip(rows, wanted, results, strict=True):
                    if language in languages:
                        self._find(row, location, language, found)
        return results

    def _find(self, row: Row, location: Getter, language: str, found: Addresses) -> None:
        value = None
        try:
            value = location(row.values, row.item)
            if value in (None, "") and depends_on_language(self.section.hooks.location.value):
                raise NotTranslated("E-URL-EMPTY", f"The location is empty in {language!r}; fill it.")
            found.locs[language] = self.cleaner.loc(row.key, value)
        except Exception as error:  # user code of any kind: one bad row must not hurt the others
            found.errors[language] = error
            del found.locs[language]
            if self.section.sitemap.alternates and getattr(error, "code", None) in _OTHER_HOST:
                found.elsewhere[language] = value

    def _report(self, row: Row, found: Addresses) -> None:
        """Report a row without a URL as left out, and each missing language of another row as dropped."""
        silent = [code for code, error in found.errors.items() if isinstance(error, NotTranslated)]
        if not found.locs and silent and found.elsewhere:
            # It has no translation for this site; the sitemap of the other host lists it.
            return
        for code, error in found.errors.items():
            if not found.locs:
                self.cleaner.report.leave_out(row.key, "location", self._location_error(row, error))
                return
            if code not in silent and code not in found.elsewhere:
                self.cleaner.report.drop(row.key, "location", error)

    def _links(self, row: Row, found: Addresses, languages: Sequence[str]) -> Sequence[Link]:
        sitemap = self.section.sitemap
        if not (sitemap.i18n and sitemap.alternates):
            return ()
        linked = found.linked(languages, self._value(row, "x_default", self.getter("x_default")))
        return self.cleaner.links(row.key, linked.items())

    def _loc(self, row: Row, location: Getter) -> str | None:
        try:
            return self.cleaner.loc(row.key, location(row.values, row.item))
        except Exception as error:  # user code of any kind: one bad row must not hurt the others
            self.cleaner.report.leave_out(row.key, "location", self._location_error(row, error))
            return None

    def _location_error(self, row: Row, error: Exception) -> Exception:
        return location_error(self.section.sitemap, row.item, error)

    @property
    def _has_dates_per_language(self) -> bool:
        hooks = self.section.hooks
        return any(depends_on_language(hook.value) for hook in (hooks.lastmod, hooks.changefreq, hooks.priority))

    def _finisher(self) -> Callable[[Row, str], Entry]:
        """Return the function that adds the optional parts of an entry to its URL."""
        hooks = self.section.hooks
        parts = [
            (hook.name, self.getter(hook.name), getattr(self.cleaner, hook.name))
            for hook in (hooks.lastmod, hooks.changefreq, hooks.priority)
            if hook.kind != "missing"
        ]

        def finish(row: Row, loc: str) -> Entry:
            return Entry(loc, **{name: clean(row.key, self._value(row, name, get)) for name, get, clean in parts})

        return finish

    def _value(self, row: Row, name: str, get: Getter) -> Any:
        try:
            return get(row.values, row.item)
        except Exception as error:  # user code of any kind
            self.cleaner.report.drop(row.key, name, error)
            return None


def _linked(entry: Entry, links: Sequence[Link]) -> Entry:
    """Add `links` only if they include this entry: hreflang links must be mutual."""
    return entry._replace(links=links) if any(link.href == entry.loc for link in links) else entry


def url_info_group(info: dict[str, Any], key: object, cleaner: Cleaner, *, keeps_given: bool = False) -> Group | None:
    """Return the entry of a dict of ``get_urls()``, or None if its location is invalid."""
    try:
        loc = cleaner.loc(key, info.get("location"))
    except Exception as error:  # a method of the project may return a value of any type
        cleaner.report.leave_out(key, "location", error)
        return None
    if keeps_given:
        info = {**info, **usable(info, key, cleaner)}
    links = url_info_links(info, key, cleaner)
    deprecated = bool(info.get("emit_deprecated"))
    return Group(
        key,
        (
            Entry(
                loc,
                cleaner.lastmod(key, info.get("lastmod")),
                cleaner.changefreq(key, info.get("changefreq")),
                cleaner.priority(key, info.get("priority")),
                links,
                links_of(info, key, loc, cleaner, links=links),
                elements(info, key, loc, cleaner, emit_deprecated=deprecated),
                info if keeps_given else None,
            ),
        ),
    )


def url_info_links(info: Mapping[str, Any], key: object, cleaner: Cleaner) -> list[Link]:
    """Return the links to other languages in a dict of Django's ``get_urls()``."""
    given = info.get("alternates") or ()
    return cleaner.links(key, ((alternate.get("lang_code"), alternate.get("location")) for alternate in given))


def _storages(section: Section) -> dict[str, Any]:
    """Return the storages of the files among the hooks' columns, by alias."""
    columns = section.hooks.columns
    if not columns:
        return {}
    query = section.sitemap.items().query
    return storages_of({alias: one.resolve_expression(query.chain()).output_field for alias, one in columns.items()})
