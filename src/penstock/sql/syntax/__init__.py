"""SQL texts read: tokens, syntax trees, located problems, the names of columns without an alias."""
