"""The options of a build, as `build`, the command and the admin give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sitemaps_plus.conf import get_settings

Progress = Callable[[str, int, int], None]
"""Called with what is being built, the pages done and the pages known so far."""

IfLocked = Literal["fail", "wait", "skip"]

Workers = int | Literal["auto"]
"""Processes that render pages; ``auto`` is one on each core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """The options of one build."""

    labels: Sequence[str] = ()
    """The sections to build; all without any."""
    sites: Sequence[str] = ()
    """The sites to build, each by its id or domain; all without any."""
    full: bool = False
    """Whether to render all pages, and to read all files, not only those that may have changed."""
    repack: bool = False
    """Whether to cut all pages anew, under new numbers."""
    strict: bool | None = None
    """Whether a section fails if a row or a part of one is left out; None for the setting ``STRICT``."""
    progress: Progress | None = None
    workers: Workers | str = 1
    """Processes that render pages; ``"auto"`` means one on each core."""
    allow_shrink: bool = False
    """Whether a section may lose most of its URLs, or have URLs that look quite different."""
    prune: bool = False
    """Whether to remove files that no index lists at once, without their ``GRACE_PERIOD``."""
    if_locked: IfLocked = "fail"
    """Whether to wait for another build of a site; the two others name it in the result."""
    started_by: str = ""
    """Who or what started the build, for the history."""
    is_stopped: Callable[[], bool] | None = None
    """Called between pages; the build ends once it returns True."""

    def __post_init__(self) -> None:
        if self.if_locked not in get_args(IfLocked):
            raise ValueError(f"if_locked is {self.if_locked!r}, not one of {', '.join(get_args(IfLocked))}.")
        checked_workers(self.workers)

    @property
    def processes(self) -> Workers:
        """The processes that render pages, as a number or ``auto``."""
        return checked_workers(self.workers)

    @property
    def is_strict(self) -> bool:
        """Whether a section fails if anything is left out."""
        return get_settings().STRICT if self.strict is None else self.strict


def checked_workers(given: object) -> Workers:
    """Return a number of processes, which may be given as text, or ``auto``; raise ValueError for anything else."""
    if given == "auto":
        return "auto"
    number = int(given) if isinstance(given, str) and given.isascii() and given.isdecimal() else given
    if isinstance(number, int) and not isinstance(number, bool) and number > 0:
        return number
    raise ValueError(f'{given!r} is not a number of processes: use 1 or more, or "auto" for one on each core.')
