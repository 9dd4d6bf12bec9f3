"""Fill the cache of live pages with what was published, so that no request has to render."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.results import SectionResult
from sitemaps_plus.serving import serve
from sitemaps_plus.sources import Wanted
from sitemaps_plus.stores.cache import get_cache

logger = logging.getLogger("sitemaps_plus")


def is_for_one_process() -> bool:
    """Return whether what one process puts into the cache is of no use to any other."""
    return isinstance(caches[get_settings().CACHE], LocMemCache | DummyCache)


def warm(site: SiteOrigin, sections: Iterable[SectionResult]) -> list[str]:
    """Put the index of a site, and those sections of it that were published, into the cache; return what failed."""
    wanted = [Wanted(site=site)]
    for section in sections:
        if not section.error and section.urls:
            wanted.append(Wanted(site=site, label=section.label))
            wanted += [Wanted(site=site, label=section.label, number=number) for number in section.numbers]
    errors = []
    for one in wanted:
        try:
            serve(one)
            if not get_cache().has(one.name, one.label):
                errors.append(
                    f"cache of {site.domain}: {one.name} was gone at once. Is there room for {len(wanted):,} documents "
                    "(MAX_ENTRIES, maxmemory), and for values of their size?"
                )
                break
        except PageNotFound:
            # What it lists has gone since.
            continue
        except Exception as error:
            logger.exception("The cache could not be filled with %s", one.name)
            errors.append(f"cache of {one.name}: {type(error).__name__}: {error}")
    return errors
