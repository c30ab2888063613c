"""Migrations as statements of ClickHouse, for tables with materialized views on top."""
