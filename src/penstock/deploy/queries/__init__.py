"""Answers SQL and endpoints from the tables of one deployment."""
