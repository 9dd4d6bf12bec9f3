"""Turn ``settings.SITEMAPS_PLUS`` into one frozen object with a default for every name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from django.conf import settings as django_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, as they are at the moment they are read."""

    ORIGIN: str | Mapping[int, str] | None = None
    """Scheme and host of the site, ``"https://example.com"``, or one for each site id."""

    PUBLIC_URL: str | Mapping[int, str] | None = None
    """Where crawlers fetch a built set, for example a CDN, or one for each site id; the origin's root without it."""

    EXTENSION: str = "xml"
    """How the pages that an index lists end: ``"xml"`` or ``"xml.gz"``."""

    CHECK_EVERY: float = 60
    """Seconds for which a plan of pages holds before the database is asked again."""

    STORAGE: str = "sitemaps"
    """Alias in ``STORAGES`` that built files go to; ``sitemaps/`` in the default storage where it is not defined."""

    STRICT: bool = False
    """Make a row that breaks a rule an error instead of leaving it out; ``settings.DEBUG`` unless given."""

    PROFILE: str = "default"
    """Search engine whose narrower limits every page keeps: ``default yandex baidu naver``."""

    GZIP_LEVEL: int | None = None
    """How small pages are packed, 0 to 9: 6 unless given; with the extra ``fast`` 3 is the most, and 2 unless given."""

    HREFLANG: Mapping[str, str | None] = field(default_factory=dict)
    """What ``hreflang`` says for a language of ``LANGUAGES``: ``{"es-419": "es"}``; None for no link to it."""


NAMES = tuple(one.name for one in fields(Settings))


def get_settings() -> Settings:
    """Return the settings now in force; unknown names, and what is no dict, are left to the system check."""
    given = getattr(django_settings, "SITEMAPS_PLUS", None)
    if not isinstance(given, Mapping):
        given = {}
    known = {name: value for name, value in given.items() if name in NAMES}
    return Settings(**{"STRICT": django_settings.DEBUG, **known})
