"""What a project writes in its ``sitemaps.py``, read once into hooks."""
