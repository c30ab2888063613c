"""Drift: the differences between tables as recorded and as they are now."""
