"""A project behind a real server: several processes that share a database, a cache and nothing else."""
