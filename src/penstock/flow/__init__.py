"""Moves rows: from the inbox into landing tables, and from there into materialized views."""
