"""Check the languages and the relations that the registered classes declare."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from sitemaps_plus.checks.classes import Found, check_each, declared, languages_of_rows, model_of, values_of
from sitemaps_plus.declare.hooks import Column, name_of, read_hooks
from sitemaps_plus.declare.languages import default_language, hreflang_of
from sitemaps_plus.declare.related import Related, find_relation
from sitemaps_plus.declare.siblings import Siblings
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap


@check_each()
def check_alternates(sitemap: Any) -> Found:
    """sitemaps_plus.W011: alternates and x_default need i18n, or rows that link to each other."""
    cls = name_of(sitemap)
    for name in () if declared(sitemap, "i18n", True) else ("alternates", "x_default"):
        if declared(sitemap, name, False) and (name == "alternates" or not _links_rows(sitemap)):
            text = f".{name} has no effect: {cls}.i18n is False."
            yield "W011", text, f"Set i18n = True on {cls}, or remove {name}."


@check_each()
def check_x_default(sitemap: Any) -> Found:
    """sitemaps_plus.W027: x_default = True finds a language for everybody else."""
    languages = languages_of_rows(sitemap) if declared(sitemap, "alternates", False) else ()
    if languages and declared(sitemap, "x_default", False) is True and default_language(languages) is None:
        text = f".x_default has no effect: its URLs are in {', '.join(map(repr, languages))}, and LANGUAGE_CODE is "
        yield (
            "W027",
            f"{text}{settings.LANGUAGE_CODE!r}.",
            "Set LANGUAGE_CODE to one of LANGUAGES, or x_default to the language for everybody else: x_default = "
            f'"{languages[0]}".',
        )


def _links_rows(sitemap: Any) -> bool:
    return any(isinstance(value, Siblings) for value in values_of(sitemap, "hreflang"))


@check_each()
def check_hreflang(sitemap: Any) -> Found:
    """sitemaps_plus.W018: search engines know the codes of the languages that URLs link to."""
    languages = languages_of_rows(sitemap) if declared(sitemap, "alternates", False) else ()
    if unknown := [code for code in languages if not _is_known(code)]:
        yield (
            "W018",
            " has languages whose codes search engines do not know, so no hreflang link is written for them: "
            f"{', '.join(map(repr, unknown))}.",
            'Map each code in SITEMAPS_PLUS["HREFLANG"] to one they know, or to None. '
            "If you have not set LANGUAGES, set it to the languages of your pages.",
        )


def _is_known(language: str) -> bool:
    try:
        hreflang_of(language)
    except InvalidEntry:
        return False
    return True


@check_each()
def check_relations(sitemap: Any) -> Found:
    """sitemaps_plus.E019: the relations that hooks read exist and lead to many rows."""
    model = model_of(sitemap)
    for related in _relations(sitemap) if model else ():
        try:
            find_relation(model, related.relation)
        except InvalidSitemap as error:
            hint = "Correct the name. For a relation to one row use an expression: F('brand__logo')."
            yield "E019", f": {error}", hint


def _relations(sitemap: Any) -> list[Related]:
    loads = (column.load for column in read_hooks(sitemap).columns.values() if isinstance(column, Column))
    owners = (getattr(load, "__self__", None) for load in loads)
    # By identity: a declared value need not be hashable.
    return list({id(owner): owner for owner in owners if isinstance(owner, Related)}.values())
