"""The statements that carry the operations of one phase into a ClickHouse database.

In: the operations, the database's tables and views, and what the user says of the views. Out: steps, in order, or
`CannotTranslate`. Invariant: all of it is decided before the first statement is sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.postgres.catalog.replicated_table import ReplicatedColumn
from penstock.postgres.catalog.store_types import clickhouse_type
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    Operation,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
    SetNotNull,
    SwapColumns,
)
from penstock.postgres.translation.clickhouse.column_statements import (
    add_column,
    add_enum_value,
    change_type,
    drop_column,
    drop_not_null,
    rename_enum_value,
    replace_column,
    set_not_null,
)
from penstock.postgres.translation.clickhouse.draft import ClickHouseDraft
from penstock.postgres.translation.clickhouse.name_statements import rename_column, rename_table, swap_columns
from penstock.postgres.translation.clickhouse.view_query import ViewQuery
from penstock.postgres.translation.refusal import CannotTranslate
from penstock.postgres.translation.store_step import StoreStep


def clickhouse_steps(operations: Sequence[Operation], draft: ClickHouseDraft) -> tuple[StoreStep, ...]:
    """The steps of the operations of one phase. Raises CannotTranslate."""
    for operation in operations:
        _translate(operation, draft)
    steps = _said_last(draft) if draft.is_stopped else draft.steps
    hidden = [each for each in steps if each.deletes]
    return (*(each for each in steps if not each.deletes), *hidden)


def _said_last(draft: ClickHouseDraft) -> list[StoreStep]:
    """The queries that the user said, each once, behind all changes of the phase: they read what these lead to, and no
    row arrives meanwhile."""
    said = {draft.query_statement(view, ViewQuery(query)) for view, query in draft.choices.queries.items()}
    last: dict[str, StoreStep] = {}
    for each in draft.steps:
        if each.text in said:
            last.setdefault(each.text, each)  # the first one knows the query of before
    return [*(each for each in draft.steps if each.text not in said), *last.values()]


def _translate(operation: Operation, draft: ClickHouseDraft) -> None:
    match operation:
        case AddColumn():
            add_column(draft, operation)
        case DropColumn(name):
            drop_column(draft, name)
        case RenameColumn(name, to):
            rename_column(draft, name, to)
        case SwapColumns(name, other):
            swap_columns(draft, name, other)
        case ChangeType():
            _change_type(draft, operation)
        case RenameTable(to):
            if draft.table != to.name:
                rename_table(draft, to.name)
        case ChangeKey():
            _check_key(draft, operation)
        case _:
            _metadata(operation, draft)


def _metadata(operation: Operation, draft: ClickHouseDraft) -> None:
    """NULL, labels and defaults; rows come with all their values, so a default of Postgres is nothing to a store."""
    match operation:
        case DropNotNull(name):
            drop_not_null(draft, name)
        case SetNotNull(name):
            set_not_null(draft, name)
        case AddEnumValue(name, value):
            add_enum_value(draft, name, value)
        case RenameEnumValue(name, value, to):
            rename_enum_value(draft, name, value, to)
        case SetDefault() | DropDefault():
            return
        case _:
            raise AssertionError(f"{operation} is told apart before")


def _change_type(draft: ClickHouseDraft, operation: ChangeType) -> None:
    column = draft.source.column(operation.name)
    is_plain = column is not None and not column.type.startswith("Nullable(")
    made = clickhouse_type(ReplicatedColumn(0, operation.name, operation.type, is_plain))
    if operation.narrowing:
        replace_column(draft, operation.name, made)
    else:
        change_type(draft, operation.name, made)


def _check_key(draft: ClickHouseDraft, operation: ChangeKey) -> None:
    """A table that is sorted by the former key would merge rows that are different now. Rows are told from each other
    by the replica identity where that is an index, which a capture sorts by (`identity_key`)."""
    names = operation.identity if operation.replica_identity == "index" else operation.key
    keys = {each.name for each in draft.source.columns if each.is_key}
    if not {*names} <= keys:
        hint = "make a table that is sorted by the new key, and copy its rows again (`penstock cdc add`)"
        raise CannotTranslate(f"the key of {draft.table} becomes {', '.join(names)}", hint)
