"""Answer a request, mostly without asking the database."""
