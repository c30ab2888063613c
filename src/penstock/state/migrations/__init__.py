"""Migrations of the state store."""
