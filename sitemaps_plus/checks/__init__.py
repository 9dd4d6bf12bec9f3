"""Say at start-up what would otherwise go wrong in silence."""

from sitemaps_plus.checks import declarations, project

__all__ = ["declarations", "project"]
