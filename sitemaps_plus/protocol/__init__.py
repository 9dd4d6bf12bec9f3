"""The sitemap format as plain Python: what an entry may be, and how it is written."""
