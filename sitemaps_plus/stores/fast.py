"""Compress with ISA-L, in a tenth of the time of zlib, and clear the vector registers that it leaves in use.

`stores.packing.get_packer` needs three names of such a module: `compressobj(level, wbits=...)` as zlib has it, and
the levels `HIGHEST_LEVEL` and `DEFAULT_LEVEL`.
"""

import hashlib

from isal.isal_zlib import compressobj as uncleared

HIGHEST_LEVEL = 3
DEFAULT_LEVEL = 2


class Compressor:
    """A compressor of ISA-L."""

    def __init__(self, level: int, wbits: int) -> None:
        self._stream = uncleared(level, wbits=wbits)

    def compress(self, data: bytes) -> bytes:
        """Return the next compressed bytes, which may be none."""
        return _after_clearing(self._stream.compress(data))

    def flush(self) -> bytes:
        """Return the last compressed bytes."""
        return _after_clearing(self._stream.flush())


def _after_clearing(packed: bytes) -> bytes:
    # ISA-L uses the upper halves of the vector registers and returns without `vzeroupper`. Until something clears them,
    # many Intel processors execute the SSE instructions of this thread, such as those of SQLite, at half the speed.
    # Python cannot clear them, but OpenSSL's SHA-512 does so at its end; its SHA-256 does not where the processor has
    # instructions for that. `benchmarks/registers.py` reads the registers and measures SQLite.
    hashlib.sha512(b"").digest()
    return packed


compressobj = Compressor

__all__ = ["DEFAULT_LEVEL", "HIGHEST_LEVEL", "compressobj"]
