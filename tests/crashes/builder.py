"""A process in which Django is loaded, and which forks a build for each line that it reads: that costs milliseconds."""

import errno
import gc
import json
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import ManagementUtility
from django.db import connection, connections
from django.db.models import F
from django.template import engines

from sitemaps_plus.declare.registry import registry


def main() -> None:
    django.setup()
    # What every build reads, once for all of them.
    for module in (
        "sitemaps_plus.management.commands.build_sitemaps",
        "sitemaps_plus.serve.head",
        "sitemaps_plus.stores.fast",
        "django.db.models.sql.compiler",
        settings.ROOT_URLCONF,
    ):
        import_module(module)
    engines.all()
    gc.freeze()

    assert all(one.connection is None for one in connections.all()), "a connection cannot be shared with a fork"
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        print({"start": start, "wait": wait}[order.pop("do")](**order), flush=True)


def start(args: list[str], notes: str, **how: Any) -> int:
    """Start a build with these arguments and return its process; what it says and does goes to files at `notes`."""
    if pid := os.fork():
        return pid
    status = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for handle, name in ((0, os.devnull), (1, f"{notes}.out"), (2, f"{notes}.err")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), handle)
        status = build(args, Path(f"{notes}.steps"), **how)
    except Exception:
        # As Python ends what nobody catches.
        traceback.print_exc()
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def wait(pid: int) -> int:
    """Return the exit status of a build when it has ended; a signal is a negative number."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def build(
    args: list[str],
    notes: Path,
    *,
    files: str | None = None,
    staging: str | None = None,
    database: dict[str, Any] | None = None,
    settings_: dict[str, Any] | None = None,
    verifies: bool = True,
    quick: bool = False,
    code: str = "",
    at: int | str | None = None,
    send: int = signal.SIGKILL,
    room: int | None = None,
) -> int:
    """Run the command, with other files, another staging area, other settings and values of the database as given.

    Without `verifies` no page is rendered only to compare it. A `quick` build flushes nothing to the disk, and does not
    look for missing tables. With `code` the project is another one. The disk is full at `room` bytes. The build sends
    itself a signal at the step of the number `at`, or at the first one of that kind.
    """
    if files is not None:
        settings.STORAGES["sitemaps"]["OPTIONS"]["location"] = files
    settings.SITEMAPS_PLUS.update({**({"STAGING": staging} if staging else {}), **(settings_ or {})})
    connection.settings_dict.update(database or {})
    change_code(code)
    if not verifies:
        import_module("sitemaps_plus.plan.verification").Allowance.choose = lambda *_args: set()
    if quick:
        os.fsync = lambda _handle: None
        import_module("sitemaps_plus.management.commands.build_sitemaps").missing_tables = lambda *_args: None
    places = [settings.STORAGES["sitemaps"]["OPTIONS"]["location"], settings.SITEMAPS_PLUS["STAGING"]]
    if at is not None:
        watch(Steps(at, send, notes), places, is_flushed=not quick)
    if room is not None:
        limit_disk(Path(places[0]), room)
    began = time.monotonic()
    try:
        ManagementUtility(["manage.py", "build_sitemaps", "--skip-checks", "--json", *args]).execute()
    except SystemExit as end:
        return int(end.code or 0)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        # Without the start of a process, which a fork does not have.
        notes.with_suffix(".seconds").write_text(str(time.monotonic() - began))
        connections.close_all()
    return 0


def change_code(to: str) -> None:
    """Let the code of the project be another than before."""
    if to == "unregistered":
        registry.unregister("media")
    elif to == "recipe":
        # Of the sections that derive from it, too.
        rows = registry["rows"]
        rows.lastmod, rows.changed = None, F("updated_at")


class Steps:
    """Count what a build does to files and to the database, and send a signal to itself before one of them."""

    def __init__(self, at: int | str, send: int, notes: Path) -> None:
        self._at, self._send = at, send
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._count = 0

    def __call__(self, what: str) -> None:
        self._count += 1
        os.write(self._notes, f"{what}\n".encode())
        if self._at in (self._count, kind_of(what)):
            self._at = 0
            os.kill(os.getpid(), self._send)


KINDS = (
    *(f"{what} {name}" for what in ("open", "replace") for name in ("page", "index", "site index", "manifest")),
    "fsync",
    "remove page",
    "INSERT",
    "UPDATE",
)
"""The kinds of what a build does to files and to the database."""

NAMES = {
    "manifest": r"sitemaps-.*",
    "page": r"sitemap-[a-z-]+-\d+\..*",
    "index": r"sitemap-.*",
    "site index": r"sitemap\..*",
}


def kind_of(step: str) -> str:
    """Return which of ``KINDS`` a step is, or else what it does."""
    what, _, where = step.partition(" ")
    if "/" not in where and what != "remove":
        return what
    # A temporary file begins with a dot.
    name = Path(where).name.lstrip(".")
    return f"{what} {next((kind for kind, pattern in NAMES.items() if re.match(pattern, name)), 'other')}"


def watch(step: Callable[[str], None], places: list[str], *, is_flushed: bool) -> None:
    """Call `step` before each change of a file in one of those places, and before each write to the database.

    Also before a file is flushed to the disk, if that is done.
    """

    def is_ours(path: Any) -> bool:
        # What is removed relative to an open directory has no more than a name.
        return isinstance(path, str | os.PathLike) and (not os.path.isabs(path) or str(path).startswith(tuple(places)))

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR) and is_ours(args[0]) and os.path.isabs(args[0]):
            step(f"open {args[0]}")
        elif event == "os.rename" and is_ours(args[1]):
            step(f"replace {args[1]}")
        elif event in {"os.remove", "os.mkdir", "os.rmdir"} and is_ours(args[0]):
            step(f"{event.removeprefix('os.')} {args[0]}")

    sync = os.fsync

    def synced(handle: int) -> None:
        step("fsync")
        sync(handle)

    def statement(execute: Any, sql: str, *rest: Any) -> Any:
        if not sql.startswith(("SELECT", "WITH", "BEGIN")):
            step(" ".join(sql.split()[:3]))
        return execute(sql, *rest)

    if is_flushed:
        os.fsync = synced
    sys.addaudithook(hook)
    connection.execute_wrappers.append(statement)


def limit_disk(folder: Path, room: int) -> None:
    """Raise what a full disk raises, from when the files in a folder have more than so many bytes."""
    sync = os.fsync

    def synced(handle: int) -> None:
        if sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    os.fsync = synced


if __name__ == "__main__":
    main()
