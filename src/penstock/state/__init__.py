"""The state store: the records that a server keeps, in SQLite or Postgres."""
