"""Sees to it that one server at a time owns a project's folder (a file lock) and its warehouse (a lease)."""
