"""Read the column of the active language from a table with one column per language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import F
from django.utils.translation import get_language

from sitemaps_plus.declare.hooks import Column
from sitemaps_plus.declare.languages import same_language
from sitemaps_plus.errors import InvalidSitemap, shown
from sitemaps_plus.values.fields import Expression, Gives


class PerLanguage:
    """The column of each language: ``PerLanguage("slug_{}")``, which is ``slug_pt_br`` under ``pt-br``.

    Give other names in a dict: ``PerLanguage({"en": "slug", "de": F("german__slug")})``. A row with an empty column has
    no URL in that language.
    """

    gives: ClassVar[Gives] = "text"

    def __init__(self, columns: str | Mapping[str, Any], /) -> None:
        """Declare the columns; raises InvalidSitemap for a text without ``{}`` and for a value that is not a column."""
        if isinstance(columns, str) and columns.count("{}") == 0:
            raise InvalidSitemap(f'PerLanguage({columns!r}) names one column; put {{}} in it, as in "slug_{{}}".')
        if isinstance(columns, str) and not _is_form(columns):
            raise InvalidSitemap(
                f"PerLanguage({columns!r}): put {{}} in it once, in place of the language, and no other braces, as in "
                '"slug_{}". For other names give a dict by language.'
            )
        if not isinstance(columns, str | Mapping):
            raise InvalidSitemap(f'PerLanguage({columns!r}): give a text such as "slug_{{}}", or a dict by language.')
        if not isinstance(columns, str):
            _check_columns(columns)
        self.columns = columns

    def __repr__(self) -> str:
        """Return the declaration."""
        return f"PerLanguage({self.columns!r})"

    def __eq__(self, other: object) -> bool:
        """Compare by the columns."""
        return self.columns == other.columns if isinstance(other, PerLanguage) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash of the languages."""
        return hash(self.columns if isinstance(self.columns, str) else frozenset(self.columns))

    def expressions(self) -> dict[str, Any]:
        """Return the column of each language, by its code."""
        return {code: Column(_expression(given), language=code) for code, given in self._by_language().items()}

    def builder(self) -> Callable[[Sequence[Any]], Any]:
        """Return the function from the values of all columns to that of the active language."""
        index = self.position()
        return lambda values: None if index is None else values[index]

    def position(self) -> int | None:
        """Return the index in `expressions()` of the column of the active language, or None."""
        active = get_language() or settings.LANGUAGE_CODE
        return next((at for at, code in enumerate(self._by_language()) if same_language(code, active)), None)

    def _by_language(self) -> Mapping[str, Any]:
        if isinstance(self.columns, str):
            codes = (code for code, _ in settings.LANGUAGES)
            return {code: self.columns.format(code.replace("-", "_").lower()) for code in codes}
        return self.columns


def _is_form(columns: str) -> bool:
    before, _, after = columns.partition("{}")
    return not {"{", "}"} & {*before, *after}


def _check_columns(columns: Mapping[Any, Any]) -> None:
    for code, given in columns.items():
        is_column = isinstance(given, str | Expression) and not isinstance(given, type)
        if not isinstance(code, str) or not is_column:
            raise InvalidSitemap(
                f"PerLanguage({{{code!r}: {shown(given)}}}): give a column, by its name or as an expression, for the "
                'code of a language, as in {"en": "slug", "de": F("german__slug")}.'
            )


def _expression(given: Any) -> Any:
    return given if isinstance(given, Expression) else F(given)
