"""Reading ClickHouse SQL: tokens, syntax trees, problems with their place, names of columns without an alias."""
