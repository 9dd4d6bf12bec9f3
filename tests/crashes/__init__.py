"""A project whose builds are killed, stopped and starved at any moment."""
