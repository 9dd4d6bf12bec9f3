"""Show what ISA-L does to the vector registers and so to SQLite: ``python benchmarks/registers.py``.

SQLite does the same work in one thread, before and after ISA-L, and after the registers were cleared. The first column
tells whether the processor holds the upper halves of the registers in use. It needs Linux on x86-64.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from isal import isal_zlib  # noqa: E402 - after the path

from run import processor, table  # noqa: E402 - found only now
from sitemaps_plus.stores import fast  # noqa: E402 - found only now

ROWS = 100_000
TIMES = 15
TEXT = b"<url><loc>https://shop.example/product/a-slug/</loc></url>\n" * 2000
GZIP = 31

_READ = bytes.fromhex("b901000000 0f01d0 c3")  # mov ecx, 1; xgetbv; ret: the parts of the state that are in use
_CLEAR = bytes.fromhex("c5f877 c3")  # vzeroupper; ret
_UPPER_HALVES = 1 << 2 | 1 << 6
"""The bits of YMM_Hi128 and ZMM_Hi256."""


def main() -> None:
    """Measure and print one table."""
    if platform.machine() != "x86_64" or "xgetbv1" not in Path("/proc/cpuinfo").read_text():
        sys.exit("This processor does not tell which registers are in use.")
    print(f"{processor()}, SQLite {sqlite3.sqlite_version}\n")
    clear = machine_code(_CLEAR)
    clear()
    lines = [line("at first")]
    pack(isal_zlib.compressobj(2, wbits=GZIP))
    lines.append(line("after ISA-L"))
    clear()
    lines.append(line("after vzeroupper"))
    pack(isal_zlib.compressobj(2, wbits=GZIP))
    lines.append(line("after ISA-L again"))
    pack(fast.compressobj(2, wbits=GZIP))
    lines.append(line("after ISA-L as sitemaps_plus uses it"))
    table(("SQLite", "upper halves in use", "ms"), iter(lines), numbers=1)


def line(name: str) -> tuple[str, str, str]:
    """Return a line of the table: the state now, and the time of the work."""
    in_use = "yes" if in_use_now() & _UPPER_HALVES else "no"
    return name, in_use, f"{work() * 1000:.1f}"


def pack(stream) -> None:
    """Compress a text as a build does."""
    for _ in range(20):
        stream.compress(TEXT)
    stream.flush()


def work() -> float:
    """Return the least CPU seconds of some work of SQLite."""
    sql = "SELECT group_concat(slug, char(10)), sum(length(slug) * 1.5), max(date(day)) FROM product"
    found = []
    for _ in range(TIMES):
        start = time.thread_time()
        CONNECTION.execute(sql).fetchone()
        found.append(time.thread_time() - start)
    return min(found)


def machine_code(code: bytes) -> Callable[[], int]:
    """Return a function of machine code."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    PAGES.append(page)
    return ctypes.CFUNCTYPE(ctypes.c_uint32)(ctypes.addressof(ctypes.c_char.from_buffer(page)))


PAGES: list[mmap.mmap] = []
CONNECTION = sqlite3.connect(":memory:")
CONNECTION.execute("CREATE TABLE product (slug text, day text)")
CONNECTION.executemany(
    "INSERT INTO product VALUES (?, ?)", ((f"product-{number}", "2026-10-01 12:00:00") for number in range(ROWS))
)
in_use_now = machine_code(_READ)


if __name__ == "__main__":
    main()
