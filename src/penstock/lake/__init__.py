"""Iceberg tables in Spark: sessions, tables, snapshots, reading and maintenance."""
