"""Conversions between types: explicit ones (CAST), implicit ones, those of literals, and those of INSERT."""
