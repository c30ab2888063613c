"""Sinks: rows that are written outside."""
