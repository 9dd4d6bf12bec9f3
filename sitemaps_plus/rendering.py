"""Turn the raw hook values of a chunk of rows into entries: shared by the row path and the object path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import FileField
from django.utils import translation

from sitemaps_plus.entries import Cleaner, Entry, Group, Link
from sitemaps_plus.hooks import Getter, Hook, Values
from sitemaps_plus.languages import without_language
from sitemaps_plus.media import extras
from sitemaps_plus.sections import Section
from sitemaps_plus.text import shown

CHUNK = 2000
"""Rows read at a time: as fast as a cursor of the server, and bounded in memory."""

_LANGUAGE = re.compile(r"[A-Za-z0-9]+(?:[-_@][A-Za-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Row:
    """One row, as the hooks see it."""

    key: object
    values: Sequence[Any]
    """The values of the hooks' columns."""
    item: Any = None
    """The object; None on the row path."""


@dataclass(slots=True)
class _Found:
    """The addresses of one row by language, and why the others are missing."""

    locs: dict[str, str]
    errors: dict[str, Exception] = field(default_factory=dict)


class Renderer:
    """Turn rows of one section into groups of entries."""

    def __init__(self, section: Section, cleaner: Cleaner) -> None:
        self.section = section
        self.cleaner = cleaner
        self._position = {alias: index for index, alias in enumerate(section.hooks.columns)}
        self._storages = _storages(section)
        self._media = [(hook.name, self._getter(hook.name)) for hook in section.hooks.media]

    def groups(self, rows: Sequence[Row]) -> Iterator[Group]:
        """Yield one group for each of `rows` that has a URL."""
        if self.section.sitemap.i18n:
            return self._in_all_languages(rows)
        return self._plain(rows)

    def pair_groups(self, rows: Sequence[Row], languages: Sequence[str]) -> Iterator[Group]:
        """Yield one group for each (row, language) pair; the pairs of a row stand together."""
        finish, found, before = self._finisher(), _Found({}), object()
        for row, language in zip(rows, languages, strict=True):
            if row.item is not before or language not in {*found.locs, *found.errors}:
                linked = self._languages(row) if self.section.sitemap.alternates else ()
                (found,) = self._found([row], [list(dict.fromkeys([*linked, language]))])
                before = row.item
            if language in found.locs:
                entry = finish(row, found.locs[language], self._links(row, found))
                yield Group(row.key, (self._with_media(row, [entry])))
            else:
                self.cleaner.report.leave_out(row.key, "location", found.errors[language])

    def _getter(self, name: str) -> Getter:
        hook: Hook = getattr(self.section.hooks, name)
        getter = hook.getter(self._position)
        files = [self._position[alias] for alias in hook.columns if alias in self._storages]
        return self._with_urls(getter, files) if files else getter

    def _with_urls(self, getter: Getter, files: Sequence[int]) -> Getter:
        """Return a getter that sees the URL of a file in place of its name."""
        storages = {self._position[alias]: storage for alias, storage in self._storages.items()}

        def get(values: Values, item: Any) -> Any:
            seen = list(values)
            for index in files:
                seen[index] = storages[index].url(str(seen[index])) if seen[index] else None
            return getter(seen, item)

        return get

    def _plain(self, rows: Sequence[Row]) -> Iterator[Group]:
        finish = self._finisher()
        location = self._getter("location")
        for row in rows:
            loc = self._loc(row, location)
            if loc is not None:
                yield Group(row.key, self._with_media(row, [finish(row, loc, ())]))

    def _in_all_languages(self, rows: Sequence[Row]) -> Iterator[Group]:
        finish = self._finisher()
        wanted = [self._languages(row) for row in rows]
        for row, found in zip(rows, self._found(rows, wanted), strict=True):
            self._report(row, found)
            if found.locs:
                entry = finish(row, "", self._links(row, found))
                entries = [entry._replace(loc=loc) for loc in found.locs.values()]
                yield Group(row.key, self._with_media(row, entries))

    def _with_media(self, row: Row, entries: list[Entry]) -> Sequence[Entry]:
        """Return the entries of a row with its images, videos and news, for which each hook is asked once."""
        if not self._media:
            return entries
        media = {name: self._value(row, name, get) for name, get in self._media}
        deprecated = self.section.emit_deprecated
        return [
            entry._replace(extra=extras(media, row.key, entry.loc, self.cleaner, emit_deprecated=deprecated))
            for entry in entries
        ]

    def _languages(self, row: Row) -> Sequence[str]:
        if not self.section.has_languages_per_item:
            return self.section.languages
        try:
            return _checked_languages(self.section.sitemap.get_languages_for_item(row.item))
        except Exception as error:  # user code of any kind
            self.cleaner.report.leave_out(row.key, "get_languages_for_item", error)
            return ()

    def _found(self, rows: Sequence[Row], wanted: Sequence[Sequence[str]]) -> list[_Found]:
        """Return the address of each row in each of its languages, asking for one language after the other."""
        results = [_Found(dict.fromkeys(languages, "")) for languages in wanted]
        for language in dict.fromkeys(code for languages in wanted for code in languages):
            with translation.override(language):
                location = self._getter("location")
                for row, languages, found in zip(rows, wanted, results, strict=True):
                    if language in languages:
                        self._find(row, location, language, found)
        return results

    def _find(self, row: Row, location: Getter, language: str, found: _Found) -> None:
        try:
            found.locs[language] = self.cleaner.loc(row.key, location(row.values, row.item))
        except Exception as error:  # user code of any kind: one bad row must not hurt the others
            found.errors[language] = error
            del found.locs[language]

    def _report(self, row: Row, found: _Found) -> None:
        """Count a row without any address as left out, and each language that is missing from others as dropped."""
        for error in found.errors.values():
            if not found.locs:
                self.cleaner.report.leave_out(row.key, "location", error)
                return
            self.cleaner.report.drop(row.key, "location", error)

    def _links(self, row: Row, found: _Found) -> Sequence[Link]:
        if not self.section.sitemap.alternates:
            return ()
        hrefs = dict(found.locs)
        default = settings.LANGUAGE_CODE
        if self.section.sitemap.x_default and default in hrefs:
            hrefs["x-default"] = without_language(hrefs[default], default)
        links = (self.cleaner.link(row.key, code, href) for code, href in hrefs.items())
        return [link for link in links if link is not None]

    def _loc(self, row: Row, location: Getter) -> str | None:
        try:
            return self.cleaner.loc(row.key, location(row.values, row.item))
        except Exception as error:  # user code of any kind: one bad row must not hurt the others
            self.cleaner.report.leave_out(row.key, "location", error)
            return None

    def _finisher(self) -> Callable[[Row, str, Sequence[Link]], Entry]:
        """Return the function that adds the optional parts to an address."""
        hooks = self.section.hooks
        parts = [
            (hook.name, self._getter(hook.name), getattr(self.cleaner, hook.name))
            for hook in (hooks.lastmod, hooks.changefreq, hooks.priority)
            if hook.kind != "missing"
        ]

        def finish(row: Row, loc: str, links: Sequence[Link]) -> Entry:
            found = {part[0]: self._part(row, *part) for part in parts}
            return Entry(loc, found.get("lastmod"), found.get("changefreq"), found.get("priority"), links)

        return finish

    def _part(self, row: Row, name: str, get: Getter, clean: Callable[[object, object], str | None]) -> str | None:
        return clean(row.key, self._value(row, name, get))

    def _value(self, row: Row, name: str, get: Getter) -> Any:
        try:
            return get(row.values, row.item)
        except Exception as error:  # user code of any kind
            self.cleaner.report.drop(row.key, name, error)
            return None


def url_info_group(info: dict[str, Any], key: object, cleaner: Cleaner) -> Group | None:
    """Return the entry of a dict from a class's own ``get_urls()``, or None where its location is unusable."""
    try:
        loc = cleaner.loc(key, info.get("location"))
    except Exception as error:  # a value of any type may come from a class's own method
        cleaner.report.leave_out(key, "location", error)
        return None
    return Group(
        key,
        (
            Entry(
                loc,
                cleaner.lastmod(key, info.get("lastmod")),
                cleaner.changefreq(key, info.get("changefreq")),
                cleaner.priority(key, info.get("priority")),
                url_info_links(info, key, cleaner),
                extras(info, key, loc, cleaner, emit_deprecated=bool(info.get("emit_deprecated"))),
            ),
        ),
    )


def url_info_links(info: Mapping[str, Any], key: object, cleaner: Cleaner) -> list[Link]:
    """Return the links to other languages that a dict of Django's ``get_urls()`` holds."""
    given = info.get("alternates") or ()
    links = (cleaner.link(key, alternate.get("lang_code"), alternate.get("location")) for alternate in given)
    return [link for link in links if link is not None]


def _storages(section: Section) -> dict[str, Any]:
    """Return the storages of the files among the hooks' columns, by alias."""
    columns = section.hooks.columns
    if not columns:
        return {}
    query = section.sitemap.items().query
    fields = {alias: given.resolve_expression(query.chain()).output_field for alias, given in columns.items()}
    return {alias: field.storage for alias, field in fields.items() if isinstance(field, FileField)}


def _checked_languages(codes: Iterable[Any]) -> list[str]:
    languages = list(dict.fromkeys(codes))
    for code in languages:
        if not (isinstance(code, str) and _LANGUAGE.fullmatch(code)):
            raise ValueError(f"{shown(code)} is no language code; return codes of LANGUAGES.")
    return languages
