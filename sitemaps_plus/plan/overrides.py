"""Find the templates of a project that override the shipped ones."""

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

# By package: with a wrong folder the template engine would render every page, and nobody would notice.
_SHIPPED = tuple(Path(str(files(package))).resolve() / "templates" for package in ("sitemaps_plus", contrib.__name__))


def is_shipped(template: Any) -> bool:
    """Return whether a template is ours or Django's; the writer gives the same bytes without it."""
    name = _origin(template)
    return name is not None and _is_shipped_file(name)


def find_override(name: str, label: str = "") -> Any | None:
    """Return the project's own template of that name, or None; raise SitemapError for one that does not compile.

    The message of the error names the section `label`.
    """
    try:
        template = get_template(name)
    except TemplateDoesNotExist:
        return None
    except Exception as error:  # a template engine of any kind
        purpose = f" for the sitemap {label!r}" if label else ""
        raise SitemapError(
            f"The template {name} ({_file_of(name, error)}) cannot be used{purpose}: {type(error).__name__}: {error}. "
            "Correct it, or remove it: then pages are written without it."
        ) from error
    return None if is_shipped(template) else template


def override_digest(name: str) -> str:
    """Return a digest of the project's own template of that name, "" without one."""
    try:
        template = find_override(name)
    except SitemapError as error:
        # Planning goes on: a broken template stops rendering.
        return _digest(str(error))
    return "" if template is None else _digest(_source(template))


def described(template: Any) -> str:
    """Return the name and the file of a template, for messages."""
    origin = getattr(template, "origin", None)
    return f"{getattr(origin, 'template_name', None)} ({_origin(template)})"


@lru_cache(maxsize=32)
def _is_shipped_file(name: str) -> bool:
    # Cached: this is called for each page of a plan, and resolving links takes system calls.
    return any(folder in Path(name).resolve().parents for folder in _SHIPPED)


def _origin(template: Any) -> str | None:
    name = getattr(getattr(template, "origin", None), "name", None)
    return name if isinstance(name, str) else None


def _file_of(name: str, error: Exception) -> str:
    """Return the file of a template that does not compile."""
    # Jinja2 names it; Django does only in debug mode.
    if file := getattr(error.__cause__, "filename", None):
        return str(file)
    found = (
        origin
        for backend in engines.all()
        for loader in getattr(getattr(backend, "engine", None), "template_loaders", ())
        for origin in loader.get_template_sources(name)
        if _exists(loader, origin)
    )
    return next((str(origin.name) for origin in found), "file unknown")


def _exists(loader: Any, origin: Any) -> bool:
    try:
        loader.get_contents(origin)
    except Exception:  # a loader of any kind
        return False
    return True


def _source(template: Any) -> str:
    source = getattr(getattr(template, "template", None), "source", None)
    if isinstance(source, str):
        return source
    # Jinja2 does not keep the source.
    file = Path(_origin(template) or "")
    return file.read_text() if file.is_file() else str(file)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
