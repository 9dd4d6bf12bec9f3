"""Documents as gzip: any reader unpacks it, equal bytes give equal gzip, whoever packs."""

import gzip
import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.stores import packing
from sitemaps_plus.stores.packing import get_packer, pack, unpack
from xml_checks import PLAIN


@pytest.fixture(params=["fast", "zlib"])
def packer(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Pack with one or the other."""
    if request.param == "fast" and PLAIN:
        pytest.skip("isal is the extra fast")
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
        monkeypatch.delitem(sys.modules, "sitemaps_plus.stores.fast", raising=False)
    get_packer.cache_clear()
    yield request.param
    get_packer.cache_clear()


@given(pieces=st.lists(st.binary(max_size=200), max_size=10), level=st.none() | st.integers(0, 9))
def test_what_was_packed_unpacks_to_the_same_bytes(pieces: list[bytes], level: int | None) -> None:
    packed = pack(pieces, level)

    document = b"".join(pieces)
    assert gzip.decompress(packed.gzipped) == document == b"".join(unpack(packed.gzipped))
    assert (packed.size, packed.digest) == (len(document), hashlib.sha256(document).hexdigest())


@pytest.mark.parametrize("level", [None, 0, 3, 9])
def test_z04_equal_bytes_give_equal_gzip(packer: str, level: int | None) -> None:
    pieces = [b"<url><loc>https://example.com/%d/</loc></url>\n" % number for number in range(5000)]

    one, other = pack(pieces, level), pack(iter(pieces), level)

    assert (one.gzipped, one.digest, one.size) == (other.gzipped, other.digest, other.size)
    assert one.gzipped[:2] == b"\x1f\x8b"
    # No time and no name: RFC 1952, 2.3.
    assert one.gzipped[3:8] == bytes(5)
    assert gzip.decompress(one.gzipped) == b"".join(pieces)
    assert packing.get_packer().default_level == {"fast": 2, "zlib": 3}[packer]


@pytest.mark.skipif(PLAIN, reason="isal is the extra fast")
def test_the_vector_registers_are_cleared_after_each_call_of_isa_l(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise all other work of the thread may take twice as long on Intel; `benchmarks/registers.py` shows it."""
    from sitemaps_plus.stores import fast

    calls: list[str] = []

    class Recorded:
        def __init__(self, level: int, wbits: int) -> None:
            calls.append(f"level {level}")

        def compress(self, data: bytes) -> bytes:
            calls.append("compress")
            return data

        def flush(self) -> bytes:
            calls.append("flush")
            return b""

    def cleared(data: bytes, **options: Any) -> Any:
        calls.append("clear")
        return sha512(data, **options)

    sha512 = hashlib.sha512
    monkeypatch.setattr(fast, "uncleared", Recorded)
    monkeypatch.setattr(hashlib, "sha512", cleared)
    get_packer.cache_clear()

    pack([b"one", b"two"], 2)

    assert calls == ["level 2", "compress", "clear", "compress", "clear", "flush", "clear"]


def test_a_packer_that_is_not_where_it_is_looked_for_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a moved module would mean zlib, and nobody would know."""
    monkeypatch.setattr(packing, "__package__", "sitemaps_plus.admin")
    get_packer.cache_clear()

    with pytest.raises(ModuleNotFoundError, match=r"sitemaps_plus\.admin\.fast"):
        get_packer()


def test_a_higher_level_packs_smaller(packer: str) -> None:
    pieces = [b"<url><loc>https://example.com/%d/%d/</loc></url>\n" % (number, number**3) for number in range(5000)]

    assert len(pack(pieces, 0).gzipped) > len(pack(pieces, 9).gzipped)
    assert packer in ("fast", "zlib")
