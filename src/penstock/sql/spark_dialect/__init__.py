"""SQL that is written in Spark's own dialect: what it may hold, and its tables, columns and types."""
