"""Rewriting data files, expiring snapshots and deleting files that nobody refers to."""
