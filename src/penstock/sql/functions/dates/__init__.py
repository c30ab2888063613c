"""Functions on dates and times."""
