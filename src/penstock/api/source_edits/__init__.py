"""Edits of the Python of a project: what changes in its datafiles form, made in the user's own files."""
