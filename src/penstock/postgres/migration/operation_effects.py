"""What an operation makes of a table.

In: a `ReplicatedTable` and an operation. Out: the table afterwards. Invariant: applied in order, the operations of a
migration make of the table with its first fingerprint the one with its second; what does not fit raises `DoesNotFit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce

from penstock.errors import did_you_mean
from penstock.postgres.catalog.replicated_table import EnumLabel, ReplicatedColumn, ReplicatedTable, ReplicatedType
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    OldRowsValue,
    Operation,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
    SetNotNull,
    SwapColumns,
)


class DoesNotFit(ValueError):
    """An operation names what the table does not have, or adds what it has; `hint` says what to do."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.hint = hint


def apply_operations(table: ReplicatedTable, operations: Iterable[Operation]) -> ReplicatedTable:
    """The table after these operations. Raises DoesNotFit."""
    return reduce(apply_operation, operations, table)


def apply_operation(table: ReplicatedTable, operation: Operation) -> ReplicatedTable:
    """The table after the operation. Raises DoesNotFit."""
    match operation:
        case AddColumn():
            return _with_identity(_add(table, operation))
        case DropColumn(name):
            return _drop(table, name)
        case RenameColumn(name, to):
            _free(table, to)
            return _named(table, {_present(table, name).name: to})
        case SwapColumns(name, other):
            return _named(table, {_present(table, name).name: other, _present(table, other).name: name})
        case RenameTable(to):
            return replace(table, name=to)
        case ChangeKey(key, replica, identity):
            for name in (*key, *identity):
                _present(table, name)
            return _with_identity(replace(table, key=key, replica_identity=replica, identity=identity))
        case _:
            return _changed(table, operation.name, lambda column: _column_after(column, operation))


def _column_after(column: ReplicatedColumn, operation: Operation) -> ReplicatedColumn:
    match operation:
        case ChangeType(_, of):
            return replace(column, type=of)
        case DropNotNull() | SetNotNull():
            return replace(column, not_null=isinstance(operation, SetNotNull))
        case SetDefault(_, default):
            return replace(column, default=default)
        case DropDefault():
            return replace(column, default=None)
        case AddEnumValue(_, value, after):
            return replace(column, type=_with_labels(column, lambda labels: _label_added(labels, value, after)))
        case RenameEnumValue(_, value, to):
            return replace(column, type=_with_labels(column, lambda labels: _label_renamed(labels, value, to)))
        case _:
            raise AssertionError(f"{operation} is not about one column")


def _add(table: ReplicatedTable, operation: AddColumn) -> ReplicatedTable:
    _free(table, operation.name)
    old = operation.old_rows.value if isinstance(operation.old_rows, OldRowsValue) else None
    attnum = max((each.attnum for each in table.columns), default=0) + 1
    made = ReplicatedColumn(
        attnum, operation.name, operation.type, not operation.nullable, operation.default, old_value=old
    )
    columns = [*table.columns]
    at = columns.index(_present(table, operation.after)) + 1 if operation.after is not None else len(columns)
    return replace(table, columns=(*columns[:at], made, *columns[at:]))


def _drop(table: ReplicatedTable, name: str) -> ReplicatedTable:
    gone = _present(table, name)
    columns = tuple(each for each in table.columns if each is not gone)
    key = () if name in table.key else table.key
    identity = () if name in table.identity and table.replica_identity == "index" else table.identity
    return _with_identity(replace(table, columns=columns, key=key, identity=identity))


def _named(table: ReplicatedTable, names: dict[str, str]) -> ReplicatedTable:
    columns = tuple(replace(each, name=names.get(each.name, each.name)) for each in table.columns)
    key = tuple(names.get(each, each) for each in table.key)
    identity = tuple(names.get(each, each) for each in table.identity)
    return replace(table, columns=columns, key=key, identity=identity)


def _with_identity(table: ReplicatedTable) -> ReplicatedTable:
    """The table with the columns that its replica identity means."""
    match table.replica_identity:
        case "default":
            return replace(table, identity=table.key)
        case "full":
            return replace(table, identity=tuple(each.name for each in table.columns))
        case "nothing":
            return replace(table, identity=())
        case "index":
            return table


def _changed(
    table: ReplicatedTable, name: str, change: Callable[[ReplicatedColumn], ReplicatedColumn]
) -> ReplicatedTable:
    wanted = _present(table, name)
    return replace(table, columns=tuple(change(each) if each is wanted else each for each in table.columns))


def _with_labels(
    column: ReplicatedColumn, change: Callable[[Sequence[EnumLabel]], Sequence[EnumLabel]]
) -> ReplicatedType:
    def of(kind: ReplicatedType) -> ReplicatedType:
        if kind.base is not None:
            return replace(kind, base=of(kind.base))
        if kind.labels is None:
            raise DoesNotFit(f"the column `{column.name}` is of type {kind.name}, which is no enum")
        return replace(kind, labels=tuple(change(kind.labels)))

    return of(column.type)


def _label_added(labels: Sequence[EnumLabel], value: str, after: str | None) -> Sequence[EnumLabel]:
    names = [each.label for each in labels]
    if value in names:
        raise DoesNotFit(f"the enum has the label `{value}` already")
    at = 0 if after is None else _label_place(names, after) + 1
    return [*labels[:at], EnumLabel(0, value), *labels[at:]]


def _label_renamed(labels: Sequence[EnumLabel], value: str, to: str) -> Sequence[EnumLabel]:
    names = [each.label for each in labels]
    if to in names:
        raise DoesNotFit(f"the enum has the label `{to}` already")
    at = _label_place(names, value)
    return [*labels[:at], replace(labels[at], label=to), *labels[at + 1 :]]


def _label_place(names: Sequence[str], label: str) -> int:
    if label not in names:
        raise DoesNotFit(f"the enum has no label `{label}`", did_you_mean(label, names))
    return names.index(label)


def _present(table: ReplicatedTable, name: str) -> ReplicatedColumn:
    column = table.column(name)
    if column is None:
        known = [each.name for each in table.columns]
        raise DoesNotFit(f"the table {table.name} has no column `{name}`", did_you_mean(name, known))
    return column


def _free(table: ReplicatedTable, name: str) -> None:
    if table.column(name) is not None:
        raise DoesNotFit(f"the table {table.name} has a column `{name}` already")
