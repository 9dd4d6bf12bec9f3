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
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from django.core.cache import caches
from django.core.cache.backends.db import BaseDatabaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.signals import setting_changed
from django.dispatch import receiver

from sitemaps_plus.conf import get_settings

logger = logging.getLogger("sitemaps_plus")

FORMAT = 3
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

VERIFY_EVERY = 3_600.0
"""Seconds after which a process computes the checksum of the same version again."""

REMEMBERED = 5_000
"""Most documents of which a process remembers what it read; about a megabyte."""

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
    """CRC-32 of the gzip."""
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


_NAMES = [field.name for field in fields(Kept)]
_values_of = attrgetter(*_NAMES)
# The types of a stored value: where a field may have one of two, there are two.
_TYPES = {(int, *kinds) for kinds in product(*(get_args(kind) or (kind,) for kind in get_type_hints(Kept).values()))}
_is_token = re.compile(r"[0-9a-f]{16}").fullmatch
_is_digest = re.compile(r"[0-9a-f]{64}").fullmatch


class _Read(NamedTuple):
    """What this process remembers of the last version of a document that it read."""

    token: str
    parts: int
    verified_at: float
    """When its checksum was computed, by the clock that nobody can set."""


class DocumentCache:
    """The documents in one of Django's caches, each under a name."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def find(self, name: str, label: str) -> tuple[Kept | None, float]:
        """Return the metadata of a document, and when its section was last reported as changed."""
        return self._found(name, label, self._ask_many([_key(name), f"{_LOOK}{label}"]))

    def find_all(self, name: str, label: str) -> tuple[Kept | None, float, bytes | None]:
        """Return the values of `find` and the gzip of the document, in one round trip."""
        # A document of several parts is read in one round trip once this process knows how many they are.
        last = _reads.get((self._alias, name))
        found = self._ask_many([_key(name), f"{_LOOK}{label}", *_part_keys(name, last.parts if last else 1)])
        kept, recheck_since = self._found(name, label, found)
        return kept, recheck_since, self.read(name, kept, found) if kept else None

    def has(self, name: str, label: str) -> bool:
        """Return whether a whole document is there."""
        return self.find_all(name, label)[2] is not None

    def read(self, name: str, kept: Kept, found: Mapping[str, Any] | None = None) -> bytes | None:
        """Return the gzip of a document, or None where a part is missing; `found` holds parts already read."""
        keys = _part_keys(name, _count_parts(kept.packed))
        missing = [key for key in keys if not found or key not in found]
        found = {**(found or {}), **(self._ask_many(missing) if missing else {})}
        parts = [_part_in(found.get(key), kept.token, at) for at, key in enumerate(keys)]
        data = parts[0] if len(parts) == 1 else b"".join(part or b"" for part in parts)
        # A missing part makes the rest too short.
        return data if data is not None and len(data) == kept.packed and self._is_sound(name, kept, data) else None

    def _is_sound(self, name: str, kept: Kept, data: bytes) -> bool:
        """Return whether the gzip has its checksum: a flipped bit would reach every reader until the page changes.

        It is computed once for each version, which saves most of the time that a page takes from a local cache, and
        again after `VERIFY_EVERY`.
        """
        now, last = time.monotonic(), _reads.get((self._alias, name))
        if last and last.token == kept.token and now < last.verified_at + VERIFY_EVERY:
            return True
        if zlib.crc32(data) != kept.checksum:
            return False
        if len(_reads) >= REMEMBERED:
            _reads.clear()
        _reads[self._alias, name] = _Read(kept.token, _count_parts(kept.packed), now)
        return True

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
            for at, key in enumerate(_part_keys(name, _count_parts(kept.packed))):
                cache.set(key, [kept.token, at, gzipped[at * PART : (at + 1) * PART]], KEEP)
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
        if kept := _kept_in(value):
            return kept
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
_reads: dict[tuple[str, str], _Read] = {}


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


@lru_cache(maxsize=REMEMBERED)
def _key(name: str) -> str:
    return f"sitemaps_plus:{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def _count_parts(packed: int) -> int:
    return max(1, -(-packed // PART))


def _part_keys(name: str, parts: int) -> list[str]:
    return [f"{_key(name)}:{at}" for at in range(parts)]


def _part_in(value: Any, token: str, at: int) -> bytes | None:
    """Return the bytes of one part; None if they are missing, or belong to another version."""
    is_part = type(value) is list and len(value) == 3 and value[:2] == [token, at] and type(value[2]) is bytes
    return value[2] if is_part else None


def _value(kept: Kept) -> list[Any]:
    """Return a list of plain Python types, which any release can unpickle."""
    return [FORMAT, *_values_of(kept)]


def _kept_in(value: Any) -> Kept | None:
    """Return the metadata in a value; None unless this release wrote it."""
    if type(value) is not list or tuple(map(type, value)) not in _TYPES or value[0] != FORMAT:
        return None
    kept = Kept(**dict(zip(_NAMES, value[1:], strict=True)))
    is_ours = (
        _is_token(kept.token)
        and _is_digest(kept.digest)
        and 0 <= kept.size <= LARGEST
        and 0 <= kept.packed <= LARGEST
        and 0 <= kept.seconds <= LARGEST
        and _FIRST <= (kept.changed_at or 0.0) <= _LAST
        and _FIRST <= kept.checked_at <= _LAST
        and _FIRST <= kept.rendered_at <= _LAST
    )
    return kept if is_ours else None


def is_for_one_process() -> bool:
    """Return whether no other process can read the cache."""
    return isinstance(caches[get_settings().CACHE], LocMemCache | DummyCache)
