"""Turn ``settings.SITEMAPS_PLUS`` into one frozen object with a default for every name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from django.conf import settings as django_settings

from sitemaps_plus.protocol.names import Format


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, as they are at the moment they are read."""

    ORIGIN: str | Mapping[int, str] | None = None
    """Scheme and host of the site, ``"https://example.com"``, or one for each site id."""

    PUBLIC_URL: str | Mapping[int, str] | None = None
    """Where crawlers fetch a built set, for example a CDN, or one for each site id; the origin's root without it."""

    EXTENSION: Format = "xml"
    """How the pages that an index lists end: ``"xml"`` or ``"xml.gz"``."""

    CACHE: str = "default"
    """Alias in ``CACHES`` of the cache that keeps finished pages."""

    CHECK_EVERY: float = 60
    """Seconds for which a plan, a page or an index holds before the database is asked whether it changed."""

    MAX_AGE: float = 86_400
    """Seconds after which a kept or built page is rendered anew, whatever its validator says."""

    CACHE_CONTROL: str = "public, max-age=300, stale-while-revalidate=3600"
    """The header of that name on every sitemap; none where it is empty."""

    STORAGE: str = "sitemaps"
    """Alias in ``STORAGES`` that built files go to; ``sitemaps/`` in the default storage where it is not defined."""

    STAGING: str | Path | None = None
    """Where pages wait to be published: an absolute path, a prefix in the storage, or the temporary directory."""

    FORMATS: Sequence[Format] = ("xml.gz",)
    """What a build makes of each page: ``xml.gz`` always, and ``xml`` and ``txt.gz`` where they are named."""

    GRACE_PERIOD: float = 86_400
    """Seconds for which a built file stays when no index lists it any more: a crawler may still have the old index."""

    MAX_SHRINK: float = 0.5
    """Share of its URLs that a section may lose from one build to the next; 1 lets it lose all."""

    BUILD_HISTORY: int = 200
    """Ended builds of a site that are remembered."""

    HEALTH_TOKEN: str = ""
    """What a monitor has to give for ``/sitemap-health.json``; without one it is for people who may see the status."""

    CRAWLER_VISITS: bool = True
    """Whether visits of crawlers to registered sitemaps are counted, by the user agents that they send."""

    VISIT_HISTORY: int = 90
    """Days for which counts of visits are kept."""

    STRICT: bool = False
    """Make a row that breaks a rule an error instead of leaving it out; ``settings.DEBUG`` unless given."""

    PROFILE: str = "default"
    """Search engine whose narrower limits every page keeps: ``default yandex baidu naver``."""

    GZIP_LEVEL: int | None = None
    """How small pages are packed, 0 to 9: 6 unless given; with the extra ``fast`` 3 is the most, and 2 unless given."""

    HREFLANG: Mapping[str, str | None] = field(default_factory=dict)
    """What ``hreflang`` says for a language of ``LANGUAGES``: ``{"es-419": "es"}``; None for no link to it."""


NAMES = tuple(one.name for one in fields(Settings))


_made: tuple[Mapping[str, object], bool, Settings] | None = None


def get_settings() -> Settings:
    """Return the settings now in force; unknown names, and what is no dict, are left to the system check."""
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
