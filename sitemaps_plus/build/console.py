"""Keep out of the console what a build logs and the command prints, too; log files and services get everything."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sitemaps_plus.protocol.reports import IN_RESULT

_active: list[int] = []
"""The levels of `without_repeats` that hold now; the last one counts."""


@contextmanager
def without_repeats(level: int | None) -> Iterator[None]:
    """Hide records from `level` on that are part of the result of a build; none without a level."""
    if level is None:
        yield
        return
    repeats = _Repeats(level)
    with ExitStack() as stack:
        for handler in _console_handlers():
            handler.addFilter(repeats)
            stack.callback(handler.removeFilter, repeats)
        _active.append(level)
        stack.callback(_active.pop)
        yield


def hidden_level() -> int | None:
    """Return the level of the innermost `without_repeats`, which processes of the build need too."""
    return _active[-1] if _active else None


class _Repeats(logging.Filter):
    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        return not (hasattr(record, IN_RESULT) and record.levelno >= self._level)


def _console_handlers() -> list[logging.Handler]:
    """Return the handlers that write our records to standard output or standard error."""
    logger: logging.Logger | None = logging.getLogger("sitemaps_plus")
    handlers: list[logging.Handler] = []
    while logger:
        handlers += logger.handlers
        logger = logger.parent if logger.propagate else None
    if not handlers and logging.lastResort:
        return [logging.lastResort]
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    return [one for one in handlers if isinstance(one, logging.StreamHandler) and one.stream in streams]
