"""Keep the Sitemap classes of a project, each under the label in its URLs."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from django.contrib import sitemaps as contrib
from django.db.models import Manager, Model, QuerySet

from sitemaps_plus.declare.hooks import Hook, Hooks, class_of, is_constant, read_hooks
from sitemaps_plus.declare.items import check_computed, without_combinator
from sitemaps_plus.declare.languages import languages_in
from sitemaps_plus.declare.sitemaps import ModelSitemap, NewsSitemap, Sitemap, makes_rows
from sitemaps_plus.errors import InvalidSitemap, PageNotFound, shown
from sitemaps_plus.protocol.names import MAX_LABEL, ends_like_page, index_file, is_label
from sitemaps_plus.values.base import Value

AnySitemap = Any
"""A Sitemap class or instance, ours or ``django.contrib.sitemaps``'s."""

S = TypeVar("S")


class Registry:
    """The registered sections by label, in the order of registration."""

    def __init__(self) -> None:
        self._sitemaps: dict[str, AnySitemap] = {}

    def register(self, label: str, sitemap: AnySitemap) -> None:
        """Add a Sitemap class or instance under `label`; raise InvalidSitemap if it cannot work."""
        _check_label(label)
        _check_sitemap(label, sitemap)
        known = self._sitemaps.get(label)
        if known is not None and known is not sitemap and not _is_reloaded(known, sitemap):
            raise InvalidSitemap(
                f"The label {label!r} is used by {_path(known)}; register {_path(sitemap)} under another label."
            )
        self._sitemaps[label] = sitemap

    def unregister(self, label: str) -> None:
        """Remove a section; raise PageNotFound if there is none."""
        self[label]
        del self._sitemaps[label]

    @contextmanager
    def isolated(self, *labels: str) -> Iterator[None]:
        """Register only `labels` for the duration of the block, and restore all sections afterwards; for tests.

        Raises PageNotFound for a label that is not registered.
        """
        before = self._sitemaps
        self._sitemaps = {label: self[label] for label in labels}
        try:
            yield
        finally:
            self._sitemaps = before

    def make(self, label: str, site: Any) -> Any:
        """Return a new instance of a section's sitemap for `site`."""
        given = self[label]
        sitemap = given() if isinstance(given, type) else copy.copy(given)
        sitemap.site = site
        return sitemap

    def __getitem__(self, label: str) -> AnySitemap:
        """Return the class or instance registered under `label`; raise PageNotFound if there is none."""
        try:
            return self._sitemaps[label]
        except KeyError:
            known = ", ".join(self._sitemaps) or "none"
            raise PageNotFound(f"There is no sitemap section {label!r}. Registered: {known}.") from None

    def __iter__(self) -> Iterator[str]:
        """Yield the labels."""
        return iter(self._sitemaps)

    def __len__(self) -> int:
        """Return the number of sections."""
        return len(self._sitemaps)

    def __contains__(self, label: object) -> bool:
        """Return whether `label` is registered."""
        return label in self._sitemaps


REGISTER_REMEDY = (
    'Write @register("...") above a Sitemap class, in the file sitemaps.py of an app that is in INSTALLED_APPS.'
)
"""What to do where no section is registered."""

registry = Registry()
"""The sections of the running project."""


@overload
def register(label: str) -> Callable[[S], S]: ...


@overload
def register(label: str, sitemap: S) -> S: ...


def register(label: str, sitemap: Any = None) -> Any:
    """Register a Sitemap class or instance under `label`, as a decorator or as a call.

    The label is part of the section's URLs: lower-case letters, digits, ``-`` and ``_``, not ending in ``-`` and
    digits, which would look like a page number.
    """
    if sitemap is None:
        _check_label(label)
        return lambda decorated: register(label, decorated)
    registry.register(label, sitemap)
    return sitemap


def _check_label(label: str) -> None:
    if not isinstance(label, str):
        raise InvalidSitemap(f'register() takes a label first, as in @register("products"); it got {label!r}.')
    if not is_label(label):
        raise InvalidSitemap(
            f"{label!r} cannot be a label: use at most {MAX_LABEL} lower-case letters, digits, hyphens and underscores."
        )
    if ends_like_page(label):
        raise InvalidSitemap(
            f"{label!r} cannot be a label: its end looks like a page number in /{index_file(label)}. "
            "End it with a letter."
        )


def _check_sitemap(label: str, sitemap: AnySitemap) -> None:
    cls = class_of(sitemap)
    if not issubclass(cls, contrib.Sitemap):
        raise InvalidSitemap(
            f"{_path(sitemap)}, registered as {label!r}, is not a Sitemap. Derive it from sitemaps_plus.ModelSitemap, "
            "sitemaps_plus.Sitemap or django.contrib.sitemaps.Sitemap."
        )
    if issubclass(cls, NewsSitemap) and not cls.date_field:
        raise InvalidSitemap(
            f'{cls.__name__} needs date_field = "published_at": the field with the time of publication.'
        )
    if isinstance(sitemap, type):
        _check_arguments(sitemap)
    _check_languages(cls)
    _check_max_age(sitemap)
    hooks = read_hooks(sitemap)
    _check_hooks(cls, hooks)
    rows = inspect.getattr_static(sitemap, "queryset", None)
    if not issubclass(cls, ModelSitemap | contrib.GenericSitemap):
        return
    _check_no_model(cls, rows)
    if issubclass(cls, ModelSitemap):
        _check_rows(cls, sitemap.queryset)
    if isinstance(rows, QuerySet) and not makes_rows(cls):
        _check_filtered(cls, rows)
        check_computed(sitemap, hooks, rows)


def _check_hooks(cls: type, hooks: Hooks) -> None:
    if hooks.languages.kind not in ("missing", "constant") and not issubclass(cls, Sitemap):
        raise InvalidSitemap(
            f"{cls.__name__}.languages differs from row to row, which Django's classes do not support. Derive "
            f"{cls.__name__} from sitemaps_plus, or override get_languages_for_item()."
        )
    every = (*hooks.shown, hooks.languages, hooks.x_default, hooks.changed)
    expressions = [hook.name for hook in every if hook.kind in ("expression", "declared")]
    if expressions and not issubclass(cls, (ModelSitemap, contrib.GenericSitemap)):
        raise InvalidSitemap(
            f"{cls.__name__}.{expressions[0]} takes values from the database and so needs a QuerySet. Derive "
            f"{cls.__name__} from ModelSitemap and rename items() to get_queryset(), or make the hook a method."
        )
    for hook in (hooks.location, hooks.lastmod, hooks.changefreq, hooks.priority, hooks.x_default):
        _check_gives_one(cls, hook)


def _check_gives_one(cls: type, hook: Hook) -> None:
    kind = getattr(hook.value, "gives", None)
    if kind in ("values", "texts"):
        raise InvalidSitemap(
            f"{cls.__name__}.{hook.name} is {shown(hook.value)}, which gives a list, but a row has one {hook.name}. "
            "Let language= choose one, as in Related('translations', F('slug'), language=F('language_code'))."
        )
    if isinstance(hook.value, Value) or kind == "links":
        raise InvalidSitemap(
            f"{cls.__name__}.{hook.name} is {shown(hook.value)}, which belongs in images, videos, news or hreflang."
        )


def _check_max_age(sitemap: AnySitemap) -> None:
    given = inspect.getattr_static(sitemap, "max_age", None)
    if given is None or hasattr(type(given), "__get__"):
        return
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
        raise InvalidSitemap(
            f"{class_of(sitemap).__name__}.max_age is {shown(given)}. Give a number of seconds, as in max_age = 3600."
        )


def _check_languages(cls: type) -> None:
    given = inspect.getattr_static(cls, "languages", None)
    # A method or an expression has a value for each row only.
    if callable(given) or hasattr(type(given), "__get__") or not is_constant(given):
        return
    try:
        languages_in(given)
    except (TypeError, ValueError) as error:
        raise InvalidSitemap(
            f'{cls.__name__}.languages is {shown(given)}; give a list of codes, as in languages = ["en", "de"], or '
            "leave it out for all of LANGUAGES."
        ) from error


def _check_rows(cls: type[ModelSitemap], queryset: Any) -> None:
    if queryset is None and not makes_rows(cls):
        raise InvalidSitemap(
            f"{cls.__name__} has no rows: set queryset = Model.objects.all(), or override get_queryset()."
        )
    for name in ("items", "get_queryset"):
        if isinstance(getattr(cls, name), QuerySet | Manager):
            raise InvalidSitemap(f"{cls.__name__}.{name} is no method; name these rows queryset.")
    if inspect.isroutine(queryset):
        raise InvalidSitemap(f"{cls.__name__}.queryset is a method; name it get_queryset.")
    if not (queryset is None or hasattr(queryset, "all") or hasattr(type(queryset), "__get__")):
        raise InvalidSitemap(
            f"{cls.__name__}.queryset is a {type(queryset).__name__}. Give it a QuerySet, as in Model.objects.all(), "
            "or derive the class from Sitemap and return these rows from items()."
        )


def _check_no_model(cls: type, queryset: Any) -> None:
    if isinstance(queryset, type) and issubclass(queryset, Model):
        name = queryset.__name__
        raise InvalidSitemap(f"{cls.__name__}.queryset is the model {name}; set queryset = {name}.objects.all().")


def _check_filtered(cls: type, rows: QuerySet[Any]) -> None:
    """Raise InvalidSitemap if the class filters its rows and the queryset does not allow that."""
    if rows.query.combinator and issubclass(cls, NewsSitemap | contrib.GenericSitemap):
        raise InvalidSitemap(
            f"{cls.__name__} filters its queryset, and the rows of {rows.query.combinator}() cannot be filtered. "
            f"{without_combinator(rows)}."
        )
    if rows.query.is_sliced and issubclass(cls, NewsSitemap):
        raise InvalidSitemap(
            f"{cls.__name__} filters its queryset by {cls.date_field}, and a slice cannot be filtered. Leave out the "
            "slice: only the articles of the last days are listed."
        )


def _check_arguments(cls: type) -> None:
    try:
        inspect.signature(cls).bind()
    except TypeError as error:
        raise InvalidSitemap(
            f"{cls.__name__} cannot be instantiated without arguments ({error}). Register an instance instead: "
            f"{cls.__name__}(...)."
        ) from error


def _is_reloaded(known: AnySitemap, sitemap: AnySitemap) -> bool:
    are_classes = isinstance(known, type) and isinstance(sitemap, type)
    # All classes that one function makes have the same path.
    return are_classes and _path(known) == _path(sitemap) and "<locals>" not in _path(known)


def _path(sitemap: AnySitemap) -> str:
    cls = class_of(sitemap)
    return f"{cls.__module__}.{cls.__qualname__}"


def chosen_labels(labels: Sequence[str]) -> Sequence[str]:
    """Return `labels`, each once, or all labels if there are none; raise PageNotFound for an unknown one."""
    for label in labels:
        registry[label]
    return tuple(dict.fromkeys(labels)) or tuple(registry)
