"""The base classes of a project's sitemaps; each also works in a dict of ``django.contrib.sitemaps``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.db.models import DateTimeField, Model, QuerySet
from django.utils import timezone

from sitemaps_plus.declare.hooks import class_of, is_constant, name_of
from sitemaps_plus.declare.items import latest_lastmod, lazy_items, row_of, url_infos
from sitemaps_plus.declare.languages import known_languages, languages_in
from sitemaps_plus.declare.loading import value_of
from sitemaps_plus.errors import InvalidSitemap
from sitemaps_plus.protocol.reports import Report, keep_broken
from sitemaps_plus.values.extensions import EXTENSIONS
from sitemaps_plus.values.fields import Declared, Expression

if TYPE_CHECKING:
    # All type checkers know this module. With its defaults a class may be derived from ModelSitemap, too.
    from typing_extensions import TypeVar

    # The stubs leave out the underscored methods that projects override too.
    _ContribSitemap = Any
    _ContribGenericSitemap = Any
    _Item = TypeVar("_Item", default=Any)
    _Row = TypeVar("_Row", bound=Model, default=Any)
else:
    from typing import TypeVar

    _ContribSitemap = contrib.Sitemap
    _ContribGenericSitemap = contrib.GenericSitemap
    _Item = TypeVar("_Item")
    _Row = TypeVar("_Row")


class Sitemap(_ContribSitemap, Generic[_Item]):  # type: ignore[misc]
    """A section whose items are any sequence; written as for Django, or as ``Sitemap[Product]`` for type checkers.

    It differs from ``django.contrib.sitemaps.Sitemap`` in five ways: (item, language) pairs are made when they are
    needed, an absolute ``location`` is not changed, ``x-default`` only removes a language prefix from the path, dates
    and datetimes may be mixed, and an item whose ``location`` raises is left out.
    """

    fill: ClassVar[float] = 0.9
    """How full new pages are, as a share of the limits; 1.0 is for sections that only grow at the end."""

    key: ClassVar[str | tuple[str, ...]] = "pk"
    """The unique, indexed column (or columns) that the section is divided by."""

    changed: Any = None
    """An ORM expression that changes with every change of a row; default: ``lastmod`` if that is an expression."""

    max_age: ClassVar[float | None] = None
    """Seconds for which a page is not rendered only to compare it; default: the time that it takes decides."""

    version: ClassVar[int] = 1
    """Increase it when a method returns other values for the same rows than before."""

    cross_submission: ClassVar[str] = ""
    """The reason why URLs on other hosts may be listed, such as ``"both hosts are verified in Search Console"``."""

    emit_deprecated: ClassVar[bool] = False
    """Whether to write elements of images, videos and news that search engines no longer use."""

    site: Any = None
    """The site of the sitemap: a ``Site`` if the Sites framework is installed."""

    def _items(self) -> Any:
        return lazy_items(self)

    def _get(self, name: str, item: Any, default: Any = None) -> Any:
        value = getattr(self, name, None)
        is_declared = isinstance(value, Expression | Declared) or (name in EXTENSIONS and not callable(value))
        if value is None or not is_declared:
            return super()._get(name, item, default)
        return value_of(self, name, row_of(self, item))

    def _languages(self) -> Sequence[str]:
        if is_constant(self.languages):
            return languages_in(super()._languages())
        return [code for code, _ in settings.LANGUAGES]

    def get_languages_for_item(self, item: Any) -> Sequence[str]:
        """Return the languages of an object: the value of ``languages`` for it, if ``LANGUAGES`` has them."""
        if is_constant(self.languages):
            return self._languages()
        return known_languages(languages_in(value_of(self, "languages", item)))

    # A class that has this very method does not override it.
    _shipped_get_languages_for_item = get_languages_for_item

    def get_latest_lastmod(self) -> date | datetime | None:
        """Return the newest lastmod of all items; None if an item has none, or if only reading every row finds it."""
        return latest_lastmod(self)

    def _urls(self, page: Any, protocol: str, domain: str) -> list[dict[str, Any]]:
        with keep_broken():
            return list(url_infos(self, page, f"{protocol}://{domain}", report=Report(name_of(self))))


def overrides(sitemap: Any, *names: str) -> bool:
    """Return whether a Sitemap class, or that of an instance, overrides one of these methods, ours or Django's."""
    cls = class_of(sitemap)
    return any(getattr(cls, name) not in (getattr(contrib.Sitemap, name), getattr(Sitemap, name)) for name in names)


class GenericSitemap(Sitemap[_Row], _ContribGenericSitemap):  # type: ignore[misc]
    """A section from ``{"queryset": ..., "date_field": ...}``, as in Django."""

    if TYPE_CHECKING:

        def items(self) -> QuerySet[_Row]:
            """Return the rows."""


class ModelSitemap(Sitemap[_Row]):
    """A section of the rows of a model, read in the order of a key.

    Set ``queryset`` or override ``get_queryset``; the key replaces its ordering.
    """

    queryset: QuerySet[_Row] | None = None
    """The rows, read again each time. If they depend on the time or on ``self.site``, override ``get_queryset``."""

    def get_queryset(self) -> QuerySet[_Row]:
        """Return the rows of the sitemap at this moment."""
        if self.queryset is None:
            raise InvalidSitemap(
                f"{name_of(self)} has no rows: set queryset = Model.objects.all(), or override get_queryset()."
            )
        return self.queryset.all()

    def items(self) -> QuerySet[_Row]:
        """Return ``get_queryset()``."""
        return self.get_queryset()


class NewsSitemap(ModelSitemap[_Row]):
    """The articles of the last two days, newest first, 1,000 per page: the limits of Google's news sitemaps.

    Page 1 always has the newest articles; it may be empty.
    """

    limit = 1000

    date_field: ClassVar[str] = ""
    """The name of the field with the time of first publication."""

    window: ClassVar[timedelta] = timedelta(days=2)
    """How long an article stays listed."""

    def items(self) -> QuerySet[_Row]:
        """Return the articles of the window, newest first."""
        rows = self.get_queryset()
        last: date = timezone.now()
        first: date = last - self.window
        if not isinstance(rows.model._meta.get_field(self.date_field), DateTimeField):
            first, last = _day(first), _day(last)
        inside = {f"{self.date_field}__gte": first, f"{self.date_field}__lte": last}
        return rows.filter(**inside).order_by(f"-{self.date_field}", "-pk")


def makes_rows(cls: Any) -> bool:
    """Return whether a method of a class of the project, and not only its ``queryset``, gives the rows."""
    shipped = (ModelSitemap.items, NewsSitemap.items, contrib.GenericSitemap.items)
    return cls.items not in shipped or getattr(cls, "get_queryset", None) not in (None, ModelSitemap.get_queryset)


def _day(moment: date) -> date:
    if isinstance(moment, datetime) and timezone.is_aware(moment):
        return timezone.localdate(moment)
    # Without USE_TZ a naive datetime is local time already.
    return moment.date() if isinstance(moment, datetime) else moment
