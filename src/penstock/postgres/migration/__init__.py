"""Neutral migrations: what changed in a table, for every store, as files that people review."""
