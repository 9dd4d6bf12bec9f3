"""Turn a registered Sitemap class into a section of one site: an instance, its hooks, and how it is divided."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import Any, Literal

from django.conf import settings
from django.db.models import F, ForeignObjectRel, QuerySet
from django.urls import NoReverseMatch, get_script_prefix, get_urlconf, set_urlconf
from django.utils import timezone, translation

from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.date_probe import plain_column
from sitemaps_plus.declare.hooks import Hooks, has_languages_per_item, languages_of, name_of, read_hooks
from sitemaps_plus.declare.items import is_plain, lazy_items
from sitemaps_plus.declare.languages import default_language, hreflang_of
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.declare.sitemaps import NewsSitemap, Sitemap, overrides
from sitemaps_plus.declare.url_for import UrlFor
from sitemaps_plus.plan.keys import Key
from sitemaps_plus.plan.overrides import PAGE, override_digest
from sitemaps_plus.plan.sites import SiteOrigin, directory
from sitemaps_plus.protocol.addresses import Origin, Scope
from sitemaps_plus.protocol.entries import Cleaner
from sitemaps_plus.protocol.limits import PROFILES, Profile
from sitemaps_plus.protocol.reports import Report, keep_broken
from sitemaps_plus.values.extensions import EXTENSIONS, namespaces_of
from sitemaps_plus.values.fields import Expression
from sitemaps_plus.values.news import MAX_NEWS

WRITER_VERSION = 1
"""Increased when the writer changes the bytes of the same entries."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PAGING_METHODS = ("paginator", "_items", "_urls", "get_urls")
_URL_METHODS = ("_location", "_get", "get_domain", "get_protocol")


@dataclass(frozen=True, kw_only=True)
class Section:
    """One registered sitemap of one site."""

    label: str
    site: SiteOrigin
    sitemap: Any
    """A new instance; no computed values are kept on it."""

    @cached_property
    def hooks(self) -> Hooks:
        """The hooks of the class: how each part of an entry is computed."""
        return read_hooks(self.sitemap)

    @property
    def name(self) -> str:
        """The name of the class, for messages."""
        return name_of(self.sitemap)

    @property
    def origin(self) -> Origin:
        """Scheme and host of the section's URLs: those of the site, with the ``protocol`` of the class."""
        protocol = self.sitemap.protocol
        return self.site.origin.with_scheme(protocol) if protocol else self.site.origin

    @property
    def base(self) -> str:
        """The start of all URLs: the origin and the active script prefix."""
        return f"{self.origin}{get_script_prefix()}".rstrip("/")

    @property
    def public_base(self) -> str:
        """The URL of the directory of the built pages, with a slash at the end."""
        return self.site.public_url or f"{self.origin}{directory()}"

    @property
    def cross_submission(self) -> bool:
        """Whether URLs on other hosts may be listed."""
        return bool(getattr(self.sitemap, "cross_submission", ""))

    @property
    def profile(self) -> Profile:
        """The limits of a page."""
        return PROFILES[get_settings().PROFILE]

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of every row; none if the section has no URLs per language."""
        return tuple(languages_of(self.sitemap)) if self.sitemap.i18n else ()

    @cached_property
    def has_languages_per_item(self) -> bool:
        """Whether each row has languages of its own."""
        return has_languages_per_item(self.sitemap)

    @cached_property
    def is_own(self) -> bool:
        """Whether the class derives from ours, and not only from ``django.contrib.sitemaps``."""
        return isinstance(self.sitemap, Sitemap)

    @cached_property
    def makes_its_urls(self) -> bool:
        """Whether the class overrides how Django turns items into URLs, so that only its own methods can do it."""
        return overrides(self.sitemap, *_PAGING_METHODS, *_URL_METHODS)

    @cached_property
    def is_windowed(self) -> bool:
        """Whether only recent rows are listed, newest first."""
        return isinstance(self.sitemap, NewsSitemap)

    @cached_property
    def _items(self) -> Any:
        return self.sitemap.items()

    @cached_property
    def paged_by(self) -> Literal["key", "position"]:
        """Whether a page is a range of the key or a slice of the items."""
        if self.makes_its_urls or self.is_windowed or (self.sitemap.i18n and not self.is_own):
            return "position"
        return "key" if isinstance(self._items, QuerySet) and is_plain(self._items) else "position"

    @property
    def model(self) -> Any:
        """The model of the rows; None if the items are not a QuerySet that can be filtered and aggregated."""
        return self._items.model if isinstance(self._items, QuerySet) and is_plain(self._items) else None

    @property
    def reads_values(self) -> bool:
        """Whether rows are read as plain values, in the order of the key: the row path."""
        return self.hooks.path == "row" and self.paged_by == "key"

    @property
    def urls_limit(self) -> int:
        """The most URLs that a page may have."""
        limit = min(int(self.sitemap.limit), self.profile.max_urls)
        return limit if self.hooks.news.kind == "missing" else min(limit, MAX_NEWS)

    @property
    def prefixes(self) -> dict[str, str]:
        """The namespaces of the extensions that the class declares, by prefix."""
        has_links = self.sitemap.i18n and self.sitemap.alternates
        if self.makes_its_urls:
            # Its own get_urls() may return values of any extension.
            return namespaces_of(EXTENSIONS)
        names = [*(["hreflang"] if has_links else []), *(hook.name for hook in self.hooks.media)]
        return namespaces_of(names) if names else {}

    @property
    def emit_deprecated(self) -> bool:
        """Whether elements are written that search engines no longer use."""
        return bool(getattr(self.sitemap, "emit_deprecated", False))

    @property
    def rows_limit(self) -> int:
        """The most rows that a page may have: all languages of a row are on the same page."""
        return self.rows_for(self.urls_limit)

    def rows_for(self, urls: int) -> int:
        """Return the number of rows that have `urls` URLs in all languages; at least one."""
        return max(1, urls // max(1, len(self.languages)))

    @property
    def rows_to_fill(self) -> int:
        """The number of rows of a new page."""
        # Without the small addition 0.29 of 100 would be 28.
        return min(self.rows_limit, max(1, int(self.rows_limit * getattr(self.sitemap, "fill", 0.9) + 1e-9)))

    @property
    def bytes_to_fill(self) -> int:
        """The size of a new page that is split because of its bytes."""
        return int(self.profile.max_bytes * getattr(self.sitemap, "fill", 0.9))

    def queryset(self) -> QuerySet[Any]:
        """Return the rows in no order, each once."""
        rows: QuerySet[Any] = self.sitemap.items().order_by()
        # Otherwise reverse() on the queryset of the class would also reverse the order of the key.
        rows.query.standard_ordering = True
        return rows.distinct() if has_multivalued_join(rows) else rows

    @cached_property
    def key(self) -> Key:
        """The columns that the section is divided by."""
        return Key.of(self._items.model, getattr(self.sitemap, "key", "pk"))

    @property
    def max_age(self) -> float | None:
        """The seconds for which pages are not compared by rendering, if the class limits that."""
        return getattr(self.sitemap, "max_age", None)

    @cached_property
    def changed(self) -> Any:
        """The expression that changes with every change of a row, or None."""
        if self.hooks.changed.kind == "expression":
            return self.hooks.changed.value
        return self.newest

    @cached_property
    def changed_field(self) -> Any:
        """The field of the values of `changed`; None where there are none."""
        return None if self.changed is None else self.changed.resolve_expression(self.queryset().query).output_field

    @property
    def told_by(self) -> str:
        """The name of the column or the hook that tells of changes, for messages."""
        if isinstance(self.changed, F):
            return str(self.changed.name)  # type: ignore[attr-defined]
        return "lastmod" if self.hooks.changed.kind == "missing" else "changed"

    @cached_property
    def newest(self) -> Any:
        """The expression for the lastmod of a row; None if only a method can compute it."""
        lastmod = self.hooks.lastmod
        if lastmod.kind == "expression":
            return lastmod.value
        if lastmod.kind == "method" and isinstance(self._items, QuerySet):
            column = plain_column(self.sitemap, "lastmod", self._items.model)
            return column and F(column)
        return None

    @property
    def layout(self) -> str:
        """A text of everything that the cuts depend on; with another layout all pages get new numbers."""
        if self.paged_by == "position":
            return "position"
        return f"{self.rows_limit} rows, {len(self.languages)} languages, by {self.key}"

    @property
    def recipe(self) -> str:
        """A digest of how entries are made; with another recipe the bytes may differ."""
        hooks = [
            (hook.name, hook.kind, _stable_repr(hook.value))
            for hook in (*self.hooks.shown, self.hooks.languages, self.hooks.x_default)
        ]
        parts = (
            WRITER_VERSION,
            hooks,
            self._url_forms(),
            self.languages,
            default_language(self.languages),
            self.sitemap.alternates,
            getattr(self.sitemap, "version", 1),
            self.emit_deprecated,
            get_settings().PROFILE,
            sorted(get_settings().HREFLANG.items()),
            override_digest(PAGE),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def _url_forms(self) -> list[Any]:
        """Return the constant text of the location's URL pattern in each language, if the pattern can be compiled."""
        location = self.hooks.location.value
        if not isinstance(location, UrlFor):
            return []
        forms: list[Any] = []
        for code in self.languages or (settings.LANGUAGE_CODE,):
            compiled = None
            with translation.override(code), suppress(NoReverseMatch):
                compiled = location.compiled()
            # Without the script prefix, which belongs to the request: the rows are the same under each prefix.
            literals = [param.literal for param in compiled.params] if compiled else None
            forms.append((literals, compiled.head.removeprefix(get_script_prefix()) if compiled else None))
        return forms

    def cleaner(self, report: Report) -> Cleaner:
        """Return the cleaner that turns the values of the hooks into protocol text."""
        return make_cleaner(Scope(origin=self.origin, any_host=self.cross_submission), report, profile=self.profile)

    def slice(self, report: Report | None = None, columns: Mapping[str, Any] | None = None) -> Any:
        """Return the items, of which pages cut by position are slices; items that fail are added to `report`.

        `columns` are expressions whose values the items get as attributes, if they are rows.
        """
        report = report or Report(self.label)
        return self.sitemap._items() if overrides(self.sitemap, "_items") else lazy_items(self.sitemap, report, columns)


def get_section(label: str, site: SiteOrigin) -> Section:
    """Return one section; raise PageNotFound if `label` is not registered."""
    return Section(label=label, site=site, sitemap=registry.make(label, site.model or site))


def get_sections(site: SiteOrigin) -> Iterator[Section]:
    """Yield all sections in the order of registration."""
    return (get_section(label, site) for label in registry)


def make_cleaner(
    scope: Scope, report: Report, *, profile: Profile = PROFILES["default"], kind: type[Cleaner] = Cleaner
) -> Cleaner:
    """Return a cleaner for the URLs of `scope`, which need not be those of a section."""
    return kind(
        scope=scope,
        tz=timezone.get_default_timezone(),
        # Aware even without USE_TZ: dates are compared with it.
        now=datetime.now(UTC),
        report=report,
        profile=profile,
        hreflang=cache(hreflang_of),
    )


@contextmanager
def neutral() -> Iterator[None]:
    """Use the default language, time zone and URLconf in the block, not those of the request."""
    urlconf = get_urlconf()
    with ExitStack() as stack:
        stack.enter_context(translation.override(settings.LANGUAGE_CODE))
        stack.enter_context(timezone.override(timezone.get_default_timezone()))
        stack.callback(set_urlconf, urlconf)
        set_urlconf(None)
        stack.enter_context(keep_broken())
        yield


def has_multivalued_join(rows: QuerySet[Any]) -> bool:
    """Return whether a join may return a row more than once."""
    if rows.query.group_by:
        return False
    return any(_is_to_many(getattr(join, "join_field", None)) for join in rows.query.alias_map.values())


def _is_to_many(field: Any) -> bool:
    # The join of a generic relation has a relation object that calls itself many-to-one.
    is_generic = isinstance(field, ForeignObjectRel) and field.many_to_one
    return is_generic or bool(getattr(field, "one_to_many", False))


def _stable_repr(value: Any) -> str:
    # A memory address differs in every process.
    if isinstance(value, Expression) or not callable(value):
        return _ADDRESS.sub("", repr(value))
    return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
