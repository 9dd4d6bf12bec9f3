"""Run `build_sitemaps` in tests, and read what it published."""

import io
from typing import Any

import pytest
from django.core.files.storage import storages
from django.core.management import CommandError, call_command

from samples import Products
from sitemaps_plus.build.results import BuildResult
from testapp.models import Product


class Broken(Products):
    def get_queryset(self) -> Any:
        raise RuntimeError("the rows cannot be read")


class OneInvalidRow(Products):
    def location(self, item: Product) -> str | None:
        return None if item.slug == "product-2" else f"/{item.slug}/"

    lastmod = "yesterday"


def run(*args: str, stderr: io.StringIO | None = None, **options: Any) -> tuple[str, str, CommandError | None]:
    """Return what the command writes to both outputs, and how it failed."""
    stdout, stderr, failure = io.StringIO(), stderr or io.StringIO(), None
    try:
        call_command("build_sitemaps", *args, stdout=stdout, stderr=stderr, **options)
    except CommandError as error:
        failure = error
    return stdout.getvalue(), stderr.getvalue(), failure


def options_of_builds(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return a list that receives the options of each build in place of the build."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "sitemaps_plus.management.commands.build_sitemaps.build",
        lambda labels, **options: (found.append(options), BuildResult())[1],
    )
    return found


def published() -> list[str]:
    return sorted(storages["sitemaps"].listdir("example.com")[1])


def content(name: str) -> bytes:
    with storages["sitemaps"].open(f"example.com/{name}") as file:
        return bytes(file.read())
