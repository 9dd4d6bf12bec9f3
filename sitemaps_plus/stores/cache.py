"""Keep finished documents in a Django cache; a cache that is down, slow, full or damaged only costs time."""

from __future__ import annotations

import hashlib
import logging
import math
import re
import secrets
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar, get_args, get_type_hints

from django.core.cache import caches
from django.core.cache.backends.db import BaseDatabaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.signals import setting_changed
from django.dispatch import receiver

from sitemaps_plus.conf import get_settings

logger = logging.getLogger("sitemaps_plus")

FORMAT = 2
"""Increased when the form of the values changes: values of an older release are misses then."""

KEEP = 7 * 86_400
"""Seconds for which a document is kept, as the last good version while the database is down."""

CLAIM = 60
"""Seconds after which another process may render a page that a process has claimed and not released."""

PAUSE = 0.05
"""Seconds until the claim of another process is visible; a database may refuse ours before it shows theirs."""

PART = 900_000
"""Bytes of one value; memcached limits a value to a million, key included."""

SLOW = 0.1
"""Seconds after which a failure counts as slow; a fast one may concern only a single value."""

REST = 5
"""Seconds for which a cache that failed slowly is not used: a time-out for each request would stop the site."""

WARN_EVERY = 60
"""Seconds between two warnings about the same cache."""

LARGEST = 100_000_000
"""Largest document in bytes: twice what the protocol allows."""

AHEAD = 60
"""Seconds by which the clock of another machine may be fast."""

_LOOK = "sitemaps_plus:look:"

# The years 1 and 9999, the limits of datetime.
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The metadata of a kept document; its bytes are separate values."""

    token: str
    """Precedes each part of the bytes, so that parts of two versions are never mixed."""
    digest: str
    """SHA-256 of the uncompressed bytes."""
    size: int
    """Uncompressed bytes."""
    packed: int
    """Bytes of gzip."""
    checksum: int
    """CRC-32 of the gzip, which costs less than half of an empty view."""
    version: str
    """Changes with the rows, the recipe and the base of the URLs; another one may mean other bytes."""
    changed_at: float | None
    """When the content changed, in seconds since 1970."""
    checked_at: float
    """When the database was last queried for changes."""
    rendered_at: float
    """When its rows were read."""
    seconds: float
    """How long it took to make it."""


_TYPES: dict[str, Any] = {"format": int, **get_type_hints(Kept)}


class DocumentCache:
    """The documents in one of Django's caches, each under a name."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def find(self, name: str, label: str) -> tuple[Kept | None, float]:
        """Return the metadata of a document, and when its section was last reported as changed."""
        return self._found(name, label, self._ask_many([_key(name), f"{_LOOK}{label}"]))

    def find_all(self, name: str, label: str) -> tuple[Kept | None, float, bytes | None]:
        """Return the values of `find` and the gzip of the document, usually in one round trip."""
        first = _part_keys(name, 0)
        found = self._ask_many([_key(name), f"{_LOOK}{label}", *first])
        kept, recheck_since = self._found(name, label, found)
        return kept, recheck_since, self.read(name, kept, found) if kept else None

    def has(self, name: str, label: str) -> bool:
        """Return whether a whole document is there."""
        return self.find_all(name, label)[2] is not None

    def read(self, name: str, kept: Kept, found: Mapping[str, Any] | None = None) -> bytes | None:
        """Return the gzip of a document, or None where a part is missing; `found` holds parts already read."""
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
        # A flipped bit would reach every reader until the page changes.
        return data if len(data) == kept.packed and zlib.crc32(data) == kept.checksum else None

    def keep(
        self,
        name: str,
        gzipped: bytes,
        *,
        digest: str,
        size: int,
        version: str,
        changed_at: float | None,
        checked_at: float,
        rendered_at: float,
        seconds: float = 0.0,
    ) -> Kept:
        """Keep a document in place of its last version."""
        kept = Kept(
            token=secrets.token_hex(8),
            digest=digest,
            size=size,
            packed=len(gzipped),
            checksum=zlib.crc32(gzipped),
            version=version,
            changed_at=changed_at,
            checked_at=checked_at,
            rendered_at=rendered_at,
            seconds=seconds,
        )

        def put(cache: Any) -> None:
            # The bytes first: the metadata must not lead to parts that are not there yet.
            for at, key in enumerate(_part_keys(name, kept.packed)):
                cache.set(key, _head(kept.token, at) + gzipped[at * PART : (at + 1) * PART], KEEP)
            cache.set(_key(name), _value(kept), KEEP)

        _kept_here.add((self._alias, name))
        self._ask(put, None)
        return kept

    def note(self, name: str, kept: Kept) -> None:
        """Store the metadata of a document whose bytes are there already."""
        self._ask(lambda cache: cache.set(_key(name), _value(kept), KEEP), None)

    def expire(self, name: str) -> None:
        """Have a document checked at the next request, at which others still get this version."""
        kept, _ = self.find(name, "")
        if kept:
            self.note(name, replace(kept, checked_at=0.0))

    def forget(self, name: str) -> None:
        """Delete a document: without its metadata its bytes are not found."""
        self._ask(lambda cache: cache.delete(_key(name)), None)

    def claim(self, name: str) -> str | None:
        """Return a token that allows to render a document now; None while another process does.

        A cache in files does not add atomically: two processes may both get a token within the same millisecond.
        """
        token, key = secrets.token_hex(8), f"{_key(name)}:claim"

        def add(cache: Any) -> bool:
            for pause in (0.0, PAUSE):
                time.sleep(pause)
                # Adding costs a database more than reading, and waiting processes try often.
                if cache.get(key) is not None:
                    return False
                if cache.add(key, token, CLAIM):
                    return bool(cache.get(key, token) == token)
            # Not added, and nobody holds it: the cache hides its errors. Rendering twice is better than never.
            return True

        return token if self._ask(add, True) else None

    def release(self, name: str, token: str) -> None:
        """Give a claim back."""
        key = f"{_key(name)}:claim"
        self._ask(lambda cache: cache.get(key) == token and cache.delete(key), None)

    def look_again(self, labels: Sequence[str]) -> None:
        """Report that the rows of sections have changed, so that documents are checked again."""
        # The end of this second: a report that was made within it covers later changes of the same second.
        moment = math.floor(time.time()) + 1.0
        values = {f"{_LOOK}{label}": moment for label in labels}

        def put(cache: Any) -> None:
            # In a database it would cost queries at every save; the next check comes soon anyway.
            if not isinstance(cache, BaseDatabaseCache):
                cache.set_many(values, KEEP)

        self._ask(put, None)

    def _ask_many(self, keys: Sequence[str]) -> dict[str, Any]:
        return self._ask(lambda cache: dict(cache.get_many(keys)), {})

    def _found(self, name: str, label: str, found: Mapping[str, Any]) -> tuple[Kept | None, float]:
        recheck_since = found.get(f"{_LOOK}{label}")
        if not isinstance(recheck_since, float) or not 0 < recheck_since < time.time() + AHEAD:
            recheck_since = 0.0
        return self._read(found.get(_key(name))), recheck_since

    def _read(self, value: Any) -> Kept | None:
        if value is None:
            return None
        if _is_ours(value):
            return Kept(**{name: value[name] for name in value if name != "format"})
        _warn(self._alias, "it holds a value that this release did not write")
        return None

    def _ask(self, question: Callable[[Any], T], otherwise: T) -> T:
        """Return the result of `question`, or `otherwise` where the cache fails."""
        began = time.monotonic()
        until = _resting.get(self._alias)
        if until is not None:
            if until > began:
                return otherwise
            # One request tries again; the others do not wait for a time-out.
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


# For all threads of this process: each has its own connection to the same cache.
_resting: dict[str, float] = {}
_warned: dict[str, float] = {}


@receiver(setting_changed)
def _forget(*, setting: str, **_kwargs: Any) -> None:
    """Forget the failures of a cache that is replaced by another one, as in a test."""
    if setting == "CACHES":
        _resting.clear()
        _warned.clear()


# The alias and the name of each document that this process has kept.
_kept_here: set[tuple[str, str]] = set()


def forget_kept_here(**_kwargs: Any) -> None:
    """Delete each document that this process has kept: tables were emptied or created, as after a test.

    A receiver of ``post_migrate``, which Django sends after ``flush``, too.
    """
    while _kept_here:
        alias, name = _kept_here.pop()
        DocumentCache(alias).forget(name)


def get_cache() -> DocumentCache:
    """Return the cache of the ``CACHE`` setting."""
    return DocumentCache(get_settings().CACHE)


def _warn(alias: str, problem: str) -> None:
    now = time.monotonic()
    if _warned.get(alias, -math.inf) + WARN_EVERY <= now:
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
    """Return a dict of plain Python types, which any release can unpickle."""
    return {"format": FORMAT, **asdict(kept)}


def _is_ours(value: Any) -> bool:
    """Return whether this release wrote a value; other values count as misses."""
    return (
        type(value) is dict
        and value.keys() == _TYPES.keys()
        and all(type(value[name]) in (kind, *get_args(kind)) for name, kind in _TYPES.items())
        and value["format"] == FORMAT
        and re.fullmatch(r"[0-9a-f]{16}", value["token"]) is not None
        and re.fullmatch(r"[0-9a-f]{64}", value["digest"]) is not None
        and all(0 <= value[name] <= LARGEST for name in ("size", "packed", "seconds"))
        and all(_FIRST <= (value[name] or 0.0) <= _LAST for name in ("changed_at", "checked_at", "rendered_at"))
    )


def is_for_one_process() -> bool:
    """Return whether no other process can read the cache."""
    return isinstance(caches[get_settings().CACHE], LocMemCache | DummyCache)
