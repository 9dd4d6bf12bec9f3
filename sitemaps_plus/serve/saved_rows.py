"""Say "look now" when rows of a registered model are saved or deleted; nothing depends on it but how soon it shows."""

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

_said: dict[str, float] = {}


def watch() -> None:
    """Hear of every row that is saved or deleted."""
    post_save.connect(_heard, dispatch_uid="sitemaps_plus.saved")
    post_delete.connect(_heard, dispatch_uid="sitemaps_plus.deleted")


def _heard(sender: type[Model], using: str | None = None, raw: bool = False, **_kwargs: Any) -> None:
    labels = () if raw else tuple(label for label in registry if _lists(registry[label], sender))
    if labels:
        # Who commits by hand cannot be followed; a check comes soon anyhow.
        with suppress(TransactionManagementError):
            # No partial: Django names what fails, and a partial has no name.
            transaction.on_commit(lambda: _say(labels), using=using, robust=True)


def _say(labels: tuple[str, ...]) -> None:
    # Once a second and process, however many rows are saved: what is said holds until the second is over.
    second = math.floor(time.time())
    fresh = [label for label in labels if _said.get(label) != second]
    if fresh:
        _said.update(dict.fromkeys(fresh, second))
        # The index of the site has no label.
        get_cache().look_again([*fresh, ""])


def _lists(sitemap: Any, model: type[Model]) -> bool:
    """Return whether a class says, without being asked for its rows, that they are of a model."""
    # Statically: a property may ask the database, or fail, and a save must not notice.
    rows = inspect.getattr_static(sitemap, "queryset", None)
    if not isinstance(rows, QuerySet):
        return False
    listed, saved = (one._meta.concrete_model or one for one in (rows.model, model))
    # A child has a row of its parent, too; and a row of the parent may be part of a child's.
    return issubclass(saved, listed) or issubclass(listed, saved)
