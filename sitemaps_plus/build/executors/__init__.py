"""Who renders the pages of a build."""
