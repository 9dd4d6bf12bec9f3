"""Have a section checked soon after a row of its model is saved or deleted; without it the change shows later."""

from __future__ import annotations

import inspect
import math
import time
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.db.models.signals import post_delete, post_save
from django.db.transaction import TransactionManagementError

from sitemaps_plus.declare.registry import registry
from sitemaps_plus.stores.cache import get_cache

_marked: dict[str, float] = {}


def watch() -> None:
    """Connect to the signals of saved and deleted rows."""
    post_save.connect(_on_change, dispatch_uid="sitemaps_plus.saved")
    post_delete.connect(_on_change, dispatch_uid="sitemaps_plus.deleted")


def _on_change(sender: type[Model], using: str | None = None, raw: bool = False, **_kwargs: Any) -> None:
    labels = () if raw else tuple(label for label in registry if _lists(registry[label], sender))
    if labels:
        # Under a manual commit there is no hook; the next check finds the change.
        with suppress(TransactionManagementError):
            # Not a partial: Django logs the name of a callback that fails.
            transaction.on_commit(lambda: _mark(labels), using=using, robust=True)


def _mark(labels: tuple[str, ...]) -> None:
    # Once per second and process, however many rows are saved: a mark holds until the second is over.
    second = math.floor(time.time())
    fresh = [label for label in labels if _marked.get(label) != second]
    if fresh:
        _marked.update(dict.fromkeys(fresh, second))
        # The index of the site has no label.
        get_cache().look_again([*fresh, ""])


def _lists(sitemap: Any, model: type[Model]) -> bool:
    """Return whether the rows of a class are of a model, as far as its `queryset` attribute shows that."""
    # Static lookup: a property could query the database or fail, and must not do so during a save.
    rows = inspect.getattr_static(sitemap, "queryset", None)
    if not isinstance(rows, QuerySet):
        return False
    listed, saved = (one._meta.concrete_model or one for one in (rows.model, model))
    # Multi-table inheritance: saving a child saves a row of its parent, and that row may belong to a listed child.
    return issubclass(saved, listed) or issubclass(listed, saved)
