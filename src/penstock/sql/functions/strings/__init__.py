"""Functions on strings."""
