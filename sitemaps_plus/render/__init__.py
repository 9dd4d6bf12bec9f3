"""Render the rows of one page to bytes."""
