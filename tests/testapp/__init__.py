"""A small Django app whose models, URLs and sitemaps the tests use."""
