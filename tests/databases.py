"""Databases that other processes share, and databases that refuse."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.db import OperationalError, connection, connections
from django.db.models import Model


@contextmanager
def shared_database(folder: Path, *models: type[Model], **options: Any) -> Iterator[str]:
    """Yield the address of a database for threads and other processes: the server's own, or a file of SQLite's.

    The file has only the tables of `models`; this process opens it with `options`.
    """
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


@contextmanager
def read_only() -> Iterator[None]:
    """Make the database refuse writes, as a replica does."""
    switches = {
        "sqlite": ("PRAGMA query_only = 1", "PRAGMA query_only = 0"),
        "postgresql": ("SET default_transaction_read_only = on", "SET default_transaction_read_only = off"),
        "mysql": ("SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"),
    }
    on, off = switches[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(on)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(off)


@contextmanager
def refusing(pattern: str, text: str = "the server has gone away") -> Iterator[None]:
    """Make the database fail at each statement that `pattern`, a regular expression, finds."""

    def refuse(execute: Any, sql: str, *args: Any) -> Any:
        if re.search(pattern, sql):
            raise OperationalError(text)
        return execute(sql, *args)

    with connection.execute_wrapper(refuse):
        yield


@contextmanager
def steps_of_sqlite() -> Iterator[list[None]]:
    """Yield a list that grows with every tenth instruction of SQLite: what queries cost, whatever the machine does."""
    steps: list[None] = []
    connection.ensure_connection()
    connection.connection.set_progress_handler(lambda: steps.append(None), 10)
    try:
        yield steps
    finally:
        connection.connection.set_progress_handler(None, 0)
