"""Say at start-up what would otherwise go wrong in silence."""

from sitemaps_plus.checks import declarations, media, project

__all__ = ["declarations", "media", "project"]
