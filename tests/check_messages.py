"""The messages of our system checks, and sections for them to check."""

from typing import Any

from django.core.checks import CheckMessage, run_checks

from sitemaps_plus import ModelSitemap, register
from testapp.models import Product


def messages(*ids: str, deploy: bool = False) -> list[CheckMessage]:
    """Return our messages; with `ids`, such as ``E007``, only those.

    Many tests register nothing, so that W030 is only returned where it is asked for.
    """
    found = run_checks(databases=[], include_deployment_checks=deploy)
    ours = [message for message in found if str(message.id).startswith("sitemaps_plus.")]
    return [message for message in ours if (id_of(message) in ids if ids else id_of(message) != "W030")]


def id_of(message: CheckMessage) -> str:
    return str(message.id).partition(".")[2]


def texts(*ids: str) -> list[tuple[str, str]]:
    """Return the id of each message, and its text and hint as one text."""
    return [(id_of(message), f"{message.msg} {message.hint}") for message in messages(*ids)]


def parts(*ids: str) -> list[tuple[str, str, str]]:
    """Return id, text and hint of each message."""
    return [(id_of(message), message.msg, str(message.hint)) for message in messages(*ids)]


def only_text() -> tuple[str, str]:
    """Return the id and the text of the only message."""
    (only,) = texts()
    return only


def register_rows(model: Any = Product, base: Any = ModelSitemap, **attributes: Any) -> None:
    """Register a section of all rows of a model."""
    register("rows", type("Rows", (base,), {"queryset": model.objects.all(), "location": "/", **attributes}))
