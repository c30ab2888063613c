"""Answers of queries in the formats that people read."""
