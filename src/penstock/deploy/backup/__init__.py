"""Backups: everything of a project as of one moment, and a project folder made of it."""
