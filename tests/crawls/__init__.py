"""A project that several processes serve while rows of it come and go, for `tests/journeys/test_live_crawls.py`."""
