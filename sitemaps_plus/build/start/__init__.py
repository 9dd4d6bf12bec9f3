"""Start a build in the background; each module here is one way to do that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sitemaps_plus.build.start import local
from sitemaps_plus.plan.sites import SiteOrigin


class Start(Protocol):
    """The interface of each way to start a build."""

    def __call__(
        self,
        labels: Sequence[str],
        *,
        site: SiteOrigin,
        started_by: str,
        full: bool = False,
        warm_cache: bool = False,
    ) -> None:
        """Start a build of `labels`, all sections without any; raise BuildNotStarted where that is impossible.

        Returns at once. The result is in the ``Build`` with `started_by`. A build that finds another one of the site
        running ends without a ``Build``.
        """


start: Start = local.start
"""The way in use."""
