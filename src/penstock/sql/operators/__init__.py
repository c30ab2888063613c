"""Operators, literals and names in expressions, and keys of ORDER BY."""
