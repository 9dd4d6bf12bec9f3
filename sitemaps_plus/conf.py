"""Turn ``settings.SITEMAPS_PLUS`` into one frozen object with a default and a rule for every name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

from django.conf import settings as django_settings

from sitemaps_plus.errors import InvalidEntry
from sitemaps_plus.protocol.codes import check_hreflang
from sitemaps_plus.protocol.limits import PROFILES
from sitemaps_plus.protocol.names import FORMATS, Format

SHORTEST_TOKEN = 16
"""The fewest characters that `HEALTH_TOKEN` may have."""

_FORMATS_HINT = f"Give a list with any of {', '.join(FORMATS)}."
_TRUTH = "Use True or False, not a string: any non-empty string counts as true."


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_duration(value: Any) -> bool:
    return _is_number(value) and 0 <= value < math.inf


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_whole(lowest: int, highest: float) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and lowest <= value <= highest


def _is_alias_of_a_cache(value: Any) -> bool:
    return isinstance(value, str) and value in django_settings.CACHES


def _is_header(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_extension(value: Any) -> bool:
    return value in ("xml", "xml.gz")


def _is_path(value: Any) -> bool:
    return value is None or isinstance(value, str | Path)


def _is_profile(value: Any) -> bool:
    return value in tuple(PROFILES)


def _is_hreflang(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    try:
        codes = [check_hreflang(code) for code in value.values() if code is not None]
    except (InvalidEntry, AttributeError, TypeError):
        return False
    return all(isinstance(language, str) for language in value) and "x-default" not in codes


def _is_formats(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(name in FORMATS for name in value)


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and (not value or len(value) >= SHORTEST_TOKEN)


_is_days = _is_whole(1, 3650)


def _is_level(value: Any) -> bool:
    return value is None or _is_whole(0, 9)(value)


class Rule(NamedTuple):
    """The values that a setting may have."""

    is_valid: Callable[[Any], bool]
    hint: str
    is_secret: bool = False
    """Whether the value must not be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings at the moment of the call.

    The system checks report values that break the rule of a setting; `ORIGIN`, `PUBLIC_URL` and `STORAGE` have checks
    of their own.
    """

    ORIGIN: str | Mapping[int, str] | None = None
    """Scheme and host of the site, ``"https://example.com"``, or one for each site id."""

    PUBLIC_URL: str | Mapping[int, str] | None = None
    """Where crawlers fetch the built files, such as a CDN, or one URL for each site id; default: the origin."""

    EXTENSION: Annotated[Format, Rule(_is_extension, 'Use "xml" or "xml.gz".')] = "xml"
    """The extension of the pages that an index lists: ``"xml"`` or ``"xml.gz"``."""

    CACHE: Annotated[str, Rule(_is_alias_of_a_cache, "Use one of the aliases in CACHES: {caches}.")] = "default"
    """Alias in ``CACHES`` of the cache that keeps finished pages."""

    CHECK_EVERY: Annotated[float, Rule(_is_duration, "Give a number of seconds, for example 60.")] = 60
    """Seconds for which a plan, a page or an index is used before the database is queried for changes."""

    MAX_AGE: Annotated[float, Rule(_is_duration, "Give a number of seconds, for example 86400.")] = 86_400
    """Longest time in seconds before a cached or built page is rendered again; pages are spread over its last fifth."""

    CACHE_CONTROL: Annotated[str, Rule(_is_header, 'Give the text of the header, "" for none.')] = (
        "public, max-age=300, stale-while-revalidate=3600"
    )
    """The ``Cache-Control`` header of every sitemap; no header if it is empty."""

    STORAGE: str = "sitemaps"
    """Alias in ``STORAGES`` for built files; where it is not defined, ``sitemaps/`` in the default storage."""

    STAGING: Annotated[
        str | Path | None, Rule(_is_path, 'Give an absolute path, a prefix in the storage such as "staging", or None.')
    ] = None
    """Where pages wait to be published: an absolute path, a prefix in the storage, or the temporary directory."""

    FORMATS: Annotated[Sequence[Format], Rule(_is_formats, _FORMATS_HINT)] = ("xml.gz",)
    """The formats in which a build writes each page: always ``xml.gz``; ``xml`` and ``txt.gz`` if they are named."""

    GRACE_PERIOD: Annotated[float, Rule(_is_duration, "Give a number of seconds, for example 86400.")] = 86_400
    """Seconds for which a built file stays after no index lists it: a crawler may still have the old index."""

    MAX_SHRINK: Annotated[
        float, Rule(_is_share, "Give a number from 0 to 1, for example 0.5 for half of the URLs.")
    ] = 0.5
    """Share of its URLs that a section may lose from one build to the next; 1 allows it to lose all."""

    BUILD_HISTORY: Annotated[int, Rule(_is_whole(0, math.inf), "Give a number of builds, for example 200.")] = 200
    """How many finished builds of a site are kept."""

    HEALTH_TOKEN: Annotated[
        str,
        Rule(_is_token, f"Give a string of {SHORTEST_TOKEN} or more characters that nobody can guess.", is_secret=True),
    ] = ""
    """The token that a monitor sends to ``/sitemap-health.json``; without a token, only users who
    may view the status page have access."""

    CRAWLER_VISITS: Annotated[bool, Rule(_is_bool, _TRUTH)] = True
    """Whether visits of crawlers to registered sitemaps are counted, by their user agents."""

    VISIT_HISTORY: Annotated[int, Rule(_is_days, "Give a number of days from 1 to 3650, for example 90.")] = 90
    """Days for which counts of visits are kept."""

    STRICT: Annotated[bool, Rule(_is_bool, _TRUTH)] = False
    """Raise an error for a row that breaks a rule instead of leaving it out; default: ``settings.DEBUG``."""

    PROFILE: Annotated[str, Rule(_is_profile, f"Use one of {', '.join(PROFILES)}.")] = "default"
    """Search engine whose stricter limits every page respects: ``default yandex baidu naver``."""

    GZIP_LEVEL: Annotated[int | None, Rule(_is_level, "Give a number from 0 to 9, or None.")] = None
    """Gzip level, 0 to 9; default 3. With the extra ``fast`` the highest level is 3, and the default 2."""

    HREFLANG: Annotated[
        Mapping[str, str | None],
        Rule(_is_hreflang, 'Give a dict such as {"es-419": "es"}; None as a value means no link.'),
    ] = field(default_factory=dict)
    """The ``hreflang`` of languages in ``LANGUAGES``: ``{"es-419": "es"}``; None for no link to a language."""


NAMES = tuple(one.name for one in fields(Settings))


_made: tuple[Mapping[str, object], bool, Settings] | None = None


def get_settings() -> Settings:
    """Return the current settings; the system check reports unknown names and a value that is not a dict."""
    global _made
    given = getattr(django_settings, "SITEMAPS_PLUS", None)
    if not isinstance(given, Mapping):
        given = {}
    if _made is None or _made[0] != given or _made[1] != django_settings.DEBUG:
        _made = dict(given), django_settings.DEBUG, _make(given)
    return _made[2]


def _make(given: Mapping[str, object]) -> Settings:
    known = {name: value for name, value in given.items() if name in NAMES}
    return Settings(**{"STRICT": django_settings.DEBUG, **known})  # type: ignore[arg-type]


def wrong_values(given: Settings) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and hint of each setting that breaks its rule; "..." in place of a secret."""
    for name, hint in get_type_hints(Settings, include_extras=True).items():
        for rule in getattr(hint, "__metadata__", ()):
            value = getattr(given, name)
            if not rule.is_valid(value):
                remedy = rule.hint.replace("{caches}", ", ".join(django_settings.CACHES))
                yield name, "..." if rule.is_secret else value, remedy
