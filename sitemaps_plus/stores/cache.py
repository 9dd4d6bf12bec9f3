"""Keep finished documents in a Django cache; one that is down, slow, full or spoiled costs time and nothing else."""

from __future__ import annotations

import hashlib
import logging
import math
import re
import secrets
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from django.core.cache import caches
from django.core.cache.backends.db import BaseDatabaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.signals import setting_changed
from django.dispatch import receiver

from sitemaps_plus.conf import get_settings

logger = logging.getLogger("sitemaps_plus")

FORMAT = 1
"""Raised when what is kept takes another form: values of an older release are no values then."""

KEEP = 7 * 86_400
"""Seconds for which a document is kept: it is the last good version while the database is down."""

CLAIM = 60
"""Seconds after which somebody else may render a page whose renderer has not said that it is done."""

PAUSE = 0.05
"""Seconds until another process's claim is seen, which a database may refuse to add to before it shows it."""

PART = 900_000
"""Bytes of one value: memcached takes one of a million with its key."""

SLOW = 0.1
"""Seconds after which a failure costs more than asking again: one that comes at once is of a single value, perhaps."""

REST = 5
"""Seconds for which a cache that failed slowly is not asked: a time-out for each request would stop the site."""

SAY_AGAIN = 60
"""Seconds between two warnings about the same cache."""

LARGEST = 100_000_000
"""Bytes of a document: twice what the protocol allows."""

AHEAD = 60
"""Seconds by which the clock of another machine may be fast."""

_LOOK = "sitemaps_plus:look:"

# The years 1 and 9999, beyond which there are no dates.
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is known of a kept document; its bytes are values of their own."""

    token: str
    """Stands before each part of the bytes, so that those of another version are told apart."""
    digest: str
    """SHA-256 of the uncompressed bytes."""
    size: int
    """Uncompressed bytes."""
    packed: int
    """Bytes of gzip."""
    checksum: int
    """CRC-32 of them, which costs less than half of what an empty view does."""
    state: str
    """What the document was made of; another state may mean other bytes."""
    changed_at: float | None
    """When the content changed, in seconds since 1970."""
    checked_at: float
    """When the database was last asked whether it changed."""
    rendered_at: float


_TYPES: dict[str, tuple[type, ...]] = {
    "format": (int,),
    "token": (str,),
    "digest": (str,),
    "size": (int,),
    "packed": (int,),
    "checksum": (int,),
    "state": (str,),
    "changed_at": (float, type(None)),
    "checked_at": (float,),
    "rendered_at": (float,),
}


class DocumentCache:
    """The documents in one of Django's caches, each under a name."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def find(self, name: str, label: str) -> tuple[Kept | None, float]:
        """Return what is known of a document, and when somebody last said that its section has changed."""
        return self._found(name, label, self._ask_many([_key(name), f"{_LOOK}{label}"]))

    def find_all(self, name: str, label: str) -> tuple[Kept | None, float, bytes | None]:
        """Return what `find` returns, and the gzip of the document, mostly with a single question."""
        first = _part_keys(name, 0)
        found = self._ask_many([_key(name), f"{_LOOK}{label}", *first])
        kept, looked = self._found(name, label, found)
        return kept, looked, self.read(name, kept, found) if kept else None

    def has(self, name: str, label: str) -> bool:
        """Return whether a document is there as a whole."""
        return self.find_all(name, label)[2] is not None

    def read(self, name: str, kept: Kept, found: Mapping[str, Any] | None = None) -> bytes | None:
        """Return the gzip of a document, or None where not all of it is there; `found` are parts read already."""
        keys = _part_keys(name, kept.packed)
        missing = [key for key in keys if not found or key not in found]
        found = {**(found or {}), **(self._ask_many(missing) if missing else {})}
        parts = []
        for at, key in enumerate(keys):
            part, head = found.get(key), _head(kept.token, at)
            if not isinstance(part, bytes) or not part.startswith(head):
                return None
            parts.append(part[len(head) :])
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        # A bit that has turned over would fail every reader until the page changes.
        return data if len(data) == kept.packed and zlib.crc32(data) == kept.checksum else None

    def keep(
        self,
        name: str,
        gzipped: bytes,
        *,
        digest: str,
        size: int,
        state: str,
        changed_at: float | None,
        checked_at: float,
    ) -> Kept:
        """Keep a document in place of its last version."""
        kept = Kept(
            token=secrets.token_hex(8),
            digest=digest,
            size=size,
            packed=len(gzipped),
            checksum=zlib.crc32(gzipped),
            state=state,
            changed_at=changed_at,
            checked_at=checked_at,
            rendered_at=time.time(),
        )

        def put(cache: Any) -> None:
            # The bytes first: what is known of them must not lead to what is not there yet.
            for at, key in enumerate(_part_keys(name, kept.packed)):
                cache.set(key, _head(kept.token, at) + gzipped[at * PART : (at + 1) * PART], KEEP)
            cache.set(_key(name), _value(kept), KEEP)

        self._ask(put, None)
        return kept

    def note(self, name: str, kept: Kept) -> None:
        """Keep what is known of a document, whose bytes are there already."""
        self._ask(lambda cache: cache.set(_key(name), _value(kept), KEEP), None)

    def forget(self, name: str) -> None:
        """Keep a document no longer; without what is known of them its bytes are not found."""
        self._ask(lambda cache: cache.delete(_key(name)), None)

    def claim(self, name: str) -> str | None:
        """Return a token for whoever may render a document now, None while another one does.

        A cache in files does not add in one step: there, two who ask in the same millisecond may both get one.
        """
        token, key = secrets.token_hex(8), f"{_key(name)}:claim"

        def add(cache: Any) -> bool:
            for pause in (0.0, PAUSE):
                time.sleep(pause)
                # Adding costs a database more than reading, and who waits for a document asks often.
                if cache.get(key) is not None:
                    return False
                if cache.add(key, token, CLAIM):
                    return bool(cache.get(key, token) == token)
            # Not added, and nobody holds it: the cache hides that it fails, and somebody has to render.
            return True

        return token if self._ask(add, True) else None

    def release(self, name: str, token: str) -> None:
        """Let others render a document again."""
        key = f"{_key(name)}:claim"
        self._ask(lambda cache: cache.get(key) == token and cache.delete(key), None)

    def look_again(self, labels: Sequence[str]) -> None:
        """Say that the rows of sections have changed; what was checked before is checked again."""
        # The end of this second: who is told that it was said already has changed something before.
        moment = math.floor(time.time()) + 1.0
        values = {f"{_LOOK}{label}": moment for label in labels}

        def say(cache: Any) -> None:
            # In a database it would cost queries at every save; a check comes soon anyhow.
            if not isinstance(cache, BaseDatabaseCache):
                cache.set_many(values, KEEP)

        self._ask(say, None)

    def _ask_many(self, keys: Sequence[str]) -> dict[str, Any]:
        return self._ask(lambda cache: dict(cache.get_many(keys)), {})

    def _found(self, name: str, label: str, found: Mapping[str, Any]) -> tuple[Kept | None, float]:
        looked = found.get(f"{_LOOK}{label}")
        if not isinstance(looked, float) or not 0 < looked < time.time() + AHEAD:
            looked = 0.0
        return self._read(found.get(_key(name))), looked

    def _read(self, value: Any) -> Kept | None:
        if value is None:
            return None
        if _is_ours(value):
            return Kept(**{name: value[name] for name in value if name != "format"})
        _warn(self._alias, "it holds a value that this release did not write")
        return None

    def _ask(self, question: Callable[[Any], T], otherwise: T) -> T:
        """Return the cache's answer, or what stands for it where the cache fails."""
        began = time.monotonic()
        until = _resting.get(self._alias)
        if until is not None:
            if until > began:
                return otherwise
            # One tries whether it is well again; the others do not wait for a time-out with it.
            _resting[self._alias] = began + REST
        try:
            answer = question(caches[self._alias])
        except Exception as error:  # each backend has errors of its own
            ended = time.monotonic()
            if ended - began > SLOW:
                _resting[self._alias] = ended + REST
            else:
                _resting.pop(self._alias, None)
            _warn(self._alias, f"{type(error).__name__}: {error}")
            return otherwise
        _resting.pop(self._alias, None)
        return answer


# Of this process: each of its threads has a connection of its own to the same cache.
_resting: dict[str, float] = {}
_warned: dict[str, float] = {}


@receiver(setting_changed)
def _forget(*, setting: str, **_kwargs: Any) -> None:
    """Know nothing of a cache that another one takes the place of, as in a test."""
    if setting == "CACHES":
        _resting.clear()
        _warned.clear()


def get_cache() -> DocumentCache:
    """Return the cache of the ``CACHE`` setting."""
    return DocumentCache(get_settings().CACHE)


def _warn(alias: str, problem: str) -> None:
    now = time.monotonic()
    if _warned.get(alias, -math.inf) + SAY_AGAIN <= now:
        _warned[alias] = now
        logger.warning(
            "The cache %r cannot be used for sitemaps at the moment, which makes them slow: %s", alias, problem
        )


def _key(name: str) -> str:
    return f"sitemaps_plus:{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def _part_keys(name: str, packed: int) -> list[str]:
    return [f"{_key(name)}:{at}" for at in range(max(1, -(-packed // PART)))]


def _head(token: str, at: int) -> bytes:
    return f"{token}:{at}:".encode()


def _value(kept: Kept) -> dict[str, Any]:
    """Return what is kept of it: types of Python alone, which each release can unpickle."""
    return {"format": FORMAT, **asdict(kept)}


def _is_ours(value: Any) -> bool:
    """Return whether this release wrote a value; one that it did not must make no request fail."""
    return (
        type(value) is dict
        and value.keys() == _TYPES.keys()
        and all(type(value[name]) in kinds for name, kinds in _TYPES.items())
        and value["format"] == FORMAT
        and re.fullmatch(r"[0-9a-f]{16}", value["token"]) is not None
        and re.fullmatch(r"[0-9a-f]{64}", value["digest"]) is not None
        and all(0 <= value[name] <= LARGEST for name in ("size", "packed"))
        and all(_FIRST <= (value[name] or 0.0) <= _LAST for name in ("changed_at", "checked_at", "rendered_at"))
    )


def is_for_one_process() -> bool:
    """Return whether what one process puts into the cache is of no use to any other."""
    return isinstance(caches[get_settings().CACHE], LocMemCache | DummyCache)
