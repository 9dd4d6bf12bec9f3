"""The rows of one page to bytes."""
