"""Rewriting data files, expiring snapshots and deleting files that no table refers to."""
