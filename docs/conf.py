"""How Sphinx builds the documentation."""

from importlib import metadata

project = "django-sitemaps-plus"
copyright = "2026, sitemaps_plus maintainers"
release = metadata.version("django-sitemaps-plus")

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"{project} {release}"
