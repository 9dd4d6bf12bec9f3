"""Answers for people and monitors: the state of the sitemaps, problems, and where a URL is listed."""
