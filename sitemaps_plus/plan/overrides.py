"""Tell whether a template of the project stands in the place of one of the shipped ones."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from django.contrib import sitemaps as contrib
from django.template import TemplateDoesNotExist, engines
from django.template.loader import get_template

from sitemaps_plus.errors import SitemapError

PAGE = "sitemap.xml"
INDEX = "sitemap_index.xml"

# Found by package, so that this file may move: with a wrong folder every page would be rendered by the template engine.
_SHIPPED = tuple(Path(str(files(package))).resolve() / "templates" for package in ("sitemaps_plus", contrib.__name__))


def is_shipped(template: Any) -> bool:
    """Return whether a template is ours or Django's, which the writer stands for."""
    name = _origin(template)
    return name is not None and _is_shipped_file(name)


def find_override(name: str, label: str = "") -> Any | None:
    """Return the project's own template of that name, None where it has none; raise SitemapError for a broken one.

    `label` is the section that it is for, for the message.
    """
    try:
        template = get_template(name)
    except TemplateDoesNotExist:
        return None
    except Exception as error:  # a template engine of any kind
        what = f" for the sitemap {label!r}" if label else ""
        raise SitemapError(
            f"The template {name} ({_file_of(name, error)}) cannot be used{what}: {type(error).__name__}: {error}. "
            "Correct it, or remove it: pages are written without it then."
        ) from error
    return None if is_shipped(template) else template


def override_digest(name: str) -> str:
    """Return a digest of the project's own template of that name, "" where it has none."""
    try:
        template = find_override(name)
    except SitemapError as error:
        # Planning goes on: rendering is what a broken template stops.
        return _digest(str(error))
    return "" if template is None else _digest(_source(template))


def described(template: Any) -> str:
    """Return the name of a template and its file, for messages."""
    origin = getattr(template, "origin", None)
    return f"{getattr(origin, 'template_name', None)} ({_origin(template)})"


@lru_cache(maxsize=32)
def _is_shipped_file(name: str) -> bool:
    # Kept: each page of a plan asks, and links are resolved by the file system.
    return any(folder in Path(name).resolve().parents for folder in _SHIPPED)


def _origin(template: Any) -> str | None:
    name = getattr(getattr(template, "origin", None), "name", None)
    return name if isinstance(name, str) else None


def _file_of(name: str, error: Exception) -> str:
    """Return the file of a template that does not compile."""
    # Jinja2 says it; Django does only in debug mode.
    if file := getattr(error.__cause__, "filename", None):
        return str(file)
    found = (
        origin
        for backend in engines.all()
        for loader in getattr(getattr(backend, "engine", None), "template_loaders", ())
        for origin in loader.get_template_sources(name)
        if _is_there(loader, origin)
    )
    return next((str(origin.name) for origin in found), "file unknown")


def _is_there(loader: Any, origin: Any) -> bool:
    try:
        loader.get_contents(origin)
    except Exception:  # a loader of any kind
        return False
    return True


def _source(template: Any) -> str:
    source = getattr(getattr(template, "template", None), "source", None)
    if isinstance(source, str):
        return source
    # Jinja2 does not keep it.
    file = Path(_origin(template) or "")
    return file.read_text() if file.is_file() else str(file)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
