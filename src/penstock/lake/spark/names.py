"""Names of physical tables and columns in Spark SQL.

In: names and texts. Out: quoted Spark SQL. Invariant: every name that becomes part of Spark SQL in lake and flow was
quoted here.
"""

from __future__ import annotations

from penstock.sql.spark_text import quote_identifier

CATALOG = "lake"
NAMESPACE = "penstock"
UNMOVED = ".unmoved"
"""Ends the location in the catalog of a table that still names its files at the place where its folder was."""
MADE_BY = "penstock.by"
"""Key in the summary of a snapshot that marks it as made by Penstock."""


def qualified_table(table: str) -> str:
    """The full name of a physical table in Spark SQL."""
    return f"{CATALOG}.{NAMESPACE}.{quote_identifier(table)}"
