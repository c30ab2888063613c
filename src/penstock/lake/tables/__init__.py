"""Physical Iceberg tables: their definition, snapshots, commits and snapshot tags."""
