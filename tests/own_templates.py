"""Templates of a project; apart from the samples, as other projects than testapp have no models of it."""

from pathlib import Path
from typing import Any


def put_template(settings: Any, folder: Path, name: str, text: str, **engine: Any) -> None:
    """Put a template of the project before those of the apps."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    # Assigning makes a new engine: an engine caches its templates.
    backend = "django.template.backends.django.DjangoTemplates"
    settings.TEMPLATES = [{"BACKEND": backend, "DIRS": [folder], "APP_DIRS": True, **engine}]
