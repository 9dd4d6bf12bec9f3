"""Find attributes of the registered classes that are misspelt hooks or options."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from django.contrib import sitemaps as contrib
from django.db.models import OrderBy, Q, QuerySet

from sitemaps_plus.checks.classes import SHIPPED, Found, check_each, is_read, own_attributes
from sitemaps_plus.declare.hooks import HOOKS, LANGUAGE_HOOKS, class_of
from sitemaps_plus.declare.sitemaps import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap
from sitemaps_plus.errors import shown
from sitemaps_plus.values.extensions import EXTENSIONS
from sitemaps_plus.values.fields import Declared, Expression

_HOOKS = (*HOOKS, *EXTENSIONS, *LANGUAGE_HOOKS, "changed")
_ROWS = ("items", "queryset", "get_queryset")
# Instances of GenericSitemap have them, the class does not.
_GENERIC = ("queryset", "date_field")

_KNOWN = {name for cls in (NewsSitemap, GenericSitemap) for name in dir(cls)} | {*_HOOKS, *_GENERIC}

_OWNERS: dict[str, tuple[tuple[type, ...], str]] = {
    "queryset": ((ModelSitemap, contrib.GenericSitemap), "Derive the class from ModelSitemap, or read it in items()."),
    "get_queryset": ((ModelSitemap,), "Derive the class from ModelSitemap, or call it in items()."),
    "date_field": ((NewsSitemap, contrib.GenericSitemap), "For the date of each row write lastmod = F(...)."),
    "window": ((NewsSitemap,), "Derive the class from NewsSitemap, or filter the rows."),
}
"""The classes that read an option which not all have, and what to do in others."""

_OTHER_WORDS = {
    "loc": "location",
    "lastmodified": "lastmod",
    "lastmodification": "lastmod",
    "lastmoddate": "lastmod",
    "frequency": "changefreq",
    "changefrequency": "changefreq",
    "prio": "priority",
    "lang": "languages",
    "langs": "languages",
    "xdefaults": "x_default",
}
"""Words for hooks in the protocol and in other packages."""

# In shorter words one letter makes another word, as the first letter does in all.
_SHORTEST = 6


@check_each()
def check_names(sitemap: Any) -> Found:
    """sitemaps_plus.W024: no attribute has the name of a hook or an option almost, or in the wrong class."""
    own = own_attributes(sitemap)
    for name, (owners, hint) in _OWNERS.items():
        if name in own and not issubclass(class_of(sitemap), owners) and not is_read(sitemap, name):
            yield "W024", f".{name} has no effect: only {_names_of(owners)} read it.", hint
    for name in [name for name in own if name not in _KNOWN]:
        holds, targets = _holds_value(own[name]), _targets(sitemap, own)
        meant = _meant(name, targets) or (_nearest(name, targets) if holds else None)
        if (holds or meant) and not is_read(sitemap, name):
            given = f" = {shown(own[name])}" if holds else ""
            yield "W024", f".{name}{given} has no effect: no hook or option has this name.", _hint(meant)


def _names_of(classes: Iterable[type]) -> str:
    return " and ".join(cls.__name__ for cls in classes)


def _hint(meant: str | None) -> str:
    rename = f"Rename it to {meant}." if meant else f"Give it the name of a hook: {', '.join(_HOOKS)}."
    return f"{rename} If other code reads it, let its name begin with an underscore."


def _targets(sitemap: Any, own: Iterable[str]) -> set[str]:
    """Return the hooks and options that the class could have and the project has not declared."""
    shipped = (cls for cls in (*class_of(sitemap).__mro__, Sitemap) if cls in SHIPPED)
    names = {name for cls in shipped for name in dir(cls) if not name.startswith("_")}
    declared = {*own, *_ROWS} if any(name in own for name in _ROWS) else set(own)
    return names.union(_HOOKS) - declared


def _holds_value(value: Any) -> bool:
    """Return whether an attribute holds an ORM expression or a value of this package."""
    # The type: to ask a lazy object would evaluate it.
    kind = type(value)
    if issubclass(kind, list | tuple):
        return any(_holds_value(one) for one in value)
    # Conditions, orders and rows are for queries.
    return issubclass(kind, Expression | Declared) and not issubclass(kind, type | Q | OrderBy | QuerySet)


def _meant(name: str, targets: Iterable[str]) -> str | None:
    """Return the hook or option that almost has this name, or None."""
    plain = _plain(name)
    # "changed" takes expressions only, and many words are close to it.
    known = {_plain(target): target for target in targets if target != "changed"}
    # Other options with an "s" or "get_" are another thing, such as the versions of an API.
    hooks = {word: target for word, target in known.items() if target in (*_HOOKS, "alternates", "items")}
    for guess in (plain, f"{plain}s", plain.removesuffix("s"), plain.removeprefix("get"), _OTHER_WORDS.get(plain)):
        if guess in (known if guess == plain else hooks):
            return known[guess]
    return next((known[word] for word in sorted(known) if _is_typo(plain, word)), None)


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _is_typo(name: str, word: str) -> bool:
    """Return whether the two differ by one letter that is missing, added, wrong or swapped with its neighbour."""
    if min(len(name), len(word)) < _SHORTEST or name[0] != word[0] or f"{name}s" == word or name == f"{word}s":
        return False
    start = next((at for at, (a, b) in enumerate(zip(name, word, strict=False)) if a != b), min(len(name), len(word)))
    rest, other = name[start:], word[start:]
    swapped = other[1:2] + other[:1] + other[2:]
    return rest[1:] == other or rest == other[1:] or rest[1:] == other[1:] or rest == swapped


def _nearest(name: str, targets: Iterable[str]) -> str | None:
    hooks = [hook for hook in _HOOKS if hook in targets]
    return next(iter(difflib.get_close_matches(name, hooks, n=1, cutoff=0.75)), None)
