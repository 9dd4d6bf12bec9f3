"""Compile the hooks of a class into the text of a row: constants, with columns between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.conf import settings
from django.db.models.expressions import Col
from django.urls import get_script_prefix
from django.utils import translation

from sitemaps_plus.declare.hooks import Hook
from sitemaps_plus.declare.languages import default_language, same_language, without_language
from sitemaps_plus.declare.url_for import UrlFor
from sitemaps_plus.plan.sections import Section
from sitemaps_plus.protocol.entries import Cleaner, Newest
from sitemaps_plus.protocol.reports import Silence
from sitemaps_plus.render.bulk.columns import MARKS_BY_CONVERTER, Address, GivenAddress, Slot, converter_of
from sitemaps_plus.render.renderer import Renderer


class Pattern(NamedTuple):
    """The parts of the text of a row."""

    addresses: Sequence[Address]
    columns: Mapping[str, int]
    """The column of each hook whose values differ from row to row."""
    links: Sequence[str | Slot]
    default: int | None = None
    """Number of the address whose path, without the prefix of its language, is the ``x-default``."""
    called: Sequence[str] = ()
    """The hooks to call for each object, after the location."""
    are_unique: bool = False
    """Whether the database sees to it that all rows have different addresses."""


def compile_pattern(cleaner: Cleaner, renderer: Renderer) -> Pattern | None:
    """Return the pattern of the rows of a section, or None if the renderer must handle each row by itself."""
    section, hooks = renderer.section, renderer.section.hooks
    if hooks.siblings or section.has_languages_per_item or not _are_valid_constants(section, cleaner):
        return None
    named = (hooks.lastmod, hooks.changefreq, hooks.priority)
    called = [hook.name for hook in named if hook.kind in ("expression", "method")]
    languages = languages_of_urls(section)
    if not section.reads_values:
        addresses: list[Address | None] = [GivenAddress(at, cleaner) for at in range(len(languages))]
        columns = {name: len(languages) + at for at, name in enumerate(called)}
    else:
        addresses = [_address(renderer, cleaner, code) for code in languages]
        columns = {name: _column_of(section, getattr(hooks, name)) for name in called}
    made = [address for address in addresses if address is not None]
    links = _links(section, cleaner, made) if len(made) == len(addresses) else None
    if links is None:
        return None
    return Pattern(made, columns, links.parts, links.default, called, _are_unique(section, made))


def _are_unique(section: Section, addresses: Sequence[Address]) -> bool:
    """Return whether all rows have different addresses because the only parameter is a unique column of their table.

    Addresses in several languages may be equal: ``/p-<slug>`` and ``/p-de-<slug>``.
    """
    if len(addresses) > 1 or len(addresses[0].params) != 1 or not section.reads_values:
        return False
    (column, param), query = addresses[0].params[0], section.queryset().query
    found = list(section.hooks.columns.values())[column].resolve_expression(query.chain())
    # Rows repeat where the project joins tables by itself, and nobody tells whether a view of the database is unique.
    is_own = isinstance(found, Col) and found.alias == query.get_initial_alias() and section.model._meta.managed
    return is_own and found.target.unique and not query.extra_tables and converter_of(param) in MARKS_BY_CONVERTER


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


def _are_valid_constants(section: Section, cleaner: Cleaner) -> bool:
    """Return whether the constants give no error and no warning, which would be reported for each row."""
    silence = Silence(section.label)
    silent = replace(cleaner, report=silence, newest=Newest())
    for hook in (section.hooks.lastmod, section.hooks.changefreq, section.hooks.priority):
        if hook.kind == "declared":
            return False
        if hook.kind == "constant":
            getattr(silent, hook.name)(None, hook.value)
    return not (silence.dropped or silence.warned)


class _Links(NamedTuple):
    """The links to the languages of a row, the same on each of its URLs."""

    parts: Sequence[str | Slot] = ()
    default: int | None = None
    """Number of the address whose path, without the prefix of its language, is the ``x-default``."""


def _links(section: Section, cleaner: Cleaner, addresses: Sequence[Address]) -> _Links | None:
    """Return the links, or None if rows have different ones."""
    sitemap, x_default = section.sitemap, section.hooks.x_default
    if not (sitemap.i18n and sitemap.alternates):
        return _Links()
    if section.hooks.hreflang.kind != "missing":
        # A row must not have two links for one language.
        return None
    silence = Silence(section.label)
    silent = replace(cleaner, report=silence)
    codes = [silent.link_code(None, code) for code in section.languages]
    if silence.warned:
        return None
    linked = [code for code in codes if code is not None]
    if len(linked) != len(set(linked)) or x_default.kind not in ("missing", "constant"):
        return None
    parts: list[str | Slot] = []
    for at, (code, address) in enumerate(zip(codes, addresses, strict=True)):
        if code is not None:
            parts += [_link(code), *address.parts(names_of(at, address)), '"/>']
    return _with_x_default(section, addresses, parts) if x_default.value else _Links(parts)


def _with_x_default(section: Section, addresses: Sequence[Address], parts: Sequence[str | Slot]) -> _Links | None:
    """Return the links with the ``x-default``, or None if that depends on the row."""
    given, default = section.hooks.x_default.value, default_language(section.languages)
    at = next((at for at, code in enumerate(section.languages) if same_language(code, given)), None)
    if given is True:
        if default is None:
            return _Links(parts)
        at = section.languages.index(default)
    if at is None:
        return None
    address = addresses[at]
    head, *rest = address.parts(names_of(at, address))
    if given is True and default is not None:
        if isinstance(address, GivenAddress):
            return _Links([*parts, _link("x-default"), head, Slot("x-default"), '"/>'], at)
        path = address.head.partition("://")[2].partition("/")[2]
        if "/" not in path.removeprefix(get_script_prefix().lstrip("/")):
            # The first part of the path differs from row to row.
            return None
        head = without_language(address.head, default)
    return _Links([*parts, _link("x-default"), head, *rest, '"/>'])


def _column_of(section: Section, hook: Hook) -> int:
    (alias,) = hook.columns
    return list(section.hooks.columns).index(alias)


def languages_of_urls(section: Section) -> Sequence[str | None]:
    """Return the languages that a row has URLs in; only None if the section has no URL per language."""
    return section.languages if section.sitemap.i18n else (None,)


def names_of(at: int, address: Address) -> list[str]:
    """Return the names of the columns of an address."""
    return [f"{at}.{number}" for number in range(len(address.literals))]


def _link(hreflang: str) -> str:
    return f'<xhtml:link rel="alternate" hreflang="{hreflang}" href="'
