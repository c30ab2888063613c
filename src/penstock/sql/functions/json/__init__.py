"""Functions on JSON in strings."""
