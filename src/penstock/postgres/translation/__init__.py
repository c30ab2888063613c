"""What a migration is in each store: statements of ClickHouse, steps of Iceberg, edits of a project of Penstock."""
