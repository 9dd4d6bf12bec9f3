"""Add up the rows that one rendering reads, so that a page gets the validator of the very rows that it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property
from typing import Any, NamedTuple

from django.db import connections
from django.db.models import F, QuerySet

from sitemaps_plus.declare.hooks import has_languages_per_item
from sitemaps_plus.plan.sections import Section, has_multivalued_join
from sitemaps_plus.plan.validators import STAMP, Fingerprint, stamp_of, validator_of

_VENDORS = ("sqlite", "postgresql", "mysql")
_MICROSECOND = timedelta(microseconds=1)


class Sums(NamedTuple):
    """What some rows add up to, as `plan.validators.measure` adds them up in the database."""

    rows: int = 0
    keys: tuple[int, ...] = ()
    """The sum of each integer column of the key; empty without rows."""
    stamps: int | None = None
    """The sum of what ``changed`` gives as an integer; None where no row has a value."""
    last: int | None = None
    """The maximum of the same."""

    def validator(self, section: Section, known: str = "") -> str:
        """Return the validator of the rows: `known` if that is a validator of the same rows."""
        names = range(len(section.key.summable))
        keys = {f"keys{index}": self.keys[index] if self.keys else None for index in names}
        found = {"rows": self.rows, **keys, "stamps": self.stamps}
        # Where programs wrote dates in several forms, a database may find another maximum.
        is_known = known.partition(" last=")[0] == validator_of(found)
        return known if is_known else validator_of({**found, "last": self.last})

    def with_dates(self, dates: Sequence[date], newest: date | None) -> Sums:
        """Return the same with the stamps of dates, or of datetimes in UTC without a zone, as `Stamp` computes them."""
        if newest is None:
            return self
        epoch: Any = type(newest)(1970, 1, 1)
        total = sum(map(epoch.__rsub__, dates), timedelta())
        return self._replace(stamps=total // _MICROSECOND, last=(newest - epoch) // _MICROSECOND)


def added(given: Iterable[Sums]) -> Sums:
    """Return the sums of several."""
    parts = [one for one in given if one.rows]
    dated = [one for one in parts if one.stamps is not None]
    return Sums(
        rows=sum(one.rows for one in parts),
        keys=tuple(map(sum, zip(*(one.keys for one in parts), strict=True))),
        stamps=sum(one.stamps or 0 for one in dated) if dated else None,
        last=max((one.last for one in dated if one.last is not None), default=None),
    )


class SeenRows:
    """The rows that one rendering of a section has read so far, in parts.

    They are not exact, and the page keeps the validator of before the rendering, where the database does not tell of
    changes anyway, and where only the database can add the rows up.
    """

    def __init__(self, section: Section) -> None:
        self._section = section
        self._parts: list[Sums] = []
        self._is_spoiled = False

    @cached_property
    def is_exact(self) -> bool:
        """Whether the rows can be added up here."""
        section = self._section
        if section.model is None or section.makes_its_urls or section.is_windowed or section.changed is None:
            return False
        rows, stamp = self._rows, self._stamp
        if stamp is None or section.key.is_converted or connections[rows.db].vendor not in _VENDORS:
            return False
        if section.paged_by == "position":
            # Only pairs of item and language tell on which page an item begins.
            is_counted = section.sitemap.i18n and not has_languages_per_item(section.sitemap)
            return is_counted and not _is_repeated(section.sitemap.items())
        return self._is_column or not _is_repeated(rows.annotate(**{STAMP: stamp}))

    @cached_property
    def columns(self) -> Mapping[str, Any]:
        """The column to read with each row: its stamp, after all other columns."""
        return {STAMP: self._stamp} if self.is_exact else {}

    @cached_property
    def _rows(self) -> QuerySet[Any]:
        # Once, because the class may make queries for it.
        return self._section.queryset()

    @cached_property
    def _stamp(self) -> Any:
        return stamp_of(self._section, self._rows)

    @property
    def _is_column(self) -> bool:
        """Whether ``changed`` is a column of the row, which has the same value wherever a join repeats the row."""
        name = self._section.changed.name if isinstance(self._section.changed, F) else None  # type: ignore[attr-defined]
        names = {one for field in self._section.model._meta.concrete_fields for one in (field.name, field.attname)}
        return name in names and name not in self._rows.query.annotations

    @property
    def sums(self) -> Sums | None:
        """The sums of all rows; None where they are not exact."""
        return added(self._parts) if self.is_exact and not self._is_spoiled else None

    def add(self, sums: Sums) -> int:
        """Add rows that the database has added up, and return the number of that part."""
        self._parts.append(sums)
        return len(self._parts) - 1

    def take_back(self, part: int) -> None:
        """Forget a part, whose rows are read again."""
        self._parts[part] = Sums()

    def add_records(self, records: Sequence[Sequence[Any]]) -> None:
        """Add rows, each its key, other columns and its stamp."""
        if self.is_exact and records:
            size = len(self._section.key.names)
            by_column = list(zip(*records, strict=True))
            self._add(by_column[:size], by_column[-1])

    def add_items(self, items: Sequence[Any]) -> None:
        """Add rows that are objects with the stamp as an attribute."""
        if self.is_exact and items:
            names = (*self._section.key.names, STAMP)
            try:
                columns = [[getattr(item, name) for item in items] for name in names]
            except AttributeError:
                # A QuerySet class of the project gives other objects.
                self._is_spoiled = True
                return
            self._add(columns[:-1], columns[-1])

    def _add(self, keys: Sequence[Sequence[Any]], stamps: Sequence[Any]) -> None:
        rows = list(zip(*keys, strict=True))
        if len(set(rows)) < len(rows):
            # A join to many rows repeats a key, and the first row counts.
            firsts = [at for at, key in enumerate(rows) if not at or key != rows[at - 1]]
            keys, stamps = [[column[at] for at in firsts] for column in keys], [stamps[at] for at in firsts]
        given = [stamp for stamp in stamps if stamp is not None]
        summed = [keys[self._section.key.names.index(name)] for name in self._section.key.summable]
        try:
            self.add(
                Sums(
                    rows=len(stamps),
                    keys=tuple(sum(map(int, column)) for column in summed),
                    stamps=sum(map(int, given)) if given else None,
                    last=int(max(given)) if given else None,
                )
            )
        except (TypeError, ValueError, OverflowError):
            # A field class of the project gives its values another type, or a date is infinite.
            self._is_spoiled = True


def _is_repeated(rows: QuerySet[Any]) -> bool:
    """Return whether a join may return a row more than once, also one that only its order needs."""
    rows = rows.all()
    rows.query.get_compiler(rows.db).pre_sql_setup()
    return has_multivalued_join(rows)


def seen_validator(section: Section, known: str, seen: Sums | None) -> str:
    """Return the validator of the rows that were `seen` on a page that was measured as `known` before."""
    # By position the validator of a page is only its number of rows.
    return known if seen is None or section.paged_by == "position" else seen.validator(section, known)


def seen_fingerprint(section: Section, known: Fingerprint, pages: Iterable[Sums | None]) -> str:
    """Return the text of the fingerprint of the rows that the renderings of all `pages` of a section read.

    That of `known`, the fingerprint of before, where they read the same rows or a page did not tell.
    """
    given = list(pages)
    if not known.text or None in given:
        return known.text
    found = added(one for one in given if one is not None).validator(section, known.validator)
    return known._replace(validator=found).text
