"""The targets of this project, as ratios of two tasks of one run, and the measured ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tasks import TASKS

Figures = Mapping[str, Mapping[str, float]]
"""The cost of each task, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A target: so many times less CPU than another task, or at most so many times its CPU."""

    task: str
    against: str
    times_less: float | None = None
    times_more: float | None = None
    rows: tuple[int, ...] = (1_000_000,)
    """The sizes that the target is for; the ratio is shown for all sizes."""
    database: str = ""
    """The database that the target is for; empty for all."""

    def measure(self, found: Figures) -> float:
        """Return the ratio in the direction of the target."""
        ratio = cpu(found[self.against]) / cpu(found[self.task])
        return 1 / ratio if self.times_more else ratio

    def is_met(self, ratio: float) -> bool:
        """Return whether `ratio` meets the target."""
        return ratio <= self.times_more if self.times_more else ratio >= (self.times_less or 0)

    def is_for(self, rows: int, database: str) -> bool:
        """Return whether the target is for a table of that size in that database."""
        return rows in self.rows and self.database in ("", database)

    def __str__(self) -> str:
        """Return the target in words."""
        return f"at most {self.times_more:g} times" if self.times_more else f"{self.times_less:g} times less"


MEMORY = 16
"""MB above the start that no task of this project may take."""

SHORT = 200_000
"""The rows of the short form."""

_SIZES = (SHORT, 1_000_000)

BARS = [
    Bar(task="build, fast", against="all pages, contrib, no gzip", times_less=50, rows=_SIZES, database="sqlite"),
    Bar(task="build, fast", against="all pages, contrib, no gzip", times_less=45, rows=_SIZES, database="postgres"),
    Bar(task="build, zlib", against="all pages, contrib, no gzip", times_less=30, rows=_SIZES),
    Bar(task="build, fast", against="build, django-icv-sitemaps", times_less=20),
    Bar(task="build, fast", against="floor, fast", times_more=2.3, rows=_SIZES),
    Bar(task="build, zlib, nothing changed", against="build, zlib", times_less=8),
    Bar(task="build, fast, nothing changed", against="build, fast", times_less=5),
    Bar(task="build, zlib, one row changed", against="build, zlib", times_less=4),
    Bar(task="build, fast, one row changed", against="build, fast", times_less=4),
    Bar(task="languages", against="languages, contrib", times_less=50, rows=(100_000,)),
    Bar(task="languages", against="languages, contrib", times_less=120),
    Bar(task="last page", against="page 1", times_more=1.1, rows=(10_000_000,)),
    Bar(task="index", against="index, contrib", times_less=500),
    Bar(task="page 1, checked", against="index, plan checked", times_less=8),
    Bar(task="build, contrib class, fast", against="all pages, contrib, no gzip", times_less=2.2),
    Bar(task="languages, contrib class", against="languages, contrib", times_less=10),
]
OTHER_RATIOS = [
    ("page 1", "page 1, contrib"),
    ("page 1", "page 1, django-sitemaps"),
    ("last page", "last page, contrib"),
    ("page 1, contrib class", "page 1, contrib"),
    ("index, plan checked", "index, contrib"),
    ("index, first plan", "index, contrib"),
    ("build, zlib", "floor, zlib"),
]
"""Other ratios of interest: the first task against the second."""
OTHER_TIMES = [
    ("build, contrib class, fast, 2 workers", "build, contrib class, fast"),
    ("build, fast, 2 workers", "build, fast"),
]
"""Ratios of wall time: the gain from a second process."""


def cpu(costs: Mapping[str, float]) -> float:
    """Return the CPU of a task and of the database's server process together."""
    return costs["cpu"] + costs["server"]


def bar_lines(rows: int, database: str, found: Figures) -> Iterator[tuple[str, str, str, str]]:
    """Yield task, target, measured ratio and whether it meets the target, for tasks measured with `rows` rows."""
    for bar in BARS:
        if bar.is_for(rows, database) and bar.task in found and bar.against in found:
            ratio = bar.measure(found)
            yield f"{bar.task} / {bar.against}", str(bar), f"{ratio:.2f} times", _yes(bar.is_met(ratio))
    memory = {name: costs["memory"] for name, costs in found.items() if _is_ours(name)}
    if memory:
        worst = max(memory, key=memory.__getitem__)
        shown = f"{memory[worst]:.1f} MB ({worst})"
        yield "memory above start, all work", f"at most {MEMORY} MB", shown, _yes(memory[worst] <= MEMORY)


def other_lines(rows: int, database: str, found: Figures) -> Iterator[tuple[str, str]]:
    """Yield ratios without a target, for example because the target is for another size."""
    aimed = {(bar.task, bar.against) for bar in BARS if bar.is_for(rows, database)}
    others = [(bar.task, bar.against) for bar in BARS]
    for task, against in dict.fromkeys([*others, *OTHER_RATIOS]):
        if (task, against) not in aimed and task in found and against in found:
            yield f"{task} / {against}", _times(cpu(found[against]) / cpu(found[task]))
    for task, against in OTHER_TIMES:
        if task in found and against in found:
            ratio = found[against]["wall"] / found[task]["wall"]
            yield f"{task} / {against}, by the clock", _times(ratio)


def memory_lines(sizes: Mapping[int, Figures]) -> Iterator[tuple[str, ...]]:
    """Yield the memory of each task of this project, a column for each size."""
    for name in TASKS:
        if _is_ours(name) and any(name in found for found in sizes.values()):
            yield name, *(f"{found[name]['memory']:.1f}" if name in found else "" for found in sizes.values())


def _is_ours(name: str) -> bool:
    return TASKS[name].side == "plus" and not name.startswith("floor")


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times less" if ratio >= 1 else f"{1 / ratio:.2f} times more"


def _yes(is_met: bool) -> str:
    return "yes" if is_met else "**no**"
