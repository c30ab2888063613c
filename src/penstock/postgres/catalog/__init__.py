"""What Postgres says of its tables: read, as values, and as types of the stores."""
