"""Functions on JSON texts."""
