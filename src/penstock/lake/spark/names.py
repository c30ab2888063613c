"""How physical tables and columns are written in Spark SQL.

In: names. Out: quoted text. Called by the other modules of lake and by flow. Invariant: every
name that reaches Spark SQL went through `quoted`.
"""

from __future__ import annotations

CATALOG = "lake"
NAMESPACE = "penstock"
MADE_BY = "penstock.by"
"""The key that tells, in the summary of a snapshot, that Penstock made it."""


def quoted(name: str) -> str:
    """A Spark SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A Spark SQL string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def qualified(table: str) -> str:
    """The full name of a physical table in Spark SQL."""
    return f"{CATALOG}.{NAMESPACE}.{quoted(table)}"
