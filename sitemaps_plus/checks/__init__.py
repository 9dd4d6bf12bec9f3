"""Report at start-up what would otherwise fail without a message."""

from sitemaps_plus.checks import declarations, expressions, languages, media, names, project

__all__ = ["declarations", "expressions", "languages", "media", "names", "project"]
