"""The arguments of column types."""
