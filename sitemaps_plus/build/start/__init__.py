"""Start a build outside of the request that asks for it; each module here does that in a way of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sitemaps_plus.build.start import local
from sitemaps_plus.plan.sites import SiteOrigin


class Start(Protocol):
    """What every executor offers."""

    def __call__(
        self,
        labels: Sequence[str],
        *,
        site: SiteOrigin,
        started_by: str,
        full: bool = False,
        warm_cache: bool = False,
    ) -> None:
        """Let a build of `labels`, all sections without any, begin soon; raise BuildNotStarted where it cannot.

        Returns at once. What comes of the build is told by its ``Build``, which has `started_by`; one that finds
        another build of the site running ends without one.
        """


start: Start = local.start
"""The executor in use."""
