"""The sitemap format as plain Python: the rules of its entries, and the writer of its XML. No Django."""
