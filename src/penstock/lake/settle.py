"""Write the values of bridged columns into the rows that only had an expression for them.

In: a table, physical columns with their expressions, a range of `_seq`. Out: one Iceberg snapshot that
replaces the files of these rows. Called by deploy. Invariant: no row comes or goes and no other column
changes; flows pass over the snapshot, since it appends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.faults import reached
from penstock.lake.names import qualified, quoted
from penstock.lake.session import Lake
from penstock.model.manifest import SEQ


def settle_rows(lake: Lake, table: str, values: Mapping[str, str], after: int, upto: int) -> None:
    """Give the rows with after < `_seq` <= upto the value of each expression (Spark SQL over the
    table's physical columns) in its column. Doing it again changes nothing."""
    sets = ", ".join(f"{quoted(column)} = {expression}" for column, expression in sorted(values.items()))
    reached("lake.before")
    lake.bulk.sql(f"UPDATE {qualified(table)} SET {sets} WHERE {SEQ} > {after} AND {SEQ} <= {upto}")
    reached("lake.after")
