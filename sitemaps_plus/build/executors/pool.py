"""Run tasks in processes that are set up like this one, and report which of them died."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

import django
from django.conf import ENVIRONMENT_VARIABLE, settings
from django.db import connections
from django.urls import get_script_prefix, set_script_prefix
from django.utils.module_loading import import_string

from sitemaps_plus.build.console import hidden_level, without_repeats

# No import of models: a process reads this module before Django is set up in it.

_PATIENCE = 5
"""Seconds that a process has to end by itself before it is killed."""

_WAIT = 0.5
"""Seconds to wait for an answer."""

T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended in the middle of a task."""

    status: int
    """The exit status, or a signal as a negative number, as in ``multiprocessing``."""

    def __str__(self) -> str:
        """Return the rest of a sentence whose subject is the process."""
        if self.status >= 0:
            return f"ended with status {self.status} and without an answer; what it wrote to standard error says why"
        return f"was ended by signal {-self.status} ({signal.strsignal(-self.status) or 'unknown'})"


class Pool(Generic[T, A]):
    """Processes that turn tasks into answers; started on demand, ended with the ``with`` block."""

    def __init__(self, size: int, answer: str, setup: Setup) -> None:
        """`answer` is the dotted path of a factory: called once in each process, it returns the function for tasks."""
        self._size = size
        self._answer = answer
        self._setup = setup
        # A fork would share the sockets and files of open database connections.
        self._context = multiprocessing.get_context("spawn")
        self._processes: list[_Process] = []

    def __enter__(self) -> Pool[T, A]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abandon()
        for process in self._processes:
            with suppress(OSError):
                process.pipe.send(None)
        for process in self._processes:
            process.end(_PATIENCE)
        self._processes.clear()

    @property
    def has_room(self) -> bool:
        """Whether a process is free, or may be started."""
        return len(self._busy) < self._size

    @property
    def is_busy(self) -> bool:
        """Whether a task is being worked on."""
        return bool(self._busy)

    @property
    def _busy(self) -> list[_Process]:
        return [process for process in self._processes if process.task is not None]

    def submit(self, task: T) -> None:
        """Hand a task to a free process, a new one if need be."""
        process = next((process for process in self._processes if process.task is None), None) or self._start()
        # If the process has died, `wait` reports it.
        with suppress(OSError):
            process.pipe.send(task)
        process.task = task

    def wait(self) -> Sequence[tuple[T, A | Ended]]:
        """Return the tasks that are finished, with their answers, or how their processes ended.

        Returns nothing if no task is finished within half a second, so that the caller can do other work.
        """
        ready = pipes.wait([process.pipe for process in self._busy], _WAIT)
        return [(process.task, self._finish(process)) for process in self._busy if process.pipe in ready]

    def abandon(self) -> None:
        """End the processes that are working on a task; their answers are not needed."""
        for process in self._busy:
            self._processes.remove(process)
            process.end(0)

    def _start(self) -> _Process:
        ours, theirs = self._context.Pipe()
        started = self._context.Process(target=_work, args=(theirs, self._setup, self._answer), daemon=True)
        with _uninterrupted():
            started.start()
        # Then the pipe ends with the process.
        theirs.close()
        self._processes.append(process := _Process(process=started, pipe=ours))
        return process

    def _finish(self, process: _Process) -> A | Ended:
        try:
            answer = process.pipe.recv()
        except (EOFError, OSError):
            self._processes.remove(process)
            return Ended(status=process.end(_PATIENCE))
        process.task = None
        return cast("A", answer)


@dataclass(slots=True, kw_only=True, eq=False)
class _Process:
    """One process of a pool, as its parent sees it."""

    process: BaseProcess
    pipe: pipes.Connection[Any, Any]
    task: Any = None

    def end(self, patience: float) -> int:
        """Wait for the end of the process, kill it if it does not end, and return its status."""
        self.process.join(patience)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()
        return self.process.exitcode or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The settings that another process needs to be like this one."""

    module: str
    """The settings module."""
    names: dict[str, Any]
    """Name of each database; in tests they differ from the settings."""
    own: Any
    """The setting ``SITEMAPS_PLUS``."""
    prefix: str
    hidden_level: int | None
    """See `sitemaps_plus.build.console`."""

    @classmethod
    def of_this_process(cls) -> Setup:
        """Return the setup of this process."""
        names = {alias: database["NAME"] for alias, database in connections.databases.items()}
        own = getattr(settings, "SITEMAPS_PLUS", {})
        return cls(
            module=_settings_module(),
            names=names,
            own=own,
            prefix=get_script_prefix(),
            hidden_level=hidden_level(),
        )

    def apply(self) -> None:
        """Set this process up like its parent."""
        os.environ[ENVIRONMENT_VARIABLE] = self.module
        django.setup()
        settings.SITEMAPS_PLUS = self.own
        for alias, name in self.names.items():
            connections.databases[alias]["NAME"] = name
        set_script_prefix(self.prefix)


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def obstacle() -> str | None:
    """Return why other processes cannot do the work of this one; None where they can."""
    if multiprocessing.current_process().daemon:
        return "it is a daemonic process, which may not start others"
    if not _settings_module():
        return f"the settings were configured in code, and other processes find settings only by {ENVIRONMENT_VARIABLE}"
    database: Any
    for database in connections.all():
        if database.vendor == "sqlite" and database.is_in_memory_db():
            return f"the database {database.alias!r} is in the memory of this process"
        if database.in_atomic_block:
            return f"a transaction is open on the database {database.alias!r}, and other processes do not see its rows"
    return None


def _settings_module() -> str:
    return settings.SETTINGS_MODULE or os.environ.get(ENVIRONMENT_VARIABLE, "")


def _work(pipe: pipes.Connection[Any, Any], setup: Setup, answer: str) -> None:
    """Answer tasks until there are no more; the main function of each process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    setup.apply()
    function: Callable[[Any], Any] = import_string(answer)()
    with without_repeats(setup.hidden_level):
        while (task := _next(pipe)) is not None:
            pipe.send(function(task))


def _next(pipe: pipes.Connection[Any, Any]) -> Any:
    try:
        return pipe.recv()
    except EOFError:
        return None


def _end_with_parent() -> None:
    """End this process when its parent ends for any reason: nobody is left to take the answers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Start processes that ignore Ctrl-C within the block; their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # It is started with the first process, and would remove the mask again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
