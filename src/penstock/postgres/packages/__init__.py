"""Changes of rows in packages, each of one table and of one schema."""
