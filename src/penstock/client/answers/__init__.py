"""Answers of the server: from Arrow's streaming format to rows, models and tables."""
