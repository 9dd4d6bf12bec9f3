"""Say at start-up what would otherwise go wrong in silence."""

from sitemaps_plus.checks import declarations, languages, media, project

__all__ = ["declarations", "languages", "media", "project"]
