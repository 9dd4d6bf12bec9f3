"""A database that threads and other processes share: a server's own, or SQLite's in a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.db import connection, connections
from django.db.models import Model


@contextmanager
def shared_database(folder: Path, *models: type[Model], **options: Any) -> Iterator[str]:
    """Give its address. SQLite's has only the tables of `models`; this process uses it with `options`."""
    if connection.vendor != "sqlite":
        known = connection.settings_dict
        scheme = {"postgresql": "postgres", "mysql": "mysql"}[connection.vendor]
        user = f"{quote(known['USER'])}:{quote(known['PASSWORD'] or '')}".rstrip(":")
        yield f"{scheme}://{user}@{known['HOST']}:{known['PORT']}/{known['NAME']}"
        return
    in_memory, known = connections["default"], connections.databases["default"]
    file = folder / "shared.sqlite3"
    connections.databases["default"] = {**known, "NAME": file, "OPTIONS": {**known.get("OPTIONS", {}), **options}}
    connections["default"] = connections.create_connection("default")
    with connections["default"].schema_editor() as editor:
        for model in models:
            editor.create_model(model)
    yield f"sqlite:///{file}"
    connections["default"].close()
    connections.databases["default"], connections["default"] = known, in_memory
