"""Paths of files: patterns, and the folders that may be read and written."""
