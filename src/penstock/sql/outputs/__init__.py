"""Queries whose rows are stored: of materialized views, copies and forward queries."""
