"""How physical tables and columns are written in Spark SQL.

In: names. Out: quoted text. Called by the other modules of lake and by flow. Invariant: every
name that reaches Spark SQL went through `quoted`.
"""

from __future__ import annotations

from penstock.sql.spark_text import quote_identifier

CATALOG = "lake"
NAMESPACE = "penstock"
MADE_BY = "penstock.by"
"""The key that tells, in the summary of a snapshot, that Penstock made it."""


def qualified_table(table: str) -> str:
    """The full name of a physical table in Spark SQL."""
    return f"{CATALOG}.{NAMESPACE}.{quote_identifier(table)}"
