"""Show the progress of a long task: a bar on a terminal, nothing in a pipe."""

from types import TracebackType
from typing import IO

WIDTH = 30


class ProgressBar:
    """A bar of one line that is redrawn, and cleared when the task is done."""

    def __init__(self, label: str, total: int, stream: IO[str]) -> None:
        """Draw on `stream` if it is a terminal."""
        self._label = label
        self._total = total
        self._stream = stream
        self._is_shown = stream.isatty() and total > 0
        self._done = 0

    def __enter__(self) -> "ProgressBar":
        """Return the bar."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the bar."""
        if self._is_shown:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def advance(self, count: int) -> None:
        """Advance by `count`."""
        self._done += count
        if self._is_shown:
            filled = WIDTH * self._done // self._total
            bar = "#" * filled + "." * (WIDTH - filled)
            self._stream.write(f"\r{self._label} [{bar}] {self._done:,} of {self._total:,}")
            self._stream.flush()
