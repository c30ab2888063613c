"""Functions on numbers."""
