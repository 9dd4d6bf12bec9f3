"""Run one task in this process and print its cost as JSON: ``python benchmarks/measure.py "page 1"``.

Figures of memory and of the database's server process are read from ``/proc``.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from tasks import TASKS, Task  # noqa: E402 - found only now


def main(name: str) -> None:
    """Set up the project of the task and measure it."""
    task = TASKS[name]
    os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
    os.environ["BENCH_SIDE"] = task.side
    if task.packer == "zlib":
        # As if the extra were not installed.
        sys.modules["isal.isal_zlib"] = None  # type: ignore[assignment]
    import django

    django.setup()
    print(json.dumps(measure(task)))


def measure(task: Task) -> dict[str, float]:
    """Return CPU seconds here and in the database, wall seconds, MB, queries and bytes."""
    from django.db import connection

    task.warm()
    given = task.prepare()
    connection.ensure_connection()
    queries = _Counter()
    server = _server_process(connection)
    gc.collect()
    _forget_peak()
    memory, server_cpu = _memory("VmRSS"), _cpu_of(server)
    wall, cpu = time.perf_counter(), _cpu()
    with connection.execute_wrapper(queries):
        size = task.run(*given)
    cpu, wall = _cpu() - cpu, time.perf_counter() - wall
    if _server_process(connection) != server:
        raise RuntimeError("The connection was opened anew: the CPU of its server process is not known")
    return {
        "cpu": cpu,
        "server": _cpu_of(server) - server_cpu,
        "wall": wall,
        "memory": _memory("VmHWM") - memory,
        "queries": queries.count,
        "bytes": size,
    }


class _Counter:
    """Count queries; Django's own capture keeps their SQL, which costs more than some tasks."""

    count = 0

    def __call__(self, execute, sql, params, many, context):
        self.count += 1
        return execute(sql, params, many, context)


def _server_process(connection) -> int | None:
    """Return the server process of a connection to PostgreSQL on this machine; SQLite has none."""
    if connection.vendor != "postgresql":
        return None
    connection.ensure_connection()
    return connection.connection.info.backend_pid


def _cpu_of(process: int | None) -> float:
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9 if process else 0.0


def _cpu() -> float:
    """Return the CPU seconds of this process and of ended child processes."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _forget_peak() -> None:
    # Resets VmHWM to the current memory (proc(5), clear_refs).
    Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> float:
    """Return a figure of this process's memory in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


if __name__ == "__main__":
    main(sys.argv[1])
