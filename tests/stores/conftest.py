"""Caches that tests of documents use."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from cache_processes import disconnect
from cache_samples import (
    Clock,
    Fake,
    clean_redis,
    config_of,
    drop_table,
)
from sitemaps_plus.stores import cache as module
from sitemaps_plus.stores.cache import DocumentCache, get_cache


@pytest.fixture
def config(kind: str, settings: Any, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Give a real cache, empty and the project's default."""
    made = config_of(kind, tmp_path)
    settings.CACHES = {"default": made}
    if kind == "database":
        call_command("createcachetable", verbosity=0)
    yield made
    disconnect()
    clean_redis(made)
    if kind == "database":
        drop_table()


@pytest.fixture
def documents(config: dict[str, Any]) -> DocumentCache:
    return get_cache()


@pytest.fixture(autouse=True)
def _nothing_known_of_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_resting", {})
    monkeypatch.setattr(module, "_warned", {})
    monkeypatch.setattr(module, "_reads", {})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(module, "caches", {"default": made})
    return made


@pytest.fixture
def cache_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made
