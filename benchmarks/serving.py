"""Measure the cost of one response, without a server and behind gunicorn: ``python benchmarks/serving.py``.

Requests go to this machine alone, and their number is bounded. Every answer has its turn in each round. Shown are
medians, as Markdown; a ratio is the median of the ratios of all rounds, so that other work on the machine matters less.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import repeat
from pathlib import Path
from typing import Any

from run import call, machine, say, table

HERE = Path(__file__).parent
ROWS = 50_000
WORKERS, THREADS = 2, 4
CACHES = ("locmem", "redis", "django-redis", "memcached")
PACKAGES = ("gunicorn", "redis", "hiredis", "django-redis", "pymemcache")
TURN = 0.02
"""CPU seconds of one turn without a server, with at least one request; short, so that all meet the same weather."""
MOST = 300
"""Most requests of a turn."""
SLOW_TURNS = 3
"""How often an answer is measured that takes longer than a turn."""
LOAD = 2.0
"""CPU seconds of one round behind gunicorn, with `FEWEST_SENT` to `MOST_SENT` requests."""
FEWEST_SENT, MOST_SENT = 8, 2000
BLANK = "empty view"
ASKING = "empty view that asks the cache"
READING = "empty view that reads a page's bytes"
AIMS = {"page": 3.0, "page, 304": 2.0}
"""The CPU that a response from local memory may take, as a multiple of an empty view."""
MORE = 1.5
"""The CPU that a response from a server may take beyond that of a view that asks it once, in empty views."""

Costs = dict[tuple[str, str], list[float]]
"""CPU seconds of one request in each round, by response and cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The results of requests through gunicorn."""

    requests: int
    wall: float
    cpu: float
    """CPU of all gunicorn processes."""


def main() -> None:
    """Create the data, measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="How often each answer is measured without a server.")
    parser.add_argument("--no-gunicorn", action="store_true", help="Measure without a server alone.")
    parser.add_argument("--short", action="store_true", help="Ten rounds without a server, of cached answers alone.")
    options = parser.parse_args()
    rounds = 10 if options.short else options.rounds
    prefix = f"sitemaps-bench-{secrets.token_hex(4)}"
    os.environ |= {"BENCH_ROWS": str(ROWS), "BENCH_DATABASE": "sqlite", "BENCH_SIDE": "plus", "BENCH_PREFIX": prefix}
    print(f"{machine()}, {', '.join(map(versioned, PACKAGES))}\n")
    say(f"{ROWS:,} rows: data")
    call(["load.py"], dict(os.environ))
    why_not = {name: reason for name in CACHES if (reason := what_is_wrong_with(name))}
    names = [name for name in CACHES if name not in why_not]
    try:
        sizes, costs = measure(names, rounds, with_contrib=not options.short)
        report(sizes, costs)
        if not (options.no_gunicorn or options.short):
            report_load({name: behind_gunicorn(name, costs) for name in names})
    finally:
        if "redis" not in why_not:
            forget(prefix)
    for name, reason in why_not.items():
        print(f"Left out: {name}: {reason}")


def versioned(package: str) -> str:
    """Return a package with its version."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def what_is_wrong_with(name: str) -> str:
    """Return why a cache cannot be measured; an empty text if it answers."""
    from django.core.cache import caches

    import serving_app  # noqa: F401 - sets Django up

    try:
        caches[name].get("answers")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def forget(prefix: str) -> None:
    """Remove the keys of this run from Redis; memcached drops them itself."""
    import redis
    from django.conf import settings

    with redis.Redis.from_url(settings.REDIS_URL) as server:
        for key in server.scan_iter(f"{prefix}:*"):
            server.delete(key)


# Without a server


def measure(names: list[str], rounds: int, *, with_contrib: bool) -> tuple[dict[str, int], Costs]:
    """Return the bytes of each response, and its cost with each cache."""
    from serving_app import ask, cases, keep_in

    turns: dict[tuple[str, str], Callable[[], float]] = {}
    sizes: dict[str, int] = {}
    for name in names:
        keep_in(name)
        for what, request in cases(with_contrib=with_contrib and name == CACHES[0]).items():
            answer = ask(request)
            check(what, answer.status)
            sizes[what] = answer.size
            many = requests_for(TURN, once(ask, request), 1, MOST)
            turns[what, name] = lambda request=request, many=many: once(ask, request, many)
    found: Costs = defaultdict(list)
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}")
        for (what, name), turn in turns.items():
            if number > SLOW_TURNS and found[what, name][0] > TURN:
                continue
            keep_in(name)
            found[what, name].append(turn())
    return sizes, found


def once(ask: Callable[[Any], object], request: Any, many: int = 1) -> float:
    """Return the CPU of one request, as the mean of so many."""
    began = time.process_time()
    for _ in range(many):
        ask(request)
    return (time.process_time() - began) / many


def requests_for(seconds: float, cost: float, fewest: int, most: int) -> int:
    """Return how many requests take so much CPU."""
    return max(fewest, min(most, int(seconds / cost)))


def check(what: str, status: int) -> None:
    """Raise if a response is not the expected one."""
    if status != (304 if "304" in what else 200):
        raise RuntimeError(f"{what}: {status}")


def report(sizes: Mapping[str, int], costs: Costs) -> None:
    """Print the cost of each response, and whether the targets are met."""
    print(f"## One request for a page of {ROWS:,} URLs, without a server\n")
    head = ("answer", "cache", "bytes", "CPU ms", "of an empty view")
    lines = (
        (what, cache_of(what, name), f"{sizes[what]:,}", f"{statistics.median(each) * 1e3:.2f}", f"{times:.2f}")
        for (what, name), each in costs.items()
        if what != BLANK or name == CACHES[0]
        for times in [ratio(costs, what, name)]
    )
    table(head, lines, numbers=3)
    print("## Aims\n")
    table(("answer", "cache", "at most", "measured", "met"), aim_lines(costs))


def ratio(costs: Costs, what: str, name: str, less: str | None = None) -> float:
    """Return the cost of a response, without that of another one, in empty views."""
    rounds = zip(costs[what, name], costs[less, name] if less else repeat(0.0), costs[BLANK, name], strict=False)
    return statistics.median((cost - other) / blank for cost, other, blank in rounds)


def cache_of(what: str, name: str) -> str:
    """Return the cache that a response comes from, if any."""
    return "" if what in (BLANK, "contrib, no cache") else name


def aim_lines(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table of targets."""
    for name in CACHES:
        for what, most in AIMS.items():
            if (what, name) not in costs:
                continue
            if name == CACHES[0]:
                times = ratio(costs, what, name)
                yield what, name, f"{most:g} empty views", f"{times:.2f}", "yes" if times <= most else "**no**"
                continue
            for base in (ASKING, READING) if what == "page" else (ASKING,):
                times = ratio(costs, what, name, base)
                aim = f"{base}, and {MORE:g} empty views"
                yield what, name, aim, f"and {times:.2f}", "yes" if times <= MORE else "**no**"


# Behind gunicorn


def behind_gunicorn(name: str, costs: Costs) -> dict[str, Loaded]:
    """Return the cost of each response with one cache."""
    from serving_app import as_bytes, cases, keep_in

    keep_in(name)
    requests = cases(with_contrib=name == CACHES[0])
    found = {}
    with gunicorn(name) as (port, process):
        for what, request in requests.items():
            many = requests_for(LOAD, statistics.median(costs[what, name]), FEWEST_SENT, MOST_SENT)
            say(f"gunicorn, {name}: {many} times {what}")
            data = as_bytes(request)
            began, before = time.perf_counter(), cpu_of(process.pid)
            with ThreadPoolExecutor(WORKERS * THREADS) as crowd:
                for status in crowd.map(lambda _, data=data: fetch(port, data), range(many)):
                    check(what, status)
            wall = time.perf_counter() - began
            found[what] = Loaded(requests=many, wall=wall, cpu=cpu_of(process.pid) - before)
    return found


@contextmanager
def gunicorn(name: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Start the project on a free port of this machine, stop it at the end."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [
                *(sys.executable, "-m", "gunicorn", "--chdir", HERE, "--log-level", "warning"),
                *("--workers", str(WORKERS), "--threads", str(THREADS), "--timeout", "120"),
                *("--bind", f"fd://{listening.fileno()}", "serving_app:warm()"),
            ],
            env={**os.environ, "BENCH_CACHE": name},
            pass_fds=[listening.fileno()],
        )
        port = listening.getsockname()[1]
    try:
        wait_for_workers(process)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def wait_for_workers(process: subprocess.Popen[bytes]) -> None:
    """Wait until all workers have filled their caches and are idle."""
    deadline, last = time.monotonic() + 120, -1.0
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError("gunicorn has ended")
        time.sleep(1)
        now = cpu_of(process.pid)
        if len(family(process.pid)) > WORKERS and now - last < 0.05:
            return
        last = now
    raise RuntimeError("gunicorn is not ready after two minutes")


def fetch(port: int, request: bytes) -> int:
    """Return the status of a response after reading all of it."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        connection.sendall(request)
        first = connection.recv(65_536)
        while connection.recv(1_048_576):
            pass
    return int(first.split(b" ", 2)[1])


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process and its children."""
    ticks = 0
    for one in family(pid):
        # The name is in brackets and may contain anything; user and system time are values 14 and 15.
        values = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(values[11]) + int(values[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def report_load(found: Mapping[str, Mapping[str, Loaded]]) -> None:
    """Print the results of gunicorn."""
    print(f"## The same behind gunicorn, {WORKERS} workers of {THREADS} threads, {WORKERS * THREADS} clients\n")
    head = ("answer", "cache", "requests", "requests a second", "CPU ms a request", "of an empty view")
    lines = []
    for name, answers in found.items():
        blank = answers[BLANK].cpu / answers[BLANK].requests
        for what, one in answers.items():
            each = one.cpu / one.requests
            figures = (f"{one.requests}", f"{one.requests / one.wall:.1f}", f"{each * 1e3:.2f}", f"{each / blank:.2f}")
            lines.append((what, cache_of(what, name), *figures))
    table(head, iter(lines), numbers=4)


if __name__ == "__main__":
    main()
