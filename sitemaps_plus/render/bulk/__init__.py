"""Write the same bytes, many rows at a time; all tricks for speed live here."""
