"""Check the languages and the relations that the registered classes declare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from sitemaps_plus.checks.classes import declared, languages_of_rows, model_of, sitemaps, values_of
from sitemaps_plus.declare.hooks import Column, class_of, name_of, read_hooks
from sitemaps_plus.declare.languages import hreflang_of
from sitemaps_plus.declare.related import Related, find_relation
from sitemaps_plus.declare.siblings import Siblings
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap

Found = Iterator[CheckMessage]


@register()
def check_alternates(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W011: alternates and x_default need i18n, or rows that link to each other."""
    return [
        Warning(
            f"{name_of(sitemap)}.{name} has no effect: {name_of(sitemap)}.i18n is False.",
            hint=f"Set i18n = True on {name_of(sitemap)}, or remove {name}.",
            obj=class_of(sitemap),
            id="sitemaps_plus.W011",
        )
        for sitemap in sitemaps()
        for name in ("alternates", "x_default")
        if declared(sitemap, name, False) and not declared(sitemap, "i18n", True)
        if name == "alternates" or not _links_rows(sitemap)
    ]


def _links_rows(sitemap: Any) -> bool:
    return any(isinstance(value, Siblings) for value in values_of(sitemap, "hreflang"))


@register()
def check_hreflang(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.W018: search engines know the codes of the languages that URLs link to."""
    return [
        Warning(
            f"{name_of(sitemap)} makes URLs in languages with codes that search engines do not know, and no page links "
            f"to them: {', '.join(map(repr, unknown))}.",
            hint=f'Set SITEMAPS_PLUS = {{"HREFLANG": {{{unknown[0]!r}: "..."}}}} to a code that they know, or to None. '
            "If you have not set LANGUAGES, set it to the languages of your pages.",
            obj=class_of(sitemap),
            id="sitemaps_plus.W018",
        )
        for sitemap in sitemaps()
        if declared(sitemap, "alternates", False)
        if (unknown := [code for code in languages_of_rows(sitemap) if not _is_known(code)])
    ]


def _is_known(language: str) -> bool:
    try:
        hreflang_of(language)
    except InvalidEntry:
        return False
    return True


@register()
def check_relations(**_kwargs: Any) -> list[CheckMessage]:
    """sitemaps_plus.E019: the relations that hooks read exist and lead to many rows."""
    return [message for sitemap in sitemaps() for message in _check_relations(sitemap)]


def _check_relations(sitemap: Any) -> Found:
    model = model_of(sitemap)
    if model is None:
        return
    for related in _relations(sitemap):
        try:
            find_relation(model, related.relation)
        except InvalidSitemap as error:
            yield Error(
                f"{name_of(sitemap)}: {error}",
                hint="Correct the name. For a relation to one row use an expression: F('brand__logo').",
                obj=class_of(sitemap),
                id="sitemaps_plus.E019",
            )


def _relations(sitemap: Any) -> list[Related]:
    loads = (column.load for column in read_hooks(sitemap).columns.values() if isinstance(column, Column))
    owners = (getattr(load, "__self__", None) for load in loads)
    # By identity: a declared value need not be hashable.
    return list({id(owner): owner for owner in owners if isinstance(owner, Related)}.values())
