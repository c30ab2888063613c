"""Migrations as edits of a project's datafiles."""
