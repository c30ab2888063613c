"""The columns in which the rows that were there have other values in Postgres than a migration says.

In: a migration, the operations that followed it, and the table as it is now. Out: the columns. Invariant: a value that
an application computes while it migrates (an id, the time of day) is one literal where it was observed and another one
in production; which one, the catalog there tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    ChangeType,
    DropColumn,
    OldRowsRead,
    OldRowsValue,
    Operation,
    RenameColumn,
    RenameEnumValue,
    SwapColumns,
)


def columns_of_postgres(migration: Migration) -> frozenset[str]:
    """Those of which the migration says that only Postgres knows the values of these rows."""
    found = set[str]()
    for each in migration.operations:
        match each:
            case AddColumn(name, old_rows=OldRowsRead()) | ChangeType(name, narrowing=True) | RenameEnumValue(name):
                found.add(name)
    return frozenset(found)


def computed_columns(migration: Migration, later: Iterable[Operation], table: ReplicatedTable) -> frozenset[str]:
    """Those that a migration adds, and that came with another value; `later` are the operations that the table has
    behind it. Rows that Postgres wrote anew since have no such value in the catalog: a capture reads them again
    anyway."""
    added: Mapping[str, OldRowsValue] = {}
    for each in migration.operations:
        if isinstance(each, AddColumn) and isinstance(each.old_rows, OldRowsValue):
            added = {**added, each.name: each.old_rows}
        else:
            added = _named(added, each)
    for each in later:
        added = _named(added, each)
    columns = ((table.column(name), old.value) for name, old in added.items())
    return frozenset(
        column.name
        for column, value in columns
        if column is not None and column.old_value is not None and column.old_value != value
    )


def _named(added: Mapping[str, OldRowsValue], operation: Operation) -> Mapping[str, OldRowsValue]:
    """What was added, by the names behind an operation."""
    match operation:
        case DropColumn(gone):
            return {name: old for name, old in added.items() if name != gone}
        case RenameColumn(former, to):
            names = {former: to}
        case SwapColumns(one, other):
            names = {one: other, other: one}
        case _:
            return added
    return {names.get(name, name): old for name, old in added.items()}
