"""A project whose sections other processes find, too: each reads these settings and registers the same sitemaps."""
