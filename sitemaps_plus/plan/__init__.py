"""One section of one site, cut into pages, and which of them changed."""
