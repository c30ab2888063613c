"""Reads what changes in a Postgres: its replication stream, and its tables as they are."""
