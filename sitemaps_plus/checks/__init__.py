"""Say at start-up what would otherwise go wrong in silence."""

from sitemaps_plus.checks import declarations, expressions, languages, media, project

__all__ = ["declarations", "expressions", "languages", "media", "project"]
