"""Make the published files those that the rows would give, whole at every moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sitemaps_plus.build.run import build

__all__ = ["build"]


def __getattr__(name: str) -> Any:
    # Late: a process of the pool imports this package before its Django is set up, and models need that.
    if name == "build":
        from sitemaps_plus.build.run import build

        return build
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
