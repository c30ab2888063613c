"""Iceberg tables of others, which copies read."""
