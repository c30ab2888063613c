"""Schema changes and rows that travel from Postgres to Penstock, ClickHouse and Iceberg."""
