"""Start builds in processes of their own, end them, and hear what became of them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple


class Ended(NamedTuple):
    status: int
    """A signal is a negative number."""
    report: dict[str, Any]
    """What ``--json`` printed, if it came so far."""
    said: str
    steps: list[str]
    """What it did to files and the database, where that was watched."""
    seconds: float

    @property
    def done(self) -> tuple[int, int]:
        """Pages that were rendered, and written."""
        sections = self.report["sections"]
        return sum(one["rendered"] for one in sections), sum(one["written"] for one in sections)

    @property
    def errors(self) -> list[str]:
        return [one["error"] for one in self.report["sections"] if one["error"]] + self.report["errors"]


class Builder:
    """A process that forks builds, each in a process group of its own."""

    def __init__(self, database: str, folder: Path, files: Path) -> None:
        self.files, self.staging = files, folder / "staging"
        self._notes = folder / "notes"
        self._notes.mkdir()
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "crashes.builder"],
            env={
                **os.environ,
                "DATABASE_URL": database,
                "DJANGO_SETTINGS_MODULE": "crashes.settings",
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
                "CRASHES_FILES": str(files),
                "CRASHES_STAGING": str(self.staging),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"
        self._notes_of: dict[int, Path] = {}

    def start(self, *args: str, **how: Any) -> int:
        """Start a build and return its process."""
        self._count += 1
        notes = self._notes / str(self._count)
        pid = int(self._ask(do="start", args=args, notes=str(notes), **how))
        self._notes_of[pid] = notes
        return pid

    def wait(self, pid: int) -> Ended:
        """Return how a build ended, when all of its processes have."""
        status = int(self._ask(do="wait", pid=pid))
        wait_for(lambda: not is_group_alive(pid), "the processes of a build end with it")
        notes = self._notes_of.pop(pid)
        text, seconds = read_text(notes, ".out"), read_text(notes, ".seconds")
        return Ended(
            status=status,
            report=json.loads(text) if status >= 0 and text else {},
            said=read_text(notes, ".err"),
            steps=read_text(notes, ".steps").splitlines(),
            seconds=float(seconds or 0),
        )

    def run(self, *args: str, **how: Any) -> Ended:
        return self.wait(self.start(*args, **how))

    def close(self) -> None:
        for pid in self._notes_of:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        # Without a line to read it ends.
        self._process.communicate(timeout=20)

    def _ask(self, **order: Any) -> str:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


def read_text(notes: Path, suffix: str) -> str:
    file = notes.with_name(notes.name + suffix)
    return file.read_text() if file.exists() else ""


def wait_for(is_so: Callable[[], bool], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.005)


def is_group_alive(group: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, 0)
        # What nobody has waited for counts still.
        return any(state != "Z" for state in states_of(group))
    return False


def states_of(group: int) -> Iterator[str]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, found = stat.read_text().rpartition(")")[2].split()[:3]
            if int(found) == group:
                yield state
