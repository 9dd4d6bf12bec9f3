"""Say which sections and which sites a build is about, and which of those sites cannot be built."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sitemaps_plus.declare.registry import registry
from sitemaps_plus.errors import NoOrigin
from sitemaps_plus.origin import SiteOrigin, get_sites
from sitemaps_plus.stores.files import site_directory


def chosen_labels(labels: Sequence[str]) -> Sequence[str]:
    """Return those labels, each once, or all without any; raise PageNotFound for one that is not registered."""
    for label in labels:
        registry[label]
    return tuple(dict.fromkeys(labels)) or tuple(registry)


def chosen_sites(names: Sequence[str], unusable: Callable[[NoOrigin], None]) -> list[SiteOrigin]:
    """Return the sites of those names, ids or domains; all without any.

    A site without a usable domain of its own is handed to `unusable` where all are wanted. Raises NoOrigin where there
    is no site, or none of a name.
    """
    errors: list[NoOrigin] = []
    sites: dict[str, SiteOrigin] = {}
    for site in get_sites(errors.append):
        # Their files lie in a directory that has the name of the host.
        other = sites.setdefault(site_directory(site.domain), site)
        if other is not site:
            errors.append(
                NoOrigin(
                    f"The sites {other.id} and {site.id} have the same host, {site.domain}, and would replace each "
                    f"other's files: the site {site.id} is not built. Give each a domain of its own."
                )
            )
    known = {name: site for site in sites.values() for name in (str(site.id), site.domain)}
    if missing := [name for name in names if name not in known]:
        there = ", ".join(f"{site.id} ({site.domain})" for site in sites.values())
        others = "".join(f" {error}" for error in errors)
        raise NoOrigin(f"There is no site {missing[0]!r}. Name one of these by its id or its domain: {there}.{others}")
    if not names:
        for error in errors:
            unusable(error)
    chosen = {known[name].id for name in names}
    return [site for site in sites.values() if not names or site.id in chosen]
