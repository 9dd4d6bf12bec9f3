"""A shop that sells books, as the browser tests see it."""
