"""Spark SQL that reads a table through a binding.

In: a binding and the part of the table to read. Out: a SELECT in parentheses with the binding's logical columns.
Invariant: a reader sees the columns and rows of its own version only, whatever other versions share the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, Union

from typing_extensions import assert_never

from penstock.lake.read.engine_merge import final_relation
from penstock.lake.spark.names import qualified_table
from penstock.model.manifest import REJECTS, SEQ, Accepts, Binding, BoundColumn, version_mark, view_rejects
from penstock.model.types import Int, String
from penstock.sql.spark_text import quote_identifier, replace_columns, string_literal
from penstock.sql.stored_types import spark_type


@dataclass(frozen=True, slots=True)
class CurrentRows:
    """All rows of the current snapshot when the query is planned."""


@dataclass(frozen=True, slots=True)
class SnapshotSlice:
    """The rows of one snapshot with after < `_seq` <= upto."""

    snapshot: int
    after: int
    upto: int


@dataclass(frozen=True, slots=True)
class AppendedRows:
    """The rows appended after one snapshot (exclusive) up to another (inclusive). Iceberg's incremental reads skip
    compaction and deletes, as an insert trigger requires."""

    after: int
    upto: int


@dataclass(frozen=True, slots=True)
class SnapshotRows:
    """All rows of one snapshot; of a table that had none yet, no row."""

    snapshot: int | None


@dataclass(frozen=True, slots=True)
class HeldPart:
    """Rows that Spark knows by a name of their own: appended ones that are in memory still."""

    name: str


TablePart: TypeAlias = Union[CurrentRows, SnapshotRows, SnapshotSlice, AppendedRows, HeldPart]
WholeTable: TypeAlias = Union[CurrentRows, SnapshotRows]
CURRENT = CurrentRows()


def first_snapshot(part: TablePart) -> int | None:
    """The oldest snapshot that reading a part of a table names; None if it names none."""
    match part:
        case SnapshotRows(snapshot) | SnapshotSlice(snapshot):
            return snapshot
        case AppendedRows(after, _):
            return after
        case CurrentRows() | HeldPart():
            return None
        case _:
            assert_never(part)


def binding_relation(binding: Binding, part: TablePart) -> str:
    """`(SELECT … FROM table … WHERE …)`: the binding's columns under their logical names, and its visible rows."""
    columns = (
        ", ".join(f"{_column_sql(column)} AS {quote_identifier(column.name)}" for column in binding.columns)
        or "1 AS `_`"
    )
    wheres = [*_slice_conditions(part), *accepted_conditions(binding.accepts)]
    if binding.keeps is not None and isinstance(part, (CurrentRows, SnapshotRows)):
        wheres.append(unexpired_condition(binding))
    where = f" WHERE {' AND '.join(wheres)}" if wheres else ""
    return f"(SELECT {columns} FROM {_from_table(binding.table, part)}{where})"


def with_seq(binding: Binding) -> Binding:
    """The binding with `_seq` as an additional column."""
    return replace(binding, columns=(*binding.columns, BoundColumn(SEQ, Int(64), SEQ)))


def merged_relation(binding: Binding, part: WholeTable = CURRENT) -> str:
    """Like `binding_relation` for all rows, merged as FINAL merges them."""
    if binding.merge is None:
        return binding_relation(binding, part)
    columns = [(column.name, column.type) for column in binding.columns]
    return final_relation(binding.merge, columns, binding_relation(with_seq(binding), part))


def unexpired_condition(binding: Binding) -> str:
    """The condition, over physical columns, for rows whose TTL has not expired."""
    return row_condition(binding, binding.keeps or "true")


def row_condition(binding: Binding, condition: str) -> str:
    """A condition over the binding's columns as one over physical columns."""
    return replace_columns(condition, {column.name: _column_sql(column) for column in binding.columns})


def bound_column_value(column: BoundColumn) -> str:
    """Spark SQL over physical columns for the value of a column."""
    return _column_sql(column)


def rejected_relation(binding: Binding, part: TablePart, table: str | None) -> str:
    """Like `binding_relation` for the quarantine of a physical table: the rows that were rejected by the version in
    force at their time, and those that views into the table rejected."""
    columns = ", ".join(f"{_column_sql(column)} AS {quote_identifier(column.name)}" for column in binding.columns)
    wheres = [*_slice_conditions(part), rejected_condition(binding, table)]
    return f"(SELECT {columns} FROM {_from_table(binding.table, part)} WHERE {' AND '.join(wheres)})"


def rejected_condition(quarantine: Binding, table: str | None) -> str:
    """The condition for the rows of a quarantine that a version shows: those that it rejected, and, of a physical
    table, those that views into that rejected."""
    rejected = f"concat(' ', version, ' ') = {version_mark_at_row(quarantine.accepts)}"
    return rejected if table is None else f"({rejected} OR version = {string_literal(view_rejects(table))})"


def _from_table(table: str, part: TablePart) -> str:
    name = qualified_table(table)
    match part:
        case CurrentRows():
            return name
        case SnapshotRows(None):
            return name
        case SnapshotRows(snapshot) | SnapshotSlice(snapshot):
            # Time travel shows the columns of that snapshot, so a new column needs a new snapshot.
            return f"{name} VERSION AS OF {snapshot}"
        case AppendedRows(after, upto):
            start, end = string_literal(str(after)), string_literal(str(upto))
            return f"{name} WITH (`start-snapshot-id` = {start}, `end-snapshot-id` = {end})"
        case HeldPart(known):
            return known
        case _:
            assert_never(part)


def _slice_conditions(part: TablePart) -> list[str]:
    match part:
        case SnapshotRows(None):
            return ["false"]
        case SnapshotSlice(_, after, upto):
            return [f"{SEQ} > {after}", f"{SEQ} <= {upto}"]
        case _:
            return []


def accepted_conditions(chain: Sequence[Accepts]) -> list[str]:
    """The condition for rows that the version in force at their time does not reject; no condition without a chain."""
    if not chain:
        return []
    return [f"({REJECTS} IS NULL OR NOT contains({REJECTS}, {version_mark_at_row(chain)}))"]


def rejected_rows(binding: Binding) -> str | None:
    """Spark SQL of the rows of its table that a binding hides, since the landing version that is in force for them has
    rejected them; None if it hides none."""
    accepted = accepted_conditions(binding.accepts)
    if not accepted:
        return None
    marked = with_seq(Binding("rows", binding.table, (BoundColumn(REJECTS, String(), REJECTS),)))
    return f"SELECT 1 FROM {binding_relation(marked, CURRENT)} AS `rows` WHERE NOT ({' AND '.join(accepted)})"


def version_mark_at_row(chain: Sequence[Accepts]) -> str:
    """Spark SQL for the mark of the landing version that is in force for a row, by its `_seq`."""
    *earlier, last = chain
    cases = "".join(
        f"WHEN {SEQ} <= {link.upto} THEN {string_literal(version_mark(link.version))} "
        for link in earlier
        if link.upto is not None
    )
    return (
        f"CASE {cases}ELSE {string_literal(version_mark(last.version))} END"
        if cases
        else string_literal(version_mark(last.version))
    )


def _column_sql(column: BoundColumn) -> str:
    """The value of a column, cast to its type because another version may have widened the physical column."""
    now = quote_identifier(column.physical)
    before = column.before
    if before is not None and before.cut is not None and not before.is_settled:
        unsettled = f"{SEQ} <= {before.cut}" + (f" AND {SEQ} > {before.settled}" if before.settled >= 0 else "")
        now = f"CASE WHEN {unsettled} THEN {before.value} ELSE {now} END"
    return f"CAST({now} AS {spark_type(column.type)})"
