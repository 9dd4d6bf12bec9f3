"""Read finished sitemaps as a crawler does, and say what is wrong with them."""
